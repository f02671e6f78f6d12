use crate::machine::{CODE, DATA, END, machine};
use x86::trace::{Branch, Class, MemOp, MemOpKind, MicroOp, Order, Outline, Recorder, RegisterSet, Work};
use x86::{Blocks, Cpu, Exit, Flat, Memory, Reg, Size};

const NONE: RegisterSet = RegisterSet::NONE;
const FLAGS: RegisterSet = RegisterSet::FLAGS;
const LOADED: RegisterSet = RegisterSet::LOADED[0];
const RESULT: RegisterSet = RegisterSet::RESULT;
const RAX: RegisterSet = RegisterSet::gpr(Reg::Rax);
const RBX: RegisterSet = RegisterSet::gpr(Reg::Rbx);
const RCX: RegisterSet = RegisterSet::gpr(Reg::Rcx);
const RSP: RegisterSet = RegisterSet::gpr(Reg::Rsp);
const RDI: RegisterSet = RegisterSet::gpr(Reg::Rdi);

fn outline(code: &[u8]) -> Outline {
    let mut m = machine(code);
    Outline::clone(m.blocks.outline(&mut m.memory, CODE).expect("code is there"))
}

fn op(work: Work, reads: RegisterSet, writes: RegisterSet) -> MicroOp {
    MicroOp { work, reads, writes }
}

#[test]
fn a_load_is_one_micro_operation() {
    let outline = outline(&[0x48, 0x8b, 0x44, 0x8b, 0x08]); // mov rax, [rbx + rcx * 4 + 8]
    assert_eq!(outline.micro_ops, [op(Work::Load, RBX | RCX, RAX)]);
    assert_eq!((outline.reads, outline.writes, outline.length), (RBX | RCX, RAX, 5));
}

#[test]
fn a_store_has_an_address_and_a_value() {
    let outline = outline(&[0x48, 0x89, 0x0f]); // mov [rdi], rcx
    assert_eq!(outline.micro_ops, [op(Work::StoreAddress, RDI, NONE), op(Work::StoreData, RCX, NONE)]);
}

#[test]
fn adding_to_memory_is_a_load_an_addition_and_a_store() {
    let outline = outline(&[0x01, 0x03]); // add [rbx], eax
    let add = Work::Compute(Class::Integer);
    let expected = [
        op(Work::Load, RBX, LOADED),
        op(add, RAX | LOADED, FLAGS | RESULT),
        op(Work::StoreAddress, RBX, NONE),
        op(Work::StoreData, RESULT, NONE),
    ];
    assert_eq!(outline.micro_ops, expected);
    assert_eq!((outline.reads, outline.writes, outline.order), (RAX | RBX, FLAGS, Order::Any));
}

#[test]
fn a_vector_instruction_with_memory_is_a_load_and_a_computation() {
    let outline = outline(&[0xf2, 0x0f, 0x58, 0x0f]); // addsd xmm1, [rdi]
    let xmm1 = RegisterSet::xmm(1);
    let expected = [op(Work::Load, RDI, LOADED), op(Work::Compute(Class::FloatAdd), xmm1 | LOADED, xmm1)];
    assert_eq!(outline.micro_ops, expected);
}

#[test]
fn the_stack_costs_an_operation_on_its_pointer() {
    let rbp = RegisterSet::gpr(Reg::Rbp);
    let push = outline(&[0x55]); // push rbp
    let pointer = op(Work::Compute(Class::Integer), RSP, RSP);
    let expected = [pointer, op(Work::StoreAddress, RSP, NONE), op(Work::StoreData, rbp, NONE)];
    assert_eq!(push.micro_ops, expected);
    let ret = outline(&[0xc3]); // ret
    let expected = [op(Work::Load, RSP, LOADED), op(Work::Compute(Class::Branch), LOADED, NONE), pointer];
    assert_eq!((ret.micro_ops.as_slice(), ret.branch), (expected.as_slice(), Branch::Return));
}

#[test]
fn order_and_branches_are_known_before_an_instruction_runs() {
    let order = |code: &[u8]| outline(code).order;
    assert_eq!(order(&[0x87, 0x07]), Order::Atomic); // xchg [rdi], eax
    assert_eq!(order(&[0xf0, 0xff, 0x07]), Order::Atomic); // lock inc dword ptr [rdi]
    assert_eq!(order(&[0x87, 0xc3]), Order::Any); // xchg ebx, eax
    assert_eq!(order(&[0x0f, 0xae, 0xf0]), Order::Fence); // mfence
    assert_eq!(order(&[0x0f, 0x05]), Order::Serialising); // syscall
    let branch = |code: &[u8]| outline(code).branch;
    assert_eq!(branch(&[0x75, 0xfe]), Branch::Conditional); // jne .
    assert_eq!(branch(&[0xff, 0xd0]), Branch::IndirectCall); // call rax
    assert_eq!(branch(&[0xe8, 0, 0, 0, 0]), Branch::Call); // call .+5
    let multiply = outline(&[0x0f, 0xaf, 0xc3]); // imul eax, ebx
    assert_eq!(multiply.count(|work| work == Work::Compute(Class::Multiply)), 1);
}

