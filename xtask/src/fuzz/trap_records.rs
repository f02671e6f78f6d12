//! OpenCL calls as records at the interface between library and driver (`sdk/abi.h`), with arguments of all kinds.
//!
//! A program begins with the calls of a valid one, from creating a context to running a kernel. Other calls are
//! inserted between and after them, with handles of every kind (live or not), and pointers, sizes and lists that are
//! right, nearly right or wrong. Some arguments of the valid calls are changed as well. The program ignores what the
//! driver asks the library to do. The driver must answer every call.

use super::{
    case::{Case, Did, Target},
    guest::{self, Failed, Guest},
    image::{Code, RAX, RDI, RSI, Register, Segment, elf},
    random::Random,
};
use machine::Machine;
use os::End;

pub const TARGET: Target = Target {
    name: "trap-records",
    about: "records of OpenCL calls with handles and arguments of all kinds",
    share: 2,
    chunk: 200,
    quick: 1500,
    run,
};

const CODE: u64 = 0x40_0000;
const DATA: u64 = 0x1000_0000;
const DATA_SIZE: u64 = 0x8_0000;
/// A record takes 240 bytes.
const RECORDS: u64 = DATA;
const RECORD: u64 = 256;
const RESULT: u64 = 16;
const ARGUMENT: u64 = 24;
const LISTS: u64 = DATA + 0x1_0000;
const OBJECT: u64 = DATA + 0x2_0000;
/// Buffers that calls write to.
const OUT: u64 = DATA + 0x4_0000;

/// The system call, and the version of the interface.
const TRAP: u64 = 0x4353_494d;
const VERSION: u64 = 1;

/// The arguments of every function, from the first on. Handles: P platform, D device, C context, Q queue, M memory object, S sampler,
/// G program, K kernel, E event. Pointers: o for results, r to data, d to devices, l to events, m to memory objects, k to pointers,
/// w to three sizes, x to properties, y to a function, v to shared virtual memory. Numbers: n small, z a size, f flags, c what is asked for,
/// b whether to wait.
const FUNCTIONS: [&str; 114] = [
    "noo",
    "Pczoo",
    "Pfnoo",
    "Dczoo",
    "Dxnoo",
    "D",
    "D",
    "CDQ",
    "Doo",
    "Do",
    "xndyro",
    "xfyro",
    "C",
    "C",
    "Cczoo",
    "Cyr",
    "CDxo",
    "Q",
    "Q",
    "Qczoo",
    "Cfzro",
    "Mfcro",
    "Cfrrro",
    "Cfnnxo",
    "Cxfzro",
    "Cxfrrro",
    "M",
    "M",
    "Cfcnoo",
    "Mczoo",
    "Mczoo",
    "Mczoo",
    "Myr",
    "Cfzn",
    "Cv",
    "Cxo",
    "S",
    "S",
    "Sczoo",
    "Cnkro",
    "Cndrkoo",
    "Cndro",
    "Crzo",
    "G",
    "G",
    "Gndryr",
    "Gndrnmkyr",
    "Cndrnmyro",
    "Gyr",
    "Gnzr",
    "P",
    "Gczoo",
    "GDczoo",
    "Gro",
    "Gnoo",
    "Ko",
    "K",
    "K",
    "Knzr",
    "Knv",
    "Kczr",
    "Kczoo",
    "Knczoo",
    "KDczoo",
    "KDczrzoo",
    "nl",
    "Eczoo",
    "Co",
    "E",
    "E",
    "En",
    "Enyr",
    "Eczoo",
    "Q",
    "Q",
    "QMbzzonlo",
    "QMbwwwzzzzonlo",
    "QMbzzrnlo",
    "QMbwwwzzzzrnlo",
    "QMrzzznlo",
    "QMMzzznlo",
    "QMMwwwzzzznlo",
    "QMbwwzzonlo",
    "QMbwwzzrnlo",
    "QMrwwnlo",
    "QMMwwwnlo",
    "QMMwwznlo",
    "QMMzwwnlo",
    "QMbfzznloo",
    "QMbfwwoonloo",
    "QMvnlo",
    "Qnmfnlo",
    "QKnwwwnlo",
    "Qyrznmknlo",
    "Qnlo",
    "Qnlo",
    "Qnkyrnlo",
    "Qbvvznlo",
    "Qvrzznlo",
    "Qbfvznlo",
    "Qvnlo",
    "Qnkrfnlo",
    "Pr",
    "Qfno",
    "Cfrzzzro",
    "Cfrzzzzzro",
    "Qo",
    "Qnl",
    "Q",
    "",
    "r",
    "CDfo",
    "Cnnno",
    "QKnlo",
];

