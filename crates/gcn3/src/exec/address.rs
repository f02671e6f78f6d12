//! The common part of vector memory instructions: the shape of an access, filled into a [`MemOp`].

use super::{Group, simd::Row};
use crate::{
    inst::{Flags, Inst},
    memop::{AtomicOp, Destination, Extension, Kind, MemOp, Scope, Space},
    wave::Wavefront,
};

/// The size of a lane's access, and its direction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Load {
        bytes: u8,
        words: u8,
        extension: Extension,
    },
    Store {
        bytes: u8,
        words: u8,
    },
    /// `words` is the size of the value in memory: 1 or 2.
    Atomic {
        op: AtomicOp,
        words: u8,
    },
}

impl Shape {
    pub(super) const fn load(words: u8) -> Self {
        Self::Load { bytes: 4, words, extension: Extension::Zero }
    }

    pub(super) const fn load_narrow(bytes: u8, extension: Extension) -> Self {
        Self::Load { bytes, words: 1, extension }
    }

    pub(super) const fn store(words: u8) -> Self {
        Self::Store { bytes: 4, words }
    }

    pub(super) const fn store_narrow(bytes: u8) -> Self {
        Self::Store { bytes, words: 1 }
    }

    pub(super) const fn atomic(op: AtomicOp, words: u8) -> Self {
        Self::Atomic { op, words }
    }

    /// The number of data words that the instruction provides.
    pub(super) fn data_words(self) -> usize {
        match self {
            Self::Load { .. } => 0,
            Self::Store { words, .. } => words.into(),
            Self::Atomic { op: AtomicOp::CompareSwap, words } => 2 * usize::from(words),
            Self::Atomic { words, .. } => words.into(),
        }
    }
}

impl Wavefront {
    /// Prepares an operation of the given shape, without addresses: data comes from vector registers `data` and up,
    /// results go to registers `first` and up.
    pub(super) fn operation(
        &self,
        group: &mut Group,
        inst: &Inst,
        shape: Shape,
        data: Option<u8>,
        first: Option<u8>,
    ) -> Box<MemOp> {
        let mut op = group.operation();
        let flags = inst.memory().flags;
        op.space = Space::Global;
        op.scope = Scope { glc: flags.contains(Flags::GLC), slc: flags.contains(Flags::SLC) };
        op.more.clear();
        op.mask = self.exec();
        let first = first.unwrap_or(0);
        match shape {
            Shape::Load { bytes, words, extension } => {
                op.kind = Kind::Load;
                (op.element_bytes, op.elements) = (bytes, words);
                op.destination = Destination::Vgprs { first, extension };
                // Old contents of the rows are overwritten in the lanes of the mask.
                op.data.resize(usize::from(words), Row::default());
            }
            Shape::Store { bytes, words } => {
                op.kind = Kind::Store;
                (op.element_bytes, op.elements) = (bytes, words);
                op.destination = Destination::None;
            }
            Shape::Atomic { op: operation, words } => {
                let returns = flags.contains(Flags::GLC);
                op.kind = Kind::Atomic { op: operation, returns };
                (op.element_bytes, op.elements) = (4 * words, 1);
                op.destination = match returns {
                    true => Destination::Vgprs { first, extension: Extension::Zero },
                    false => Destination::None,
                };
            }
        }
        op.stride = op.element_bytes.into();
        if op.kind != Kind::Load {
            op.data.resize(shape.data_words(), Row::default());
            for (word, row) in op.data.iter_mut().enumerate() {
                *row = data.map_or(Row::default(), |data| *self.vgpr(usize::from(data) + word));
            }
        }
        op
    }
}
