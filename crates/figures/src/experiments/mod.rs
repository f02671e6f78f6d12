//! The experiments, one per file. Those of one paper share a folder.

mod adsm;
mod collaborative;
mod directions;
mod events;
mod halcone;
mod study1;
mod study2;
mod study3;
mod umh;
mod validation;
mod vcache;

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
    vcache::fig2::EXPERIMENT,
    vcache::rates::FIG3,
    vcache::overheads::FIG4,
    vcache::overheads::FIG5,
    vcache::rates::FIG8,
    vcache::performance::FIG9,
    vcache::performance::FIG10,
    vcache::performance::FIG11,
    vcache::fig12::EXPERIMENT,
    vcache::area::EXPERIMENT,
    adsm::fig7::EXPERIMENT,
    adsm::fig8::EXPERIMENT,
    adsm::fig9::EXPERIMENT,
    adsm::fig10::EXPERIMENT,
    adsm::fig11::EXPERIMENT,
    adsm::fig12::EXPERIMENT,
    directions::EXPERIMENT,
];

/// The experiment with this name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

/// The six programs of the Rodinia suite: the dissertation's names, and their names here.
const RODINIA: [(&str, &str); 6] = [
    ("BP", "backprop"),
    ("LUD", "lud"),
    ("Kmeans", "kmeans"),
    ("Hotspot", "hotspot"),
    ("NW", "needleman-wunsch"),
    ("BFS", "bfs"),
];