/// The letter of each kind of handle; the index is the kind's number.
const HANDLES: &str = "PDCQMSGKE";

fn handle(kind: usize, number: u64) -> u64 {
    0x0c10_0000_0000_0000 + ((kind as u64) << 36) + 16 * number
}

/// Addresses of lists and texts in memory.
const DEVICES: u64 = LISTS;
const LENGTHS: u64 = LISTS + 0x40;
const BINARIES: u64 = LISTS + 0x80;
const EVENTS: u64 = LISTS + 0xc0;
const MEMORIES: u64 = LISTS + 0x100;
const SIZES: u64 = LISTS + 0x140;
const NAME: u64 = LISTS + 0x180;
const HANDLES_BY_VALUE: u64 = LISTS + 0x1c0;
const PROPERTIES: u64 = LISTS + 0x200;
const IMAGES: u64 = LISTS + 0x280;
const FUNCTION: u64 = CODE;

#[derive(Clone, Copy, Debug)]
enum Argument {
    Value(u64),
    /// The result of an earlier record's call.
    Result(usize),
}

#[derive(Clone, Debug)]
struct Record {
    /// Index among all records of the case.
    place: usize,
    function: u64,
    token: u64,
    arguments: Vec<Argument>,
    /// How often an unfinished call is repeated.
    again: u64,
}

fn run(case: &mut Case) -> Result<Did, String> {
    let mut calls = Vec::new();
    for (function, arguments) in sound() {
        while case.random.one_in(3) {
            calls.push(any(calls.len(), &mut case.random));
        }
        let place = calls.len();
        let mut arguments: Vec<Argument> = arguments.into_iter().map(Argument::Value).collect();
        if case.random.one_in(20) && !arguments.is_empty() {
            let at = case.random.below(arguments.len());
            arguments[at] = Argument::Value(case.random.number());
        }
        calls.push(Record { place, function, token: 0, arguments, again: 6 });
    }
    for _ in 0..case.random.below(30) {
        calls.push(any(calls.len(), &mut case.random));
    }
    calls.truncate(200);
    let calls = case.steps(calls);
    if calls.len() <= 16 {
        case.note(&format!("{calls:x?}"));
    }
    let mut guest = Guest::new(program(&calls, &mut case.random));
    guest.instructions = 1_000_000;
    guest.time = engine::Time::micros(3000);
    let name = match case.random.below(16) {
        0 | 1 => "apu-c-l3",
        2 => "apu-nc-mc",
        3 => "skeleton",
        _ => {
            return match guest::functional(&guest).map_err(|error| format!("it is refused: {error}"))?.0.end {
                End::MachineBroken { report } if report.contains("panick") => Err(report),
                _ => Ok(Did::Ran),
            };
        }
    };
    case.note(&format!("on {name}"));
    let sets: &[&str] =
        if name == "skeleton" { &[] } else { &["cpu.cores=2", "gpu.arrays=1", "gpu.units_per_array=2"] };
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let machine = Machine::load(name, &sets).map_err(|error| error.to_string())?;
    match guest::on(&machine, &guest, 1) {
        Ok(_) => Ok(Did::Ran),
        Err(Failed::Wrong(error)) => Err(error),
        Err(Failed::Refused(error)) => Err(format!("it is refused: {error}")),
    }
}

