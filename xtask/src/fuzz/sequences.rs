//! The generator of x86-64 instruction sequences, shared with the tests of `cargo xtask diff-x86`.

#[path = "../../../crates/x86/tests/native/generate.rs"]
#[allow(dead_code, reason = "the comparison with the host needs more of it")]
pub mod generate;
#[path = "../../../crates/x86/tests/native/instructions.rs"]
#[allow(dead_code, reason = "the comparison with the host needs more of it")]
pub mod instructions;
#[path = "../../../crates/x86/tests/native/operands.rs"]
mod operands;
#[path = "../../../crates/x86/tests/native/random.rs"]
pub mod random;
#[path = "../../../crates/x86/tests/native/state.rs"]
#[allow(dead_code, reason = "the comparison with the host needs more of it")]
pub mod state;
#[path = "../../../crates/x86/tests/native/undefined.rs"]
#[allow(dead_code, reason = "the comparison with the host needs more of it")]
mod undefined;
#[path = "../../../crates/x86/tests/native/values.rs"]
mod values;
