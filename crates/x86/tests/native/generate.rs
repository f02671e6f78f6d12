//! Sequences of instructions. Operands are chosen by their kind; memory operands lie in the scratch bytes (but for a few wild
//! ones), branches go forward, and what an instruction needs in registers to be interesting is put there first.

use crate::instructions::Family;
use crate::random::Random;
use crate::state::{CODE, EXIT_POINTER, IMAGE, SCRATCH};
use crate::values;
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Encoder, Instruction, InstructionBlock, MemoryOperand, Mnemonic,
    OpCodeOperandKind, OpKind, Register, RflagsBits,
};

/// An instruction; branches name the step to which they go.
#[derive(Clone)]
pub struct Step {
    pub instruction: Instruction,
    pub target: Option<usize>,
}

/// The instructions of the families in use.
pub struct Catalogue {
    codes: Vec<Vec<Code>>,
}

const PRETENDED: u64 = 0x4000_0000;

impl Catalogue {
    pub fn new(families: &[Family]) -> Catalogue {
        Catalogue { codes: families.iter().map(|family| family.codes()).collect() }
    }

    pub fn size(&self) -> usize {
        self.codes.iter().map(Vec::len).sum()
    }

    pub fn sequence(&self, random: &mut Random) -> Vec<Step> {
        let length = 1 + random.below(8);
        let mut steps = Vec::new();
        while steps.len() < length {
            let family = random.below(self.codes.len());
            let code = random.pick(&self.codes[family]);
            let Some(step) = step(code, random, steps.len()) else { continue };
            let before = steps.len();
            prepare(&step.instruction, random, &mut steps);
            let moved = steps.len() - before;
            steps.push(Step { target: step.target.map(|target| target + moved), ..step });
            if reads_undefined_flags(&steps) {
                steps.truncate(before);
            }
        }
        let count = steps.len();
        for step in &mut steps {
            step.target = step.target.map(|target| target.min(count));
        }
        steps
    }
}

/// The machine code of a sequence, with the jump at its end.
pub fn encode(steps: &[Step]) -> Option<Vec<u8>> {
    let place = |step: usize| PRETENDED + 64 * step as u64;
    let mut instructions: Vec<Instruction> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let mut instruction = step.instruction;
        if let Some(target) = step.target {
            instruction.set_near_branch64(place(target));
        }
        instruction.set_ip(place(at));
        instructions.push(instruction);
    }
    let pointer = MemoryOperand::with_displ(EXIT_POINTER, 4);
    let mut exit = Instruction::with1(Code::Jmp_rm64, pointer).expect("a jump through memory");
    exit.set_ip(place(steps.len()));
    instructions.push(exit);
    let block = InstructionBlock::new(&instructions, CODE);
    BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok().map(|result| result.code_buffer)
}

/// One instruction, or nothing if the chosen operands do not go together.
fn step(code: Code, random: &mut Random, at: usize) -> Option<Step> {
    let info = code.op_code();
    let mut instruction = Instruction::default();
    instruction.set_code(code);
    let mut target = None;
    for (operand, &kind) in info.op_kinds().iter().enumerate() {
        let operand = operand as u32;
        if matches!(kind, OpCodeOperandKind::br64_1 | OpCodeOperandKind::br64_4) {
            target = Some(at + 1 + random.below(3));
            instruction.set_op_kind(operand, OpKind::NearBranch64);
            instruction.set_near_branch64(CODE);
            continue;
        }
        choose_operand(&mut instruction, operand, kind, random)?;
    }
    if info.can_use_rep_prefix() && random.chance(40) {
        instruction.set_has_rep_prefix(true);
    }
    if info.can_use_repne_prefix() && random.chance(30) && !instruction.has_rep_prefix() {
        instruction.set_has_repne_prefix(true);
    }
    if info.can_use_lock_prefix() && instruction.op0_kind() == OpKind::Memory && random.chance(30) {
        instruction.set_has_lock_prefix(true);
    }
    if is_undefined(&instruction) {
        return None;
    }
    // Does it exist like this? (AH does not go with a REX prefix.)
    Encoder::new(64).encode(&instruction, CODE).ok()?;
    Some(Step { instruction, target })
}

