//! Kernel arguments on the command line, and their check against the kernel.
//!
//! An argument is a kind and its value: `i32:7`, `f32:1,2,3,4` (a vector), `hex:0011` (any bytes), `in:FILE`,
//! `out:FILE:BYTES`, `inout:FILE`, `zero:BYTES`, `rand-f32:COUNT:SEED`, `rand-u32:COUNT:SEED`, `local:BYTES`.

use super::scalar::Scalar;
use gcn3::object::{Argument, ArgumentKind};
use mem::SplitMix64;
use std::{fs, path::PathBuf, str::FromStr};

/// The kinds, for messages.
const KINDS: &str = "i8, u8, i16, u16, i32, u32, i64, u64, f16, f32 or f64:NUMBER[,NUMBER..], hex:BYTES, in:FILE, \
                     out:FILE:BYTES, inout:FILE, zero:BYTES, rand-f32:COUNT:SEED, rand-u32:COUNT:SEED, local:BYTES";
/// Maximum size of a buffer.
const BUFFER_LIMIT: u64 = 8 << 30;

/// One argument as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A number or a vector of them.
    Numbers { scalar: Scalar, bytes: Vec<u8> },
    /// Bytes of a structure.
    Bytes(Vec<u8>),
    /// Global memory.
    Buffer(Source),
    /// Local memory for each work-group.
    Local(u32),
}

/// The initial contents of a buffer, and the file that receives its final contents.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    contents: Contents,
    pub output: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq)]
enum Contents {
    File(PathBuf),
    Zero(u64),
    Random { scalar: Scalar, count: u64, seed: u64 },
}

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Given, String> {
        let (kind, rest) = text.split_once(':').ok_or_else(|| format!("a kind is missing; write {KINDS}"))?;
        let buffer = |contents, output| Ok(Given::Buffer(Source { contents, output }));
        match kind {
            "in" => buffer(Contents::File(file(rest)?), None),
            "inout" => buffer(Contents::File(file(rest)?), Some(file(rest)?)),
            "out" => {
                let (name, size) = rest.rsplit_once(':').ok_or("write out:FILE:BYTES")?;
                buffer(Contents::Zero(size_of(size)?), Some(file(name)?))
            }
            "zero" => buffer(Contents::Zero(size_of(rest)?), None),
            "rand-f32" => buffer(random(Scalar::F32, rest)?, None),
            "rand-u32" => buffer(random(Scalar::U32, rest)?, None),
            "local" => {
                let size = size_of(rest)?;
                Ok(Given::Local(size.try_into().map_err(|_| format!("{size} bytes of local memory are too many"))?))
            }
            "hex" => Ok(Given::Bytes(hex(rest)?)),
            _ => {
                let scalar: Scalar = kind.parse().map_err(|_| format!("'{kind}' is not a kind; write {KINDS}"))?;
                let numbers: Result<Vec<Vec<u8>>, String> =
                    rest.split(',').map(|number| scalar.parse(number)).collect();
                Ok(Given::Numbers { scalar, bytes: numbers?.concat() })
            }
        }
    }
}

fn file(name: &str) -> Result<PathBuf, String> {
    if name.is_empty() { Err("the name of a file is missing".into()) } else { Ok(name.into()) }
}

/// A number of bytes, with `K`, `M` or `G` for powers of 1024.
fn size_of(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| format!("'{text}' is not a number of bytes (4096, 64K, 2M)"))?;
    let size = number.saturating_mul(1 << shift);
    if size > BUFFER_LIMIT { Err(format!("{text} bytes are more than {}G", BUFFER_LIMIT >> 30)) } else { Ok(size) }
}

fn random(scalar: Scalar, rest: &str) -> Result<Contents, String> {
    let (count, seed) = rest.split_once(':').ok_or_else(|| format!("write rand-{scalar}:COUNT:SEED"))?;
    let count: u64 = count.parse().map_err(|_| format!("'{count}' is not a number of elements"))?;
    let seed = seed.parse().map_err(|_| format!("'{seed}' is not a seed: give a whole number"))?;
    if count.saturating_mul(4) > BUFFER_LIMIT {
        return Err(format!("{count} elements are more than {}G", BUFFER_LIMIT >> 30));
    }
    Ok(Contents::Random { scalar, count, seed })
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digit = |c: char| c.to_digit(16).map(|digit| digit as u8);
    let digits: Option<Vec<u8>> = text.chars().map(digit).collect();
    match digits {
        Some(digits) if digits.len().is_multiple_of(2) => {
            Ok(digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect())
        }
        _ => Err(format!("'{text}' is not an even number of hexadecimal digits")),
    }
}

