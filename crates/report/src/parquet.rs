//! Statistics as a Parquet file, for DuckDB, polars, pandas and similar tools (`docs/data.md`).
//!
//! Every row names its run, program and machine, so that the files of many runs can be read together as one table.
//! Repeated texts are dictionary-encoded. All columns are compressed with Snappy, which every reader supports.

use crate::{
    rows::Row,
    subject::{Subject, VERSION},
};
use parquet::{
    basic::Compression,
    column::writer::ColumnCloseResult,
    data_type::{ByteArray, ByteArrayType, Int64Type},
    errors::ParquetError,
    file::{metadata::ParquetMetaDataReader, properties::WriterProperties, writer::SerializedFileWriter},
    schema::{parser::parse_message_type, types::Type},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A column: its name, and where its values come from.
type Column<'a> = (&'static str, Of<'a>);

enum Of<'a> {
    /// The same text in all rows.
    Always(&'a str),
    Text(for<'b> fn(&'b Row) -> &'b str),
    /// An unsigned number of 64 bits.
    Number(fn(&Row) -> u64),
}

/// The columns of a run's rows.
fn columns<'a>(program: &'a str, arguments: &'a str, system: &'a str) -> [Column<'a>; 11] {
    [
        ("run", Of::Text(|row| row.run)),
        ("program", Of::Always(program)),
        ("arguments", Of::Always(arguments)),
        ("system", Of::Always(system)),
        ("region", Of::Text(|row| row.region)),
        ("start_fs", Of::Number(|row| row.start_fs)),
        ("end_fs", Of::Number(|row| row.end_fs)),
        ("path", Of::Text(|row| row.path)),
        ("kind", Of::Text(|row| row.kind)),
        ("bucket", Of::Text(|row| &row.bucket)),
        ("value", Of::Number(|row| row.value)),
    ]
}

/// The file with these rows of a run.
pub(crate) fn render(subject: &Subject, rows: &[Row]) -> Vec<u8> {
    let arguments = subject.arguments.join(" ");
    let columns = columns(&subject.program.name, &arguments, &subject.machine.name);
    write(&columns, rows).expect("rows of one schema can be written to memory")
}

fn schema(columns: &[Column]) -> Result<Type, ParquetError> {
    let fields = columns.iter().map(|(name, of)| match of {
        Of::Always(_) | Of::Text(_) => format!("required binary {name} (string);"),
        Of::Number(_) => format!("required int64 {name} (integer(64, false));"),
    });
    parse_message_type(&format!("message stats {{ {} }}", fields.collect::<String>()))
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("cohesim {VERSION}"))
        .build()
}

fn write(columns: &[Column], rows: &[Row]) -> Result<Vec<u8>, ParquetError> {
    let (schema, properties) = (schema(columns)?, properties());
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (_, of) in columns {
        let mut column = group.next_column()?.expect("the schema is made of the columns");
        match of {
            Of::Always(text) => {
                let values = vec![ByteArray::from(*text); rows.len()];
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            Of::Text(text) => {
                let values: Vec<ByteArray> = rows.iter().map(|row| text(row).into()).collect();
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            Of::Number(number) => {
                let values: Vec<i64> = rows.iter().map(|row| number(row).cast_signed()).collect();
                column.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
        }
        column.close()?;
    }
    group.close()?;
    file.into_inner()
}

/// Joins the statistics files of many runs into one, unchanged; each stays a row group of its own.
pub fn join_parquet(files: &[PathBuf], into: &Path) -> io::Result<()> {
    let schema = Arc::new(schema(&columns("", "", "")).map_err(io::Error::other)?);
    let partial = into.with_extension("partial");
    let file = io::BufWriter::new(fs::File::create(&partial)?);
    let mut joined = SerializedFileWriter::new(file, schema, Arc::new(properties())).map_err(io::Error::other)?;
    for path in files {
        append(&mut joined, path).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    }
    joined.close().map_err(io::Error::other)?;
    fs::rename(partial, into)
}

fn append(joined: &mut SerializedFileWriter<io::BufWriter<fs::File>>, path: &Path) -> Result<(), ParquetError> {
    let file = fs::File::open(path)?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file)?;
    if metadata.file_metadata().schema() != joined.schema_descr().root_schema() {
        return Err(ParquetError::General("it has other columns: another version wrote it".into()));
    }
    for own in metadata.row_groups() {
        let mut group = joined.next_row_group()?;
        for column in own.columns() {
            let closed = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: own.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            group.append_column(&file, closed)?;
        }
        group.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::{
        file::reader::{FileReader, SerializedFileReader},
        record::Field,
    };

    #[test]
    fn rows_are_read_back_with_their_types() {
        let row = |value| Row {
            run: "r",
            region: "0 k",
            start_fs: 1,
            end_fs: 9,
            path: "a",
            kind: "count",
            bucket: "".into(),
            value,
        };
        let columns =
            [("program", Of::Always("p")), ("path", Of::Text(|row| row.path)), ("value", Of::Number(|row| row.value))];
        let file = write(&columns, &[row(1), row(u64::MAX)]).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
        let fields =
            |row: &parquet::record::Row| row.get_column_iter().map(|(_, field)| field.clone()).collect::<Vec<_>>();
        let text = |text: &str| Field::Str(text.to_owned());
        assert_eq!(fields(&rows[0]), [text("p"), text("a"), Field::ULong(1)]);
        assert_eq!(fields(&rows[1])[2], Field::ULong(u64::MAX));
        assert_eq!(reader.metadata().row_group(0).column(0).compression(), Compression::SNAPPY);
    }
}
