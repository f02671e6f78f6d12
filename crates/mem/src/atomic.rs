//! Atomic read-modify-write operations.

use crate::{Block, LINE};

/// How an atomic access changes the value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AtomicOp {
    Swap,
    /// `data` holds the new value, followed by the value that memory must hold for the swap to happen.
    CompareSwap,
    Add,
    Sub,
    /// `data - memory`; exists in the local data share only.
    ReverseSub,
    SignedMin,
    UnsignedMin,
    SignedMax,
    UnsignedMax,
    And,
    Or,
    Xor,
    /// Counts up and wraps to zero after `data`.
    Increment,
    /// Counts down, and wraps to `data` if the value is zero or above `data`.
    Decrement,
    /// Variant of `CompareSwap` that compares floating-point numbers (so that -0 equals +0).
    FloatCompareSwap,
    FloatMin,
    FloatMax,
    FloatAdd,
    /// `(memory & !data[0]) | data[1]`; exists in the local data share only.
    MaskedOr,
}

/// An atomic access to one or more elements of a line, of 4 bytes each, or of 8 if `wide`. Packed, so that requests and
/// packets, which have room for one, stay small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(Rust, packed)]
pub struct Atomic {
    pub op: AtomicOp,
    pub wide: bool,
    /// The second operand of operations that have one. Such an access has only one element.
    pub second: u64,
}

impl Atomic {
    /// The new values of the elements in the operands' mask.
    pub fn apply(&self, memory: &[u8; LINE], operands: &Block<LINE>) -> Block<LINE> {
        let mut result = *memory;
        let size = if self.wide { 8 } else { 4 };
        for place in (0..LINE).step_by(size).filter(|place| operands.mask().has(*place)) {
            let element = place..place + size;
            if self.wide {
                let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("an element has 8 bytes"));
                let (old, data) = (word(&memory[element.clone()]), word(&operands.bytes()[element.clone()]));
                result[element].copy_from_slice(&self.op.apply64(old, data, self.second).to_le_bytes());
            } else {
                let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("an element has 4 bytes"));
                let (old, data) = (word(&memory[element.clone()]), word(&operands.bytes()[element.clone()]));
                result[element].copy_from_slice(&self.op.apply32(old, data, self.second as u32).to_le_bytes());
            }
        }
        Block::of(result, operands.mask())
    }
}

macro_rules! apply {
    ($(#[$doc:meta])* $name:ident, $unsigned:ty, $signed:ty, $float:ty) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(self, memory: $unsigned, data: $unsigned, second: $unsigned) -> $unsigned {
            let float = <$float>::from_bits;
            let either = |take_data: bool| if take_data { data } else { memory };
            match self {
                Self::Swap => data,
                Self::CompareSwap => either(memory == second),
                Self::Add => memory.wrapping_add(data),
                Self::Sub => memory.wrapping_sub(data),
                Self::ReverseSub => data.wrapping_sub(memory),
                Self::SignedMin => either((data as $signed) < memory as $signed),
                Self::UnsignedMin => memory.min(data),
                Self::SignedMax => either(data as $signed > memory as $signed),
                Self::UnsignedMax => memory.max(data),
                Self::And => memory & data,
                Self::Or => memory | data,
                Self::Xor => memory ^ data,
                Self::Increment => if memory >= data { 0 } else { memory + 1 },
                Self::Decrement => if memory == 0 || memory > data { data } else { memory - 1 },
                Self::FloatCompareSwap => either(float(memory) == float(second)),
                Self::FloatMin => either(float(data) < float(memory)),
                Self::FloatMax => either(float(data) > float(memory)),
                Self::FloatAdd => (float(memory) + float(data)).to_bits(),
                Self::MaskedOr => (memory & !data) | second,
            }
        }
    };
}

impl AtomicOp {
    apply! {
        /// The value that a 32-bit atomic leaves in memory.
        apply32, u32, i32, f32
    }
    apply! {
        /// The value that a 64-bit atomic leaves in memory.
        apply64, u64, i64, f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mask;

    #[test]
    fn every_element_of_the_mask_is_changed_and_no_other() {
        let mut operands = Block::of([1; LINE], Mask::range(4, 4));
        operands.write(&Block::of([2; LINE], Mask::range(60, 4)));
        let atomic = Atomic { op: AtomicOp::Add, wide: false, second: 0 };
        let result = atomic.apply(&[7; LINE], &operands);
        assert_eq!(result.mask(), operands.mask());
        assert_eq!((result.get(4), result.get(60), result.get(8)), (Some(8), Some(9), None));
    }

    #[test]
    fn counters_wrap_at_the_given_bound() {
        assert_eq!(AtomicOp::Increment.apply32(6, 7, 0), 7);
        assert_eq!(AtomicOp::Increment.apply32(7, 7, 0), 0);
        assert_eq!(AtomicOp::Increment.apply32(9, 7, 0), 0);
        assert_eq!(AtomicOp::Decrement.apply32(3, 7, 0), 2);
        assert_eq!(AtomicOp::Decrement.apply32(0, 7, 0), 7);
        assert_eq!(AtomicOp::Decrement.apply32(8, 7, 0), 7);
        assert_eq!(AtomicOp::Decrement.apply64(1 << 40, 1 << 41, 0), (1 << 40) - 1);
    }

    #[test]
    fn signed_and_unsigned_extremes_differ() {
        assert_eq!(AtomicOp::SignedMin.apply32(1, u32::MAX, 0), u32::MAX);
        assert_eq!(AtomicOp::UnsignedMin.apply32(1, u32::MAX, 0), 1);
        assert_eq!(AtomicOp::SignedMax.apply64(1, u64::MAX, 0), 1);
        assert_eq!(AtomicOp::UnsignedMax.apply64(1, u64::MAX, 0), u64::MAX);
    }

    #[test]
    fn a_compare_and_swap_needs_the_expected_value() {
        assert_eq!(AtomicOp::CompareSwap.apply32(5, 9, 5), 9);
        assert_eq!(AtomicOp::CompareSwap.apply32(6, 9, 5), 6);
        assert_eq!(AtomicOp::CompareSwap.apply32(0x8000_0000, 9, 0), 0x8000_0000);
        assert_eq!(AtomicOp::FloatCompareSwap.apply32(0x8000_0000, 9, 0), 9);
    }
}
