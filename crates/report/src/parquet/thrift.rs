//! Thrift's compact protocol, as much of it as Parquet's metadata needs.
//!
//! A field starts with a byte of two halves: how far its number is from the last one's, and its type. Numbers are varints,
//! signed ones in zigzag. Source: the Apache Thrift compact protocol specification.

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure being written, its fields in the order of their numbers.
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

/// The value of a field.
pub(super) struct Value {
    kind: u8,
    bytes: Vec<u8>,
}

impl Struct {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), last: 0 }
    }

    pub(super) fn field(&mut self, number: u8, value: Value) -> &mut Self {
        // Numbers that are farther apart would need a longer form.
        assert!((1..=15).contains(&(number - self.last)), "field {number} after {}", self.last);
        self.bytes.push((number - self.last) << 4 | value.kind);
        self.bytes.extend(value.bytes);
        self.last = number;
        self
    }

    pub(super) fn i32(&mut self, number: u8, value: i32) -> &mut Self {
        self.field(number, Value { kind: I32, bytes: zigzag(value.into()) })
    }

    pub(super) fn i64(&mut self, number: u8, value: i64) -> &mut Self {
        self.field(number, Value { kind: I64, bytes: zigzag(value) })
    }

    pub(super) fn binary(&mut self, number: u8, value: &[u8]) -> &mut Self {
        self.field(number, Value { kind: BINARY, bytes: binary(value) })
    }

    pub(super) fn inner(&mut self, number: u8, value: &mut Struct) -> &mut Self {
        self.field(number, Value { kind: STRUCT, bytes: value.finish() })
    }

    /// The bytes, with the stop at their end.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.bytes.push(0);
        std::mem::take(&mut self.bytes)
    }
}

pub(super) fn list_of_i32(items: &[i32]) -> Value {
    list(I32, items.iter().map(|item| zigzag((*item).into())))
}

pub(super) fn list_of_binaries(items: &[&[u8]]) -> Value {
    list(BINARY, items.iter().map(|item| binary(item)))
}

pub(super) fn list_of_structs(items: Vec<Struct>) -> Value {
    list(STRUCT, items.into_iter().map(|mut item| item.finish()))
}

fn list(kind: u8, items: impl ExactSizeIterator<Item = Vec<u8>>) -> Value {
    let mut bytes = Vec::new();
    match items.len() {
        few @ 0..=14 => bytes.push((few as u8) << 4 | kind),
        many => {
            bytes.push(0xf0 | kind);
            varint(&mut bytes, many as u64);
        }
    }
    bytes.extend(items.flatten());
    Value { kind: LIST, bytes }
}

fn binary(value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, value.len() as u64);
    bytes.extend(value);
    bytes
}

fn zigzag(value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, ((value << 1) ^ (value >> 63)) as u64);
    bytes
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_fields_are_written_as_the_specification_says() {
        assert_eq!([zigzag(0), zigzag(-1), zigzag(1), zigzag(-2)], [[0], [1], [2], [3]].map(Vec::from));
        assert_eq!(zigzag(150), [0xac, 0x02]);
        let mut inner = Struct::new();
        inner.i64(2, 1);
        let mut outer = Struct::new();
        outer.i32(1, 7).binary(4, b"ab").inner(5, &mut inner);
        assert_eq!(outer.finish(), [0x15, 14, 0x38, 2, b'a', b'b', 0x1c, 0x26, 2, 0, 0]);
    }
}
