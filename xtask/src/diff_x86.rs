//! Runs the comparison of the x86 emulator with the host's processor, with a chosen number of sequences.

use std::process::Command;

/// `diff-x86 [--sequences N] [--seed S] [--families a,b]`: sequences of instructions, generated from the seed.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command.args(["test", "--package", "cohesim-x86", "--test", "native", "--"]);
    command.args(["--ignored", "--exact", "--nocapture", "the_requested_number_of_sequences_runs"]);
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        let variable = match option.as_str() {
            "--sequences" => "DIFF_X86_SEQUENCES",
            "--seed" => "DIFF_X86_SEED",
            "--families" => "DIFF_X86_FAMILIES",
            other => return Err(format!("diff-x86 has no option '{other}': --sequences N, --seed S, --families a,b")),
        };
        let value = rest.next().ok_or_else(|| format!("{option} needs a value"))?;
        command.env(variable, value);
    }
    let status = command.status().map_err(|error| format!("cargo test could not be started: {error}"))?;
    if status.success() {
        Ok("the emulator does what the host does".to_owned())
    } else {
        Err("the emulator differs from the host: see above".to_owned())
    }
}
