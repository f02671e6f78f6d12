//! A worker: runs cases of one target, seed by seed, and reports to the supervisor before and after each.

use super::{
    case::{Case, Did, say},
    find,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `fuzz-worker TARGET FIRST COUNT [KEEP]`: ends at the first case that fails.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let [name, first, count, keep @ ..] = arguments else { return Err("fuzz-worker is started by fuzz".to_owned()) };
    let target = find(name)?;
    let number = |text: &String| text.parse::<u64>().map_err(|_| format!("'{text}' is not a number"));
    let (first, count) = (number(first)?, number(count)?);
    let keep = keep.first().map(|text| parse_keep(text)).transpose()?;
    for seed in first..first.saturating_add(count) {
        say("case", &seed.to_string());
        let mut case = Case::new(seed, keep.clone(), true);
        let ran = catch_unwind(AssertUnwindSafe(|| (target.run)(&mut case)));
        match ran {
            Ok(Ok(Did::Ran)) => say("ran", ""),
            Ok(Ok(Did::Refused)) => say("refused", ""),
            Ok(Err(error)) => {
                say("failed", &error);
                break;
            }
            // The panic's message is on standard error.
            Err(_) => {
                say("failed", "it panicked");
                break;
            }
        }
    }
    say("end", "");
    Ok(String::new())
}

/// Parses the indices of the steps to keep.
pub fn parse_keep(text: &str) -> Result<Vec<usize>, String> {
    if text == "none" {
        return Ok(Vec::new());
    }
    let number = |word: &str| word.parse().map_err(|_| format!("--keep takes numbers of steps, such as 0,3: '{text}'"));
    text.split(',').map(number).collect()
}
