//! The decoder and the disassembler on arbitrary code, instruction after instruction. The random tests of
//! `tests/any_bytes.rs` make the same checks.
#![no_main]

#[path = "../../tests/support/any_code.rs"]
mod any_code;

libfuzzer_sys::fuzz_target!(|code: &[u8]| {
    let mut offset = 0;
    while offset < code.len() {
        offset += any_code::check(code, offset);
    }
});
