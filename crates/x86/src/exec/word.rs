//! The four integer widths.
//!
//! Values are always `u64`, zero-extended from their width. A `Word` is the width as a type, so that each handler is
//! compiled for its width.

use crate::Size;

pub(crate) trait Word: Copy + 'static {
    const SIZE: Size;
    const BITS: u32 = Self::SIZE.bits();
    const MASK: u64 = Self::SIZE.mask();
    const SIGN: u64 = 1 << (Self::BITS - 1);

    /// Clears the bits above the width.
    #[inline(always)]
    fn cut(value: u64) -> u64 {
        value & Self::MASK
    }

    /// Sign-extends from the width.
    #[inline(always)]
    fn extend(value: u64) -> i64 {
        ((value << (64 - Self::BITS)) as i64) >> (64 - Self::BITS)
    }
}

impl Word for u8 {
    const SIZE: Size = Size::B1;
}

impl Word for u16 {
    const SIZE: Size = Size::B2;
}

impl Word for u32 {
    const SIZE: Size = Size::B4;
}

impl Word for u64 {
    const SIZE: Size = Size::B8;
}

/// Instantiates a generic handler for a size: `sized!(size, binary::<M, _, Add, Register, Register>)`.
macro_rules! sized {
    ($size:expr, $handler:ident ::<$memory:ident, _ $(, $parameter:ty)*>) => {
        match $size {
            $crate::Size::B1 => $handler::<$memory, u8 $(, $parameter)*> as $crate::insn::Handler<$memory>,
            $crate::Size::B2 => $handler::<$memory, u16 $(, $parameter)*>,
            $crate::Size::B4 => $handler::<$memory, u32 $(, $parameter)*>,
            $crate::Size::B8 => $handler::<$memory, u64 $(, $parameter)*>,
        }
    };
}

pub(crate) use sized;
