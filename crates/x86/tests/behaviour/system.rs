use crate::machine::{CODE, machine};
use x86::{Exception, Exit, Fault, Reg};

#[test]
fn a_system_call_leaves_its_traces_in_rcx_and_r11() {
    let mut m = machine(&[0x0f, 0x05]); // syscall
    assert_eq!(m.run(), Exit::Syscall);
    assert_eq!((m.cpu.rip, m.cpu.gpr[Reg::Rcx], m.cpu.gpr[Reg::R11]), (CODE + 2, CODE + 2, m.cpu.flags.get()));
    assert_eq!(m.cpu.instructions, 1);
}

#[test]
fn a_breakpoint_is_behind_its_instruction() {
    let mut m = machine(&[0xcc]); // int3
    assert_eq!(m.run(), Exit::Fault(Exception { rip: CODE + 1, fault: Fault::Breakpoint }));
}

#[test]
fn the_time_stamp_counts_instructions_from_where_the_driver_says() {
    let code = [
        0x90, // nop
        0x0f, 0x31, // rdtsc
        0x89, 0xc3, // mov ebx, eax
        0x90, // nop
        0x0f, 0x31, // rdtsc
    ];
    // Executed as one block, and instruction by instruction.
    for budget in [5, 1] {
        let mut m = machine(&code);
        m.cpu.tsc_offset = 1000;
        for _ in 0..5 / budget {
            m.run_for(budget);
        }
        assert_eq!((m.cpu.gpr[Reg::Rbx], m.cpu.gpr[Reg::Rax]), (1001, 1004));
    }
}

#[test]
fn a_program_marks_its_region_of_interest_with_two_nops() {
    let code = [
        0x90, // nop
        0x0f, 0x1f, 0x84, 0x00, 0xb0, 0x51, 0x0e, 0x0c, // nopl 0x0c0e51b0(%rax,%rax,1)
        0x90, // nop
        0x0f, 0x1f, 0x84, 0x00, 0x00, 0x51, 0x0e, 0x0c, // nopl 0x0c0e5100(%rax,%rax,1)
        0x0f, 0x1f, 0x84, 0x00, 0xb1, 0x51, 0x0e, 0x0c, // nopl 0x0c0e51b1(%rax,%rax,1)
    ];
    for budget in [5, 1] {
        let mut m = machine(&code);
        m.cpu.tsc_offset = 1000;
        for _ in 0..5 / budget {
            m.run_for(budget);
        }
        assert_eq!(m.cpu.marks, [Some(1001), Some(1004)]);
    }
}

#[test]
fn a_cpu_can_be_stopped_before_the_mark_of_a_begin() {
    let code = [
        0x90, // nop
        0x0f, 0x1f, 0x84, 0x00, 0xb1, 0x51, 0x0e, 0x0c, // nopl 0x0c0e51b1(%rax,%rax,1)
        0x0f, 0x1f, 0x84, 0x00, 0xb0, 0x51, 0x0e, 0x0c, // nopl 0x0c0e51b0(%rax,%rax,1)
        0x90, // nop
    ];
    for budget in [4, 1] {
        let mut m = machine(&code);
        m.cpu.stops_at_mark = true;
        let exit = (0..4).map(|_| m.run_for(budget)).find(|exit| *exit != Exit::Limit);
        assert_eq!((exit, m.cpu.rip, m.cpu.instructions), (Some(Exit::Mark), CODE + 9, 2));
        assert_eq!(m.cpu.marks, [None, Some(1)]);
        m.cpu.stops_at_mark = false;
        assert_eq!((m.run_for(2), m.cpu.marks[0]), (Exit::Limit, Some(2)));
    }
}