/// Adds up four words at rdi and stores the sum after them.
const SUM: [u8; 21] = [
    0x31, 0xc0, // xor eax, eax
    0xb9, 0x04, 0x00, 0x00, 0x00, // mov ecx, 4
    0x48, 0x03, 0x07, // 1: add rax, [rdi]
    0x48, 0x83, 0xc7, 0x08, // add rdi, 8
    0xff, 0xc9, // dec ecx
    0x75, 0xf5, // jnz 1b
    0x48, 0x89, 0x07, // mov [rdi], rax
];

#[test]
fn a_traced_run_records_accesses_and_branches_and_ends_as_any_run() {
    let mut m = machine(&SUM);
    let words: Vec<u8> = [1u64, 2, 3, 4].iter().flat_map(|word| word.to_le_bytes()).collect();
    m.put(DATA, &words);
    m.cpu.gpr[Reg::Rdi] = DATA;
    let mut cpu = m.cpu.clone();
    let mut memory = Recorder::new(m.memory);
    let mut blocks = Blocks::new();
    let (mut loads, mut taken) = (Vec::new(), Vec::new());
    for _ in 0..2 + 4 * 4 {
        let retired = cpu.step_traced(&mut memory, &mut blocks).expect("nothing faults");
        loads.extend(retired.accesses.iter().map(|access| (access.kind, access.address, access.bytes)));
        if retired.outline.branch == Branch::Conditional {
            taken.push((retired.taken, retired.next));
        }
    }
    let expected: Vec<_> = (0..4).map(|i| (MemOpKind::Load, DATA + 8 * i, 8)).collect();
    assert_eq!(loads, expected);
    assert_eq!(taken, [(true, CODE + 7), (true, CODE + 7), (true, CODE + 7), (false, CODE + 18)]);

    let retired = cpu.step_traced(&mut memory, &mut blocks).expect("nothing faults");
    assert_eq!(retired.accesses, [MemOp { kind: MemOpKind::Store, address: DATA + 32, bytes: 8 }]);
    assert_eq!(memory.memory().load(DATA + 32, Size::B8), Ok(10));
    assert_eq!((cpu.gpr[Reg::Rax], cpu.instructions), (10, 19));
}

#[test]
fn a_repeated_copy_retires_in_parts_of_a_line() {
    let m = machine(&[0xf3, 0xa4]); // rep movsb
    let mut cpu: Cpu = m.cpu.clone();
    (cpu.gpr[Reg::Rsi], cpu.gpr[Reg::Rdi], cpu.gpr[Reg::Rcx]) = (DATA, DATA + 0x400, 100);
    let mut memory: Recorder<Flat> = Recorder::new(m.memory);
    let mut blocks = Blocks::new();
    let retired = cpu.step_traced(&mut memory, &mut blocks).expect("nothing faults");
    assert_eq!((retired.whole, retired.accesses.len(), retired.outline.repeats), (false, 8, true));
    let retired = cpu.step_traced(&mut memory, &mut blocks).expect("nothing faults");
    assert_eq!((retired.whole, retired.next, cpu.gpr[Reg::Rcx]), (true, CODE + 2, 0));
}

#[test]
fn what_faults_does_not_retire() {
    let m = machine(&[0x48, 0x89, 0x0f]); // mov [rdi], rcx
    let mut cpu = m.cpu.clone();
    cpu.gpr[Reg::Rdi] = END;
    let mut memory = Recorder::new(m.memory);
    let exit = cpu.step_traced(&mut memory, &mut Blocks::new()).map(|retired| retired.next);
    assert!(matches!(exit, Err(Exit::Fault(_))), "{exit:?}");
}

/// The outlines of a compiled program's instructions, in order.
fn outlines(elf: &[u8]) -> Vec<Outline> {
    let word = |at: usize| u64::from_le_bytes(elf[at..at + 8].try_into().expect("eight bytes"));
    // The program header of the code: the executable one.
    let header = (0..).map(|i| word(32) as usize + 56 * i).find(|at| elf[at + 4] & 1 != 0).expect("there is code");
    let (offset, size) = (word(header + 8) as usize, word(header + 32) as usize);
    let mut memory = Flat::new(CODE, size);
    memory.bytes().copy_from_slice(&elf[offset..offset + size]);
    let mut blocks = Blocks::new();
    let mut found = Vec::new();
    let mut address = CODE;
    while let Ok(outline) = blocks.outline(&mut memory, address) {
        address += u64::from(outline.length);
        found.push(Outline::clone(outline));
    }
    found
}

#[test]
fn the_micro_operations_of_compiled_code_read_and_write_what_its_instructions_do() {
    for elf in [&include_bytes!("../../bench/integer.elf")[..], &include_bytes!("../../bench/sse2.elf")[..]] {
        let outlines = outlines(elf);
        assert!(outlines.len() > 300, "{} instructions", outlines.len());
        for outline in outlines {
            let reads: RegisterSet = outline.micro_ops.iter().map(|op| op.reads.architectural()).collect();
            let writes: RegisterSet = outline.micro_ops.iter().map(|op| op.writes.architectural()).collect();
            assert_eq!((reads, writes), (outline.reads, outline.writes), "{outline:?}");
            let (addresses, data) = (Work::StoreAddress, Work::StoreData);
            assert_eq!(outline.count(|work| work == addresses), outline.count(|work| work == data), "{outline:?}");
        }
    }
}