impl Source {
    /// The initial contents of the buffer.
    pub fn contents(&self) -> Result<Vec<u8>, String> {
        match &self.contents {
            Contents::File(path) => fs::read(path).map_err(|error| format!("can't read '{}': {error}", path.display())),
            Contents::Zero(size) => Ok(vec![0; *size as usize]),
            Contents::Random { scalar, count, seed } => {
                let mut generator = SplitMix64(*seed);
                let mut bytes = Vec::with_capacity(*count as usize * 4);
                for _ in 0..*count {
                    let bits = (generator.draw() >> 32) as u32;
                    // 24 bits fill the fraction of a float in [0, 1).
                    let word = if scalar.is_float() { ((bits >> 8) as f32 / (1 << 24) as f32).to_bits() } else { bits };
                    bytes.extend(word.to_le_bytes());
                }
                Ok(bytes)
            }
        }
    }
}

impl Given {
    /// The form of the argument, for messages.
    fn kind(&self) -> &'static str {
        match self {
            Given::Numbers { .. } | Given::Bytes(_) => "a value",
            Given::Buffer(_) => "a buffer",
            Given::Local(_) => "local memory",
        }
    }

    /// Checks the argument against the kernel's declaration. Returns the bytes of a value; vectors of three are padded.
    pub fn check(&self, declared: &Argument) -> Result<Option<Vec<u8>>, String> {
        let wrong = |expected: &str, write: &str| Err(format!("it is {expected}, not {}: write {write}", self.kind()));
        match (declared.kind, self) {
            (ArgumentKind::Buffer, Given::Buffer(_)) | (ArgumentKind::DynamicLds, Given::Local(_)) => Ok(None),
            (ArgumentKind::Value, Given::Numbers { scalar, bytes }) => value(declared, *scalar, bytes).map(Some),
            (ArgumentKind::Value, Given::Bytes(bytes)) if bytes.len() == declared.size as usize => {
                Ok(Some(bytes.clone()))
            }
            (ArgumentKind::Value, Given::Bytes(bytes)) => {
                Err(format!("it has {} bytes, but {} were given", declared.size, bytes.len()))
            }
            (ArgumentKind::Buffer, _) => {
                wrong("a buffer", "in:FILE, out:FILE:BYTES, inout:FILE, zero:BYTES or rand-f32:COUNT:SEED")
            }
            (ArgumentKind::DynamicLds, _) => wrong("local memory", "local:BYTES"),
            (ArgumentKind::Value, _) => match element(declared).0 {
                Some(scalar) => wrong("a value", &format!("{scalar}:NUMBER")),
                None => wrong("a value", "hex:BYTES"),
            },
            (other, _) => Err(format!("it is an argument of kind {other}, which can't be given here")),
        }
    }
}

/// The element type of an OpenCL type, and the number of elements.
pub fn element(declared: &Argument) -> (Option<Scalar>, usize) {
    let name = declared.type_name.as_deref().unwrap_or_default();
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let scalar = match base {
        "char" => Scalar::I8,
        "uchar" | "unsigned char" => Scalar::U8,
        "short" => Scalar::I16,
        "ushort" | "unsigned short" => Scalar::U16,
        "int" => Scalar::I32,
        "uint" | "unsigned int" => Scalar::U32,
        "long" => Scalar::I64,
        "ulong" | "unsigned long" => Scalar::U64,
        "half" => Scalar::F16,
        "float" => Scalar::F32,
        "double" => Scalar::F64,
        _ => return (None, 0),
    };
    (Some(scalar), name[base.len()..].parse().unwrap_or(1))
}

