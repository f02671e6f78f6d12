//! HALCONE against G-TSC: bytes saved because requests carry no timestamps (`[halcone 1 and 3.2]`).

use super::{
    BENCHMARKS, Benchmark, GTSC, HALCONE, L2_READS, L2_WRITES, job, notes, over_benchmarks, sum,
    traffic::{ADDRESS, BLOCK, METADATA, TIMESTAMPS},
};
use crate::{Experiment, Job, Measured, Options, Plan, Results, Row, Size};

pub const EXPERIMENT: Experiment = Experiment {
    name: "halcone-gtsc",
    about: "traffic between L1s, L2s and memory saved against G-TSC in percent, and speed over it",
    source: "HALCONE, footnote 2 and 3.2",
    plan,
};

/// Bytes that a G-TSC request has in addition: the time of its compute unit (64 bits, as a `cts`) and the version of
/// the held line (16).
const REQUEST_TIMES: f64 = 10.0;
/// Bytes that a G-TSC answer to a compute unit has in addition: the time to advance to.
const ANSWER_TIME: f64 = 2.0;

/// Accesses of each kind: those that reach a cache and those that it forwards.
const L1_READS: &str = "gpu*.array*.cu*.l1v.accesses.read/*";
const L1_WRITES: &str = "gpu*.array*.cu*.l1v.accesses.write/*";

fn counted(benchmark: &Benchmark, machine: &str, size: Size) -> Job {
    job(benchmark, machine, size, &[]).counting(&[L1_READS, L1_WRITES])
}

fn plan(options: Options) -> Plan {
    let size = options.size;
    let jobs = [HALCONE, GTSC]
        .into_iter()
        .flat_map(|machine| BENCHMARKS.iter().map(move |benchmark| counted(benchmark, machine, size)));
    let mut notes = notes(size);
    notes.push(
        "bytes are accesses of compute units and of L1s times the paper's fields (3.2.6: an address of 8 bytes, 4 of metadata, blocks of 64); a \
         request of G-TSC has 10 more (warpts of 8, wts of 2), an answer 2: the text names these fields and not their sizes"
            .to_owned(),
    );
    Plan {
        jobs: jobs.collect(),
        native: Vec::new(),
        alone: false,
        notes,
        rows: Box::new(move |results| rows(results, size)),
    }
}

/// Bytes of requests and of answers in the whole hierarchy; the last two arguments are additional bytes per message.
fn bytes(run: &Measured, request_times: f64, answer_time: f64) -> (f64, f64) {
    let (reads, writes) = (sum(run, &[L1_READS, L2_READS]), sum(run, &[L1_WRITES, L2_WRITES]));
    let requests = (reads + writes) * (ADDRESS + METADATA + request_times);
    let answers = reads * (BLOCK + TIMESTAMPS + answer_time) + writes * (TIMESTAMPS + answer_time);
    (requests, answers)
}

fn rows(results: &Results, size: Size) -> Vec<Row> {
    let on = |machine: &'static str| move |benchmark: &Benchmark| counted(benchmark, machine, size);
    let mut rows = Vec::new();
    let (mut most_requests, mut most_answers): (Option<f64>, Option<f64>) = (None, None);
    for benchmark in &BENCHMARKS {
        let both = results.get(&on(HALCONE)(benchmark)).zip(results.get(&on(GTSC)(benchmark)));
        let Some((halcone, gtsc)) = both else { continue };
        let (own, other) = (bytes(halcone, 0.0, 0.0), bytes(gtsc, REQUEST_TIMES, ANSWER_TIME));
        let saved = |own: f64, other: f64| (1.0 - own / other) * 100.0;
        let (requests, answers) = (saved(own.0, other.0), saved(own.1, other.1));
        rows.push(Row::new(format!("{}, requests, % saved", benchmark.name), None, requests));
        rows.push(Row::new(format!("{}, responses, % saved", benchmark.name), None, answers));
        most_requests = Some(most_requests.map_or(requests, |most| most.max(requests)));
        most_answers = Some(most_answers.map_or(answers, |most| most.max(answers)));
    }
    rows.extend(most_requests.map(|most| Row::new("requests, most saved, %", 41.7, most)));
    rows.extend(most_answers.map(|most| Row::new("responses, most saved, %", 3.1, most)));
    let speed = over_benchmarks(results, (&on(HALCONE), &on(GTSC)), |run, base| run.speedup_over(base));
    rows.extend(speed.map(|speed| Row::new("mean, HALCONE over G-TSC", None, speed)));
    let messages = over_benchmarks(results, (&on(HALCONE), &on(GTSC)), |run, base| {
        sum(run, &[L2_READS, L2_WRITES]) / sum(base, &[L2_READS, L2_WRITES])
    });
    rows.extend(messages.map(|mean| Row::new("L1-L2 requests, HALCONE over G-TSC", None, mean)));
    rows
}
