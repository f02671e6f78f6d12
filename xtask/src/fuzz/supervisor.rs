//! Starts workers, limits their time and memory, and reports failures.

use super::{CPU_LIMIT, MEMORY_LIMIT, TARGETS, WALL_LIMIT, case::Target, find, usage, worker::parse_keep};
use crate::limited::cpu_time;
use std::{
    fmt::Write,
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

/// Limits for shrinking a failing case: number of smaller cases tried, and time.
const SMALLER: usize = 60;
const SMALLER_TIME: Duration = Duration::from_secs(90);
/// Number of failures after which a target is no longer run.
const ENOUGH: usize = 20;
/// Interval at which a worker's time and memory are checked.
const LOOK: Duration = Duration::from_millis(50);

/// The parameters of a fuzzing run.
struct Plan {
    targets: Vec<&'static Target>,
    seed: u64,
    /// Cases per target; `None`: as many as time allows.
    cases: Option<u64>,
    quick: bool,
    time: Option<Duration>,
    jobs: usize,
    keep: Option<String>,
}

/// Progress of a target.
#[derive(Default)]
struct Tally {
    next: u64,
    /// Cases not yet given to a worker.
    left: u64,
    ran: u64,
    refused: u64,
    spent: Duration,
    failures: Vec<String>,
}

/// `fuzz ...`.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let plan = parse(arguments)?;
    let start = Instant::now();
    let left = |target: &Target| if plan.quick { target.quick } else { plan.cases.unwrap_or(u64::MAX) };
    let tallies = plan.targets.iter().map(|target| Tally { next: plan.seed, left: left(target), ..Tally::default() });
    let tallies = Mutex::new(tallies.collect::<Vec<_>>());
    thread::scope(|scope| {
        for _ in 0..plan.jobs {
            scope.spawn(|| while take_turn(&plan, &tallies, start) {});
        }
    });
    summary(&plan, &tallies.into_inner().unwrap_or_else(PoisonError::into_inner), start.elapsed())
}

fn parse(arguments: &[String]) -> Result<Plan, String> {
    let mut plan = Plan { targets: Vec::new(), seed: 1, cases: None, quick: false, time: None, jobs: 1, keep: None };
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        if flag == "--quick" {
            plan.quick = true;
            continue;
        }
        let value = rest.next().ok_or_else(usage)?;
        let number = || value.parse::<u64>().map_err(|_| format!("{flag} takes a number, not '{value}'\n{}", usage()));
        match flag.as_str() {
            "--minutes" => plan.time = Some(Duration::from_secs(60 * number()?)),
            "--cases" => plan.cases = Some(number()?),
            "--target" => plan.targets.push(find(value)?),
            "--seed" => plan.seed = number()?,
            "--jobs" => plan.jobs = number()?.clamp(1, 64) as usize,
            "--keep" => {
                parse_keep(value)?;
                plan.keep = Some(value.clone());
                plan.cases = Some(1);
            }
            _ => return Err(usage()),
        }
    }
    if !plan.quick && plan.cases.is_none() && plan.time.is_none() {
        return Err(usage());
    }
    if plan.keep.is_some() && plan.targets.len() != 1 {
        return Err(format!("--keep is for one case of one --target\n{}", usage()));
    }
    if plan.targets.is_empty() {
        plan.targets = TARGETS.iter().collect();
    }
    Ok(plan)
}

/// Gives a worker the next cases of the target that is furthest behind its share; returns false if no work is left.
fn take_turn(plan: &Plan, tallies: &Mutex<Vec<Tally>>, start: Instant) -> bool {
    if plan.time.is_some_and(|time| start.elapsed() >= time) {
        return false;
    }
    let (number, first, count) = {
        let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = |number: &usize| tallies[*number].spent / plan.targets[*number].share;
        let open = |number: &usize| tallies[*number].left > 0 && tallies[*number].failures.len() < ENOUGH;
        let Some(number) = (0..tallies.len()).filter(open).min_by_key(behind) else { return false };
        let tally = &mut tallies[number];
        let (first, count) = (tally.next, plan.targets[number].chunk.min(tally.left));
        tally.next += count;
        tally.left -= count;
        // Charged in advance, so that another worker does not choose this target before this worker returns.
        tally.spent += LOOK;
        (number, first, count)
    };
    let (target, begun) = (plan.targets[number], Instant::now());
    let mut seed = first;
    while seed < first + count {
        let seen = watch(target, seed, first + count - seed, plan.keep.as_deref());
        let told = seen.failure.as_ref().map(|failure| report(target, failure, plan.keep.is_none()));
        let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies[number].ran += seen.ran;
        tallies[number].refused += seen.refused;
        let (Some(failure), Some(told)) = (seen.failure, told) else { break };
        println!("{told}");
        tallies[number].failures.push(told);
        if tallies[number].failures.len() >= ENOUGH {
            break;
        }
        seed = failure.seed + 1;
    }
    let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
    tallies[number].spent += begun.elapsed();
    true
}

