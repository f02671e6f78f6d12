//! Runs LLVM's tools.

use std::{
    ffi::OsStr,
    io::Write,
    process::{Command, Stdio},
};

/// A marker between candidates, so that their texts can be separated: `s_nop 0x1234`.
const MARK: &str = "[0x34 0x12 0x80 0xbf]";
const MARK_TEXT: &str = "s_nop 0x1234";

/// The text of each candidate; `None` if `llvm-mc` does not read it as exactly one instruction.
pub fn disassemble(candidates: &[&[u32]]) -> Result<Vec<Option<String>>, String> {
    let mut texts = Vec::new();
    for chunk in candidates.chunks(4000) {
        texts.extend(disassemble_chunk(chunk)?);
    }
    Ok(texts)
}

fn disassemble_chunk(candidates: &[&[u32]]) -> Result<Vec<Option<String>>, String> {
    let mut input = String::new();
    for words in candidates {
        let bytes: Vec<String> =
            words.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:#04x}")).collect();
        input += &format!("[{}]\n{MARK}\n", bytes.join(" "));
    }
    // The tool fails if it rejects any word, which is not a failure here.
    let arguments = ["--disassemble", "-triple=amdgcn", "-mcpu=gfx803"].map(OsStr::new);
    let Output { out, complaints, .. } = run("llvm-mc-19", arguments, input.as_bytes())?;

    // Error messages name the line; candidate n is on line 2n + 1.
    let refused: Vec<usize> = complaints
        .lines()
        .filter_map(|line| line.strip_prefix("<stdin>:")?.split(':').next()?.parse().ok())
        .map(|line: usize| line / 2)
        .collect();
    let mut texts = Vec::new();
    let mut instructions: Vec<String> = Vec::new();
    for line in out.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('.')) {
        if line == MARK_TEXT {
            let whole = instructions.len() == 1 && !refused.contains(&texts.len());
            texts.push(whole.then(|| spaces_squeezed(&instructions[0])));
            instructions.clear();
        } else {
            instructions.push(line.to_owned());
        }
    }
    if texts.len() != candidates.len() {
        return Err(format!("llvm-mc-19 answered to {} of {} candidates", texts.len(), candidates.len()));
    }
    Ok(texts)
}

/// The words that each text assembles to; `None` if `llvm-mc` rejects it.
pub fn assemble(texts: &[&str]) -> Result<Vec<Option<Vec<u32>>>, String> {
    let input: String = texts.iter().map(|text| format!("{text}\n{MARK_TEXT}\n")).collect();
    let arguments = ["-show-encoding", "-triple=amdgcn", "-mcpu=gfx803"].map(OsStr::new);
    let Output { out, .. } = run("llvm-mc-19", arguments, input.as_bytes())?;
    let mut assembled = Vec::new();
    let mut last = None;
    for line in out.lines() {
        // A line has the form `text ; encoding: [0x01,0x02,0x03,0x04]`.
        let Some((text, encoding)) = line.split_once("; encoding: [") else { continue };
        if text.trim() == MARK_TEXT {
            assembled.push(last.take());
        } else {
            let bytes: Option<Vec<u8>> = encoding
                .trim_end()
                .trim_end_matches(']')
                .split(',')
                .map(|byte| u8::from_str_radix(byte.strip_prefix("0x")?, 16).ok())
                .collect();
            last = bytes.map(|bytes| bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect());
        }
    }
    if assembled.len() != texts.len() {
        return Err(format!("llvm-mc-19 answered to {} of {} texts", assembled.len(), texts.len()));
    }
    Ok(assembled)
}

/// The text with single spaces, as tests compare it.
pub fn spaces_squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The output of a tool.
pub struct Output {
    pub out: String,
    pub complaints: String,
    pub success: bool,
}

/// Runs a tool on `input` to its end.
pub fn run<'a>(tool: &str, arguments: impl IntoIterator<Item = &'a OsStr>, input: &[u8]) -> Result<Output, String> {
    let missing = |e| format!("{tool}: {e} (Debian's packages llvm-19 and clang-19 bring it)");
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    let mut stdin = child.stdin.take().expect("the pipe was asked for");
    let output = std::thread::scope(|scope| {
        // A tool that ends early closes the pipe; its exit status says why.
        scope.spawn(move || stdin.write_all(input).ok());
        child.wait_with_output()
    })
    .map_err(|e| format!("{tool}: {e}"))?;
    Ok(Output {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        complaints: String::from_utf8_lossy(&output.stderr).into_owned(),
        success: output.status.success(),
    })
}

/// Variant of [`run`] for a tool that must succeed; returns its standard output.
pub fn run_well<'a>(tool: &str, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<String, String> {
    let Output { out, complaints, success } = run(tool, arguments, &[])?;
    if success { Ok(out) } else { Err(format!("{tool} failed:\n{complaints}")) }
}
