//! The protocols that a machine can be run with: which controller stands where.

use mem::LINE;
use protocol::{Controller, memory::Memory, vi_l1::ViL1, wb_l2::WriteBackL2, wt_l2::WriteThroughL2};

/// The controllers of a GPU's memory system.
#[derive(Clone, Copy)]
pub struct Roles {
    pub name: &'static str,
    /// Of all first-level caches.
    pub l1: &'static dyn Controller<LINE>,
    pub l2: &'static dyn Controller<LINE>,
    pub home: &'static dyn Controller<LINE>,
    /// Whether a second-level cache knows, or finds out by itself, that its copy of a line is stale.
    pub coherent: bool,
}

static ROLES: &[Roles] = &[
    Roles { name: "wb_nc", l1: &ViL1, l2: &WriteBackL2, home: &Memory, coherent: false },
    Roles { name: "wt_nc", l1: &ViL1, l2: &WriteThroughL2, home: &Memory, coherent: false },
];

impl Roles {
    pub fn named(name: &str) -> Option<Self> {
        ROLES.iter().find(|roles| roles.name == name).copied()
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ROLES.iter().map(|roles| roles.name)
    }
}
