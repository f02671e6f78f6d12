//! A generated program that makes random system calls with arguments of all kinds.
//!
//! The program has access to one folder. Beside that folder lies a file that it must not read, change or replace,
//! whatever paths, links and descriptors it tries; that is checked after each case.

use super::{
    case::{Case, Did, Target},
    guest::{self, Failed, Guest},
    image::{ARGUMENTS, Code, RAX, Segment, elf},
    random::Random,
};
use crate::guests::Scratch;
use machine::Machine;
use mem::VirtAddr;
use os::{End, GuestMemory, files::Mount};
use std::{
    fs, io,
    os::unix::fs::{MetadataExt, symlink},
    path::Path,
};

pub const TARGET: Target = Target {
    name: "system-calls",
    about: "random system calls of a program that is shown a folder, and must not get out of it",
    share: 2,
    chunk: 200,
    quick: 1500,
    run,
};

const CODE: u64 = 0x40_0000;
const DATA: u64 = 0x1000_0000;
const DATA_SIZE: u64 = 0x2_0000;
/// Results of the calls, one word each.
const RESULTS: u64 = DATA;
const PATHS: u64 = DATA + 0x2000;
const STRUCTURES: u64 = DATA + 0x4000;
/// Buffers that calls write to.
const BUFFERS: u64 = DATA + 0x8000;
/// Maximum size of a path.
const PATH: u64 = 256;

const SECRET: &[u8] = b"canary-31415926535897932384626433";

/// Calls and the kinds of their arguments: f a descriptor, b a buffer, s a size, p a path, a an address, g a signal, t a structure
/// (times, vectors, actions), i a small number, n any number.
const CALLS: &[(u64, &str)] = &[
    (0, "fbs"),
    (1, "fbs"),
    (2, "pii"),
    (3, "f"),
    (4, "pb"),
    (5, "fb"),
    (6, "pb"),
    (7, "tii"),
    (8, "fni"),
    (9, "asiifn"),
    (10, "asi"),
    (11, "as"),
    (12, "a"),
    (13, "gtti"),
    (14, "itti"),
    (16, "fib"),
    (17, "fbsn"),
    (18, "fbsn"),
    (19, "fti"),
    (20, "fti"),
    (21, "pi"),
    (22, "b"),
    (24, ""),
    (25, "assia"),
    (26, "asi"),
    (28, "asi"),
    (32, "f"),
    (33, "fi"),
    (35, "tb"),
    (37, "i"),
    (38, "itt"),
    (39, ""),
    (56, "iabbn"),
    (57, ""),
    (59, "ptt"),
    (62, "ig"),
    (63, "b"),
    (72, "fii"),
    (73, "fi"),
    (74, "f"),
    (76, "ps"),
    (77, "fs"),
    (78, "fbs"),
    (79, "bs"),
    (80, "p"),
    (81, "f"),
    (82, "pp"),
    (83, "pi"),
    (84, "p"),
    (85, "pi"),
    (86, "pp"),
    (87, "p"),
    (88, "pp"),
    (89, "pbs"),
    (90, "pi"),
    (91, "fi"),
    (92, "pii"),
    (95, "i"),
    (96, "bb"),
    (97, "ib"),
    (98, "ib"),
    (99, "b"),
    (107, ""),
    (127, "bi"),
    (128, "ttti"),
    (131, "tb"),
    (132, "pt"),
    (133, "pii"),
    (137, "pb"),
    (157, "inn"),
    (158, "ia"),
    (160, "it"),
    (186, ""),
    (200, "ig"),
    (202, "biitbi"),
    (203, "isb"),
    (204, "isb"),
    (217, "fbs"),
    (218, "b"),
    (221, "fnsi"),
    (222, "itb"),
    (223, "iitb"),
    (228, "ib"),
    (229, "ib"),
    (230, "iitb"),
    (234, "iig"),
    (257, "fpii"),
    (258, "fpi"),
    (262, "fpbi"),
    (263, "fpi"),
    (264, "fpfp"),
    (265, "fpfpi"),
    (266, "pfp"),
    (267, "fpbs"),
    (268, "fpi"),
    (269, "fpi"),
    (270, "iittt"),
    (271, "titt"),
    (273, "bs"),
    (275, "fbfbsi"),
    (280, "fpti"),
    (281, "ftiit"),
    (285, "fins"),
    (290, "ii"),
    (291, "i"),
    (292, "fii"),
    (293, "bi"),
    (295, "ftini"),
    (296, "ftini"),
    (302, "iitb"),
    (306, "f"),
    (316, "fpfpi"),
    (318, "bsi"),
    (324, "ii"),
    (326, "fbfbsi"),
    (332, "fpiib"),
    (334, "bsii"),
    (435, "ts"),
    (437, "fpts"),
    (439, "fpii"),
];

