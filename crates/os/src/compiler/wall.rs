//! The wall around the compiler: Landlock.
//!
//! A thread gives up its rights to everything but a list of files, and to the network, and then starts the compiler, which
//! inherits that. Rules are made of descriptors; no path is resolved a second time. Nothing of the program's folders is
//! among them: what a source includes is read for it (`headers`) and lies in the compiler's own folder.

use std::{io, os::fd::AsFd};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::{toolchain::Toolchain, workspace::Workspace};

/// What newer kernels can refuse on top is refused where they can.
const NEWEST: ABI = ABI::V6;

/// Whether the kernel can confine.
pub fn is_there() -> bool {
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|ruleset| ruleset.create());
    made.is_ok()
}

/// Gives up this thread's rights to all but the toolchain's files and the build's own folder: what a thread may not do, its
/// children may not.
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
    // What is not there need not be shown.
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
