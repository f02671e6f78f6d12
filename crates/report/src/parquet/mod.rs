//! Statistics as a Parquet file, for pandas, polars, DuckDB and their like.
//!
//! The format is small if one wants little of it: one row group, and for each column one page of a dictionary and one of
//! indices, or one of plain numbers; nothing compressed, nothing optional. Texts repeat so much that dictionaries are all
//! the compression needed. Source: the Apache Parquet format specification, version 2 (file layout, `parquet.thrift`,
//! encodings PLAIN and RLE_DICTIONARY).

mod thrift;

use crate::csv::{COLUMNS, Row};
use std::collections::BTreeMap;
use thrift::{Struct, list_of_binaries, list_of_i32, list_of_structs};

const MAGIC: &[u8] = b"PAR1";

// Numbers of the format's enumerations.
const INT64: i32 = 2;
const BYTE_ARRAY: i32 = 6;
const REQUIRED: i32 = 0;
const UTF8: i32 = 0;
const UINT_64: i32 = 14;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const RLE_DICTIONARY: i32 = 8;
const UNCOMPRESSED: i32 = 0;
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;

/// The file with these rows.
pub(crate) fn render(rows: &[Row]) -> Vec<u8> {
    let mut file = Vec::from(MAGIC);
    let mut chunks = Vec::new();
    let texts: [for<'a> fn(&'a Row) -> &'a str; 5] =
        [|row| row.run, |row| row.region, |row| row.path, |row| row.kind, |row| &row.bucket];
    for (name, text) in COLUMNS.iter().zip(texts) {
        chunks.push(text_column(&mut file, name, &rows.iter().map(text).collect::<Vec<_>>()));
    }
    let values: Vec<u64> = rows.iter().map(|row| row.value).collect();
    chunks.push(number_column(&mut file, COLUMNS[5], &values));
    let footer = metadata(rows.len(), &chunks);
    file.extend(&footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(MAGIC);
    file
}

/// A column as it lies in the file.
struct Chunk {
    name: &'static str,
    kind: i32,
    encodings: Vec<i32>,
    values: usize,
    bytes: usize,
    dictionary_at: Option<usize>,
    data_at: usize,
}

fn text_column(file: &mut Vec<u8>, name: &'static str, texts: &[&str]) -> Chunk {
    let start = file.len();
    let mut numbers: BTreeMap<&str, u32> = texts.iter().map(|text| (*text, 0)).collect();
    let mut dictionary = Vec::new();
    for (number, (text, place)) in numbers.iter_mut().enumerate() {
        *place = number as u32;
        dictionary.extend((text.len() as u32).to_le_bytes());
        dictionary.extend(text.as_bytes());
    }
    page(file, DICTIONARY_PAGE, numbers.len(), PLAIN, &dictionary);
    let data_at = file.len();
    let indices: Vec<u32> = texts.iter().map(|text| numbers[text]).collect();
    page(file, DATA_PAGE, texts.len(), RLE_DICTIONARY, &packed(&indices, numbers.len()));
    Chunk {
        name,
        kind: BYTE_ARRAY,
        encodings: vec![PLAIN, RLE, RLE_DICTIONARY],
        values: texts.len(),
        bytes: file.len() - start,
        dictionary_at: Some(start),
        data_at,
    }
}

fn number_column(file: &mut Vec<u8>, name: &'static str, numbers: &[u64]) -> Chunk {
    let start = file.len();
    let plain: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    page(file, DATA_PAGE, numbers.len(), PLAIN, &plain);
    Chunk {
        name,
        kind: INT64,
        encodings: vec![PLAIN, RLE],
        values: numbers.len(),
        bytes: file.len() - start,
        dictionary_at: None,
        data_at: start,
    }
}

/// A page: its header and its bytes.
fn page(file: &mut Vec<u8>, kind: i32, values: usize, encoding: i32, bytes: &[u8]) {
    let mut header = Struct::new();
    header.i32(1, kind).i32(2, bytes.len() as i32).i32(3, bytes.len() as i32);
    let mut own = Struct::new();
    own.i32(1, values as i32).i32(2, encoding);
    match kind {
        DATA_PAGE => header.inner(5, own.i32(3, RLE).i32(4, RLE)),
        _ => header.inner(7, &mut own),
    };
    file.extend(header.finish());
    file.extend(bytes);
}

/// Indices into a dictionary of `size`: the width in bits, then one bit-packed run of groups of eight.
fn packed(indices: &[u32], size: usize) -> Vec<u8> {
    let width = usize::BITS - size.saturating_sub(1).leading_zeros();
    let mut bytes = vec![width as u8];
    if indices.is_empty() {
        return bytes;
    }
    thrift::varint(&mut bytes, (indices.len().div_ceil(8) as u64) << 1 | 1);
    let (mut bits, mut filled) = (0_u64, 0);
    let padded = indices.iter().copied().chain(std::iter::repeat(0)).take(indices.len().next_multiple_of(8));
    for index in padded {
        bits |= u64::from(index) << filled;
        filled += width;
        while filled >= 8 {
            bytes.push(bits as u8);
            bits >>= 8;
            filled -= 8;
        }
    }
    bytes
}

/// The file's description of itself.
fn metadata(rows: usize, chunks: &[Chunk]) -> Vec<u8> {
    let mut root = Struct::new();
    root.binary(4, b"stats").i32(5, chunks.len() as i32);
    let mut schema = vec![root];
    let mut columns = Vec::new();
    for chunk in chunks {
        let mut element = Struct::new();
        let converted = if chunk.kind == INT64 { UINT_64 } else { UTF8 };
        element.i32(1, chunk.kind).i32(3, REQUIRED).binary(4, chunk.name.as_bytes()).i32(6, converted);
        schema.push(element);
        let mut about = Struct::new();
        about.i32(1, chunk.kind).field(2, list_of_i32(&chunk.encodings));
        about.field(3, list_of_binaries(&[chunk.name.as_bytes()])).i32(4, UNCOMPRESSED);
        about.i64(5, chunk.values as i64).i64(6, chunk.bytes as i64).i64(7, chunk.bytes as i64);
        about.i64(9, chunk.data_at as i64);
        if let Some(at) = chunk.dictionary_at {
            about.i64(11, at as i64);
        }
        let mut column = Struct::new();
        column.i64(2, chunk.dictionary_at.unwrap_or(chunk.data_at) as i64).inner(3, &mut about);
        columns.push(column);
    }
    let mut group = Struct::new();
    let bytes: usize = chunks.iter().map(|chunk| chunk.bytes).sum();
    group.field(1, list_of_structs(columns)).i64(2, bytes as i64).i64(3, rows as i64);
    let mut file = Struct::new();
    file.i32(1, 2).field(2, list_of_structs(schema)).i64(3, rows as i64).field(4, list_of_structs(vec![group]));
    file.binary(6, concat!("cohesim ", env!("CARGO_PKG_VERSION")).as_bytes());
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_packed_from_the_lowest_bit_on() {
        // The example of the format's specification: 0 to 7 in three bits.
        assert_eq!(packed(&[0, 1, 2, 3, 4, 5, 6, 7], 8), [3, 0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        assert_eq!(packed(&[0, 0, 0], 1), [0, 0b11], "one text needs no bits");
        assert_eq!(packed(&[], 0), [0]);
    }

    #[test]
    fn a_file_ends_with_the_length_of_its_description() {
        let row = |value| Row { run: "r", region: "0 k", path: "a", kind: "count", bucket: "".into(), value };
        let file = render(&[row(1), row(u64::MAX)]);
        assert!(file.starts_with(MAGIC) && file.ends_with(MAGIC));
        let length = u32::from_le_bytes(file[file.len() - 8..][..4].try_into().unwrap()) as usize;
        let footer = &file[file.len() - 8 - length..file.len() - 8];
        // Version 2 comes first, the end of the structure last.
        assert_eq!((&footer[..2], footer.last()), (&[0x15, 4][..], Some(&0)));
    }
}
