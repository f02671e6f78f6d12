//! Numbers formatted for people.

/// `1,234,567`
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A fraction as a percentage: `93.1%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// The number with three significant digits, in the largest unit that leaves at least one digit before the point.
fn scaled(n: f64, units: &[(f64, &str)]) -> String {
    let (factor, unit) = units.iter().rev().find(|(factor, _)| n >= *factor).unwrap_or(&units[0]);
    let n = n / factor;
    match n {
        n if n >= 100.0 || n == n.trunc() => format!("{n:.0} {unit}"),
        n if n >= 10.0 => format!("{n:.1} {unit}"),
        n => format!("{n:.2} {unit}"),
    }
}

/// `476 GB/s`
pub(crate) fn bandwidth(bytes_per_second: f64) -> String {
    scaled(bytes_per_second, &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")])
}

/// `16.5 MiB`
pub(crate) fn size(bytes: u64) -> String {
    let kib = 1024.0;
    scaled(bytes as f64, &[(1.0, "B"), (kib, "KiB"), (kib * kib, "MiB"), (kib * kib * kib, "GiB")])
}

/// `1.24 mJ`
pub(crate) fn energy(femtojoules: u64) -> String {
    scaled(femtojoules as f64, &[(1.0, "fJ"), (1e3, "pJ"), (1e6, "nJ"), (1e9, "uJ"), (1e12, "mJ"), (1e15, "J")])
}

/// `part / whole`; 0 if `whole` is 0.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_scaled() {
        assert_eq!([count(7), count(1234), count(1_234_567)], ["7", "1,234", "1,234,567"]);
        assert_eq!([bandwidth(476.2e9), bandwidth(12.34e6), bandwidth(0.0)], ["476 GB/s", "12.3 MB/s", "0 B/s"]);
        assert_eq!([size(64), size(2 << 20), size(1_234_567)], ["64 B", "2 MiB", "1.18 MiB"]);
        assert_eq!([energy(0), energy(2_007_000), energy(1_234_567_890_123)], ["0 fJ", "2.01 nJ", "1.23 mJ"]);
        assert_eq!(percent(0.9312), "93.1%");
    }
}
