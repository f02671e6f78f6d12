use crate::machine::{CODE, machine};
use x86::{Exception, Exit, Fault, Reg};

/// Counts rax up to ten, then halts: 4 instructions per iteration, 3 at the end.
const COUNT: [u8; 12] = [
    0x48, 0x83, 0xf8, 0x0a, // 1: cmp rax, 10
    0x7d, 0x05, // jge 2f
    0x48, 0xff, 0xc0, // inc rax
    0xeb, 0xf5, // jmp 1b
    0xf4, // 2: hlt
];

fn halted(at: u64) -> Exit {
    Exit::Fault(Exception { rip: at, fault: Fault::GeneralProtection })
}

#[test]
fn a_loop_runs_as_often_as_it_says() {
    let mut m = machine(&COUNT);
    assert_eq!(m.run(), halted(CODE + 11));
    assert_eq!((m.cpu.gpr[Reg::Rax], m.cpu.instructions), (10, 4 * 10 + 2));
}

#[test]
fn a_budget_is_kept_to_the_instruction_wherever_it_ends() {
    for budget in 0..42 {
        let mut whole = machine(&COUNT);
        assert_eq!(whole.run_for(budget), Exit::Limit);
        let mut single = machine(&COUNT);
        for _ in 0..budget {
            assert_eq!(single.run_for(1), Exit::Limit);
        }
        assert_eq!((whole.cpu.instructions, single.cpu.instructions), (budget, budget));
        assert_eq!((whole.cpu.rip, &whole.cpu.gpr), (single.cpu.rip, &single.cpu.gpr));
        assert_eq!(whole.cpu.flags, single.cpu.flags);
    }
}

#[test]
fn a_call_returns() {
    let mut m = machine(&[
        0xe8, 0x01, 0x00, 0x00, 0x00, // call 1f
        0xf4, // hlt
        0xc3, // 1: ret
    ]);
    let rsp = m.cpu.gpr[Reg::Rsp];
    assert_eq!(m.run(), halted(CODE + 5));
    assert_eq!((m.cpu.gpr[Reg::Rsp], m.word(rsp - 8)), (rsp, CODE + 5));
}

#[test]
fn changed_code_is_decoded_again() {
    let mut m = machine(&COUNT);
    m.run();
    m.put(CODE + 3, &[0x14]); // cmp rax, 20
    m.memory.code_changed();
    m.cpu.rip = CODE;
    m.run();
    assert_eq!(m.cpu.gpr[Reg::Rax], 20);
}

#[test]
fn a_store_into_its_own_block_changes_what_is_executed_next() {
    let code = [
        0xc6, 0x05, 0x04, 0x00, 0x00, 0x00, 0x07, // mov byte [rip + 4], 7
        0xff, 0xc1, // inc ecx
        0x90, // nop
        0xb8, 0x01, 0x00, 0x00, 0x00, // mov eax, 1: its operand is written to
        0xf4, // hlt
    ];
    // Executed as one block, and instruction by instruction.
    for budget in [1_000_000, 1] {
        let mut m = machine(&code);
        while m.run_for(budget) == Exit::Limit {}
        assert_eq!((m.cpu.gpr[Reg::Rax], m.cpu.gpr[Reg::Rcx]), (7, 1), "budget {budget}");
        assert_eq!((m.cpu.rip, m.cpu.instructions), (CODE + 15, 4));
    }
}

#[test]
fn a_call_whose_return_address_overwrites_code_goes_where_it_says() {
    let mut m = machine(&[
        0x48, 0xc7, 0xc4, 0x18, 0x10, 0x00, 0x00, // mov rsp, CODE + 24
        0xe8, 0x01, 0x00, 0x00, 0x00, // call 1f: stores to CODE + 16
        0xf4, // hlt
        0xeb, 0x01, // 1: jmp 2f
        0xf4, // hlt
        0xf4, // 2: hlt, until the return address 0x100c lies here: 0c 10 is or al, 0x10
    ]);
    assert_eq!((m.run_for(4), m.cpu.gpr[Reg::Rax]), (Exit::Limit, 0x10));
}

#[test]
fn a_budget_is_kept_across_stores_into_code() {
    // 1: mov byte [rip], 0x90 (over the nop behind it); nop; jmp 1b
    let code = [0xc6, 0x05, 0x00, 0x00, 0x00, 0x00, 0x90, 0x90, 0xeb, 0xf6];
    for budget in [1, 2, 7, 100] {
        let mut m = machine(&code);
        assert_eq!((m.run_for(budget), m.cpu.instructions), (Exit::Limit, budget));
    }
}

#[test]
fn a_return_to_where_nothing_can_be_is_a_fault_of_the_return() {
    let mut m = machine(&[0xc3]); // ret
    let rsp = m.cpu.gpr[Reg::Rsp];
    m.put(rsp, &(1u64 << 60).to_le_bytes());
    assert_eq!(m.run(), halted(CODE));
    assert_eq!(m.cpu.gpr[Reg::Rsp], rsp);
}
