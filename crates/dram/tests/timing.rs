//! How long DRAM takes: exactly what the parameters say for one access, and what they allow for many.

use dram::{DramSpec, Order, Page, Scheduler, Standard, standards};
use mem::{LINE, PhysAddr};
use rand_pcg::{Pcg64Mcg, rand_core::RngCore};

const LINE_BYTES: u64 = LINE as u64;
/// Later than anything here.
const LATER: u64 = 1 << 40;

/// Latency of a read enqueued in cycle `cycle`.
fn read(scheduler: &mut Scheduler<u64>, cycle: u64, address: u64) -> u64 {
    scheduler.advance(cycle);
    assert_eq!(scheduler.read(cycle, PhysAddr(address), address), None);
    assert_eq!(scheduler.advance(LATER), None);
    let (done, payload) = scheduler.completed().expect("it has been read");
    assert_eq!(payload, address);
    done - cycle
}

/// From the read command until the last of a line's data.
fn column(standard: &Standard) -> u64 {
    let t = &standard.timings;
    t.cl + (standard.bursts_per_line() - 1) * t.ccd_l + standard.burst()
}

/// The addresses of the next line in row 0, and of a line in another row of the same bank.
fn neighbours(standard: &Standard) -> (u64, u64) {
    let groups = standard.groups as u64;
    (groups * LINE_BYTES, groups * standard.banks as u64 * standard.row)
}

#[test]
fn a_hit_a_closed_row_and_a_conflict_take_exactly_what_the_parameters_say() {
    for standard in standards::ALL {
        let (t, (same_row, other_row)) = (&standard.timings, neighbours(standard));
        let mut scheduler = Scheduler::new(DramSpec::new(standard));
        let closed = read(&mut scheduler, 10, 0);
        let hit = read(&mut scheduler, 500, same_row);
        let conflict = read(&mut scheduler, 1000, other_row);
        assert_eq!(hit, column(standard), "{}", standard.name);
        assert_eq!(closed, t.rcd_read + hit, "{}", standard.name);
        assert_eq!(conflict, t.rp + closed, "{}", standard.name);
        let tally = scheduler.tally;
        assert_eq!((tally.row_hits, tally.row_closed, tally.row_conflicts), (1, 1, 1), "{}", standard.name);
        assert_eq!(tally.bus_busy, 3 * standard.bursts_per_line() * standard.burst());
    }
}

#[test]
fn a_conflict_right_after_an_activation_waits_for_the_row_s_cycle() {
    for standard in standards::ALL {
        let (t, (_, other_row)) = (&standard.timings, neighbours(standard));
        let mut scheduler = Scheduler::new(DramSpec::new(standard));
        read(&mut scheduler, 0, 0);
        // The first row was opened in cycle 0. Closing it, and the bank's next activation, must wait.
        let next_activation = t.rc.max(t.ras + t.rp);
        assert_eq!(read(&mut scheduler, 1, other_row) + 1, next_activation + t.rcd_read + column(standard));
    }
}

#[test]
fn where_rows_are_closed_every_access_takes_the_same() {
    for standard in standards::ALL {
        let (t, (same_row, other_row)) = (&standard.timings, neighbours(standard));
        let mut scheduler = Scheduler::new(DramSpec { page: Page::Closed, ..DramSpec::new(standard) });
        let times = [0, same_row, other_row].map(|address| (address, t.rcd_read + column(standard)));
        for (turn, (address, time)) in times.into_iter().enumerate() {
            assert_eq!(read(&mut scheduler, 300 * turn as u64, address), time, "{}", standard.name);
        }
        assert_eq!(scheduler.tally.row_closed, 3);
    }
}

#[test]
fn a_refresh_that_fell_due_during_a_rest_is_made_up_for() {
    for standard in standards::ALL {
        let t = &standard.timings;
        let mut scheduler = Scheduler::new(DramSpec::new(standard));
        read(&mut scheduler, 0, 0);
        // Just after the third refresh has started: it must end first, and the row has been closed.
        let begun = 3 * t.refi + 1;
        let late = read(&mut scheduler, begun, 0);
        assert_eq!(late + 1, t.rfc + t.rcd_read + column(standard), "{}", standard.name);
        assert_eq!((scheduler.tally.refreshes, scheduler.tally.row_closed), (3, 2));
        // Halfway between two refreshes, a refresh adds no latency.
        let undisturbed = 1000 * t.refi + t.refi / 2;
        assert_eq!(read(&mut scheduler, undisturbed, 0), t.rcd_read + column(standard));
        assert_eq!(scheduler.tally.refreshes, 1000);
    }
}

