use crate::machine::{DATA, END, machine};
use x86::Reg;

#[test]
fn carries_and_overflows_are_distinguished() {
    let mut m = machine(&[
        0xb8, 0xff, 0xff, 0xff, 0xff, // mov eax, -1
        0x83, 0xc0, 0x01, // add eax, 1
        0x0f, 0x94, 0xc1, // sete cl
        0xb3, 0x80, // mov bl, 0x80
        0x00, 0xdb, // add bl, bl
        0x0f, 0x92, 0xc5, // setb ch
        0x0f, 0x90, 0xc2, // seto dl
    ]);
    m.run_for(7);
    assert_eq!((m.cpu.gpr[Reg::Rax], m.cpu.gpr[Reg::Rcx], m.cpu.gpr[Reg::Rdx]), (0, 0x0101, 1));
}

#[test]
fn writing_32_bits_clears_the_upper_half_and_writing_fewer_does_not() {
    let mut m = machine(&[
        0xb8, 0x05, 0x00, 0x00, 0x00, // mov eax, 5
        0xb4, 0x07, // mov ah, 7
        0x66, 0xbb, 0xff, 0xff, // mov bx, -1
    ]);
    m.cpu.gpr[Reg::Rax] = u64::MAX;
    m.cpu.gpr[Reg::Rbx] = 0x1111_2222_3333_4444;
    m.run_for(3);
    assert_eq!((m.cpu.gpr[Reg::Rax], m.cpu.gpr[Reg::Rbx]), (0x0705, 0x1111_2222_3333_ffff));
}

#[test]
fn addresses_have_segments_scales_and_widths() {
    let mut m = machine(&[
        0x64, 0x48, 0x8b, 0x04, 0x25, 0x10, 0x00, 0x00, 0x00, // mov rax, fs:[0x10]
        0x65, 0x48, 0x8b, 0x1c, 0xd1, // mov rbx, gs:[rcx + rdx * 8]
        0x67, 0x44, 0x8b, 0x46, 0x10, // mov r8d, [esi + 0x10]
    ]);
    m.cpu.fs_base = DATA;
    m.cpu.gs_base = DATA - 8;
    (m.cpu.gpr[Reg::Rcx], m.cpu.gpr[Reg::Rdx]) = (0x20, 2);
    m.cpu.gpr[Reg::Rsi] = 0xffff_ffff_0000_0000 | DATA;
    m.put(DATA + 0x10, &[1, 0, 0, 0, 0, 0, 0, 0x80]);
    m.put(DATA + 0x28, &[7]);
    m.run_for(3);
    let [rax, rbx, r8] = [Reg::Rax, Reg::Rbx, Reg::R8].map(|register| m.cpu.gpr[register]);
    assert_eq!((rax, rbx, r8), (0x8000_0000_0000_0001, 7, 1));
}

#[test]
fn a_pop_to_memory_uses_the_stack_pointer_after_the_pop() {
    let mut m = machine(&[
        0x50, // push rax
        0x8f, 0x44, 0x24, 0x08, // pop qword ptr [rsp + 8]
    ]);
    m.cpu.gpr[Reg::Rax] = 99;
    m.run_for(2);
    assert_eq!((m.cpu.gpr[Reg::Rsp], m.word(END - 0x100 + 8)), (END - 0x100, 99));
}

#[test]
fn enter_copies_the_frames_above_and_leave_takes_its_own_away() {
    let mut m = machine(&[
        0xc8, 0x10, 0x00, 0x02, // enter 16, 2
        0xc9, // leave
    ]);
    let rsp = m.cpu.gpr[Reg::Rsp];
    m.cpu.gpr[Reg::Rbp] = DATA + 8;
    m.put(DATA, &[0x55]);
    m.run_for(1);
    let frame = rsp - 8;
    assert_eq!((m.cpu.gpr[Reg::Rbp], m.cpu.gpr[Reg::Rsp]), (frame, frame - 16 - 16));
    assert_eq!((m.word(frame), m.word(frame - 8), m.word(frame - 16)), (DATA + 8, 0x55, frame));
    m.run_for(1);
    assert_eq!((m.cpu.gpr[Reg::Rbp], m.cpu.gpr[Reg::Rsp]), (DATA + 8, rsp));
}

#[test]
fn compare_and_exchange_of_sixteen_bytes_swaps_or_loads() {
    let code = [0xf0, 0x48, 0x0f, 0xc7, 0x0f]; // lock cmpxchg16b [rdi]
    let mut m = machine(&code);
    m.cpu.gpr[Reg::Rdi] = DATA;
    m.put(DATA, &[1]);
    (m.cpu.gpr[Reg::Rax], m.cpu.gpr[Reg::Rbx], m.cpu.gpr[Reg::Rcx]) = (1, 2, 3);
    m.run_for(1);
    assert_eq!((m.word(DATA), m.word(DATA + 8), m.cpu.flags.zf()), (2, 3, true));
    m.cpu.rip = crate::machine::CODE;
    m.run_for(1);
    assert_eq!((m.cpu.gpr[Reg::Rax], m.cpu.gpr[Reg::Rdx], m.cpu.flags.zf()), (2, 3, false));
}
