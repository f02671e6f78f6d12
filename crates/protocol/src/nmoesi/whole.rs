//! Whole hierarchies: every level, blocks of three lines, several GPUs and a CPU. They are too large for a search, so
//! they are explored by random walks.

use super::{
    hmd::Hmd,
    l1::{self, CPU, L1},
    l2::L2,
    smd::Smd,
    store::Store,
    systems::{Builder, node, tell, work},
    wt::{self, WriteThrough},
};
use crate::{
    Controller, Kind, Node, Sharers,
    check::{BYTES, Stage, System},
};

type Cache = &'static dyn Controller<BYTES>;

/// Lines of a block.
const LINES: u16 = 3;
static SMD: Smd = Smd { lines: LINES, releases_home: false };
static ONE: Hmd = hmd(1, true);
static TWO: Hmd = hmd(2, true);
static TWO_BY_HOME: Hmd = hmd(2, false);
static THREE: Hmd = hmd(3, true);

/// The host's memory below `gpus` GPUs and a CPU, which holds single lines.
const fn hmd(gpus: u16, peer: bool) -> Hmd {
    Hmd { lines: LINES, singles: Sharers::one(2 * gpus), owns: false, peer }
}

/// A mask bit stands for the whole line, so every store of a byte is coherent.
static COARSE: WriteThrough = WriteThrough { grain: BYTES as u8 };
/// Variant of [`COARSE`] that writes back.
static COARSE_BACK: L1 = L1 { grain: Some(BYTES as u8), stores: true };

/// GPUs that each have these first-level caches above a memory of their own, with a second-level cache between if there
/// are several; and a CPU.
fn whole(gpus: usize, l1s_of: &[Cache], hmd: &'static Hmd, coherent: bool) -> System {
    let mut builder = Builder::new(LINES.into(), coherent);
    let l1s = gpus * l1s_of.len();
    let smds = if l1s > gpus { l1s + gpus } else { l1s };
    let (smd, home) = (|gpu: usize| smds + 2 * gpu, smds + 2 * gpus + 1);
    for gpu in 0..gpus {
        let below = if smds > l1s { l1s + gpu } else { smd(gpu) };
        for l1 in l1s_of {
            builder.add_l1(format!("l1.{}", builder.members.len()), *l1, below);
        }
    }
    let mut caches: Vec<Node> = (0..l1s).map(node).collect();
    let l2s: Vec<Node> = (l1s..smds).map(node).collect();
    for gpu in 0..l2s.len() {
        builder.add(format!("l2.{gpu}"), &L2 { owns: false }, smd(gpu), gpu * l1s_of.len());
    }
    for gpu in 0..gpus {
        builder.add(format!("smd.{gpu}"), &SMD, home, smds - gpus + gpu);
        builder.add(format!("stack.{gpu}"), &Store, smd(gpu) + 1, 0);
    }
    caches.push(builder.add_l1("cpu".to_owned(), &CPU, home));
    builder.add_home(hmd, smds);
    let mut stages = vec![work(builder.cores)];
    if !coherent {
        let smds: Vec<Node> = (0..gpus).map(|gpu| node(smd(gpu))).collect();
        stages = vec![Stage::Free { cores: (0..builder.cores).collect() }];
        stages.extend([&caches, &l2s, &smds].map(|members| tell(Kind::Flush, members)));
        stages.push(tell(Kind::Invalidate, &caches));
    }
    builder.system(stages, Vec::new())
}

/// Two GPUs with two caches each, and coherent stores.
pub fn whole_stores(_: usize, _: usize) -> System {
    whole(2, &[&CPU, &CPU], &TWO, true)
}

/// Two GPUs, each with two caches that write through.
pub fn whole_through(_: usize, _: usize) -> System {
    whole(2, &[&wt::GPU, &wt::GPU], &TWO, false)
}

/// Two GPUs, each with a cache that writes through and one that writes back; a mask bit stands for more bytes than a
/// store writes.
pub fn whole_coarse(_: usize, _: usize) -> System {
    whole(2, &[&COARSE, &COARSE_BACK], &TWO_BY_HOME, false)
}

/// Two GPUs, each with two caches that write back.
pub fn whole_back(_: usize, _: usize) -> System {
    whole(2, &[&l1::GPU, &l1::GPU], &TWO_BY_HOME, false)
}

/// Two GPUs, each with one cache of every kind.
pub fn whole_mixed(_: usize, _: usize) -> System {
    whole(2, &[&wt::GPU, &l1::GPU, &CPU], &TWO, false)
}

/// One GPU with one cache.
pub fn lone_gpu(_: usize, _: usize) -> System {
    whole(1, &[&l1::GPU], &ONE, false)
}

/// Two GPUs with one cache each.
pub fn two_gpus(_: usize, _: usize) -> System {
    whole(2, &[&l1::GPU], &TWO, false)
}

/// Three GPUs with one cache each, and coherent stores.
pub fn three_stores(_: usize, _: usize) -> System {
    whole(3, &[&CPU], &THREE, true)
}

/// Three GPUs with one cache each.
pub fn three_gpus(_: usize, _: usize) -> System {
    whole(3, &[&l1::GPU], &THREE, false)
}
