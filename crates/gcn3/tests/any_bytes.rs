//! For any bytes, the decoder returns a valid instruction or a reason.

#[path = "support/any_code.rs"]
mod any_code;

use any_code::check;
use gcn3::decode::{Reason, decode};
use gcn3::inst::Operand;
use gcn3::ops::Op;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_give_an_instruction_or_a_reason(code in prop::collection::vec(any::<u8>(), 0..16), offset in 0usize..20) {
        check(&code, offset);
    }

    /// Random bytes are mostly VOP2; here every family of encodings gets an equal share.
    #[test]
    fn every_encoding_gives_an_instruction_or_a_reason(family in 0u32..64, first: u32, second: u32) {
        let first = family << 26 | first & 0x03ff_ffff;
        let code = [first.to_le_bytes(), second.to_le_bytes()].concat();
        check(&code, 0);
        check(&code[..4], 0);
    }
}

fn reason(words: &[u32]) -> String {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    decode(&code, 0).unwrap_err().to_string()
}

#[test]
fn code_that_ends_within_an_instruction_is_an_error() {
    assert_eq!(decode(&[], 0).unwrap_err().reason, Reason::Truncated { have: 0 });
    assert_eq!(decode(&[0, 0, 0], 0).unwrap_err().reason, Reason::Truncated { have: 3 });
    assert_eq!(decode(&[0; 8], 9).unwrap_err().reason, Reason::Truncated { have: 0 });
    // s_mov_b32 s4, literal; flat_load_dword
    assert_eq!(
        reason(&[0xbe84_00ff]),
        "no instruction at offset 0x0 (word 0xbe8400ff, the last of the code): the code ends after 4 bytes of it"
    );
    assert_eq!(decode(&0xdc50_0000u32.to_le_bytes(), 0).unwrap_err().reason, Reason::Truncated { have: 4 });
}

#[test]
fn an_unknown_opcode_is_named_with_its_encoding() {
    assert_eq!(
        reason(&[0xdc00_0000, 0]),
        "no instruction at offset 0x0 (words 0xdc000000 0x00000000): FLAT has no opcode 0x0"
    );
    assert!(reason(&[0xc800_0000, 0]).ends_with("GCN3 has no encoding that starts with these bits"));
}

#[test]
fn graphics_instructions_are_refused_by_name() {
    for (first, mnemonic) in [
        (0xc400_000f, "exp"),
        (0xd408_0001, "v_interp_p1_f32"),
        (0xd409_0001, "v_interp_p2_f32"),
        (0xd40a_0001, "v_interp_mov_f32"),
        (0xd274_0000, "v_interp_p1ll_f16"),
        (0xd276_0000, "v_interp_p2_f16"),
    ] {
        let expected = format!("{mnemonic} belongs to graphics pipelines, which are not simulated");
        assert!(reason(&[first, 0]).ends_with(&expected), "{mnemonic}");
    }
}

#[test]
fn registers_that_do_not_exist_are_refused() {
    // v_add_f64 v[255:256], ...
    assert!(reason(&[0xd280_00ff, 0x0002_0100]).ends_with("v_add_f64 has vdst 255, which runs past v255"));
    // s_mov_b64 s[5:6], 0
    assert!(reason(&[0xbe85_0180]).contains("s_mov_b64 has sdst 5, which is not a multiple"));
    // s_mov_b32 s4, (the reserved code 125)
    assert!(reason(&[0xbe84_007d]).ends_with("s_mov_b32 has ssrc0 125, which names no register"));
    // s_load_dwordx8 s[96:103], s[0:1], 0x0
    assert!(reason(&[0xc00e_1800, 0]).ends_with("which runs past the last register of its kind"));
}

#[test]
fn modifiers_an_instruction_has_not_are_refused() {
    // v_and_b32_e64 v0, -v1, v2
    assert!(reason(&[0xd113_0000, 0x2002_0501]).ends_with("v_and_b32 cannot negate or make absolute this source"));
    // v_and_b32_e64 v0, v1, v2 clamp
    assert!(reason(&[0xd113_8000, 0x0002_0501]).ends_with("v_and_b32 cannot clamp its result"));
    // flat_load_dword v0, v[2:3] offset:16, as of gfx9
    assert!(reason(&[0xdc50_0010, 0x0000_0002]).ends_with("which only later chips know"));
    // v_rcp_f64_sdwa does not exist, nor does a literal in VOP3
    assert!(reason(&[0x7e00_4af9, 0x0606_0601]).ends_with("v_rcp_f64 has no SDWA form"));
    assert!(reason(&[0xd101_0000, 0x0002_04ff]).ends_with("a literal, which VOP3 has no room for"));
}

#[test]
fn implicit_registers_are_made_explicit() {
    // v_addc_u32_e32 v1, vcc, v2, v3, vcc reads and writes VCC
    let inst = decode(&0x3802_0702u32.to_le_bytes(), 0).unwrap();
    assert_eq!((inst.op, inst.sdst, inst.src[2]), (Op::VAddcU32, Operand::VCC, Operand::VCC));
    // v_mac_f32_e32 v1, v2, v3 adds to v1
    let inst = decode(&0x2c02_0702u32.to_le_bytes(), 0).unwrap();
    assert_eq!((inst.op, inst.src[2]), (Op::VMacF32, Operand::vgpr(1)));
    // v_madmk_f32 v1, v2, 0x12345678, v3 has its constant as the source where it is used
    let inst = decode(&[0x02, 0x07, 0x02, 0x2e, 0x78, 0x56, 0x34, 0x12], 0).unwrap();
    assert_eq!(inst.src, [Operand::vgpr(2), Operand::LITERAL, Operand::vgpr(3)]);
    assert_eq!(inst.imm, 0x1234_5678);
}

#[test]
fn a_branch_knows_where_it_goes() {
    let back = decode(&0xbf82_fffeu32.to_le_bytes(), 0).unwrap(); // s_branch 65534: two words back
    assert_eq!(back.branch_target(0x100), 0xfc);
    let ahead = decode(&0xbf88_0010u32.to_le_bytes(), 0).unwrap(); // s_cbranch_execz 16
    assert_eq!(ahead.branch_target(0x100), 0x144);
}
