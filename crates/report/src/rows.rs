//! Statistics as rows, one number per row: for databases (`parquet.rs`), and as CSV for spreadsheets.

use engine::{Region, Value};
use std::borrow::Cow;

/// The columns of the CSV file.
const COLUMNS: [&str; 6] = ["run", "region", "path", "kind", "bucket", "value"];

/// One number of a statistic in a region.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    pub(crate) run: &'a str,
    /// The region's number and name: `1 vecadd`.
    pub(crate) region: &'a str,
    /// When the region began and ended, in femtoseconds.
    pub(crate) start_fs: u64,
    pub(crate) end_fs: u64,
    pub(crate) path: &'a str,
    /// The kind of statistic: `count`, `histogram`, `level`, `matrix`, `series`, `energy`.
    pub(crate) kind: &'static str,
    /// Which number of the statistic: empty for a count; `sum`, `min`, `n7` of a histogram (values of 7 bits); `I/Load`
    /// of a matrix; the first cycle of a span of a series.
    pub(crate) bucket: Cow<'static, str>,
    pub(crate) value: u64,
}

/// The rows of named regions.
pub(crate) fn rows<'a>(run: &'a str, regions: &'a [(String, Region)]) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (name, region) in regions {
        for (path, value) in &region.statistics.0 {
            let (kind, numbers) = numbers(value);
            let (start_fs, end_fs) = (region.start.0, region.end.0);
            let row = |(bucket, value)| Row { run, region: name, start_fs, end_fs, path, kind, bucket, value };
            rows.extend(numbers.into_iter().map(row));
        }
    }
    rows
}

/// The numbers of a statistic. Zeros of matrices, histograms and series are left out.
fn numbers(value: &Value) -> (&'static str, Vec<(Cow<'static, str>, u64)>) {
    let named =
        |names: &[(&'static str, u64)]| names.iter().map(|(name, n)| (Cow::from(*name), *n)).collect::<Vec<_>>();
    match value {
        Value::Count(n) => ("count", named(&[("", *n)])),
        Value::Histogram { count, sum, min, max, buckets } => {
            let mut numbers = named(&[("count", *count), ("sum", *sum), ("min", *min), ("max", *max)]);
            let full = buckets.iter().enumerate().filter(|(_, n)| **n > 0);
            numbers.extend(full.map(|(bits, n)| (format!("n{bits}").into(), *n)));
            ("histogram", numbers)
        }
        Value::Level { cycles, area, max } => ("level", named(&[("cycles", *cycles), ("area", *area), ("max", *max)])),
        Value::Matrix { rows, columns, counts } => {
            let pairs = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
            let full = pairs.zip(counts).filter(|(_, n)| **n > 0);
            ("matrix", full.map(|((row, column), n)| (format!("{row}/{column}").into(), *n)).collect())
        }
        Value::Series(spans) => {
            let mut numbers = named(&[("span_cycles", spans.span_cycles)]);
            let full = spans.by_cycle().filter(|(_, sum)| *sum > 0);
            numbers.extend(full.map(|(cycle, sum)| (cycle.to_string().into(), sum)));
            ("series", numbers)
        }
        Value::Energy { passive, active } => ("energy", named(&[("passive", *passive), ("active", *active)])),
    }
}

pub(crate) fn csv(rows: &[Row]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS).expect(MEMORY);
    for row in rows {
        let value = row.value.to_string();
        writer.write_record([row.run, row.region, row.path, row.kind, &row.bucket, &value]).expect(MEMORY);
    }
    writer.into_inner().expect(MEMORY)
}

const MEMORY: &str = "rows of one length can be written to memory";

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Statistics, Time};

    #[test]
    fn every_number_of_a_statistic_is_a_row() {
        let matrix = Value::Matrix {
            rows: vec!["I".into(), "V".into()],
            columns: vec!["Load".into(), "Store".into()],
            counts: vec![3, 0, 0, 7],
        };
        let statistics = [
            ("a.served", Value::Count(5)),
            ("a.sizes", Value::Histogram { count: 2, sum: 5, min: 0, max: 5, buckets: vec![1, 0, 0, 1] }),
            ("a.steps", matrix),
        ];
        let statistics = Statistics(statistics.into_iter().map(|(path, value)| (path.into(), value)).collect());
        let region = Region { name: String::new(), start: Time::ZERO, end: Time::nanos(1), statistics };
        let regions = [("0 k, \"q\"".to_owned(), region)];
        let text = String::from_utf8(csv(&rows("f00d", &regions))).unwrap();
        let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches("f00d")).collect();
        let expected = [
            "run,region,path,kind,bucket,value",
            r#","0 k, ""q""",a.served,count,,5"#,
            r#","0 k, ""q""",a.sizes,histogram,count,2"#,
            r#","0 k, ""q""",a.sizes,histogram,sum,5"#,
            r#","0 k, ""q""",a.sizes,histogram,min,0"#,
            r#","0 k, ""q""",a.sizes,histogram,max,5"#,
            r#","0 k, ""q""",a.sizes,histogram,n0,1"#,
            r#","0 k, ""q""",a.sizes,histogram,n3,1"#,
            r#","0 k, ""q""",a.steps,matrix,I/Load,3"#,
            r#","0 k, ""q""",a.steps,matrix,V/Store,7"#,
        ];
        assert_eq!(lines, expected);
    }
}
