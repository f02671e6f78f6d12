//! Confines the compiler with Landlock.
//!
//! A thread gives up its access to the network and to all files but a list, and then starts the compiler, which
//! inherits the restriction. Rules are made from open descriptors, so no path is resolved twice. The program's folders
//! are not on the list: what a source includes is read on its behalf (`headers`) and copied to the compiler's own
//! folder.

use std::{io, os::fd::AsFd};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::{toolchain::Toolchain, workspace::Workspace};

/// The newest Landlock interface to use; on older kernels, as much of it as they support.
const NEWEST: ABI = ABI::V6;

/// Whether the host kernel supports Landlock.
pub fn is_there() -> bool {
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|ruleset| ruleset.create());
    made.is_ok()
}

/// Restricts this thread, and so its children, to the toolchain's files and the build's own folder.
pub fn restrict(toolchain: &Toolchain, own: &Workspace) -> io::Result<()> {
    let told = |error: landlock::RulesetError| io::Error::other(error);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .and_then(|ruleset| ruleset.create())
        .map_err(told)?;
    let mut allow = |file: &dyn AsFd, access: BitFlags<AccessFs>| {
        let rule = PathBeneath::new(file.as_fd(), access);
        (&mut ruleset).add_rule(rule).map(drop).map_err(told)
    };
    // Files that don't exist need no rule.
    for file in toolchain.programs().filter_map(|path| PathFd::new(path).ok()) {
        allow(&file, AccessFs::ReadFile | AccessFs::Execute)?;
    }
    for folder in toolchain.folders().iter().filter_map(|path| PathFd::new(path).ok()) {
        allow(&folder, AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    if let Ok(null) = PathFd::new("/dev/null") {
        allow(&null, AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg | AccessFs::RemoveFile;
    allow(own.folder(), read | write)?;
    match ruleset.restrict_self().map_err(told)?.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::other("Landlock did not take effect")),
        _ => Ok(()),
    }
}
