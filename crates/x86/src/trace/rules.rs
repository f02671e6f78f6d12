//! The rules that split instructions into micro-operations.
//!
//! Each memory operand that is read is a load. Each that is written is a store address and a store data. The
//! computation is one operation between them, or none if the load or store does everything. An instruction that also
//! moves the stack pointer has one more operation for that, and a jump has one that evaluates it.

use super::{Branch, Class, MicroOp, Order, Outline, RegisterSet, Work};
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic as Op, OpAccess, OpKind, UsedMemory};

/// The outline of an instruction.
pub(crate) fn outline(instruction: &Instruction) -> Outline {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let mut used = Used::default();
    for register in info.used_registers() {
        let set = RegisterSet::of(register.register());
        if reads(register.access()) {
            used.reads |= set;
        }
        if writes(register.access()) {
            used.writes |= set;
        }
    }
    for operand in 0..instruction.op_count() {
        if instruction.op_kind(operand) == OpKind::Register && reads(info.op_access(operand)) {
            used.named |= RegisterSet::of(instruction.op_register(operand));
        }
    }
    if instruction.rflags_read() != 0 {
        used.reads |= RegisterSet::FLAGS;
    }
    if instruction.rflags_modified() != 0 {
        used.writes |= RegisterSet::FLAGS;
    }
    for memory in info.used_memory() {
        let address = address(memory);
        if reads(memory.access()) {
            used.loads.push(address);
        }
        if writes(memory.access()) {
            used.stores.push(address);
        }
    }
    let branch = branch(instruction);
    Outline {
        length: instruction.len() as u8,
        micro_ops: used.micro_ops(instruction, branch),
        reads: used.reads,
        writes: used.writes,
        branch,
        order: order(instruction),
        repeats: instruction.is_string_instruction()
            && (instruction.has_rep_prefix() || instruction.has_repne_prefix()),
    }
}

fn reads(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// The registers of an address.
fn address(memory: &UsedMemory) -> RegisterSet {
    RegisterSet::of(memory.base()) | RegisterSet::of(memory.index())
}

/// The registers and memory operands that an instruction uses.
#[derive(Default)]
struct Used {
    reads: RegisterSet,
    writes: RegisterSet,
    /// Register operands that are read, without the registers of addresses.
    named: RegisterSet,
    /// The address registers of each load and store.
    loads: Vec<RegisterSet>,
    stores: Vec<RegisterSet>,
}

const STACK: RegisterSet = RegisterSet::gpr(crate::Reg::Rsp);

impl Used {
    fn micro_ops(&self, instruction: &Instruction, branch: Branch) -> Vec<MicroOp> {
        let mut ops = Vec::with_capacity(4);
        let mut push = |work, reads, writes| ops.push(MicroOp { work, reads, writes });
        let stacked = instruction.is_stack_instruction() && instruction.mnemonic() != Op::Leave;
        let (mut reads, mut writes) = (self.data(), self.writes);
        if stacked {
            (reads, writes) = (reads - STACK, writes - STACK);
        }
        if matches!(instruction.mnemonic(), Op::Clflush | Op::Clflushopt | Op::Clwb) {
            push(Work::Flush, self.reads, RegisterSet::NONE);
            return ops;
        }
        let moves = is_move(instruction);
        // The registers that provide the stored value.
        let mut stored = reads;

        for (i, address) in self.loads.iter().enumerate() {
            let loaded = RegisterSet::LOADED[i.min(1)];
            let to = if moves && self.stores.is_empty() && branch == Branch::No { writes } else { loaded };
            push(Work::Load, *address, to);
            reads |= loaded;
            stored = loaded;
        }
        let computes = !moves || (self.loads.is_empty() && self.stores.is_empty());
        if branch != Branch::No {
            if instruction.mnemonic() == Op::Loop {
                reads |= RegisterSet::gpr(crate::Reg::Rcx);
            }
            push(Work::Compute(Class::of(instruction)), reads, writes);
            // A call stores an address that is known.
            stored = RegisterSet::NONE;
        } else if computes {
            let result = if self.stores.is_empty() { RegisterSet::NONE } else { RegisterSet::RESULT };
            push(Work::Compute(Class::of(instruction)), reads, writes | result);
            stored = result;
        }
        if stacked {
            push(Work::Compute(Class::Integer), STACK, STACK);
        }
        for address in &self.stores {
            push(Work::StoreAddress, *address, RegisterSet::NONE);
            push(Work::StoreData, stored, RegisterSet::NONE);
        }
        ops
    }

    /// The registers that are read for their value, not only for addresses.
    fn data(&self) -> RegisterSet {
        let addresses: RegisterSet = self.loads.iter().chain(&self.stores).copied().collect();
        (self.reads - addresses) | self.named
    }
}

/// Whether an instruction only moves a value, so that a load or a store is all of it.
fn is_move(instruction: &Instruction) -> bool {
    use Op::*;
    match instruction.mnemonic() {
        Mov | Movzx | Movsx | Movsxd | Movnti | Push | Pop | Movaps | Movapd | Movups | Movupd | Movdqa | Movdqu
        | Movntps | Movntpd | Movntdq | Movntdqa | Lddqu | Movss | Movd | Movq | Movsb | Movsw | Movsd | Movsq
        | Stosb | Stosw | Stosd | Stosq => true,
        // Loads of these fill half a register and keep the other half.
        Movlps | Movlpd | Movhps | Movhpd => instruction.op0_kind() == OpKind::Memory,
        _ => false,
    }
}

fn branch(instruction: &Instruction) -> Branch {
    match instruction.flow_control() {
        FlowControl::UnconditionalBranch => Branch::Direct,
        FlowControl::ConditionalBranch => Branch::Conditional,
        FlowControl::IndirectBranch => Branch::Indirect,
        FlowControl::Call if instruction.mnemonic() == Op::Syscall => Branch::Syscall,
        FlowControl::Call => Branch::Call,
        FlowControl::IndirectCall => Branch::IndirectCall,
        FlowControl::Return => Branch::Return,
        _ => Branch::No,
    }
}

fn order(instruction: &Instruction) -> Order {
    let exchanges = instruction.mnemonic() == Op::Xchg && instruction.op0_kind() == OpKind::Memory;
    match instruction.mnemonic() {
        _ if instruction.has_lock_prefix() || exchanges => Order::Atomic,
        Op::Lfence => Order::LoadFence,
        Op::Sfence => Order::StoreFence,
        Op::Mfence => Order::Fence,
        Op::Cpuid | Op::Syscall => Order::Serialising,
        _ => Order::Any,
    }
}
