//! Programs: ELF files, and how a process is set up from one.

mod elf;
mod isa;
mod stack;
mod symbols;

pub use elf::{Image, Loader, ProgramError, ReadLoader};
pub use stack::{STACK_SIZE, StackError, Start, set_up_stack};
pub use symbols::Symbols;
