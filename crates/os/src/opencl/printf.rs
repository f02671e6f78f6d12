//! Formats the output of `printf` in kernels.
//!
//! The compiler keeps format strings out of the code. It writes a list of them, `number:arguments:their sizes:format`,
//! into the code object, and `printf` appends the number and the bytes of its arguments to a buffer.

use std::collections::BTreeMap;

use mem::{Bytes, VirtAddr};

use super::device::PRINTF_BYTES;
use crate::guest::{Fault, GuestMemory};

/// The size of the buffer's header: two words, for the used bytes and the capacity.
pub const HEAD: u64 = 8;

/// An entry of the format list.
struct Format {
    sizes: Vec<usize>,
    text: Vec<u8>,
}

/// Formats the contents of the buffer.
pub fn output(guest: &mut dyn GuestMemory, buffer: VirtAddr, formats: &[String]) -> Result<Vec<u8>, Fault> {
    let formats: BTreeMap<u32, Format> = formats.iter().filter_map(|line| parse(line)).collect();
    let used = guest.read_u32(buffer)?.min((PRINTF_BYTES - HEAD) as u32);
    let mut bytes = vec![0; used as usize];
    guest.read(buffer + Bytes(HEAD), &mut bytes)?;
    let mut text = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((number, after)) = rest.split_first_chunk::<4>() {
        let Some(format) = formats.get(&u32::from_le_bytes(*number)) else { break };
        let mut arguments = Vec::new();
        rest = after;
        for size in &format.sizes {
            // Arguments are aligned to four bytes.
            let Some((argument, after)) = rest.split_at_checked(size.next_multiple_of(4)) else { return Ok(text) };
            arguments.push(&argument[..*size]);
            rest = after;
        }
        print(&format.text, &arguments, &mut text);
    }
    Ok(text)
}

fn parse(line: &str) -> Option<(u32, Format)> {
    let (number, rest) = line.split_once(':')?;
    let (count, mut rest) = rest.split_once(':')?;
    let mut sizes = Vec::new();
    for _ in 0..count.parse::<usize>().ok()? {
        let (size, after) = rest.split_once(':')?;
        sizes.push(size.parse().ok().filter(|size| *size <= 1024)?);
        rest = after;
    }
    Some((number.parse().ok()?, Format { sizes, text: unescape(rest) }))
}

/// Undoes the compiler's escaping of the format list.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut letters = text.bytes().peekable();
    while let Some(letter) = letters.next() {
        if letter != b'\\' {
            bytes.push(letter);
            continue;
        }
        match letters.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'f') => bytes.push(12),
            Some(b'v') => bytes.push(11),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit) = letters.next_if(|letter| (b'0'..=b'7').contains(letter)) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                bytes.push(value as u8);
            }
            Some(other) => bytes.push(other),
            None => bytes.push(b'\\'),
        }
    }
    bytes
}

/// One conversion specification, such as `%-8.3v4hlf`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    vector: Option<usize>,
}

fn print(format: &[u8], arguments: &[&[u8]], text: &mut Vec<u8>) {
    let mut arguments = arguments.iter();
    let mut letters = format.iter().copied().peekable();
    while let Some(letter) = letters.next() {
        if letter != b'%' {
            text.push(letter);
            continue;
        }
        let mut conversion = Conversion::default();
        let number = |letters: &mut std::iter::Peekable<_>| {
            let mut value = 0usize;
            while let Some(digit) = letters.next_if(|letter: &u8| letter.is_ascii_digit()) {
                value = (value * 10 + usize::from(digit - b'0')).min(10_000);
            }
            value
        };
        while let Some(flag) = letters.next_if(|letter| b"-+ #0".contains(letter)) {
            match flag {
                b'-' => conversion.left = true,
                b'+' => conversion.plus = true,
                b' ' => conversion.space = true,
                b'#' => conversion.alternate = true,
                _ => conversion.zero = true,
            }
        }
        conversion.width = number(&mut letters);
        if letters.next_if_eq(&b'.').is_some() {
            conversion.precision = Some(number(&mut letters));
        }
        if letters.next_if_eq(&b'v').is_some() {
            conversion.vector = Some(number(&mut letters));
        }
        while letters.next_if(|letter| b"hlLjzt".contains(letter)).is_some() {}
        match letters.next() {
            None => break,
            Some(b'%') => text.push(b'%'),
            Some(kind) => {
                let argument = arguments.next().copied().unwrap_or_default();
                conversion.print(kind, argument, text);
            }
        }
    }
}

impl Conversion {
    fn print(&self, kind: u8, argument: &[u8], text: &mut Vec<u8>) {
        let count = self.vector.unwrap_or(1).max(1);
        // Vectors of three elements occupy the space of four.
        let room = if count == 3 { 4 } else { count };
        let size = (argument.len() / room).max(1);
        for (n, element) in argument.chunks(size).take(count).enumerate() {
            if n > 0 {
                text.push(b',');
            }
            let words = self.element(kind, element);
            let padding = vec![b' '; self.width.saturating_sub(words.len())];
            match self.left {
                true => text.extend([words, padding].concat()),
                false => text.extend([padding, words].concat()),
            }
        }
    }

