//! `cargo xtask gcn3-corpus`: records how LLVM disassembles GCN3 machine code, for tests that run without LLVM.
//!
//! Writes two kinds of files under `crates/gcn3/tests/data`, both with lines of `words<TAB>text`:
//!
//! - `corpus.txt`: every opcode number of every encoding is tried with a choice of operands and modifiers, and sweeps
//!   go through all values of the fields with special texts. `llvm-mc` disassembles all words and assembles the texts
//!   again; words that it rejects, or that do not survive the round trip, are dropped. Opcode numbers are enumerated,
//!   not taken from the table under test, so a missing row is detected.
//! - `kernels/*.txt`: the OpenCL kernels next to them, compiled by clang and disassembled by `llvm-objdump`.
//!
//! Excluded on purpose: registers that LLVM prints but gfx803 does not have (`null`, `src_shared_base`, `s102`), and
//! the interpolation and export instructions.

mod kernels;
mod llvm;
mod words;

use std::{fmt::Write as _, fs, path::Path};

/// Maximum lines kept for each opcode number in each form.
const KEEP: usize = 3;

const HEADER: &str = "\
# GCN3 machine words and their text, as llvm-mc -mcpu=gfx803 disassembles them.
# Made by `cargo xtask gcn3-corpus`; do not edit.
";

/// Writes the files; with `--check` only compares them, and fails at the first difference.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let put: Put = match arguments {
        [] => write,
        [option] if option == "--check" => compare,
        _ => return Err("gcn3-corpus takes no argument but --check".to_owned()),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let data = root.join("crates/gcn3/tests/data");
    let lines = corpus(&data.join("corpus.txt"), put)?;
    let kernels = kernels::run(&data.join("kernels"), put)?;
    Ok(format!("gcn3-corpus: {lines} instructions in corpus.txt, {kernels} in kernels/"))
}

/// Writes or compares the text of a file.
type Put = fn(&Path, &str) -> Result<(), String>;

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

fn compare(file: &Path, text: &str) -> Result<(), String> {
    let committed = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    if committed == text { Ok(()) } else { Err(format!("{} is not what LLVM makes here", file.display())) }
}

fn corpus(file: &Path, put: Put) -> Result<usize, String> {
    let groups = words::groups();
    let candidates: Vec<&[u32]> = groups.iter().flat_map(|group| &group.candidates).map(Vec::as_slice).collect();
    let texts = llvm::disassemble(&candidates)?;
    let readable: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    let mut assembled = llvm::assemble(&readable)?.into_iter();

    let mut out = String::from(HEADER);
    let mut lines = 0;
    let mut texts = texts.iter();
    for group in &groups {
        let mut kept: Vec<(&[u32], &str)> = Vec::new();
        for words in &group.candidates {
            let Some(text) = texts.next().expect("every candidate has an answer") else { continue };
            let back = assembled.next().expect("every text has an answer");
            let faithful = !group.canonical || back.as_ref() == Some(words);
            if kept.len() < group.keep && faithful && !is_foreign(text) && !kept.contains(&(words, text)) {
                kept.push((words, text));
            }
        }
        lines += kept.len();
        for (words, text) in kept {
            let words: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
            writeln!(out, "{}\t{text}", words.join(" ")).expect("a string takes every line");
        }
    }
    put(file, &out)?;
    Ok(lines)
}

/// Whether the text has a register that gfx803 does not have, or an excluded instruction.
fn is_foreign(text: &str) -> bool {
    let registers = ["/*", "null", "src_shared_", "src_private_", "src_pops_", "s[96:103]", "s[100:103]", "ttmp[8:15]"];
    let graphics = text.starts_with("v_interp") || text.starts_with("exp");
    let constant_written = text.starts_with("v_readfirstlane_b32 src_");
    let extends_without_sdwa = text.contains("sext(") && !text.contains("_sel:");
    registers.iter().any(|name| text.contains(name)) || graphics || constant_written || extends_without_sdwa
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_candidates_are_equal_in_every_run() {
        let candidates = || words::groups().into_iter().map(|group| group.candidates).collect::<Vec<_>>();
        assert!(candidates() == candidates());
    }

    #[test]
    fn what_gfx803_has_not_stays_out_of_the_corpus() {
        for text in [
            "s_mov_b32 s4, null",
            "s_mov_b64 s[4:5], src_shared_base",
            "image_load v0, v0, s[96:103] dmask:0x1",
            "v_interp_p1_f32_e32 v2, v1, attr0.x",
            "v_ldexp_f32 v4, v1, sext(v2)",
        ] {
            assert!(is_foreign(text), "{text}");
        }
        assert!(!is_foreign("v_mov_b32_sdwa v1, sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1"));
    }
}
