//! The few instructions that these tests need, as the GCN3 manual encodes them.

pub const S_NOP: u32 = 0xbf80_0000;
pub const S_ENDPGM: u32 = 0xbf81_0000;
/// `s_waitcnt vmcnt(0)`
pub const WAIT: u32 = 0xbf8c_0f70;
/// `flat_load_dword v1, v[2:3]`
pub const LOAD: [u32; 2] = [0xdc50_0000, 0x0100_0002];
/// `v_mov_b32 v2, 0`
pub const V2_ZERO: u32 = 0x7e04_0280;
/// `v_mov_b32 v3, 0`
pub const V3_ZERO: u32 = 0x7e06_0280;

/// `s_cmp_eq_u32 s0, 0`: s0 is the number of the workgroup.
pub const FIRST_WORKGROUP: u32 = 0xbf06_8000;
/// `s_cbranch_scc0`, which skips one word.
pub const SKIP_ONE_IF_NOT: u32 = 0xbf84_0001;
/// `s_sleep 1`
pub const SLEEP_64: u32 = 0xbf8e_0001;

/// `s_branch`, which skips `words` words.
pub fn branch(words: i16) -> u32 {
    0xbf82_0000 | u32::from(words as u16)
}

/// `v_lshlrev_b32 v2, BITS, v0`: v0 is the number of the work-item.
pub fn shifted(bits: u32) -> u32 {
    0x2404_0080 | bits
}

/// A kernel whose lanes load the addresses that `v2` holds, `loads` times, and end with the last of them.
pub fn loads(v2: u32, loads: usize) -> Vec<u32> {
    let mut code = vec![v2, V3_ZERO];
    code.extend(LOAD.repeat(loads));
    code.extend([WAIT, S_ENDPGM]);
    code
}
