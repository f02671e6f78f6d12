//! Builds a model from a plan. The builder makes no choices: the plan says what each element is and where it stands.

mod elements;
mod memories;
mod outside;
mod program;
mod translation;
mod view;
mod wires;

pub(crate) use memories::Memories;

use crate::{
    golden::{Golden, Kept},
    plan::{Domain, Element, Plan, Population, Routes, lower},
    run::Start,
    session::{Command, Ended},
    spec::Machine,
    stress::{self, Stress},
};
use elements::Builder;
use engine::{Journal, Model, Time};
use mem::{Observation, Observer};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::AtomicU8,
        mpsc::{Receiver, Sender},
    },
};

/// The elements that access memory.
pub(crate) enum Agents {
    /// Compute units that execute the kernels sent over these channels by a host.
    Host(Receiver<Command>, Sender<Ended>),
    /// Testers in place of all requesters.
    Testers(Stress),
    /// Testers whose pages a driver moves; for tests, the driver may omit one step.
    PagedTesters(Stress, Option<stress::Forgotten>),
    /// Testers, and a driver that migrates one page; the time of each step is stored here.
    Migration(Arc<Mutex<stress::Migrated>>),
    /// Testers of which one passes a message to another; the value that the other reads is stored here.
    Writer(Arc<AtomicU8>),
    /// Testers that read streams of lines; the duration of each stream is stored here.
    Streams(Vec<stress::Stream>, Arc<Mutex<Vec<Time>>>),
    /// Compute units, and cores that run a program.
    Program(Start),
}

impl Agents {
    fn population(&self) -> Population {
        match self {
            Self::Host(..) => Population::Host,
            Self::PagedTesters(..) | Self::Migration(_) => Population::PagedTesters,
            Self::Testers(_) | Self::Writer(_) | Self::Streams(..) => Population::Testers,
            Self::Program(_) => Population::Program,
        }
    }
}

/// The reporters of the golden image: a number for each element that reports.
#[derive(Clone, Default)]
struct Observers {
    journal: Option<Journal<Observation>>,
    /// Number of the first report of each element.
    first: Vec<u32>,
    /// For tests of the checker: the element that answers a load with a wrong byte.
    broken: Option<String>,
}

impl Observers {
    fn new(plan: &Plan, check: bool, broken: Option<String>) -> Self {
        let mut first = Vec::with_capacity(plan.elements.len());
        let mut next = 0;
        for element in &plan.elements {
            first.push(next);
            next += element.reports.len() as u32;
        }
        Self { journal: check.then(Journal::default), first, broken }
    }

    /// The n-th report of an element, and the journal that receives it.
    fn of(&self, id: crate::plan::Id, number: u32) -> Option<(Observer, &Journal<Observation>)> {
        Some((Observer(self.first[id.0] + number), self.journal.as_ref()?))
    }

    fn is_broken(&self, element: &Element) -> bool {
        self.broken.is_some() && element.reports.first().map(|report| &report.name) == self.broken.as_ref()
    }
}

/// The model of a machine.
pub(crate) fn build(machine: &Machine, memories: &Memories, check: Option<Kept>, agents: Agents) -> Model {
    let plan = Arc::new(lower(machine, agents.population()));
    let observers = Observers::new(&plan, check.is_some(), machine.broken.clone());
    let mut model = Model::new();
    let clocks: Vec<_> = plan.clocks.iter().map(|clock| model.clock(*clock)).collect();
    let mut ends = wires::declare(&plan, &mut model);
    if let (Some(kept), Some(journal)) = (check, observers.journal.clone()) {
        let reports = || plan.elements.iter().flat_map(|element| &element.reports);
        let (names, sides) = (reports().map(|of| of.name.clone()).collect(), reports().map(|of| of.side).collect());
        let image = Domain::image(&plan.domains, sides, machine.gpus > 1);
        model.audit("check.golden_image", journal, Golden::new(image, kept, names));
    }
    let routes = Arc::new(Routes::new(&plan));
    let book = match &agents {
        Agents::PagedTesters(stress, _) => Some(Arc::new(stress::Book::new(*stress, machine))),
        Agents::Migration(_) => Some(Arc::new(stress::Book::new(Stress::NOTHING, machine))),
        _ => None,
    };
    // The leader of all others is in the first partition.
    let mut agents = Some(agents);
    let mut parts: BTreeMap<usize, Vec<crate::plan::Id>> = BTreeMap::new();
    for (number, element) in plan.elements.iter().enumerate() {
        parts.entry(element.part).or_default().push(crate::plan::Id(number));
    }
    let stress = match &agents {
        Some(Agents::Testers(stress) | Agents::PagedTesters(stress, _)) => *stress,
        _ => Stress::NOTHING,
    };
    if let Some(delay) = plan.control_delay {
        model.control_delay(delay);
    }
    for (part, ids) in parts {
        let share = plan.shares.get(&part).copied().unwrap_or_default();
        let (own, others): (wires::Ends, _) =
            std::mem::take(&mut ends).into_iter().partition(|((_, id), _)| plan.element(*id).part == part);
        ends = others;
        let (plan, routes, observers) = (Arc::clone(&plan), Arc::clone(&routes), observers.clone());
        let (clocks, stores, book) = (clocks.clone(), memories.stores.clone(), book.clone());
        let agents = if part == 0 { agents.take() } else { None };
        model.partition_with(share, move |partition| {
            let scopes = wires::Scopes { partition, clocks: &clocks };
            let wires = wires::Wires::place(&plan, part, own, &scopes);
            let mut builder = Builder::new(&plan, &routes, &observers, scopes, wires, &stores, (stress, agents, book));
            for id in ids {
                if builder.element(id).is_err() {
                    return partition.give_up();
                }
            }
        });
    }
    model
}
