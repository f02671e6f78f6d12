//! Candidates for the corpus: machine words assembled field by field, for each encoding.
//!
//! LLVM decides which fields an opcode uses: it rejects words whose unused fields are not zero. So every opcode is
//! tried with several subsets of its fields filled.

use super::KEEP;
use mem::SplitMix64;

/// Candidates of which the first `keep` that LLVM accepts go into the corpus.
pub struct Group {
    pub candidates: Vec<Vec<u32>>,
    pub keep: usize,
    /// Whether the words must be the encoding that LLVM chooses for their text.
    pub canonical: bool,
}

pub fn groups() -> Vec<Group> {
    let mut random = Random(SplitMix64(1));
    let mut groups = Vec::new();
    let r = &mut random;
    scalar(r, &mut groups);
    scalar_memory(r, &mut groups);
    short_vector(r, &mut groups);
    vop3(r, &mut groups);
    data_share(r, &mut groups);
    flat(r, &mut groups);
    buffers(r, &mut groups);
    images(r, &mut groups);
    sweeps(&mut groups);
    groups
}

/// Random numbers with a fixed seed, so that the corpus is always the same.
struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.draw()
    }

    fn bits(&mut self, width: u32) -> u32 {
        (self.next() >> 20) as u32 & ((1u64 << width) - 1) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        (self.next() >> 20) as u32 % n
    }

    fn pick(&mut self, choices: &[u32]) -> u32 {
        choices[self.below(choices.len() as u32) as usize]
    }

    fn vgpr(&mut self) -> u32 {
        self.pick(&[0, 1, 2, 63, 128, 200, 252])
    }

    /// A scalar register at which any operand can start: a multiple of four, or a special pair.
    fn sgpr(&mut self) -> u32 {
        self.pick(&[0, 4, 8, 20, 84, 96, 4, 8, 102, 104, 106, 112, 116])
    }

    /// An 8-bit source field.
    fn scalar_source(&mut self) -> u32 {
        self.pick(&[
            0, 2, 4, 50, 98, 102, 104, 106, 108, 110, 112, 122, 124, 126, 128, 129, 192, 193, 208, 240, 243, 248,
        ])
    }

    /// A 9-bit source field.
    fn source(&mut self) -> u32 {
        if self.bits(1) == 0 { 256 + self.vgpr() } else { self.scalar_source() }
    }

    fn literal(&mut self) -> u32 {
        self.pick(&[0x41, 0x1234, 0xffff_ffef, 0x8000_0000, 0x3f80_0001, 0xdead_beef, 0x7fc0_0000])
    }
}

const LITERAL: u32 = 255;
const SDWA: u32 = 249;
const DPP: u32 = 250;

/// A group for each opcode below `opcodes`, with words made by `word`.
fn each(
    groups: &mut Vec<Group>,
    opcodes: u32,
    tries: usize,
    r: &mut Random,
    mut word: impl FnMut(&mut Random, u32, usize) -> Vec<u32>,
) {
    for opcode in 0..opcodes {
        let candidates = (0..tries).map(|n| word(r, opcode, n)).collect();
        groups.push(Group { candidates, keep: KEEP, canonical: true });
    }
}

fn scalar(r: &mut Random, groups: &mut Vec<Group>) {
    // The last tries have a literal, which needs a second word.
    let with_literal = |r: &mut Random, word: u32, n: usize| match n {
        0..8 => vec![word],
        _ => vec![word & !0xff | LITERAL, r.literal()],
    };
    each(groups, 96, 10, r, |r, op, n| {
        let destination = if n % 4 == 3 { 0 } else { r.sgpr() }; // some opcodes have none
        let word = 0x8000_0000 | op << 23 | destination << 16 | r.scalar_source() << 8 | r.scalar_source();
        with_literal(r, word, n)
    });
    each(groups, 29, 10, r, |r, op, n| {
        let constant = r.pick(&[0, 1, 0x7f, 0x1801, 0x2042, 0xf807, 0xfffe, 0x8000]);
        let word = 0xb000_0000 | op << 23 | r.sgpr() << 16 | constant;
        if n % 2 == 0 { vec![word] } else { vec![word, r.literal()] }
    });
    each(groups, 256, 10, r, |r, op, n| {
        let destination = if n % 4 == 3 { 0 } else { r.sgpr() }; // some opcodes have none
        // Some opcodes have no source, some need a register.
        let source = match n {
            0 | 1 => 0,
            3 => 4,
            _ => r.scalar_source(),
        };
        let word = 0xbe80_0000 | destination << 16 | op << 8 | source;
        with_literal(r, word, n)
    });
    each(groups, 128, 10, r, |r, op, n| {
        let second = if n % 2 == 0 { r.scalar_source() } else { r.bits(4) };
        let word = 0xbf00_0000 | op << 16 | second << 8 | r.scalar_source();
        with_literal(r, word, n)
    });
    each(groups, 128, 6, r, |r, op, n| {
        let constant = [0, 1, 5, 64, r.bits(16) | 0x100, 0xffff][n];
        vec![0xbf80_0000 | op << 16 | constant]
    });
}