/// An access: a line's address, and whether it is a write.
type Access = (u64, bool);

/// Enqueues accesses as long as there is room, until all are done; returns how many cycles that took.
fn run(scheduler: &mut Scheduler<u64>, spec: &DramSpec, accesses: impl Iterator<Item = Access>) -> u64 {
    let (mut accesses, mut now, mut last) = (accesses.peekable(), 0, 0);
    loop {
        while let Some(&(address, writes)) = accesses.peek() {
            let (reading, writing) = scheduler.waiting();
            if reading >= spec.read_queue || writing >= spec.write_queue {
                break;
            }
            accesses.next();
            match writes {
                true => scheduler.write(now, PhysAddr(address)),
                false => _ = scheduler.read(now, PhysAddr(address), address),
            }
        }
        let Some(next) = scheduler.advance(now) else { break };
        now = next;
        while let Some((done, _)) = scheduler.completed() {
            last = last.max(done);
        }
    }
    last.max(now)
}

fn stream(lines: u64) -> impl Iterator<Item = Access> {
    (0..lines).map(|line| (line * LINE_BYTES, false))
}

fn random(lines: u64, writes_of_8: u64) -> impl Iterator<Item = Access> {
    let mut random = Pcg64Mcg::new(7);
    (0..lines)
        .map(move |_| (random.next_u64() % (1 << 30) / LINE_BYTES * LINE_BYTES, random.next_u64() % 8 < writes_of_8))
}

/// The fraction of peak bandwidth that `lines` in `cycles` make.
fn share(standard: &Standard, lines: u64, cycles: u64) -> f64 {
    (lines * standard.bursts_per_line() * standard.burst()) as f64 / cycles as f64
}

const LINES: u64 = 20_000;

#[test]
fn a_stream_of_reads_gets_nine_tenths_of_the_peak_refreshes_included() {
    for standard in standards::ALL {
        let spec = DramSpec::new(standard);
        let mut scheduler = Scheduler::new(spec);
        let cycles = run(&mut scheduler, &spec, stream(LINES));
        let share = share(standard, LINES, cycles);
        println!("{}: {share:.3} of {} MB/s", standard.name, standard.peak() / 1_000_000);
        assert!(share > 0.9, "{} streams at {share:.3} of its peak", standard.name);
        assert_eq!(scheduler.tally.reads, LINES);
        let due = cycles / standard.timings.refi;
        assert!(scheduler.tally.refreshes.abs_diff(due) <= 1, "the last data may come when one has just fallen due");
    }
}

#[test]
fn a_stream_of_writes_does_too() {
    for standard in standards::ALL {
        let spec = DramSpec::new(standard);
        let mut scheduler = Scheduler::new(spec);
        let cycles = run(&mut scheduler, &spec, stream(LINES).map(|(address, _)| (address, true)));
        let share = share(standard, LINES, cycles);
        assert!(share > 0.9, "{} is written at {share:.3} of its peak", standard.name);
    }
}

/// The maximum lines per cycle of random accesses: each opens a row of one of the banks.
fn random_bound(standard: &Standard) -> f64 {
    let (t, banks) = (&standard.timings, (standard.groups * standard.banks) as f64);
    let row_cycle = t.rc.max(t.ras + t.rp) as f64;
    let bus = 1.0 / (standard.bursts_per_line() * standard.burst()) as f64;
    let limits = [banks / row_cycle, 4.0 / t.faw as f64, 1.0 / t.rrd_s as f64, bus];
    limits.into_iter().fold(f64::MAX, f64::min) * (1.0 - t.rfc as f64 / t.refi as f64)
}

/// The bound assumes that every bank always has work. With a queue of 64 reads, a bank is sometimes idle.
#[test]
fn random_reads_get_what_row_cycles_and_activation_windows_allow() {
    for standard in standards::ALL {
        let spec = DramSpec::new(standard);
        let mut scheduler = Scheduler::new(spec);
        let cycles = run(&mut scheduler, &spec, random(LINES, 0));
        let reached = LINES as f64 / cycles as f64 / random_bound(standard);
        println!("{}: {reached:.3} of the bound, {:.3} of the peak", standard.name, share(standard, LINES, cycles));
        assert!(reached < 1.03, "{} reads more than its banks allow: {reached:.3}", standard.name);
        assert!(reached > 0.85, "{} reads at {reached:.3} of what its banks allow", standard.name);
    }
}