#[test]
fn more_than_sse2_is_announced_only_on_request() {
    for sse4 in [false, true] {
        let mut m = machine(&[0xb8, 0x01, 0x00, 0x00, 0x00, 0x0f, 0xa2]); // mov eax, 1; cpuid
        m.cpu.features.sse4 = sse4;
        m.run_for(2);
        assert_eq!((m.cpu.gpr[Reg::Rdx] >> 26 & 1, m.cpu.gpr[Reg::Rcx] >> 20 & 1), (1, sse4 as u64));
    }
}

#[test]
fn a_program_can_tell_the_processor_by_the_id_flag() {
    let mut m = machine(&[
        0x9d, // popfq
        0x9c, // pushfq
    ]);
    let rsp = m.cpu.gpr[Reg::Rsp];
    // ID, and the trap flag and I/O privilege level, which a program can't set.
    m.put(rsp, &(1u64 << 21 | 1 << 12 | 0x44).to_le_bytes());
    m.run_for(2);
    assert_eq!(m.word(rsp), 1 << 21 | 0x246);
}

#[test]
fn what_only_a_kernel_may_do_is_a_general_protection_fault() {
    let instructions: &[(&str, &[u8])] = &[
        ("mov cr0, rax", &[0x0f, 0x22, 0xc0]),
        ("mov rax, cr0", &[0x0f, 0x20, 0xc0]),
        ("mov rax, cr3", &[0x0f, 0x20, 0xd8]),
        ("mov cr8, rax", &[0x44, 0x0f, 0x22, 0xc0]),
        ("mov dr7, rax", &[0x0f, 0x23, 0xf8]),
        ("mov rax, dr6", &[0x0f, 0x21, 0xf0]),
        ("cli", &[0xfa]),
        ("sti", &[0xfb]),
        ("hlt", &[0xf4]),
        ("in al, 0x60", &[0xe4, 0x60]),
        ("in eax, dx", &[0xed]),
        ("out 0x60, al", &[0xe6, 0x60]),
        ("out dx, eax", &[0xef]),
        ("insb", &[0x6c]),
        ("rep insd", &[0xf3, 0x6d]),
        ("rep outsb", &[0xf3, 0x6e]),
        ("lgdt [rax]", &[0x0f, 0x01, 0x10]),
        ("lidt [rax]", &[0x0f, 0x01, 0x18]),
        ("lldt ax", &[0x0f, 0x00, 0xd0]),
        ("ltr ax", &[0x0f, 0x00, 0xd8]),
        ("lmsw ax", &[0x0f, 0x01, 0xf0]),
        ("clts", &[0x0f, 0x06]),
        ("invd", &[0x0f, 0x08]),
        ("wbinvd", &[0x0f, 0x09]),
        ("invlpg [rax]", &[0x0f, 0x01, 0x38]),
        ("swapgs", &[0x0f, 0x01, 0xf8]),
        ("sysretq", &[0x48, 0x0f, 0x07]),
        ("sysexitq", &[0x48, 0x0f, 0x35]),
        ("rdmsr", &[0x0f, 0x32]),
        ("wrmsr", &[0x0f, 0x30]),
        ("rdpmc", &[0x0f, 0x33]),
        ("int 0x2e", &[0xcd, 0x2e]),
    ];
    for (name, code) in instructions {
        let mut m = machine(code);
        let before = m.cpu.gpr.clone();
        assert_eq!(m.run(), Exit::Fault(Exception { rip: CODE, fault: Fault::GeneralProtection }), "{name}");
        assert_eq!((m.cpu.instructions, &m.cpu.gpr), (0, &before), "{name}");
    }
}

#[test]
fn a_control_register_that_does_not_exist_is_an_undefined_instruction() {
    for code in [[0x0f, 0x22, 0xc8], [0x0f, 0x20, 0xe8]] {
        // mov cr1, rax; mov rax, cr5
        let Exit::Fault(Exception { fault, .. }) = machine(&code).run() else { panic!("it was executed") };
        assert!(matches!(fault, Fault::InvalidOpcode { .. }), "{fault}");
    }
}