/// An argument.
#[derive(Clone, Copy, Debug)]
enum Argument {
    Value(u64),
    /// The result of an earlier call.
    Result(usize),
}

#[derive(Clone, Debug)]
struct Call {
    /// Index among all calls of the case.
    place: usize,
    number: u64,
    arguments: Vec<Argument>,
}

fn run(case: &mut Case) -> Result<Did, String> {
    let scratch = Scratch::new("fuzz-calls")?;
    let outside = scratch.0.join(format!("outside-{}", case.seed));
    let shown = scratch.0.join(format!("shown-{}", case.seed));
    let failed = |error: io::Error| format!("the folders can't be made: {error}");
    make_folders(&outside, &shown).map_err(failed)?;
    let before = state(&outside).map_err(failed)?;
    let paths = paths(&outside, &shown);
    let count = 20 + case.random.below(100);
    let calls = (0..count).map(|place| call(place, paths.len(), &mut case.random)).collect();
    let calls = case.steps(calls);
    if calls.len() <= 12 {
        case.note(&format!("{calls:?}"));
    }
    let mut guest = Guest::new(program(&calls, &paths, case.seed));
    guest.mounts = vec![
        Mount { host: shown.clone(), guest: Some("/w".into()), writable: true },
        Mount { host: shown.clone(), guest: Some("/r".into()), writable: false },
    ];
    guest.folder = "/w";
    guest.instructions = 200_000;
    guest.time = engine::Time::micros(3000);
    let in_time = case.random.one_in(12);
    if in_time {
        let machine = Machine::load("apu-c-l3", &["cpu.cores=2".to_owned()]).map_err(|error| error.to_string())?;
        case.note("on apu-c-l3");
        match guest::on(&machine, &guest, 1) {
            Ok(ended) => leaks("what it printed", &ended.out)?,
            Err(Failed::Wrong(error)) => return Err(error),
            Err(Failed::Refused(error)) => return Err(format!("it is refused: {error}")),
        }
    } else {
        let (ended, mut process) = guest::functional(&guest).map_err(|error| format!("it is refused: {error}"))?;
        leaks("what it printed", &ended.out)?;
        let mut memory = vec![0; DATA_SIZE as usize];
        for (page, bytes) in memory.chunks_mut(4096).enumerate() {
            // The program may have unmapped some of it.
            let _ = process.space.read(VirtAddr(DATA + 4096 * page as u64), bytes);
        }
        leaks("its memory", &memory)?;
        if let End::MachineBroken { report } = ended.end {
            return Err(report);
        }
    }
    let after = state(&outside).map_err(|error| format!("the file outside the shown folder is gone: {error}"))?;
    if before != after {
        return Err(format!("outside the shown folder something changed: {before:?}, then {after:?}"));
    }
    search(&shown)?;
    Ok(Did::Ran)
}

/// Fails if the secret occurs in these bytes.
fn leaks(place: &str, bytes: &[u8]) -> Result<(), String> {
    let found = bytes.windows(SECRET.len()).any(|window| window == SECRET);
    if found { Err(format!("{place} holds a file from outside the shown folder")) } else { Ok(()) }
}

/// Searches every file of the accessible folder for the secret.
fn search(folder: &Path) -> Result<(), String> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().map_err(|error| error.to_string())?;
        if kind.is_dir() {
            search(&entry.path())?;
        } else if kind.is_file() {
            leaks("a file of its folder", &fs::read(entry.path()).unwrap_or_default())?;
        }
    }
    Ok(())
}

fn make_folders(outside: &Path, shown: &Path) -> io::Result<()> {
    fs::create_dir_all(outside)?;
    fs::write(outside.join("secret"), SECRET)?;
    fs::create_dir_all(shown.join("d/e"))?;
    fs::write(shown.join("a"), b"a few bytes of text\n")?;
    fs::write(shown.join("d/b"), vec![7; 10_000])?;
    symlink(outside.join("secret"), shown.join("absolute"))?;
    symlink(outside, shown.join("folder"))?;
    symlink(format!("../{}/secret", name(outside)), shown.join("relative"))?;
    symlink("a", shown.join("inner"))?;
    symlink("loop", shown.join("loop"))
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The state of the folder outside: names, contents, modification times.
type State = Vec<(String, Vec<u8>, [i64; 4])>;

fn state(outside: &Path) -> io::Result<State> {
    let mut state = Vec::new();
    let folder = fs::metadata(outside)?;
    state.push((
        String::new(),
        Vec::new(),
        [folder.mtime(), folder.mtime_nsec(), folder.ctime(), folder.mode().into()],
    ));
    for entry in fs::read_dir(outside)? {
        let entry = entry?;
        let about = fs::symlink_metadata(entry.path())?;
        let facts = [
            about.mtime(),
            about.mtime_nsec(),
            about.ctime_nsec(),
            (about.nlink() as i64) << 32 | i64::from(about.mode()),
        ];
        state.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?, facts));
    }
    state.sort();
    Ok(state)
}

