//! The decoder and the disassembler compared with LLVM's text, which `cargo xtask gcn3-corpus` recorded.

use std::{collections::BTreeSet, fs, path::Path};

use gcn3::decode::decode;
use gcn3::inst::Format;
use gcn3::ops::{Encoding, Op};

/// A line of a listing: machine words and LLVM's text for them.
struct Line {
    words: Vec<u32>,
    text: String,
}

impl Line {
    fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

fn listing(path: &Path) -> Vec<Line> {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let (words, text) = line.split_once('\t').unwrap();
        let words = words.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap()).collect();
        Line { words, text: text.to_owned() }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(line).collect()
}

fn data() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"))
}

fn corpus() -> Vec<Line> {
    listing(&data().join("corpus.txt"))
}

/// How our disassembly of `line` differs, if it does.
fn complaint(line: &Line) -> Option<String> {
    let read = match decode(&line.bytes(), 0) {
        Ok(inst) if usize::from(inst.size) == 4 * line.words.len() => inst.to_string(),
        Ok(inst) => format!("{inst} in {} bytes", inst.size),
        Err(error) => error.to_string(),
    };
    (read != line.text).then(|| format!("{:08x?}\n  LLVM: {}\n  here: {read}", line.words, line.text))
}

#[test]
fn every_instruction_of_the_corpus_reads_as_llvm_prints_it() {
    let corpus = corpus();
    assert!(corpus.len() > 5000, "the corpus has only {} lines", corpus.len());
    let complaints: Vec<String> = corpus.iter().filter_map(complaint).collect();
    let shown = complaints.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(complaints.is_empty(), "{} of {} lines differ:\n{shown}", complaints.len(), corpus.len());
}

#[test]
fn every_instruction_of_the_table_occurs_in_the_corpus_in_its_short_and_long_form() {
    let seen: BTreeSet<(Op, bool)> = corpus()
        .iter()
        .filter_map(|line| decode(&line.bytes(), 0).ok())
        .map(|inst| (inst.op, matches!(inst.format, Format::Vop3a | Format::Vop3b)))
        .collect();
    let wanted = Op::ALL.iter().flat_map(|&op| {
        let short = (op.info().encoding != Encoding::Vop3).then_some((op, false));
        let long = op.vop3_opcode().map(|_| (op, true));
        short.into_iter().chain(long)
    });
    let missing: Vec<_> = wanted.filter(|form| !seen.contains(form)).collect();
    assert!(missing.is_empty(), "not in the corpus (true: as VOP3): {missing:?}");
}

#[test]
fn every_sub_dword_and_lane_form_occurs_in_the_corpus() {
    let seen = |format: Format| -> BTreeSet<Op> {
        let insts = corpus().iter().filter_map(|line| decode(&line.bytes(), 0).ok()).collect::<Vec<_>>();
        insts.iter().filter(|inst| inst.format == format).map(|inst| inst.op).collect()
    };
    // All of VOP2 but v_madmk and v_madak; of the others, those without 64-bit operands, lane or register numbers.
    let count = |ops: &BTreeSet<Op>, encoding| ops.iter().filter(|op| op.info().encoding == encoding).count();
    let (sdwa, dpp) = (seen(Format::Sdwa), seen(Format::Dpp));
    assert_eq!([Encoding::Vop2, Encoding::Vop1, Encoding::Vopc].map(|e| count(&sdwa, e)), [48, 54, 132]);
    assert_eq!([Encoding::Vop2, Encoding::Vop1, Encoding::Vopc].map(|e| count(&dpp, e)), [48, 54, 0]);
}

/// A kernel is decoded as one stream of bytes: a wrong length would derail everything after it.
#[test]
fn whole_kernels_read_as_llvm_objdump_prints_them() {
    let mut files: Vec<_> = fs::read_dir(data().join("kernels")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    assert!(files.len() >= 10);
    for file in files {
        let lines = listing(&file);
        let code: Vec<u8> = lines.iter().flat_map(Line::bytes).collect();
        let mut offset = 0;
        for line in &lines {
            let inst = decode(&code, offset).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            assert_eq!(inst.to_string(), line.text, "{} at {offset:#x}", file.display());
            offset += usize::from(inst.size);
        }
        assert_eq!(offset, code.len());
    }
}
