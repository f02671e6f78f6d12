//! The experiments, a file each.

mod collaborative;
mod events;
mod halcone;
mod study1;
mod study2;
mod study3;
mod umh;
mod validation;

use crate::Experiment;

/// All experiments, in the order in which they are listed.
pub static ALL: &[Experiment] = &[
    study1::EXPERIMENT,
    study2::EXPERIMENT,
    study3::EXPERIMENT,
    validation::EXPERIMENT,
    events::EXPERIMENT,
    halcone::fig2::EXPERIMENT,
    halcone::fig7::EXPERIMENT,
    halcone::fig8::EXPERIMENT,
    halcone::fig9::EXPERIMENT,
    halcone::leases::EXPERIMENT,
    halcone::gtsc::EXPERIMENT,
    halcone::traffic::EXPERIMENT,
    halcone::storage::EXPERIMENT,
    umh::TRANSFERS,
    umh::BLOCKS,
    umh::PERFORMANCE,
    umh::FLUSHED,
    umh::SYNCHRONISATION,
    umh::MASKS,
    umh::PEER,
    umh::TRAFFIC,
    umh::STORAGE,
];

/// The experiment called so.
pub fn find(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

/// The six programs of the Rodinia suite as the dissertation calls them, and as they are called here.
const RODINIA: [(&str, &str); 6] = [
    ("BP", "backprop"),
    ("LUD", "lud"),
    ("Kmeans", "kmeans"),
    ("Hotspot", "hotspot"),
    ("NW", "needleman-wunsch"),
    ("BFS", "bfs"),
];