/// Paths of files inside and outside the folder, and of no file.
fn paths(outside: &Path, shown: &Path) -> Vec<Vec<u8>> {
    let beside = |path: &str| format!("/w/{path}{}/secret", name(outside));
    let mut paths: Vec<String> = [
        "/w",
        "/w/a",
        "/w/d",
        "/w/d/b",
        "/w/d/e",
        "/w/new",
        "/w/d/new",
        "/r/a",
        "/r/new",
        "a",
        "d/b",
        "../a",
        "/w/absolute",
        "/w/relative",
        "/w/folder",
        "/w/folder/secret",
        "/w/inner",
        "/w/loop",
        "/w/d/../a",
        "/w/d/e/../../../w/a",
        "",
        ".",
        "..",
        "/",
        "/proc/self/exe",
        "/proc/self/fd/3",
        "/proc/self/maps",
        "/proc/cpuinfo",
        "/dev/null",
        "/dev/zero",
        "/dev/urandom",
        "/no/such/file",
        "/w/a/b",
        "//w//a",
        "/w/./a/.",
        "x",
        "/w/link",
        "/w/d/link",
        "/r/absolute",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend([beside("../"), beside("d/../../"), format!("../{}/secret", name(outside))]);
    paths.push(outside.join("secret").display().to_string());
    paths.push(shown.join("a").display().to_string());
    paths.push("/w/".to_owned() + &"long/".repeat(45));
    paths.into_iter().map(|path| path.into_bytes().into_iter().take(PATH as usize - 1).collect()).collect()
}

fn call(place: usize, paths: usize, random: &mut Random) -> Call {
    let (number, kinds) = match random.below(12) {
        0 => (random.below(470) as u64, "nnnnnn"),
        _ => random.pick(CALLS),
    };
    // Calls that block forever, end the program or free its memory are rare.
    let seldom = [11, 34, 60, 130, 231];
    let number = if seldom.contains(&number) && !random.one_in(16) { 39 } else { number };
    let mut arguments: Vec<Argument> = kinds.chars().map(|kind| argument(kind, place, paths, random)).collect();
    if number == 56 && random.one_in(2) {
        // A thread as pthread_create makes it; it continues with the calls that follow.
        let values = [0x3d_0f00, BUFFERS + 0x2000, BUFFERS + 0x100, BUFFERS + 0x200, BUFFERS + 0x300];
        arguments = values.map(Argument::Value).to_vec();
    }
    Call { place, number, arguments }
}

fn argument(kind: char, place: usize, paths: usize, random: &mut Random) -> Argument {
    if random.one_in(10) {
        return Argument::Value(random.number());
    }
    if place > 0 && matches!(kind, 'f' | 'a' | 'n') && random.one_in(3) {
        return Argument::Result(random.below(place));
    }
    Argument::Value(match kind {
        'f' => random.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 100, u64::MAX, -100_i64 as u64]),
        'b' => BUFFERS + random.pick(&[0, 8, 0x100, 0x1000, 0x2000, 0x7ff9]),
        's' => random.pick(&[0, 1, 8, 16, 64, 100, 4096, 8192, 0x7000, 1 << 20, 1 << 40]),
        'p' => PATHS + PATH * random.below(paths.min(32)) as u64,
        'a' => random.pick(&[0, 0x2000_0000, 0x2000_1000, 0x2010_0000, BUFFERS, DATA, CODE, 0x7fff_ffff_f000]),
        'g' => random.pick(&[0, 1, 2, 8, 9, 10, 11, 14, 17, 19, 32, 63, 64, 65]),
        't' => STRUCTURES + 64 * random.below(24) as u64,
        'i' => random
            .pick(&[0, 1, 2, 3, 4, 7, 16, 32, 0o100, 0o1000, 0o2000, 0x800, 0x8_0000, 0o644, 0x22, 0x32, 0x1_0000]),
        _ => random.number(),
    })
}