struct Failure {
    seed: u64,
    /// `panic`, `hang`, ...
    what: String,
    steps: usize,
    notes: Vec<String>,
}

/// The result of a worker.
#[derive(Default)]
struct Seen {
    ran: u64,
    refused: u64,
    failure: Option<Failure>,
}

/// Runs a worker until it ends or one case exceeds its limits.
fn watch(target: &Target, first: u64, count: u64, keep: Option<&str>) -> Seen {
    let mut seen = Seen::default();
    let mut case = Failure { seed: first, what: String::new(), steps: 0, notes: Vec::new() };
    let mut worker = match start(target, first, count, keep) {
        Ok(worker) => worker,
        Err(what) => return Seen { failure: Some(Failure { what, ..case }), ..seen },
    };
    let (lines, errors) = read(&mut worker);
    let (mut begun, mut used) = (Instant::now(), Duration::ZERO);
    let what = loop {
        let line = match lines.recv_timeout(LOOK) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Disconnected) => break Some("the worker died".to_owned()),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let (cpu, memory) = (cpu_time(worker.id()).saturating_sub(used), memory(worker.id()));
                if cpu > CPU_LIMIT || begun.elapsed() > WALL_LIMIT {
                    let (cpu, wall) = (cpu.as_secs(), begun.elapsed().as_secs());
                    break Some(format!("it hangs: {cpu} s of processor time, {wall} s in all"));
                }
                if memory > MEMORY_LIMIT {
                    break Some(format!("it uses {} MiB of memory", memory >> 20));
                }
                continue;
            }
        };
        let (word, text) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "case" => {
                (begun, used) = (Instant::now(), cpu_time(worker.id()));
                let seed = text.parse().unwrap_or(case.seed);
                case = Failure { seed, what: String::new(), steps: 0, notes: Vec::new() };
            }
            "steps" => case.steps = text.parse().unwrap_or(0),
            "note" => case.notes.push(unescape(text)),
            "ran" => seen.ran += 1,
            "refused" => seen.refused += 1,
            "failed" => break Some(unescape(text)),
            "end" => break None,
            _ => {}
        }
    };
    // The worker may already have ended.
    let _ = worker.kill();
    let status = worker.wait();
    let errors = errors.join().unwrap_or_default();
    if let Some(mut what) = what {
        if what == "the worker died" {
            what = format!("{what}: {}", status.map_or_else(|error| error.to_string(), |status| status.to_string()));
        }
        let last: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).take(6).collect();
        if !last.is_empty() {
            let _ = write!(what, "\n{}", last.join("\n"));
        }
        seen.failure = Some(Failure { what, ..case });
    }
    seen
}

/// Starts a worker with an address space limit that every sound case fits in.
fn start(target: &Target, first: u64, count: u64, keep: Option<&str>) -> Result<Child, String> {
    let own = std::env::current_exe().map_err(|error| format!("this program can't be found: {error}"))?;
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 16777216; exec \"$@\"", "sh"]).arg(own);
    command.args(["fuzz-worker", target.name, &first.to_string(), &count.to_string()]).args(keep);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| format!("a worker can't be started: {error}"))
}