fn value(declared: &Argument, scalar: Scalar, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let size = declared.size as usize;
    let given = bytes.len() / scalar.bytes();
    let plural = |count: usize| if count == 1 { "one number".to_string() } else { format!("{count} numbers") };
    let (element, count) = element(declared);
    if let Some(element) = element {
        // Signed and unsigned numbers are interchangeable; other widths or kinds are not.
        if element.bytes() != scalar.bytes() || element.is_float() != scalar.is_float() {
            return Err(format!("it is made of {element}, but {scalar} was given: write {element}:.."));
        }
        if given != count {
            return Err(format!("it takes {}, but {} were given", plural(count), given));
        }
    }
    let mut bytes = bytes.to_vec();
    // A vector of three occupies the space of four.
    if count == 3 && bytes.len() * 4 == size * 3 {
        bytes.resize(size, 0);
    }
    if bytes.len() == size {
        Ok(bytes)
    } else {
        Err(format!("it has {size} bytes, but {} ({} of {scalar}) were given", bytes.len(), plural(given)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(kind: ArgumentKind, type_name: &str, size: u32) -> Argument {
        Argument {
            name: None,
            type_name: Some(type_name.into()),
            kind,
            offset: 0,
            size,
            address_space: None,
            pointee_align: None,
            is_const: false,
            is_restrict: false,
            is_volatile: false,
            access: None,
        }
    }

    fn given(text: &str) -> Given {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn every_kind_is_read() {
        assert_eq!(given("i32:7"), Given::Numbers { scalar: Scalar::I32, bytes: vec![7, 0, 0, 0] });
        assert_eq!(given("hex:00ff"), Given::Bytes(vec![0, 255]));
        assert_eq!(given("local:1K"), Given::Local(1024));
        let buffer =
            |contents, output: Option<&str>| Given::Buffer(Source { contents, output: output.map(PathBuf::from) });
        assert_eq!(given("in:a.bin"), buffer(Contents::File("a.bin".into()), None));
        assert_eq!(given("inout:a.bin"), buffer(Contents::File("a.bin".into()), Some("a.bin")));
        assert_eq!(given("out:c:x.bin:4096"), buffer(Contents::Zero(4096), Some("c:x.bin")));
        assert_eq!(given("zero:2M"), buffer(Contents::Zero(2 << 20), None));
        let random = Contents::Random { scalar: Scalar::F32, count: 10, seed: 3 };
        assert_eq!(given("rand-f32:10:3"), buffer(random, None));
    }

    #[test]
    fn what_can_not_be_read_is_refused_with_what_can() {
        let refused = |text: &str| text.parse::<Given>().unwrap_err();
        assert!(refused("7").contains("a kind is missing; write i8"));
        assert!(refused("int:7").contains("'int' is not a kind; write i8"));
        assert!(refused("out:x").contains("out:FILE:BYTES"));
        assert!(refused("zero:many").contains("'many' is not a number of bytes"));
        assert!(refused("zero:99999999999G").contains("more than 8G"));
        assert!(refused("rand-f32:10").contains("rand-f32:COUNT:SEED"));
        assert!(refused("hex:0").contains("even number"));
        assert!(refused("in:").contains("name of a file is missing"));
    }

    #[test]
    fn values_are_checked_against_their_type() {
        let check =
            |text: &str, type_name: &str, size: u32| given(text).check(&declared(ArgumentKind::Value, type_name, size));
        assert_eq!(check("i32:-1", "uint", 4), Ok(Some(vec![255; 4])));
        assert_eq!(check("f32:7", "int", 4).unwrap_err(), "it is made of i32, but f32 was given: write i32:..");
        assert_eq!(check("i64:7", "int", 4).unwrap_err(), "it is made of i32, but i64 was given: write i32:..");
        assert_eq!(check("f32:1", "float4", 16).unwrap_err(), "it takes 4 numbers, but 1 were given");
        assert_eq!(check("f32:1,2,3,4", "float4", 16).unwrap().unwrap().len(), 16);
        assert_eq!(check("f32:1,2,3", "float3", 16).unwrap().unwrap().len(), 16);
        assert_eq!(check("u8:1,2", "struct pair", 2), Ok(Some(vec![1, 2])), "unknown types are checked by size");
        assert!(check("i32:1", "struct pair", 8).unwrap_err().contains("it has 8 bytes, but 4"));
        assert!(check("zero:64", "int", 4).unwrap_err().contains("it is a value, not a buffer: write i32:NUMBER"));
    }

    #[test]
    fn buffers_and_local_memory_are_checked_against_their_kind() {
        let buffer = declared(ArgumentKind::Buffer, "float*", 8);
        assert_eq!(given("zero:64").check(&buffer), Ok(None));
        assert!(given("i64:4096").check(&buffer).unwrap_err().contains("it is a buffer, not a value"));
        let local = declared(ArgumentKind::DynamicLds, "float*", 4);
        assert_eq!(given("local:64").check(&local), Ok(None));
        assert!(
            given("zero:64").check(&local).unwrap_err().contains("it is local memory, not a buffer: write local:BYTES")
        );
        let image = declared(ArgumentKind::Image, "image2d_t", 8);
        assert!(given("zero:64").check(&image).unwrap_err().contains("kind image"));
    }

    #[test]
    fn random_numbers_depend_on_their_seed_alone() {
        let numbers = |text: &str| match given(text) {
            Given::Buffer(source) => source.contents().unwrap(),
            other => panic!("{other:?} is not a buffer"),
        };
        assert_eq!(numbers("rand-f32:100:1"), numbers("rand-f32:100:1"));
        assert_ne!(numbers("rand-f32:100:1"), numbers("rand-f32:100:2"));
        for word in numbers("rand-f32:1000:7").chunks(4) {
            let number = f32::from_le_bytes(word.try_into().unwrap());
            assert!((0.0..1.0).contains(&number), "{number}");
        }
    }
}