fn scalar_memory(r: &mut Random, groups: &mut Vec<Group>) {
    each(groups, 256, 12, r, |r, op, n| {
        let (glc, immediate) = (n as u32 & 1, n as u32 >> 1 & 1);
        let base = r.pick(&[0, 2, 4, 8, 40, 48]);
        let data = r.pick(&[0, 4, 8, 16, 80, 84]);
        if n >= 10 {
            return vec![0xc000_0000 | op << 18 | ((n as u32 - 10) * data) << 6, 0]; // clocks and cache control
        }
        let offset =
            if immediate == 1 { r.pick(&[0, 4, 0x40, 0x1234, 0xf_ffff]) } else { r.pick(&[0, 5, 101, 106, 124]) };
        vec![0xc000_0000 | op << 18 | immediate << 17 | glc << 16 | data << 6 | base, offset]
    });
}

/// Builds an instruction of an opcode without its source field.
type Head<'a> = &'a dyn Fn(&mut Random, u32) -> u32;

fn short_vector(r: &mut Random, groups: &mut Vec<Group>) {
    // The fields before the source field, by encoding.
    let vop2 = |r: &mut Random, op: u32| op << 25 | r.vgpr() << 17 | r.vgpr() << 9;
    let vop1 = |r: &mut Random, op: u32| 0x7e00_0000 | r.pick(&[0, 4, 96, 200, 252]) << 17 | op << 9;
    let vopc = |r: &mut Random, op: u32| 0x7c00_0000 | op << 17 | r.vgpr() << 9;
    let encodings: [(u32, Head); 3] = [(62, &vop2), (256, &vop1), (256, &vopc)];
    for (opcodes, head) in encodings {
        each(groups, opcodes, 16, r, |r, op, n| match n {
            0 => vec![head(r, op) & 0xfe01_ffff], // all fields empty, for v_nop
            1..3 => vec![head(r, op) | (256 + r.vgpr())],
            3..5 => vec![head(r, op) | LITERAL, r.literal()],
            5 => vec![head(r, op) | r.source(), r.literal()], // v_madmk, v_madak
            _ => vec![head(r, op) | r.source()],
        });
        each(groups, opcodes, 24, r, |r, op, n| vec![head(r, op) | SDWA, sdwa(r, n)]);
        each(groups, opcodes, 16, r, |r, op, n| vec![head(r, op) | DPP, dpp(r, n)]);
    }
}

/// An SDWA word. Compares have no destination select; one-source instructions have no second source.
fn sdwa(r: &mut Random, n: usize) -> u32 {
    let clamp = r.pick(&[0, 0, 1]) << 13;
    let destination = [r.below(7) << 8 | r.below(3) << 11, 6 << 8, 0][n % 3];
    let modifiers = |r: &mut Random| if n.is_multiple_of(2) { 0 } else { r.pick(&[1, 2, 4, 6]) };
    let second = if (n / 3).is_multiple_of(2) { r.below(7) << 24 | modifiers(r) << 27 } else { 0 };
    r.vgpr() | destination | clamp | r.below(7) << 16 | modifiers(r) << 19 | second
}

fn dpp(r: &mut Random, n: usize) -> u32 {
    let control = [r.bits(8), 0x101 + r.below(15), 0x111 + r.below(15), 0x142][n % 4];
    let modifiers = match n / 4 {
        0 => 0,
        1 => r.bits(2),
        _ => r.bits(4),
    };
    r.vgpr() | control << 8 | r.bits(1) << 19 | modifiers << 20 | r.bits(4) << 24 | r.bits(4) << 28
}

fn vop3(r: &mut Random, groups: &mut Vec<Group>) {
    for opcode in 0..1024 {
        let mut plain = Vec::new();
        let mut modified = Vec::new();
        // From three sources down to none; a mask as third source or destination must be a scalar register.
        for n in 0..48 {
            let sources = 3 - n / 12;
            let mask = n % 3 == 2;
            let fields = [r.source(), r.source(), if mask { r.sgpr() } else { r.source() }];
            let second = fields.iter().take(sources as usize).rev().fold(0, |word, field| word << 9 | field);
            // Destinations are multiples of four, which are valid for scalar and vector registers.
            let destination = if sources == 0 { 0 } else { r.pick(&[0, 4, 8, 84, 96, 106]) };
            let first = 0xd000_0000 | opcode << 16 | destination;
            plain.push(vec![first, second]);
            let scalar_destination = r.pick(&[0, 4, 20, 106]) << 8;
            let (abs, neg) = (r.bits(3) << 8, r.bits(3) << 29);
            modified.push(match n % 6 {
                0 => vec![first | scalar_destination | r.bits(1) << 15, second],
                1 => vec![first | abs, second | neg],
                2 => vec![first | r.bits(1) << 15, second | r.bits(2) << 27],
                3 => vec![first | (abs & 0x300), second | (neg & 0x6000_0000)],
                4 => vec![first | (abs & 0x100), second | (neg & 0x2000_0000) | r.bits(2) << 27],
                _ => vec![first | 1 << 15, second],
            });
        }
        groups.push(Group { candidates: plain, keep: KEEP, canonical: true });
        groups.push(Group { candidates: modified, keep: KEEP, canonical: true });
    }
}

