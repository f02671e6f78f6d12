use crate::machine::{CODE, DATA, END, Machine, machine};
use x86::{Access, Exception, Exit, Fault, Reg};

/// Runs one instruction that faults, and checks that it had no effect.
fn fault_of(m: &mut Machine) -> Fault {
    let before = format!("{:?}", m.cpu.gpr);
    let (flags, memory) = (m.cpu.flags.get(), m.memory.bytes().to_vec());
    let rip = m.cpu.rip;
    let Exit::Fault(Exception { rip: at, fault }) = m.run_for(1) else { panic!("a fault is expected") };
    assert_eq!((at, m.cpu.rip), (rip, rip));
    assert_eq!((format!("{:?}", m.cpu.gpr), m.cpu.flags.get()), (before, flags));
    assert_eq!(m.memory.bytes(), memory);
    assert_eq!(m.cpu.instructions, 0);
    fault
}

#[test]
fn divisions_by_zero_and_quotients_that_do_not_fit_fault() {
    let mut m = machine(&[0xf7, 0xf1]); // div ecx
    assert_eq!(fault_of(&mut m), Fault::Divide);
    let mut m = machine(&[0xf7, 0xf9]); // idiv ecx
    (m.cpu.gpr[Reg::Rax], m.cpu.gpr[Reg::Rdx], m.cpu.gpr[Reg::Rcx]) = (0x8000_0000, 0xffff_ffff, 0xffff_ffff);
    assert_eq!(fault_of(&mut m), Fault::Divide);
}

#[test]
fn a_read_modify_write_of_a_missing_page_is_a_fault_of_writing() {
    let mut m = machine(&[0xf0, 0xff, 0x07]); // lock inc dword ptr [rdi]
    m.cpu.gpr[Reg::Rdi] = 0x9000;
    let fault = fault_of(&mut m);
    assert_eq!(fault, Fault::Page { address: 0x9000, access: Access::Write, present: false });
    assert_eq!((fault.vector(), fault.error_code()), (14, 6));
}

#[test]
fn an_access_that_ends_beyond_memory_names_the_first_missing_byte() {
    let mut m = machine(&[0x48, 0x89, 0x0f]); // mov [rdi], rcx
    m.cpu.gpr[Reg::Rdi] = END - 4;
    assert_eq!(fault_of(&mut m), Fault::Page { address: END, access: Access::Write, present: false });
}

#[test]
fn unaligned_vectors_fault_where_alignment_is_required() {
    let mut m = machine(&[0x0f, 0x28, 0x07]); // movaps xmm0, [rdi]
    m.cpu.gpr[Reg::Rdi] = DATA + 8;
    assert_eq!(fault_of(&mut m), Fault::GeneralProtection);
}

#[test]
fn addresses_that_are_not_canonical_fault_by_their_segment() {
    let mut m = machine(&[0x48, 0x89, 0x0f]); // mov [rdi], rcx
    m.cpu.gpr[Reg::Rdi] = 1 << 60;
    assert_eq!(fault_of(&mut m), Fault::GeneralProtection);
    let mut m = machine(&[0x50]); // push rax
    m.cpu.gpr[Reg::Rsp] = 1 << 60;
    assert_eq!(fault_of(&mut m), Fault::Stack);
}

#[test]
fn instructions_that_are_not_known_are_named_by_their_bytes() {
    let mut m = machine(&[0xc5, 0xf8, 0x77]); // vzeroupper
    let mut bytes = [0; 15];
    bytes[..3].copy_from_slice(&[0xc5, 0xf8, 0x77]);
    assert_eq!(fault_of(&mut m), Fault::InvalidOpcode { bytes, length: 3 });
}

#[test]
fn a_fault_in_the_middle_of_a_block_keeps_the_results_before_it() {
    let mut m = machine(&[
        0xb8, 0x05, 0x00, 0x00, 0x00, // mov eax, 5
        0x48, 0xff, 0x07, // inc qword ptr [rdi]
        0xb8, 0x06, 0x00, 0x00, 0x00, // mov eax, 6
    ]);
    m.cpu.gpr[Reg::Rdi] = 0x9000;
    let fault = Fault::Page { address: 0x9000, access: Access::Write, present: false };
    assert_eq!(m.run(), Exit::Fault(Exception { rip: CODE + 5, fault }));
    assert_eq!((m.cpu.gpr[Reg::Rax], m.cpu.instructions), (5, 1));
    // After the fault is repaired, it continues.
    m.cpu.gpr[Reg::Rdi] = DATA;
    assert_eq!(m.run_for(2), Exit::Limit);
    assert_eq!((m.word(DATA), m.cpu.gpr[Reg::Rax], m.cpu.instructions), (1, 6, 3));
}

#[test]
fn code_that_runs_out_of_memory_faults_where_the_missing_byte_is() {
    let mut m = machine(&[]);
    m.put(END - 2, &[0x48, 0xb8]); // mov rax, imm64, cut off
    m.cpu.rip = END - 2;
    assert_eq!(fault_of(&mut m), Fault::Page { address: END, access: Access::Execute, present: false });
    m.cpu.rip = 0x9000;
    assert_eq!(fault_of(&mut m), Fault::Page { address: 0x9000, access: Access::Execute, present: false });
}
