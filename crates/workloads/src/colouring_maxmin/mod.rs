//! Graph colouring with two colours per round: indirect loads, and fewer active nodes from round to round.

use crate::{
    colouring_max::{colour, describe},
    workload::Workload,
};

pub const WORKLOAD: Workload = Workload {
    name: "colouring-maxmin",
    about: "colours a graph so that neighbours differ, two colours a round for nodes of highest and lowest priority",
    source: include_str!("colouring_maxmin.cl"),
    object: include_bytes!("colouring_maxmin.hsaco"),
    host: include_str!("colouring_maxmin.c"),
    sizes: describe,
    run: |size, gpu| colour(size, gpu, ["choose_maxmin", "colour_maxmin"], true),
};