/// Operands for which the result is undefined.
fn is_undefined(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Shld | Mnemonic::Shrd => {
            instruction.op2_kind() == OpKind::Immediate8
                && instruction.op0_register().size().max(instruction.op1_register().size()) == 2
                && instruction.immediate8() & 31 > 16
        }
        _ => false,
    }
}

fn choose_operand(
    instruction: &mut Instruction,
    operand: u32,
    kind: OpCodeOperandKind,
    random: &mut Random,
) -> Option<()> {
    use OpCodeOperandKind as K;
    let register = |random: &mut Random, first: Register| {
        // All but rsp, r14 and r15.
        const NUMBERS: [u32; 13] = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13];
        Some(first + random.pick(&NUMBERS))
    };
    let chosen = match kind {
        K::r8_reg | K::r8_opcode => Some(byte_register(random)),
        K::r16_reg | K::r16_rm | K::r16_opcode => register(random, Register::AX),
        K::r32_reg | K::r32_rm | K::r32_opcode => register(random, Register::EAX),
        K::r64_reg | K::r64_rm | K::r64_opcode => register(random, Register::RAX),
        K::r8_or_mem if random.chance(50) => Some(byte_register(random)),
        K::r16_or_mem if random.chance(50) => register(random, Register::AX),
        K::r32_or_mem if random.chance(50) => register(random, Register::EAX),
        K::r64_or_mem if random.chance(50) => register(random, Register::RAX),
        K::xmm_reg | K::xmm_rm => Some(Register::XMM0 + random.below(16) as u32),
        K::xmm_or_mem if random.chance(60) => Some(Register::XMM0 + random.below(16) as u32),
        K::mm_reg | K::mm_rm => Some(Register::MM0 + random.below(8) as u32),
        K::mm_or_mem if random.chance(60) => Some(Register::MM0 + random.below(8) as u32),
        K::al => Some(Register::AL),
        K::cl => Some(Register::CL),
        K::ax => Some(Register::AX),
        K::dx => Some(Register::DX),
        K::eax => Some(Register::EAX),
        K::rax => Some(Register::RAX),
        K::st0 => Some(Register::ST0),
        K::sti_opcode => Some(Register::ST0 + random.below(8) as u32),
        _ => None,
    };
    if let Some(register) = chosen {
        instruction.set_op_kind(operand, OpKind::Register);
        instruction.set_op_register(operand, register);
        return Some(());
    }
    match kind {
        K::r8_or_mem | K::r16_or_mem | K::r32_or_mem | K::r64_or_mem | K::xmm_or_mem | K::mm_or_mem | K::mem => {
            instruction.set_op_kind(operand, OpKind::Memory);
            choose_address(instruction, random);
        }
        K::mem_offs => {
            instruction.set_op_kind(operand, OpKind::Memory);
            instruction.set_memory_displ_size(8);
            instruction.set_memory_displacement64(SCRATCH + 0x400 + random.below(0x200) as u64);
        }
        K::imm8 => {
            instruction.set_op_kind(operand, OpKind::Immediate8);
            instruction.set_immediate8(random.bits() as u8);
        }
        K::imm8_const_1 => {
            instruction.set_op_kind(operand, OpKind::Immediate8);
            instruction.set_immediate8(1);
        }
        K::imm8sex16 => {
            instruction.set_op_kind(operand, OpKind::Immediate8to16);
            instruction.set_immediate8to16(random.bits() as i8 as i16);
        }
        K::imm8sex32 => {
            instruction.set_op_kind(operand, OpKind::Immediate8to32);
            instruction.set_immediate8to32(random.bits() as i8 as i32);
        }
        K::imm8sex64 => {
            instruction.set_op_kind(operand, OpKind::Immediate8to64);
            instruction.set_immediate8to64(random.bits() as i8 as i64);
        }
        K::imm16 => {
            instruction.set_op_kind(operand, OpKind::Immediate16);
            instruction.set_immediate16(values::integer(random) as u16);
        }
        K::imm32 => {
            instruction.set_op_kind(operand, OpKind::Immediate32);
            instruction.set_immediate32(values::integer(random) as u32);
        }
        K::imm32sex64 => {
            instruction.set_op_kind(operand, OpKind::Immediate32to64);
            instruction.set_immediate32to64(values::integer(random) as i32 as i64);
        }
        K::imm64 => {
            instruction.set_op_kind(operand, OpKind::Immediate64);
            instruction.set_immediate64(values::integer(random));
        }
        K::seg_rSI => instruction.set_op_kind(operand, OpKind::MemorySegRSI),
        K::es_rDI => instruction.set_op_kind(operand, OpKind::MemoryESRDI),
        K::seg_rDI => instruction.set_op_kind(operand, OpKind::MemorySegRDI),
        K::seg_rBX_al => {
            instruction.set_op_kind(operand, OpKind::Memory);
            instruction.set_memory_base(Register::RBX);
            instruction.set_memory_index(Register::AL);
        }
        _ => return None,
    }
    Some(())
}