fn data_share(r: &mut Random, groups: &mut Vec<Group>) {
    each(groups, 256, 80, r, |r, op, n| {
        // Every subset of the four register fields, the fullest first.
        let fields = 15 - n / 5;
        let registers = (0..4).filter(|i| fields >> i & 1 != 0).fold(0, |word, i| word | (1 + r.vgpr()) << (8 * i));
        let (offset, global) = [(r.bits(16), 0), (0, 0), (r.bits(8), 1), (0xff00, 0), (0, 1)][n % 5];
        vec![0xd800_0000 | op << 17 | global << 16 | offset, registers]
    });
}

fn flat(r: &mut Random, groups: &mut Vec<Group>) {
    each(groups, 128, 24, r, |r, op, n| {
        let (address, data, destination) = (r.vgpr(), r.vgpr(), r.vgpr());
        let fields = match n % 3 {
            0 => address | destination << 24,
            1 => address | data << 8,
            _ => address | data << 8 | destination << 24,
        };
        vec![0xdc00_0000 | op << 18 | ((n as u32 / 3) & 3) << 16, fields]
    });
}

fn buffers(r: &mut Random, groups: &mut Vec<Group>) {
    // Offen and idxen, the fields common to both encodings.
    let common = |r: &mut Random, n: usize| {
        let addressing = n as u32 & 3;
        let first = addressing << 12 | r.bits(1) << 14 | r.pick(&[0, 1, 16, 4095]);
        let address = if addressing == 0 { 0 } else { r.vgpr() };
        let offset = r.pick(&[0, 5, 101, 106, 124, 128, 129, 192, 193, 240]);
        (first, address | r.vgpr() << 8 | r.pick(&[0, 1, 2, 21, 24, 28]) << 16 | offset << 24)
    };
    each(groups, 128, 12, r, |r, op, n| {
        let (first, second) = common(r, n);
        vec![0xe000_0000 | op << 18 | first | r.bits(1) << 17, second]
    });
    each(groups, 128, 6, r, |r, op, n| {
        // To and from the local data share: no data register.
        let (first, second) = common(r, n);
        vec![0xe000_0000 | op << 18 | first | 1 << 16, second & !0xff00]
    });
    each(groups, 128, 2, r, |r, op, n| {
        let (first, second) = common(r, n);
        vec![0xe000_0000 | op << 18 | first, second | 1 << 23] // the status word
    });
    each(groups, 128, 1, r, |_, op, _| vec![0xe000_0000 | op << 18, 0]); // cache control
    each(groups, 16, 12, r, |r, op, n| {
        let (first, second) = common(r, n);
        vec![0xe800_0000 | op << 15 | first | r.bits(4) << 19 | r.bits(3) << 23, second | r.bits(1) << 22]
    });
}

fn images(r: &mut Random, groups: &mut Vec<Group>) {
    each(groups, 128, 24, r, |r, op, n| {
        let atomic = (16..29).contains(&op);
        let dmask = match (op, atomic) {
            (17, _) => r.pick(&[0x3, 0xf]),
            (_, true) => r.pick(&[0x1, 0x3]),
            _ => r.bits(4),
        };
        // unorm, glc, da, r128, tfe, lwe
        let flags = r.bits(6) & if atomic || n % 4 == 0 { 0b00_1111 } else { 0b11_1111 };
        let sampler = if n % 2 == 0 { r.pick(&[0, 1, 20, 24]) << 21 } else { 0 };
        let half = if n % 8 > 5 { 1 << 31 } else { 0 };
        let first = 0xf000_0000 | op << 18 | dmask << 8 | flags << 12 | r.bits(1) << 25;
        vec![
            first,
            r.pick(&[0, 1, 100, 248]) | r.pick(&[0, 2, 130, 248]) << 8 | r.pick(&[0, 1, 16, 22]) << 16 | sampler | half,
        ]
    });
}

