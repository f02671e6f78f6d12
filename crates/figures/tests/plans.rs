//! Every run of every experiment is possible: its machine loads, and its program exists and accepts the arguments.
//! Nothing is simulated.

use figures::{ALL, Job, Options, Size};
use machine::Machine;
use os::{End, Process, files::Stdio};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    io::{self, Write},
    rc::Rc,
};

#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn jobs() -> Vec<(&'static str, Job)> {
    let sizes = [Size::Quick, Size::Scaled, Size::Paper];
    let plans = ALL
        .iter()
        .flat_map(|experiment| sizes.map(|size| (experiment.name, (experiment.plan)(Options { size, native: true }))));
    plans.flat_map(|(name, plan)| plan.jobs.into_iter().chain(plan.native).map(move |job| (name, job))).collect()
}

/// Why a program rejects its arguments. A program that accepts all of them prints its help and ends.
fn refused(program: &str, arguments: &[String]) -> Option<String> {
    let image = workloads::find(program).map(|_| workloads::guest());
    let image = image.or_else(|| workloads::find_cpu_program(program).map(|program| program.image));
    let Some(image) = image else { return Some("there is no such program".into()) };
    let output = Kept::default();
    let mut options = os::Options::new(format!("/workloads/{program}"));
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str)).chain(["--help"]);
    options.arguments = words.map(|word| word.as_bytes().to_vec()).collect();
    options.stdio = Stdio::new(io::empty(), io::sink(), output.clone());
    let end = Process::start(image, options).expect("the committed programs are sound").run();
    let said = String::from_utf8_lossy(&output.0.borrow()).into_owned();
    (end != End::Exited { code: 0 }).then_some(said)
}

#[test]
fn every_machine_that_an_experiment_names_loads_with_its_changes() {
    let machines: BTreeSet<_> = jobs().into_iter().map(|(name, job)| (job.machine, job.changes, name)).collect();
    for (machine, changes, name) in machines {
        let loaded = Machine::load(&machine, &changes);
        assert!(
            loaded.is_ok(),
            "{name}: {machine} {changes:?}: {}",
            loaded.err().map_or(String::new(), |e| e.to_string())
        );
    }
}

#[test]
fn every_program_that_an_experiment_names_takes_its_arguments() {
    let programs: BTreeSet<_> = jobs().into_iter().map(|(name, job)| (job.program, job.arguments, name)).collect();
    for (program, arguments, name) in programs {
        assert_eq!(refused(&program, &arguments), None, "{name}: {program} {arguments:?}");
    }
    assert!(refused("vecadd", &["--size".into(), "no-such-preset".into()]).is_some(), "a wrong argument is noticed");
}