/// The calls of a program that adds two vectors.
fn sound() -> Vec<(u64, Vec<u64>)> {
    let [context, queue, program, kernel] = [handle(2, 1), handle(3, 1), handle(6, 1), handle(7, 1)];
    let device = handle(1, 1);
    let memory = |number| handle(4, number);
    let mut calls = vec![
        (1, vec![1, OUT, OUT + 8]),
        (3, vec![handle(0, 1), 4, 1, OUT + 16, 0]),
        (11, vec![0, 1, DEVICES, 0, 0, OUT]),
        (17, vec![context, device, 0, OUT]),
    ];
    // Three buffers, the first initialised by the host; a shared allocation; a user event.
    calls.extend([(21, vec![context, 0x24, 4096, OUT + 0x1000, OUT]), (21, vec![context, 1, 4096, 0, OUT])]);
    calls.extend([(21, vec![context, 1, 8192, 0, OUT]), (34, vec![context, 1, 4096, 0]), (68, vec![context, OUT])]);
    calls.extend([
        (41, vec![context, 1, DEVICES, LENGTHS, BINARIES, OUT, OUT]),
        (46, vec![program, 0, 0, 0, 0, 0]),
        (54, vec![program, NAME, OUT]),
    ]);
    calls.extend((0..3).map(|n| (59, vec![kernel, n, 8, HANDLES_BY_VALUE + 8 * n])));
    calls.extend([
        (59, vec![kernel, 3, 4, SIZES]),
        (78, vec![queue, memory(2), 1, 0, 1024, OUT + 0x1000, 0, 0, 0]),
        (93, vec![queue, kernel, 1, 0, SIZES + 8, SIZES + 32, 0, 0, 0]),
        (76, vec![queue, memory(3), 1, 0, 1024, OUT + 0x2000, 0, 0, 0]),
        (81, vec![queue, memory(1), memory(2), 0, 64, 128, 0, 0, 0]),
        (75, vec![queue]),
    ]);
    calls
}

/// A random call of any function.
fn any(place: usize, random: &mut Random) -> Record {
    let function = match random.below(40) {
        0 => random.number(),
        1 => 1000,
        _ => 1 + random.below(FUNCTIONS.len()) as u64,
    };
    let kinds = FUNCTIONS.get((function as usize).wrapping_sub(1)).copied().unwrap_or("nnn");
    let arguments = kinds.chars().map(|kind| argument(kind, place, random)).collect();
    let token = if random.one_in(30) { random.number() } else { 0 };
    Record { place, function, token, arguments, again: random.below(6) as u64 }
}

fn argument(kind: char, place: usize, random: &mut Random) -> Argument {
    if random.one_in(12) {
        return Argument::Value(random.number());
    }
    if place > 0 && (kind == 'v' || random.one_in(20)) {
        return Argument::Result(random.below(place));
    }
    if let Some(number) = HANDLES.find(kind) {
        let other = random.below(HANDLES.len());
        return Argument::Value(handle(if random.one_in(20) { other } else { number }, 1 + random.below(4) as u64));
    }
    let null = random.one_in(3);
    Argument::Value(match kind {
        'o' if null => 0,
        'o' => OUT + 64 * random.below(64) as u64,
        'r' if null => 0,
        'r' => random.pick(&[OUT, NAME, IMAGES, IMAGES + 16, SIZES, OBJECT, LISTS + 0x1000, LENGTHS]),
        'd' => random.pick(&[0, DEVICES, OUT]),
        'l' => random.pick(&[0, EVENTS, EVENTS + 8, OUT]),
        'm' => random.pick(&[MEMORIES, MEMORIES + 8, 0]),
        'k' => random.pick(&[BINARIES, BINARIES + 8, LISTS + 0x1000, 0]),
        'w' => SIZES + 8 * random.below(6) as u64,
        'x' => random.pick(&[0, PROPERTIES, PROPERTIES + 24, LISTS + 0x1000]),
        'y' => random.pick(&[0, 0, FUNCTION]),
        'n' => random.pick(&[0, 0, 0, 1, 1, 2, 3, 16, 0xffff_ffff]),
        'z' => random.pick(&[0, 0, 4, 8, 64, 100, 128, 1024, 4096, 4097, 1 << 20, 1 << 33, u64::MAX]),
        'f' => random.pick(&[0, 1, 2, 4, 8, 0x10, 0x20, 0x24, 0x28, 3, 0x80, 0x400, 0xffff_ffff]),
        'c' => {
            random
                .pick(&[0x900, 0x1000, 0x1080, 0x1090, 0x10f0, 0x1100, 0x1110, 0x1160, 0x1190, 0x11b0, 0x11d0, 0x1280])
                + random.below(32) as u64
        }
        'b' => random.below(2) as u64,
        _ => random.number(),
    })
}