    fn element(&self, kind: u8, bytes: &[u8]) -> Vec<u8> {
        let mut word = [0; 8];
        let size = bytes.len().min(8);
        word[..size].copy_from_slice(&bytes[..size]);
        let unsigned = u64::from_le_bytes(word);
        let shift = 64 - 8 * size.max(1) as u32;
        let signed = (unsigned << shift) as i64 >> shift;
        let float = match size {
            8 => f64::from_bits(unsigned),
            4 => f64::from(f32::from_bits(unsigned as u32)),
            _ => f64::from(gcn3::exec::float::f16_to_f32(unsigned as u32)),
        };
        match kind {
            b'd' | b'i' => self.signed(signed < 0, &self.digits(signed.unsigned_abs().to_string()), true),
            b'u' => self.padded("", &self.digits(unsigned.to_string()), true),
            b'o' => self.padded(if self.alternate { "0" } else { "" }, &self.digits(format!("{unsigned:o}")), true),
            b'x' => self.padded(self.hex("0x", unsigned), &self.digits(format!("{unsigned:x}")), true),
            b'X' => self.padded(self.hex("0X", unsigned), &self.digits(format!("{unsigned:X}")), true),
            b'p' => self.padded("0x", &format!("{unsigned:x}"), true),
            b'c' => vec![unsigned as u8],
            // The compiler stores the text itself in the buffer, so only strings known at compile time can be printed.
            b's' => {
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                bytes[..end.min(self.precision.unwrap_or(usize::MAX))].to_vec()
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let finite = float.is_finite();
                let mut words = self.float(kind, float.abs());
                if kind.is_ascii_uppercase() {
                    words = words.to_uppercase();
                }
                self.signed(float.is_sign_negative() && !float.is_nan(), &words, finite)
            }
            _ => Vec::new(),
        }
    }

    fn hex(&self, prefix: &'static str, value: u64) -> &'static str {
        if self.alternate && value != 0 { prefix } else { "" }
    }

    /// Pads with zeros to the precision.
    fn digits(&self, digits: String) -> String {
        format!("{}{digits}", "0".repeat(self.precision.unwrap_or(0).saturating_sub(digits.len())))
    }

    fn signed(&self, negative: bool, words: &str, zeros: bool) -> Vec<u8> {
        let sign = match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        self.padded(sign, words, zeros)
    }

    /// Inserts zeros between sign and digits, if requested.
    fn padded(&self, sign: &str, words: &str, zeros: bool) -> Vec<u8> {
        let fill =
            if self.zero && zeros && !self.left { self.width.saturating_sub(sign.len() + words.len()) } else { 0 };
        format!("{sign}{}{words}", "0".repeat(fill)).into_bytes()
    }

    fn float(&self, kind: u8, value: f64) -> String {
        if value.is_nan() {
            return "nan".into();
        }
        if value.is_infinite() {
            return "inf".into();
        }
        let precision = self.precision.unwrap_or(6);
        match kind.to_ascii_lowercase() {
            b'f' => format!("{value:.precision$}"),
            b'e' => exponential(value, precision),
            b'g' => {
                let precision = precision.max(1);
                let rounded = format!("{value:.*e}", precision - 1);
                let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
                let words = match exponent {
                    exponent if exponent < -4 || exponent >= precision as i32 => exponential(value, precision - 1),
                    exponent => format!("{value:.*}", (precision as i32 - 1 - exponent) as usize),
                };
                if self.alternate { words } else { without_trailing_zeros(&words) }
            }
            _ => hexadecimal(value, self.precision),
        }
    }
}

/// Formats as `1.5e+00`, with at least two exponent digits.
fn exponential(value: f64, precision: usize) -> String {
    let words = format!("{value:.precision$e}");
    let (mantissa, exponent) = words.split_once('e').unwrap_or((&words, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn without_trailing_zeros(words: &str) -> String {
    let (mantissa, exponent) = words.find('e').map_or((words, ""), |place| words.split_at(place));
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    format!("{mantissa}{exponent}")
}

/// Formats as `0x1.8p+1`.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52) as i64 & 0x7ff, bits & ((1 << 52) - 1));
    let (mut lead, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        (exponent, _) => (1, exponent - 1023),
    };
    let mut digits = format!("{fraction:013x}");
    match precision {
        Some(precision) if precision < 13 => {
            let dropped = 4 * (13 - precision as u32);
            let half = 1u64 << (dropped - 1);
            let kept = fraction >> dropped;
            let rest = fraction & ((1 << dropped) - 1);
            let up = rest > half || rest == half && kept & 1 == 1;
            let rounded = kept + u64::from(up);
            lead += rounded >> (4 * precision);
            digits = format!("{:0precision$x}", rounded & ((1u64 << (4 * precision)) - 1));
            if precision == 0 {
                digits.clear();
            }
        }
        Some(precision) => digits.push_str(&"0".repeat(precision - 13)),
        None => digits = digits.trim_end_matches('0').into(),
    }
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{}{}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}