/// The program: the calls with their arguments, one after another.
fn program(calls: &[Call], paths: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut code = Code::default();
    for call in calls {
        for (register, argument) in ARGUMENTS.into_iter().zip(&call.arguments) {
            match argument {
                Argument::Value(value) => code.set(register, *value),
                Argument::Result(earlier) => code.load(RESULTS + 8 * *earlier as u64).copy_rax(register),
            };
        }
        code.set(RAX, call.number).syscall().store(RESULTS + 8 * call.place as u64);
    }
    code.exit();
    // A signal handler, and its return.
    let handler = code.here(CODE);
    code.bytes(&[0xc3]);
    let restorer = code.here(CODE);
    code.set(RAX, 15).syscall();
    let size = code.0.len() as u64;
    let data = data(paths, handler, restorer, &mut Random::new(seed ^ 0x5eed));
    elf(
        CODE,
        &[
            Segment { address: CODE, bytes: code.0, size, flags: 5 },
            Segment { address: DATA, bytes: data, size: DATA_SIZE, flags: 6 },
        ],
    )
}

/// Paths and structures that calls take, with random numbers between them.
fn data(paths: &[Vec<u8>], handler: u64, restorer: u64, random: &mut Random) -> Vec<u8> {
    let mut data = vec![0; DATA_SIZE as usize];
    let mut put = |address: u64, bytes: &[u8]| {
        let at = (address - DATA) as usize;
        data[at..at + bytes.len()].copy_from_slice(bytes);
    };
    let mut order: Vec<usize> = (0..paths.len()).collect();
    // 32 paths, a different selection in each case.
    for place in 0..order.len() {
        order.swap(place, random.below(paths.len()));
    }
    for (place, path) in order.into_iter().take(32).enumerate() {
        put(PATHS + PATH * place as u64, &paths[path]);
    }
    for number in 0..24 {
        let words: [u64; 8] = match number % 8 {
            // sigaction; timespec and itimerspec; iovec; pollfd; a signal set; clone_args and open_how; random; argv.
            0 => [random.pick(&[handler, 0, 1]), 0x0400_0000 | random.bits() & 0x4800_0004, restorer, 0, 0, 0, 0, 0],
            1 => [0, random.below(100_000) as u64, 0, random.below(1_000_000) as u64, 0, 1, 0, 1],
            2 => [BUFFERS, random.below(64) as u64, BUFFERS + 0x1000, 16, PATHS, 4, random.number(), random.number()],
            3 => [random.below(8) as u64 | 5 << 32, 1 << 32, 3 | 1 << 32, u64::MAX, 0, 0, 0, 0],
            4 => [random.bits(), 0, 0, 0, 0, 0, 0, 0],
            5 => [random.number(), random.number(), random.number(), 0, 17, BUFFERS + 0x2000, 0x1000, 0],
            6 => std::array::from_fn(|_| random.number()),
            _ => [PATHS, PATHS + PATH, 0, 0, 0, 0, 0, 0],
        };
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        put(STRUCTURES + 64 * number, &bytes);
    }
    for address in (BUFFERS..BUFFERS + 0x8000).step_by(64) {
        put(address, &random.number().to_le_bytes());
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_noticed() {
        assert!(leaks("a file", b"some bytes").is_ok());
        assert!(leaks("a file", &[b"x", SECRET, b"y"].concat()).is_err());
    }

    #[test]
    fn most_calls_are_made_and_many_succeed() {
        const COUNT: usize = 60;
        let paths = [b"/dev/zero".to_vec(), b"/dev/null".to_vec()];
        let (mut made, mut good) = (0, 0);
        for seed in 1..=20 {
            let mut random = Random::new(seed);
            let calls: Vec<Call> = (0..COUNT).map(|place| call(place, paths.len(), &mut random)).collect();
            let guest = Guest { instructions: 200_000, ..Guest::new(program(&calls, &paths, seed)) };
            let (ended, mut process) = guest::functional(&guest).expect("it is a program");
            let mut results = vec![0; 8 * COUNT];
            // The program may have unmapped its results.
            if process.space.read(VirtAddr(RESULTS), &mut results).is_ok() {
                let results = results.as_chunks::<8>().0.iter().map(|result| i64::from_le_bytes(*result));
                let before = made;
                results.filter(|result| *result != 0).for_each(|result| {
                    made += 1;
                    good += usize::from(result > 0);
                });
                println!("seed {seed}: {} calls noted, then {}", made - before, ended.end);
            }
        }
        assert!(made > 20 * COUNT / 3 && good > 60, "{made} calls returned an error or a number, {good} a number");
    }
}