/// All values of the fields with special texts, on one instruction each.
fn sweeps(groups: &mut Vec<Group>) {
    let mut sweep = |candidates: Vec<Vec<u32>>| {
        let keep = candidates.len();
        groups.push(Group { candidates, keep, canonical: false });
    };
    // Sources: 32-bit scalar and vector, 64-bit, double, half, 16-bit integer.
    sweep((0..255).map(|code| vec![0xbe84_0000 | code]).collect());
    sweep((0..255).filter(|code| code % 2 == 0 || *code > 127).map(|code| vec![0xbe84_0100 | code]).collect());
    sweep((0..255).chain(510..512).map(|code| vec![0x7e04_0200 | code]).collect());
    sweep((128..255).map(|code| vec![0x7e04_4a00 | code]).collect());
    sweep((128..255).map(|code| vec![0x3e04_0600 | code]).collect());
    sweep((128..255).map(|code| vec![0x4c04_0600 | code]).collect());
    // Instructions without operands in their long encoding, which an assembler never chooses.
    sweep([0xd140_0000, 0xd175_0000].map(|word| vec![word, 0]).to_vec());
    // Negated constants.
    sweep((128..249).map(|code| vec![0xd101_0002, 0x2000_0200 | code]).collect());
    // Literals equal or close to the values of inline constants, for each kind of operand.
    let literals = [
        0,
        5,
        64,
        65,
        0xffff,
        0xfff0,
        0xffef,
        0xffff_ffff,
        0xffff_fff0,
        0xffff_ffef,
        0x3c00,
        0xbc00,
        0x1_3c00,
        0x3118,
        0x3f00_0000,
        0xbf80_0000,
        0xc080_0000,
        0x3e22_f983,
        0x3fe0_0000,
        0xbff0_0000,
        0x3fc4_5f30,
        0x3fc4_5f31,
        0x8000_0000,
    ];
    for head in [0xbe84_00ff, 0xbe84_01ff, 0x7e04_02ff, 0x7e04_4aff, 0x3e04_06ff, 0x4c04_06ff, 0x7dc2_00ff, 0xba00_0801]
    {
        sweep(literals.iter().map(|literal| vec![head, *literal]).collect());
    }
    // v_madmk and v_madak print their constant differently.
    for head in [0x2e04_0701, 0x3004_0701, 0x4804_0701, 0x4a04_0701] {
        sweep(literals.iter().map(|literal| vec![head, *literal]).collect());
    }
    // Wait counts, messages, hardware registers, index modes, branch distances.
    sweep(
        (0..0x1000).step_by(7).chain([0xf7f, 0x007f, 0x0f70, 0x0f0f, 0xffff]).map(|n| vec![0xbf8c_0000 | n]).collect(),
    );
    sweep((0..0x400).filter(|n| n % 16 < 5 || n % 16 == 15).map(|n| vec![0xbf90_0000 | n]).collect());
    sweep((0..64).flat_map(|id| [vec![0xb884_0000 | id], vec![0xb884_f800 | id], vec![0xb884_1880 | id]]).collect());
    sweep((0..32).map(|mode| vec![0xbf9d_0000 | mode]).collect());
    sweep((0..32).map(|mode| vec![0xbf11_0004 | mode << 8]).collect());
    sweep([0, 1, 0x7fff, 0x8000, 0xffff].map(|distance| vec![0xbf85_0000 | distance]).to_vec());
    // Lane patterns: DPP controls, DPP masks, swizzles.
    sweep((0..0x200).map(|control| vec![0x7e04_02fa, 0xff00_0003 | control << 8]).collect());
    sweep((0..256).step_by(5).map(|masks| vec![0x7e04_02fa, 0x0009_4003 | masks << 24]).collect());
    sweep((0..0x1_0000).step_by(251).chain(named_swizzles()).map(|n| vec![0xd87a_0000 | n, 0x0400_0003]).collect());
    // SDWA: every select of every part.
    sweep((0..7).flat_map(|d| (0..3).map(move |u| vec![0x0204_06f9, 0x0606_0003 | d << 8 | u << 11])).collect());
    sweep((0..7).flat_map(|a| (0..7).map(move |b| vec![0x0204_06f9, 0x0000_0603 | a << 16 | b << 24])).collect());
    // Element formats of typed buffers.
    sweep((0..128).map(|format| vec![0xe800_0000 | format << 19, 0x8001_0200]).collect());
}

/// Swizzle patterns that have a name: exchange of groups, reversal, broadcast.
fn named_swizzles() -> impl Iterator<Item = u32> {
    let exchanges = [1, 2, 4, 8, 16, 3, 7, 15, 31].map(|xor| xor << 10 | 31);
    let broadcasts = (1..=5).flat_map(|log| [0, 1].map(|lane| lane << 5 | (32 - (1 << log))));
    exchanges.into_iter().chain(broadcasts)
}