fn byte_register(random: &mut Random) -> Register {
    const BYTES: [Register; 17] = [
        Register::AL,
        Register::CL,
        Register::DL,
        Register::BL,
        Register::AH,
        Register::CH,
        Register::DH,
        Register::BH,
        Register::BPL,
        Register::SIL,
        Register::DIL,
        Register::R8L,
        Register::R9L,
        Register::R10L,
        Register::R11L,
        Register::R12L,
        Register::R13L,
    ];
    random.pick(&BYTES)
}

/// An address in the scratch bytes, written in one of the many ways; one in fifty is anywhere.
fn choose_address(instruction: &mut Instruction, random: &mut Random) {
    if stores_image(instruction) || matches!(instruction.mnemonic(), Mnemonic::Fxrstor | Mnemonic::Fxrstor64) {
        // A random image is refused, mostly for its MXCSR: what was stored before is loaded.
        instruction.set_memory_displ_size(4);
        instruction.set_memory_displacement64(IMAGE);
        return;
    }
    let aligned = random.chance(80);
    let offset = random.below(0x200) as u64 & if aligned { !15 } else { !0 };
    let (base, index, displacement, size) = match random.below(100) {
        0..30 => (Register::R15, Register::None, offset, 4),
        30..45 => (Register::R15, Register::None, offset & 0x7f, 1),
        45..60 => (Register::R15, Register::R14, offset, 4),
        60..75 => (Register::None, Register::None, SCRATCH + 0x400 + offset, 4),
        75..83 => (Register::RIP, Register::None, SCRATCH + 0x400 + offset, 8),
        83..90 => (Register::R15D, Register::None, offset, 4),
        90..95 => (Register::RSP, Register::None, offset & 0x7f, 1),
        95..98 => (Register::None, Register::R14, SCRATCH + 0x400 + offset, 4),
        _ => (Register::RAX + random.below(14) as u32, Register::None, offset & 0x7f, 1),
    };
    if random.chance(4) {
        // Bases of zero.
        let segments = [Register::CS, Register::DS, Register::ES, Register::SS, Register::GS];
        instruction.set_segment_prefix(random.pick(&segments));
    }
    instruction.set_memory_base(base);
    instruction.set_memory_index(index);
    if index != Register::None {
        instruction.set_memory_index_scale(1 << random.below(4));
    }
    instruction.set_memory_displ_size(size);
    instruction.set_memory_displacement64(displacement);
}

