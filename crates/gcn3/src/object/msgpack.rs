//! A reader of MessagePack, the format of the metadata since code object version 3.
//!
//! Floats, binary strings and extensions do not occur there; they are skipped as [`Value::Nothing`]. A length field
//! alone never causes an allocation.

use super::value::Value;

/// The maximum nesting of lists and maps; the metadata has five levels.
const MAX_DEPTH: u32 = 32;

/// Reads one value; trailing bytes are ignored.
pub fn read(bytes: &[u8]) -> Result<Value, String> {
    Reader { bytes, at: 0 }.value(0)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: u32) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("lists and maps are nested deeper than {MAX_DEPTH} at byte {}", self.at));
        }
        let start = self.at;
        let tag = self.take(1)?[0];
        Ok(match tag {
            0x00..=0x7f => Value::Int(i64::from(tag)),
            0x80..=0x8f => self.map(u64::from(tag & 0xf), depth)?,
            0x90..=0x9f => self.list(u64::from(tag & 0xf), depth)?,
            0xa0..=0xbf => self.text(u64::from(tag & 0x1f))?,
            0xc0 => Value::Nothing,
            0xc1 => return Err(format!("byte 0xc1 at {start} starts no MessagePack value")),
            0xc2 | 0xc3 => Value::Bool(tag == 0xc3),
            0xc4..=0xc6 => {
                let size = self.unsigned(1 << (tag - 0xc4))?;
                self.skip(size)?
            }
            0xc7..=0xc9 => {
                let size = self.unsigned(1 << (tag - 0xc7))?;
                self.skip(size.saturating_add(1))?
            }
            0xca => self.skip(4)?,
            0xcb => self.skip(8)?,
            0xcc..=0xcf => {
                let number = self.unsigned(1 << (tag - 0xcc))?;
                Value::Int(i64::try_from(number).map_err(|_| format!("the number at byte {start} is too large"))?)
            }
            0xd0..=0xd3 => {
                let size = 1 << (tag - 0xd0);
                let shift = 64 - 8 * size as u32;
                Value::Int((self.unsigned(size)? << shift) as i64 >> shift)
            }
            0xd4..=0xd8 => self.skip(1 + (1 << (tag - 0xd4)))?,
            0xd9..=0xdb => {
                let size = self.unsigned(1 << (tag - 0xd9))?;
                self.text(size)?
            }
            0xdc | 0xdd => {
                let count = self.unsigned(2 << (tag - 0xdc))?;
                self.list(count, depth)?
            }
            0xde | 0xdf => {
                let count = self.unsigned(2 << (tag - 0xde))?;
                self.map(count, depth)?
            }
            0xe0..=0xff => Value::Int(i64::from(tag as i8)),
        })
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(size).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| format!("{size} bytes are missing after byte {}", self.at))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// A big-endian number of 1, 2, 4 or 8 bytes.
    fn unsigned(&mut self, size: usize) -> Result<u64, String> {
        Ok(self.take(size)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn skip(&mut self, size: u64) -> Result<Value, String> {
        self.take(usize::try_from(size).unwrap_or(usize::MAX))?;
        Ok(Value::Nothing)
    }

    fn text(&mut self, size: u64) -> Result<Value, String> {
        let bytes = self.take(usize::try_from(size).unwrap_or(usize::MAX))?;
        Ok(Value::Text(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn list(&mut self, count: u64, depth: u32) -> Result<Value, String> {
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(self.value(depth + 1)?);
        }
        Ok(Value::List(values))
    }

    fn map(&mut self, count: u64, depth: u32) -> Result<Value, String> {
        let mut entries = Vec::new();
        for _ in 0..count {
            let start = self.at;
            let Value::Text(key) = self.value(depth + 1)? else {
                return Err(format!("the key at byte {start} is not text"));
            };
            entries.push((key, self.value(depth + 1)?));
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn small_values_are_in_their_first_byte() {
        assert_eq!(read(&[0x07]), Ok(Value::Int(7)));
        assert_eq!(read(&[0xff]), Ok(Value::Int(-1)));
        assert_eq!(read(&[0xc3]), Ok(Value::Bool(true)));
        assert_eq!(read(b"\xa3abc"), Ok(text("abc")));
    }

    #[test]
    fn numbers_of_every_width_are_read() {
        assert_eq!(read(&[0xcc, 0xc8]), Ok(Value::Int(200)));
        assert_eq!(read(&[0xcd, 0x01, 0x50]), Ok(Value::Int(336)));
        assert_eq!(read(&[0xce, 0, 1, 0, 0]), Ok(Value::Int(65536)));
        assert_eq!(read(&[0xcf, 0, 0, 0, 1, 0, 0, 0, 0]), Ok(Value::Int(1 << 32)));
        assert_eq!(read(&[0xd0, 0x80]), Ok(Value::Int(-128)));
        assert_eq!(read(&[0xd1, 0xff, 0xfe]), Ok(Value::Int(-2)));
        assert_eq!(read(&[0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd]), Ok(Value::Int(-3)));
    }

    #[test]
    fn maps_keep_their_order_and_hold_lists() {
        let bytes = b"\x82\xa1b\x92\x01\x02\xa1a\xc2";
        let expected = Value::Map(vec![
            ("b".into(), Value::List(vec![Value::Int(1), Value::Int(2)])),
            ("a".into(), Value::Bool(false)),
        ]);
        assert_eq!(read(bytes), Ok(expected));
    }

    #[test]
    fn floats_binaries_and_extensions_are_passed_over() {
        let bytes = b"\x94\xca\0\0\0\0\xc4\x02zz\xd4\x01x\x05";
        let nothing = Value::Nothing;
        assert_eq!(read(bytes), Ok(Value::List(vec![nothing.clone(), nothing.clone(), nothing, Value::Int(5)])));
    }

    #[test]
    fn lengths_that_only_claim_are_errors() {
        assert!(read(&[0xdd, 0xff, 0xff, 0xff, 0xff]).unwrap_err().contains("missing"));
        assert!(read(&[0xdb, 0xff, 0xff, 0xff, 0xff, 1]).unwrap_err().contains("missing"));
        assert!(read(&[0x91; 100]).unwrap_err().contains("nested deeper"));
        assert!(read(&[0x81, 0x01, 0x01]).unwrap_err().contains("not text"));
    }
}