#[test]
fn first_ready_beats_first_come_on_a_mixed_stream() {
    for standard in standards::ALL {
        // Four readers and a writer, each along rows of its own, interleaved line by line.
        let (_, other_row) = neighbours(standard);
        let mixed = || (0..20_000).map(|n| (n / 5 * LINE_BYTES + (n % 5) * 16 * other_row, n % 5 == 4));
        let cycles = |order| {
            let spec = DramSpec { order, ..DramSpec::new(standard) };
            run(&mut Scheduler::new(spec), &spec, mixed())
        };
        let (first_ready, first_come) = (cycles(Order::FrFcfs), cycles(Order::Fcfs));
        println!("{}: {:.2} times as fast", standard.name, first_come as f64 / first_ready as f64);
        assert!(2 * first_ready < first_come, "{}: {first_ready} and {first_come} cycles", standard.name);
    }
}

#[test]
fn no_access_starves_beside_a_stream_of_row_hits() {
    for standard in standards::ALL {
        let (same_row, other_row) = neighbours(standard);
        let spec = DramSpec { patience: engine::Cycles(500), ..DramSpec::new(standard) };
        let hits = || (0..1_000_000).map(|n| (n % 8 * same_row, false));
        let mut scheduler = Scheduler::new(spec);
        let mut hits = hits();
        let mut now = 0;
        while scheduler.waiting().0 < 8 {
            scheduler.read(now, PhysAddr(hits.next().unwrap().0), 0);
        }
        scheduler.read(now, PhysAddr(other_row), 1);
        let done = 'done: loop {
            now = scheduler.advance(now).expect("hits never end");
            while let Some((done, who)) = scheduler.completed() {
                if who == 1 {
                    break 'done done;
                }
                scheduler.read(now, PhysAddr(hits.next().unwrap().0), 0);
            }
        };
        assert!(done > 500, "{}: it was to wait for the hits", standard.name);
        assert!(done < 800, "{}: it waited for {done} cycles", standard.name);
    }
}

#[test]
fn writes_wait_until_there_are_many() {
    let spec = DramSpec { drain_from: 8, drain_to: 2, ..DramSpec::new(&standards::DDR4_2400) };
    let mut scheduler = Scheduler::new(spec);
    let mut served = Vec::new();
    let mut now = 0;
    for line in 0..7 {
        scheduler.write(0, PhysAddr((1 << 20) + line * LINE_BYTES));
    }
    for round in 0..100 {
        scheduler.read(now, PhysAddr(round * LINE_BYTES), 0);
        if round == 50 {
            scheduler.write(now, PhysAddr(1 << 21));
        }
        now = scheduler.advance(now).unwrap_or(now + 10);
        served.push(scheduler.tally.writes);
    }
    assert_eq!(served[50], 0, "while there are reads, seven writes wait");
    scheduler.advance(LATER);
    assert!(served.contains(&6), "an eighth has them drained down to two");
    assert_eq!(scheduler.tally.writes, 8, "what is left is written when nothing else is to be done");
}

#[test]
fn a_line_that_waits_to_be_written_is_read_and_written_there() {
    let spec = DramSpec::new(&standards::HBM2);
    let mut scheduler = Scheduler::new(spec);
    scheduler.write(0, PhysAddr(0));
    scheduler.write(0, PhysAddr(0));
    assert_eq!(scheduler.read(0, PhysAddr(0), 5), Some(5));
    assert_eq!((scheduler.tally.merged, scheduler.tally.forwarded), (1, 1));
    scheduler.advance(LATER);
    assert_eq!(scheduler.tally.writes, 1);
    assert_eq!(scheduler.read(LATER, PhysAddr(0), 5), None, "it has been written");
}

#[test]
fn how_often_it_is_asked_changes_nothing() {
    for standard in standards::ALL {
        let spec = DramSpec { ranks: 2, ..DramSpec::new(standard) };
        let accesses: Vec<Access> = random(500, 3).collect();
        let times = |asked_each_cycle: bool| {
            let mut scheduler = Scheduler::new(spec);
            let mut done = Vec::new();
            for (number, (address, writes)) in accesses.iter().enumerate() {
                let cycle = number as u64 * 11;
                match asked_each_cycle {
                    true => (cycle - cycle.min(11)..=cycle).for_each(|cycle| _ = scheduler.advance(cycle)),
                    false => _ = scheduler.advance(cycle),
                }
                match writes {
                    true => scheduler.write(cycle, PhysAddr(*address)),
                    false => _ = scheduler.read(cycle, PhysAddr(*address), *address),
                }
            }
            scheduler.advance(LATER);
            while let Some(read) = scheduler.completed() {
                done.push(read);
            }
            (done, scheduler.tally)
        };
        assert_eq!(times(true), times(false), "{}", standard.name);
    }
}