/// Whether the instruction stores an image with addresses of code in it.
pub fn stores_image(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Fnstenv | Mnemonic::Fnsave | Mnemonic::Fxsave | Mnemonic::Fxsave64)
}

/// Puts into registers what makes an instruction worth executing: pointers and counts of string instructions, small bit
/// offsets, dividends that do not overflow.
fn prepare(instruction: &Instruction, random: &mut Random, steps: &mut Vec<Step>) {
    let mut set = |register: Register, value: u64| {
        let instruction = Instruction::with2(Code::Mov_r64_imm64, register, value).expect("a move");
        steps.push(Step { instruction, target: None });
    };
    let scratch = |random: &mut Random| SCRATCH + 0x400 + random.below(0x200) as u64;
    if instruction.is_string_instruction() && random.chance(95) {
        set(Register::RSI, scratch(random));
        set(Register::RDI, scratch(random));
        if instruction.has_rep_prefix() || instruction.has_repne_prefix() {
            let far = if random.chance(5) { 0x2000 } else { 0x20 };
            set(Register::RCX, random.below(far) as u64);
        }
    }
    match instruction.mnemonic() {
        Mnemonic::Xlatb => set(Register::RBX, scratch(random)),
        Mnemonic::Maskmovdqu | Mnemonic::Maskmovq => set(Register::RDI, scratch(random)),
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
            if instruction.op0_kind() == OpKind::Memory && instruction.op1_kind() == OpKind::Register =>
        {
            set(instruction.op1_register().full_register(), (random.below(0x800) as u64).wrapping_sub(0x400));
        }
        Mnemonic::Div if random.chance(60) => set(Register::RDX, random.below(3) as u64),
        Mnemonic::Idiv if random.chance(60) => {
            set(Register::RDX, random.pick(&[0, u64::MAX]));
            set(Register::RAX, values::integer(random));
        }
        Mnemonic::Leave => set(Register::RBP, SCRATCH + 0x1000 + random.below(0x400) as u64),
        Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne | Mnemonic::Jrcxz | Mnemonic::Jecxz => {
            set(Register::RCX, random.below(3) as u64);
        }
        _ => {}
    }
}

/// The flags that are undefined after a sequence, whatever way it took.
pub fn undefined_flags(steps: &[Step]) -> u32 {
    walk_flags(steps).0
}

/// The flags that are undefined at any time in a sequence, of which a fault may have left out the rest.
pub fn ever_undefined_flags(steps: &[Step]) -> u32 {
    steps.iter().fold(0, |flags, step| {
        let instruction = &step.instruction;
        let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        // A repetition that a fault interrupts has or has not set the flags so far.
        flags | instruction.rflags_undefined() | if repeated { instruction.rflags_written() } else { 0 }
    })
}

/// Whether the last step may read a flag that is undefined there.
fn reads_undefined_flags(steps: &[Step]) -> bool {
    walk_flags(steps).1
}

fn walk_flags(steps: &[Step]) -> (u32, bool) {
    let mut undefined = RflagsBits::NONE;
    let mut reads = false;
    let mut conditional_until = 0;
    for (at, step) in steps.iter().enumerate() {
        let instruction = &step.instruction;
        reads = instruction.rflags_read() & undefined != 0;
        let certain = at >= conditional_until && !may_leave_flags(instruction);
        if certain {
            undefined &= !(instruction.rflags_written() | instruction.rflags_cleared() | instruction.rflags_set());
        }
        undefined |= instruction.rflags_undefined();
        if let Some(target) = step.target {
            conditional_until = conditional_until.max(target);
        }
    }
    (undefined, reads)
}

/// Whether the instruction leaves flags alone for some operands: counts of zero.
fn may_leave_flags(instruction: &Instruction) -> bool {
    let by_cl = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && instruction.op_register(operand) == Register::CL
    });
    by_cl || instruction.has_rep_prefix() || instruction.has_repne_prefix()
}
