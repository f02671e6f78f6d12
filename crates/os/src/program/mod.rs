//! Programs: loading ELF files, and setting up the initial stack.

mod elf;
mod isa;
mod stack;
mod symbols;

pub use elf::{Image, Loader, ProgramError, ReadLoader};
pub use stack::{STACK_SIZE, StackError, Start, set_up_stack};
pub use symbols::Symbols;
