//! Prints the contents of a buffer after a launch: `--dump N:f32:0..8`.

use super::scalar::Scalar;
use serde::Serialize;
use std::{ops::Range, str::FromStr};

/// Which elements of which argument to print.
#[derive(Clone, Debug, PartialEq)]
pub struct Dump {
    /// The argument, counted from 0.
    pub argument: usize,
    pub scalar: Scalar,
    /// The elements; `None`: all.
    range: Option<Range<usize>>,
}

/// The elements as printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dumped {
    pub argument: usize,
    #[serde(rename = "type")]
    pub scalar: Scalar,
    pub start: usize,
    pub values: Vec<serde_json::Value>,
    #[serde(skip)]
    pub text: String,
}

impl FromStr for Dump {
    type Err = String;

    fn from_str(text: &str) -> Result<Dump, String> {
        let form = "write ARGUMENT:TYPE:START..END, for example 2:f32:0..8";
        let mut parts = text.splitn(3, ':');
        let (Some(argument), Some(scalar)) = (parts.next(), parts.next()) else { return Err(form.into()) };
        let argument =
            argument.parse().map_err(|_| format!("'{argument}' is not the number of an argument; {form}"))?;
        let range = match parts.next() {
            None => None,
            Some(range) => {
                let ends =
                    range.split_once("..").and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
                let (start, end) = ends.ok_or_else(|| format!("'{range}' is not a range; {form}"))?;
                if start > end {
                    return Err(format!("'{range}' ends before it starts"));
                }
                Some(start..end)
            }
        };
        Ok(Dump { argument, scalar: scalar.parse()?, range })
    }
}

impl Dump {
    /// The range of elements in a buffer of this size; an error if it has fewer.
    pub fn elements(&self, bytes: usize) -> Result<Range<usize>, String> {
        let count = bytes / self.scalar.bytes();
        let range = self.range.clone().unwrap_or(0..count);
        if range.end > count {
            let Range { start, end } = range;
            return Err(format!(
                "elements {start}..{end} were requested, but the buffer has {count} of {}",
                self.scalar
            ));
        }
        Ok(range)
    }

    /// Extracts the elements from a buffer.
    pub fn take(&self, buffer: &[u8]) -> Result<Dumped, String> {
        let size = self.scalar.bytes();
        let range = self.elements(buffer.len())?;
        let elements = buffer[range.start * size..range.end * size].chunks(size);
        let texts: Vec<String> = elements.map(|bytes| self.scalar.format(bytes)).collect();
        // Values without a JSON number (NaN, infinities) stay text.
        let values = texts.iter().map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()));
        Ok(Dumped {
            argument: self.argument,
            scalar: self.scalar,
            start: range.start,
            values: values.collect(),
            text: texts.join(" "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_counted_in_the_requested_type() {
        let buffer: Vec<u8> = [1.0f32, -2.5, f32::NAN, 1e10].iter().flat_map(|number| number.to_le_bytes()).collect();
        let dump: Dump = "3:f32:1..4".parse().unwrap();
        let dumped = dump.take(&buffer).unwrap();
        assert_eq!((dumped.argument, dumped.start), (3, 1));
        assert_eq!(dumped.text, "-2.5 NaN 10000000000");
        assert_eq!(serde_json::to_string(&dumped.values).unwrap(), r#"[-2.5,"NaN",10000000000]"#);
        assert_eq!("0:u32".parse::<Dump>().unwrap().take(&buffer).unwrap().values.len(), 4);
    }

    #[test]
    fn what_is_not_there_can_not_be_printed() {
        let refused = |text: &str| text.parse::<Dump>().unwrap_err();
        assert!(refused("x:f32:0..8").contains("not the number of an argument"));
        assert!(refused("1:float:0..8").contains("not a type of number"));
        assert!(refused("1:f32:8").contains("'8' is not a range"));
        assert!(refused("1:f32:8..0").contains("ends before it starts"));
        let dump: Dump = "0:u64:0..3".parse().unwrap();
        assert_eq!(dump.take(&[0; 20]).unwrap_err(), "elements 0..3 were requested, but the buffer has 2 of u64");
    }
}
