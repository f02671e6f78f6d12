//! Results of runs, for people and programs.
//!
//! A run yields statistics by path, and nothing else. This crate derives everything a reader wants to know from them:
//! where the time went ([`Summary`]), how several machines compare ([`Comparison`]), files for other programs and a
//! page ([`write`]), a drawing of the machine ([`drawing`]), and an experiment beside its paper ([`findings_text`]). It
//! simulates nothing and does not know how a machine is wired: elements are found by the statistics that they count
//! (`docs/statistics.md`), so a new element appears without changes here.
#![forbid(unsafe_code)]

mod comparison;
pub mod drawing;
mod facts;
mod figures;
mod files;
mod findings;
mod html;
mod out;
mod parquet;
mod perfetto;
mod rows;
mod subject;
mod summary;
mod text;

pub use comparison::{Compared, Comparison};
pub use files::{ReportError, write};
pub use findings::{findings_text, write_findings};
pub use out::{OutError, OutFolder};
pub use parquet::join_parquet;
pub use subject::{Digest, FastForward, HostFacts, Identity, ImageDigest, Input, Program, Subject, VERSION};
pub use summary::{
    Accesses, Bottleneck, CacheLevel, Core, Cores, GpuTime, KernelTime, MemoryTraffic, Network, Pages, Rows, Share,
    Spread, Summary, Units, Wires,
};