/// The program: all records in order.
fn program(calls: &[Record], random: &mut Random) -> Vec<u8> {
    let mut code = Code::default();
    for record in calls {
        let address = RECORDS + RECORD * record.place as u64;
        for (number, argument) in record.arguments.iter().enumerate() {
            if let Argument::Result(earlier) = argument {
                code.load(RECORDS + RECORD * *earlier as u64 + RESULT);
                code.store(address + ARGUMENT + 8 * number as u64);
            }
        }
        code.set(Register(12), record.again + 1);
        let again = code.0.len();
        code.set(RDI, address).set(RSI, VERSION).set(RAX, TRAP).syscall();
        // test rax, rax; jz behind; dec r12; jnz again
        code.bytes(&[0x48, 0x85, 0xc0, 0x74, 9, 0x49, 0xff, 0xcc, 0x0f, 0x85]);
        let back = again as i32 - (code.0.len() as i32 + 4);
        code.bytes(&back.to_le_bytes());
    }
    code.exit();
    let size = code.0.len() as u64;
    elf(
        CODE,
        &[
            Segment { address: CODE, bytes: code.0, size, flags: 5 },
            Segment { address: DATA, bytes: data(calls, random), size: DATA_SIZE, flags: 6 },
        ],
    )
}

fn data(calls: &[Record], random: &mut Random) -> Vec<u8> {
    let mut data = vec![0; DATA_SIZE as usize];
    let mut put = |address: u64, words: &[u64]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let at = (address - DATA) as usize;
        data[at..at + bytes.len()].copy_from_slice(&bytes);
    };
    for record in calls {
        let address = RECORDS + RECORD * record.place as u64;
        put(address, &[record.function | (record.arguments.len() as u64) << 32, record.token, 0]);
        for (number, argument) in record.arguments.iter().enumerate() {
            let Argument::Value(value) = argument else { continue };
            put(address + ARGUMENT + 8 * number as u64, &[*value]);
        }
    }
    let object = workloads::find("vecadd").map_or(&[][..], |workload| workload.object);
    put(DEVICES, &[handle(1, 1), handle(1, 2), 0]);
    put(LENGTHS, &[object.len() as u64, 100, 0]);
    put(BINARIES, &[OBJECT, NAME, OUT]);
    put(EVENTS, &[handle(8, 1), handle(8, 2), handle(8, 3), 0]);
    put(MEMORIES, &[handle(4, 1), handle(4, 2), handle(4, 3)]);
    put(SIZES, &[256, 256, 1, 1, 64, 1, 1, 0]);
    put(NAME, &[u64::from_le_bytes(*b"vecadd\0\0")]);
    put(HANDLES_BY_VALUE, &[handle(4, 1), handle(4, 2), handle(4, 3)]);
    put(PROPERTIES, &[0x1084, handle(0, 1), 0, 0x1093, 3, 0]);
    // An image's format (order, type) and description: 2-D, 16 by 16.
    put(IMAGES, &[0x10b5 | 0x10da << 32, 0, 0x10f1, 16, 16, 1, 1, 0, 0, 0, 0]);
    put(LISTS + 0x1000, &std::array::from_fn::<u64, 32, _>(|_| random.number()));
    let at = (OBJECT - DATA) as usize;
    data[at..at + object.len()].copy_from_slice(object);
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use mem::VirtAddr;
    use os::GuestMemory;

    #[test]
    fn the_sound_calls_succeed() {
        let record = |(place, (function, arguments)): (usize, (u64, Vec<u64>))| {
            let arguments = arguments.into_iter().map(Argument::Value).collect();
            Record { place, function, token: 0, arguments, again: 20 }
        };
        let calls: Vec<Record> = sound().into_iter().enumerate().map(record).collect();
        let guest = Guest::new(program(&calls, &mut Random::new(1)));
        let (ended, mut process) = guest::functional(&guest).expect("it is a program");
        assert_eq!(ended.end, End::Exited { code: 0 });
        for record in calls {
            let mut result = [0; 8];
            let address = VirtAddr(RECORDS + RECORD * record.place as u64 + RESULT);
            process.space.read(address, &mut result).expect("the record is there");
            let (result, makes) = (u64::from_le_bytes(result), [11, 17, 21, 34, 41, 54, 68].contains(&record.function));
            assert!(if makes { result != 0 } else { result == 0 }, "{record:x?}: {result:x}");
        }
    }
}
