//! Options that write and restore checkpoints.

use crate::{guest::GuestOptions, repro::simulator};
use machine::checkpoint::{Checkpoint, Checkpoints};
use miette::{IntoDiagnostic, bail};
use os::forward::Point;
use sha2::{Digest, Sha256};
use std::{path::PathBuf, sync::Arc};

#[derive(clap::Args)]
#[command(next_help_heading = "Checkpoints")]
pub struct CheckpointOptions {
    /// Before the program enqueues its N-th kernel, wait until all earlier commands have completed, write the state to
    /// this file, and continue with cold caches. May be given several times. For machines without CPU cores.
    #[arg(long = "checkpoint", value_name = "kernel:N=FILE", value_parser = place,
          conflicts_with_all = ["functional", "trace", "fast_forward"])]
    before: Vec<(u64, PathBuf)>,
    /// Continue from a checkpoint that this program, with these arguments, has written. On the machine that wrote it,
    /// the results equal those of the run that wrote it, byte for byte.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["functional", "trace", "fast_forward"])]
    restore: Option<PathBuf>,
    /// Accept a checkpoint of a different machine; the results begin at the checkpoint.
    #[arg(long, requires = "restore")]
    cold: bool,
}

impl CheckpointOptions {
    pub fn read(&self, guest: &GuestOptions) -> miette::Result<Checkpoints> {
        if self.before.is_empty() && self.restore.is_none() {
            return Ok(Checkpoints::default());
        }
        let mut before = self.before.clone();
        before.sort();
        if let Some(pair) = before.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            bail!("--checkpoint kernel:{} is given twice", pair[0].0);
        }
        let build: String = simulator()?[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let restored =
            self.restore.as_ref().map(|path| Checkpoint::read(path, &build)).transpose().into_diagnostic()?;
        let program = Sha256::digest(guest.identity()?).to_vec();
        Ok(Checkpoints { before, restored: restored.map(Arc::new), cold: self.cold, program, build })
    }
}

fn place(text: &str) -> Result<(u64, PathBuf), String> {
    let (point, file) = text.split_once('=').filter(|(_, file)| !file.is_empty()).ok_or("write kernel:N=FILE")?;
    match point.parse()? {
        Point::Kernel(number) => Ok((number, file.into())),
        _ => Err("checkpoints are made before kernels: write kernel:N=FILE".into()),
    }
}