/// The lines of a worker's standard output as they arrive, and its standard error at the end.
fn read(worker: &mut Child) -> (mpsc::Receiver<String>, thread::JoinHandle<String>) {
    let (out, err) = (worker.stdout.take(), worker.stderr.take());
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok);
        lines.take_while(|line| send.send(line.clone()).is_ok()).for_each(drop);
    });
    let errors = thread::spawn(move || {
        let mut text = Vec::new();
        // At most 1 MiB is read: a case may print many pages.
        if let Some(err) = err {
            let _ = err.take(1 << 20).read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    (lines, errors)
}

/// Resident memory of a process, in bytes.
fn memory(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    4096 * text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0)
}

/// Reverses the escaping that put a worker's text on one line.
fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match (letter, if letter == '\\' { rest.next() } else { None }) {
            ('\\', Some('n')) => plain.push('\n'),
            ('\\', Some('t')) => plain.push('\t'),
            ('\\', Some(other)) => plain.push(other),
            (other, _) => plain.push(other),
        }
    }
    plain
}

/// Shrinks a failing case, and reports how it fails and how to repeat it.
fn report(target: &Target, failure: &Failure, make_smaller: bool) -> String {
    let Failure { seed, what, steps, notes } = failure;
    let mut text = format!("\n{} seed {seed} failed: {what}\n", target.name);
    let whole = format!("cargo xtask fuzz --target {} --seed {seed} --cases 1", target.name);
    let smaller = if make_smaller && *steps > 1 { smallest(target, failure) } else { None };
    let notes = smaller.as_ref().map_or(notes, |(_, failure)| &failure.notes);
    notes.iter().for_each(|note| text += &format!("  {}\n", note.replace('\n', "\n  ")));
    match &smaller {
        None => text += &format!("  repeat it: {whole}\n"),
        Some((keep, failure)) => {
            let how = failure.what.lines().next().unwrap_or_default();
            let keep = spell(keep);
            text +=
                &format!("  smaller ({how}): cargo xtask fuzz --target {} --seed {seed} --keep {keep}\n", target.name);
        }
    }
    text
}

fn spell(keep: &[usize]) -> String {
    let numbers: Vec<String> = keep.iter().map(usize::to_string).collect();
    if keep.is_empty() { "none".to_owned() } else { numbers.join(",") }
}

/// The fewest steps found that still fail, and the failure.
fn smallest(target: &Target, failure: &Failure) -> Option<(Vec<usize>, Failure)> {
    let mut keep: Vec<usize> = (0..failure.steps).collect();
    let mut found = None;
    let (begun, mut tries) = (Instant::now(), 0);
    let mut piece = keep.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < keep.len() {
            if tries == SMALLER || begun.elapsed() > SMALLER_TIME {
                return found;
            }
            tries += 1;
            let mut fewer = keep.clone();
            fewer.drain(at..(at + piece).min(keep.len()));
            match watch(target, failure.seed, 1, Some(&spell(&fewer))).failure {
                Some(failure) => {
                    keep = fewer;
                    found = Some((keep.clone(), failure));
                }
                None => at += piece,
            }
        }
        piece /= 2;
    }
    found
}

fn summary(plan: &Plan, tallies: &[Tally], time: Duration) -> Result<String, String> {
    let mut text = String::from("\ntarget         cases     ran  refused  failed  seconds  next seed\n");
    let mut failed = 0;
    for (target, tally) in plan.targets.iter().zip(tallies) {
        let failures = tally.failures.len();
        failed += failures;
        let cases = tally.ran + tally.refused + failures as u64;
        let (ran, refused, next) = (tally.ran, tally.refused, tally.next);
        let seconds = tally.spent.as_secs();
        let _ =
            writeln!(text, "{:13} {cases:6}  {ran:6}  {refused:7}  {failures:6}  {seconds:7}  {next:9}", target.name);
    }
    let cases: u64 = tallies.iter().map(|tally| tally.ran + tally.refused).sum();
    let _ = write!(text, "fuzz: {cases} cases without a failure, {failed} failed, in {} s", time.as_secs());
    if failed == 0 { Ok(text) } else { Err(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_comes_back() {
        let text = "two\nlines, \"quotes\", a \\ and a\ttab";
        assert_eq!(unescape(&text.escape_default().to_string()), text);
    }

    #[test]
    fn a_wrong_request_is_refused() {
        let parse = |words: &[&str]| parse(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        assert!(parse(&["--quick"]).is_ok_and(|plan| plan.targets.len() == TARGETS.len()));
        assert!(parse(&["--target", "elf", "--seed", "7", "--keep", "1,2"]).is_ok_and(|plan| plan.cases == Some(1)));
        for wrong in [&[][..], &["--minutes"], &["--minutes", "x"], &["--target", "nothing"], &["--keep", "1"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
