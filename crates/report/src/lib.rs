//! Results of runs, for people and programs.
//!
//! A run brings statistics by path, and nothing else. What a reader wants to know is made of them here: where the time
//! went ([`Summary`]), how several machines compare ([`Comparison`]), files for other programs and a page to look at
//! ([`write`]), what a machine looks like ([`drawing`]), and an experiment beside its paper ([`findings_text`]). Nothing here simulates, and nothing here knows how a machine is
//! wired: elements are found by what they count (`docs/statistics.md`), so a new one appears by itself.
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
pub use subject::{Digest, FastForward, HostFacts, Identity, Input, Program, Subject, VERSION};
pub use summary::{
    Accesses, Bottleneck, CacheLevel, Core, Cores, GpuTime, KernelTime, MemoryTraffic, Network, Pages, Rows, Share,
    Spread, Summary, Units, Wires,
};
