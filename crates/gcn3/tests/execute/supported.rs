//! The set of supported instructions.

use gcn3::{exec::handler, ops::Op};

/// The mnemonics that compilers generate for 161 public OpenCL programs.
const COMMON: &str = include_str!("mnemonics.txt");

#[test]
fn every_instruction_of_the_public_programs_is_supported() {
    let missing: Vec<&str> = COMMON
        .lines()
        .filter(|mnemonic| {
            let op = Op::ALL.iter().find(|op| op.mnemonic() == *mnemonic);
            op.is_none_or(|op| handler(*op).is_none())
        })
        .collect();
    assert_eq!(missing, [""; 0]);
    assert_eq!(COMMON.lines().count(), 294);
}

/// Exactly these are unsupported: traps and forks of graphics and debugging, the global data share, the rarest forms of
/// the local one, and filtering beyond nearest and linear.
#[test]
fn only_these_instructions_are_not_supported() {
    let missing: Vec<&str> = Op::ALL.iter().filter(|op| handler(**op).is_none()).map(|op| op.mnemonic()).collect();
    let image = |mnemonic: &&&str| !mnemonic.starts_with("image_sample_") && !mnemonic.starts_with("image_gather4");
    let source2 = |mnemonic: &&&str| !mnemonic.contains("_src2_");
    let rest: Vec<&str> = missing.iter().filter(image).filter(source2).copied().collect();
    assert_eq!(
        rest,
        [
            "s_cbranch_g_fork",
            "s_rfe_restore_b64",
            "s_cbranch_i_fork",
            "s_rfe_b64",
            "s_cbranch_join",
            "s_setvskip",
            "s_sethalt",
            "s_sendmsghalt",
            "ds_condxchg32_rtn_b64",
            "ds_gws_sema_release_all",
            "ds_gws_init",
            "ds_gws_sema_v",
            "ds_gws_sema_br",
            "ds_gws_sema_p",
            "ds_gws_barrier",
            "ds_ordered_count",
            "buffer_store_lds_dword",
            "image_load_pck",
            "image_load_pck_sgn",
            "image_load_mip_pck",
            "image_load_mip_pck_sgn",
            "image_store_pck",
            "image_store_mip_pck",
            "image_get_lod",
        ]
    );
}
