use crate::machine::{CODE, DATA, END, machine};
use x86::{Access, Exception, Exit, Fault, Reg};

const MOVSB: [u8; 3] = [0xf3, 0xa4, 0xf4]; // rep movsb; hlt

#[test]
fn a_copy_that_overlaps_its_source_repeats_a_pattern() {
    for distance in [1, 3, 15, 16, 17, 40] {
        let mut m = machine(&MOVSB);
        let pattern: Vec<u8> = (1..=distance as u8).collect();
        m.put(DATA, &pattern);
        (m.cpu.gpr[Reg::Rsi], m.cpu.gpr[Reg::Rdi], m.cpu.gpr[Reg::Rcx]) = (DATA, DATA + distance, 100);
        m.run();
        let expected: Vec<u8> = pattern.iter().copied().cycle().take(100).collect();
        assert_eq!(m.get(DATA + distance, 100), expected, "at a distance of {distance}");
        assert_eq!((m.cpu.gpr[Reg::Rcx], m.cpu.gpr[Reg::Rsi]), (0, DATA + 100));
    }
}

#[test]
fn a_copy_can_go_down() {
    let mut m = machine(&[0xfd, 0xf3, 0x48, 0xa5, 0xf4]); // std; rep movsq; hlt
    m.put(DATA, &[1; 8]);
    m.put(DATA + 8, &[2; 8]);
    (m.cpu.gpr[Reg::Rsi], m.cpu.gpr[Reg::Rdi], m.cpu.gpr[Reg::Rcx]) = (DATA + 8, DATA + 16, 2);
    m.run();
    assert_eq!((m.get(DATA + 8, 16), m.cpu.gpr[Reg::Rdi]), ([[1; 8], [2; 8]].concat(), DATA));
}

#[test]
fn a_fault_leaves_a_copy_where_it_can_continue() {
    let mut m = machine(&MOVSB);
    (m.cpu.gpr[Reg::Rsi], m.cpu.gpr[Reg::Rdi], m.cpu.gpr[Reg::Rcx]) = (DATA, END - 20, 30);
    let fault = Fault::Page { address: END, access: Access::Write, present: false };
    assert_eq!(m.run(), Exit::Fault(Exception { rip: CODE, fault }));
    let [rsi, rdi, rcx] = [Reg::Rsi, Reg::Rdi, Reg::Rcx].map(|register| m.cpu.gpr[register]);
    assert_eq!((rsi, rdi, rcx, m.cpu.instructions), (DATA + 20, END, 10, 0));
    m.cpu.gpr[Reg::Rdi] = DATA + 0x800;
    m.run();
    assert_eq!((m.cpu.gpr[Reg::Rcx], m.cpu.instructions), (0, 1));
}

#[test]
fn a_long_fill_is_one_instruction_but_may_take_several_budgets() {
    let mut m = machine(&[0xf3, 0xaa, 0xf4]); // rep stosb; hlt
    (m.cpu.gpr[Reg::Rax], m.cpu.gpr[Reg::Rdi], m.cpu.gpr[Reg::Rcx]) = (0xab, DATA, 0x1800);
    assert_eq!(m.run_for(1), Exit::Limit);
    assert_eq!((m.cpu.instructions, m.cpu.rip), (0, CODE));
    assert!(m.cpu.gpr[Reg::Rcx] > 0);
    m.run();
    assert_eq!((m.cpu.gpr[Reg::Rcx], m.cpu.instructions), (0, 1));
    assert_eq!(m.get(DATA, 0x1801), [vec![0xab; 0x1800], vec![0]].concat());
}

#[test]
fn a_search_ends_behind_what_it_found() {
    let mut m = machine(&[0xf2, 0xae, 0xf4]); // repne scasb; hlt
    m.put(DATA, b"coherent");
    (m.cpu.gpr[Reg::Rax], m.cpu.gpr[Reg::Rdi], m.cpu.gpr[Reg::Rcx]) = (b'r'.into(), DATA, 8);
    m.run();
    assert_eq!((m.cpu.gpr[Reg::Rdi], m.cpu.gpr[Reg::Rcx], m.cpu.flags.zf()), (DATA + 5, 3, true));
}

#[test]
fn nothing_happens_no_times() {
    let mut m = machine(&MOVSB);
    m.cpu.gpr[Reg::Rsi] = 0x9000;
    m.run();
    assert_eq!((m.cpu.rip, m.cpu.gpr[Reg::Rsi]), (CODE + 2, 0x9000));
}
