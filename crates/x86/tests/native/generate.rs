//! Generates sequences of instructions. Operands are chosen by kind. Memory operands are in the scratch bytes (except
//! for a few invalid ones), branches go forward, and registers are set up so that instructions have interesting inputs.

use super::instructions::Family;
use super::operands::choose_operand;
use super::random::Random;
use super::state::{CODE, EXIT_POINTER, SCRATCH};
use super::undefined::reads_undefined_flags;
use super::values;
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Encoder, Instruction, InstructionBlock, MemoryOperand, Mnemonic,
    OpCodeOperandKind, OpKind, Register,
};

/// An instruction, preceded by the instructions that set up its inputs.
#[derive(Clone)]
pub struct Step {
    pub setup: Vec<Instruction>,
    pub instruction: Instruction,
    /// Branches go to a later step. Indirect ones get its address from the first instruction of `setup`.
    pub target: Option<usize>,
}

/// The instructions of the selected families.
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
            steps.push(step);
            if reads_undefined_flags(&steps) {
                steps.pop();
            }
        }
        let count = steps.len();
        for step in &mut steps {
            step.target = step.target.map(|target| target.min(count));
        }
        steps
    }
}

/// The machine code of a sequence, with the final jump.
pub fn encode(steps: &[Step]) -> Option<Vec<u8>> {
    let place = |step: usize| PRETENDED + 64 * step as u64;
    let mut instructions: Vec<Instruction> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let mut group = step.setup.clone();
        group.push(step.instruction);
        if let Some(target) = step.target {
            let direct = step.instruction.op0_kind() == OpKind::NearBranch64;
            let bringer = if direct { group.last_mut() } else { group.first_mut() };
            match bringer {
                Some(branch) if direct => branch.set_near_branch64(place(target)),
                Some(lea) => lea.set_memory_displacement64(place(target)),
                None => {}
            }
        }
        for (number, instruction) in group.iter_mut().enumerate() {
            instruction.set_ip(place(at) + number as u64);
        }
        instructions.extend(group);
    }
    let pointer = MemoryOperand::with_displ(EXIT_POINTER, 4);
    let mut exit = Instruction::with1(Code::Jmp_rm64, pointer).expect("a jump through memory");
    exit.set_ip(place(steps.len()));
    instructions.push(exit);
    let block = InstructionBlock::new(&instructions, CODE);
    BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok().map(|result| result.code_buffer)
}

/// Generates one instruction; none if the chosen operands can't be combined.
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
    // Check that it can be encoded (AH can't be combined with a REX prefix).
    Encoder::new(64).encode(&instruction, CODE).ok()?;
    let setup = setup(&mut instruction, random);
    if is_indirect(&instruction) {
        target = Some(at + 1 + random.below(3));
    }
    Some(Step { setup, instruction, target })
}

/// Whether the result is undefined for these operands.
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

/// Whether the instruction stores an image that contains code addresses.
pub fn stores_image(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Fnstenv | Mnemonic::Fnsave | Mnemonic::Fxsave | Mnemonic::Fxsave64)
}

/// Whether the instruction is an indirect branch.
fn is_indirect(instruction: &Instruction) -> bool {
    matches!(instruction.code(), Code::Jmp_rm64 | Code::Call_rm64 | Code::Retnq | Code::Retnq_imm16)
}

/// Sets up the inputs of an instruction: pointers and counts of string instructions, small bit offsets, dividends
/// without overflow, flags that a program may set, the target of a jump.
fn setup(instruction: &mut Instruction, random: &mut Random) -> Vec<Instruction> {
    let mut setup = Vec::new();
    let mut set = |register: Register, value: u64| {
        setup.push(Instruction::with2(Code::Mov_r64_imm64, register, value).expect("a move"));
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
        Mnemonic::Popf | Mnemonic::Popfq => {
            let code = if instruction.mnemonic() == Mnemonic::Popf { Code::Push_imm16 } else { Code::Pushq_imm32 };
            // The arithmetic flags and DF.
            let flags = random.bits() as i32 & 0xcd5;
            setup.push(Instruction::with1(code, flags).expect("a push"));
        }
        _ if is_indirect(instruction) => {
            let place = MemoryOperand::with_base_displ(Register::RIP, CODE as i64);
            setup.push(Instruction::with2(Code::Lea_r64_m, Register::RCX, place).expect("an address"));
            if instruction.mnemonic() == Mnemonic::Ret {
                setup.push(Instruction::with1(Code::Push_r64, Register::RCX).expect("a push"));
            } else {
                instruction.set_op0_kind(OpKind::Register);
                instruction.set_op0_register(Register::RCX);
            }
            if instruction.code() == Code::Retnq_imm16 {
                instruction.set_immediate16(random.below(64) as u16 * 8);
            }
        }
        _ => {}
    }
    setup
}
