//! Checks the commands that a controller issued: compares every pair with the standard's timings, independently of
//! the rules and levels that the controller uses.

use crate::{
    DramSpec, Mapping, Order, Page, Scheduler, Standard,
    device::Command::{self, Activate, Precharge, Read, Refresh, Write},
    mapping::Spot,
    standards,
};
use mem::{LINE, PhysAddr};
use rand_pcg::{Pcg64Mcg, rand_core::RngCore};

type Issued = (u64, Command, Spot);

/// The minimum cycles between two commands, as the data sheets state them.
fn apart(standard: &Standard, first: Command, second: Command, one: &Spot, other: &Spot) -> u64 {
    let (t, burst) = (&standard.timings, standard.burst());
    let (same_rank, same_group, same_bank) = (one.rank == other.rank, one.group == other.group, one.bank == other.bank);
    match (first, second) {
        (Activate, Read) if same_bank => t.rcd_read,
        (Activate, Write) if same_bank => t.rcd_write,
        (Activate, Precharge) if same_bank => t.ras,
        (Activate, Activate) if same_bank => t.rc,
        (Activate, Activate) if same_group => t.rrd_l,
        (Activate, Activate) if same_rank => t.rrd_s,
        (Precharge, Activate) if same_bank => t.rp,
        (Precharge, Refresh) if same_rank => t.rp,
        (Refresh, Activate | Refresh) if same_rank => t.rfc,
        (Read, Precharge) if same_bank => t.rtp,
        (Write, Precharge) if same_bank => t.cwl + burst + t.wr,
        (Read, Read) | (Write, Write) if same_group => t.ccd_l,
        (Read, Read) | (Write, Write) if same_rank => t.ccd_s,
        (Write, Read) if same_group => t.cwl + burst + t.wtr_l,
        (Write, Read) if same_rank => t.cwl + burst + t.wtr_s,
        _ => 0,
    }
}

fn check(standard: &Standard, issued: &[Issued]) {
    let t = &standard.timings;
    let longest = t.rfc.max(t.rc) + 100;
    for (number, (at, command, spot)) in issued.iter().enumerate() {
        for (before, earlier, place) in issued[..number].iter().rev().take_while(|(before, ..)| before + longest > *at)
        {
            let apart = apart(standard, *earlier, *command, place, spot);
            assert!(
                before + apart <= *at,
                "{}: {earlier:?} {place:?} at {before}, {command:?} {spot:?} at {at}: less than {apart} cycles",
                standard.name
            );
        }
    }
    for rank in 0..2 {
        let of_rank = |wanted: Command| {
            let of_rank = issued.iter().filter(move |(_, command, spot)| *command == wanted && spot.rank == rank);
            of_rank.map(|(at, ..)| *at).collect::<Vec<_>>()
        };
        let windows = of_rank(Activate);
        assert!(windows.windows(5).all(|five| five[4] - five[0] >= t.faw), "{}: five activations", standard.name);
        let refreshes = of_rank(Refresh);
        let late = |pair: &[u64]| pair[1] - pair[0] <= t.refi + 200;
        assert!(!refreshes.is_empty() && refreshes.windows(2).all(late), "{}: {refreshes:?}", standard.name);
    }
    // The data bus transfers one burst at a time, and idles between a read and a write and between ranks.
    let column = issued.iter().filter(|(_, command, _)| command.is_column());
    let mut moves: Vec<(u64, Command, usize)> = column
        .map(|(at, command, spot)| (at + if *command == Read { t.cl } else { t.cwl }, *command, spot.rank))
        .collect();
    moves.sort_by_key(|(at, ..)| *at);
    for pair in moves.windows(2) {
        let ((one, first, from), (other, second, to)) = (pair[0], pair[1]);
        let rest = if from != to || (first, second) == (Read, Write) { t.turnaround } else { 0 };
        assert!(one + standard.burst() + rest <= other, "{}: {pair:?} on the data bus", standard.name);
    }
    // Each command bus transfers one command at a time.
    for columns in [false, true] {
        let on_bus = |command: &Command| !standard.two_command_buses || command.is_column() == columns;
        let mut last: Option<&Issued> = None;
        for issued in issued.iter().filter(|(_, command, _)| on_bus(command)) {
            if let Some((at, command, spot)) = last {
                let all_banks = *command == Precharge && issued.1 == Precharge && spot.rank == issued.2.rank;
                let cycles = if *command == Activate { t.activate } else { 1 };
                assert!(
                    at + cycles <= issued.0 || (all_banks && *at == issued.0),
                    "{}: {last:?}, {issued:?}",
                    standard.name
                );
            }
            last = Some(issued);
        }
    }
    // A row is activated only in a closed bank, and accessed only while it is open.
    let mut open: Vec<Option<u64>> = vec![None; 64];
    for (at, command, spot) in issued {
        let row = &mut open[spot.bank];
        match command {
            Activate => assert_eq!(row.replace(spot.row), None, "{}: at {at}", standard.name),
            Precharge => assert!(row.take().is_some(), "{}: at {at}", standard.name),
            Read | Write => assert_eq!(*row, Some(spot.row), "{}: at {at}", standard.name),
            Refresh => assert!(open.iter().skip(spot.bank).take(standard.groups * standard.banks).all(Option::is_none)),
        }
    }
}

/// Bursts of accesses, close together and far apart, with idle times short enough that every refresh is a command.
fn drive(spec: DramSpec, seed: u128) -> Vec<Issued> {
    let mut random = Pcg64Mcg::new(seed);
    let mut scheduler: Scheduler<()> = Scheduler::new(spec);
    let (mut now, mut base) = (0, 0);
    for _ in 0..3000 {
        match random.next_u64() % 16 {
            0 => base = random.next_u64() % (1 << 22),
            1 => now += random.next_u64() % 300,
            _ => {}
        }
        if random.next_u64().is_multiple_of(500) {
            now += spec.standard.timings.refi * 3 / 2;
        }
        let address = PhysAddr((base + random.next_u64() % 64) * LINE as u64);
        now += random.next_u64() % 8;
        scheduler.advance(now);
        match random.next_u64() % 3 {
            0 => scheduler.write(now, address),
            _ => _ = scheduler.read(now, address, ()),
        }
    }
    scheduler.advance(u64::MAX >> 1);
    // Refreshes made up for after an idle time are recorded at once, some of them for later cycles.
    let mut issued = scheduler.issued().to_vec();
    issued.sort_by_key(|(at, ..)| *at);
    issued
}

#[test]
fn every_command_keeps_every_distance_that_the_standard_asks_for() {
    for standard in standards::ALL {
        for (seed, mapping) in ["row-rank-bank-column-group", "row-column-bank-group-rank"].into_iter().enumerate() {
            let mapping: Mapping = mapping.parse().unwrap();
            for order in [Order::FrFcfs, Order::Fcfs] {
                let spec = DramSpec { ranks: 2, mapping, order, ..DramSpec::new(standard) };
                check(standard, &drive(spec, seed as u128));
            }
        }
    }
}

/// With closed rows there are no precharge commands to check. Their timing is checked through the next activation.
#[test]
fn rows_that_close_by_themselves_keep_the_row_s_cycle() {
    for standard in standards::ALL {
        let t = &standard.timings;
        let spec = DramSpec { page: Page::Closed, ..DramSpec::new(standard) };
        let issued = drive(spec, 3);
        let mut last = vec![(0, 0); 64];
        for (at, command, spot) in issued {
            let (activated, closed) = &mut last[spot.bank];
            match command {
                Activate => {
                    assert!(*closed == 0 || at >= *closed + t.rp, "{}: at {at}", standard.name);
                    (*activated, *closed) = (at, at + t.ras);
                }
                Read => *closed = (*closed).max(at + t.rtp),
                Write => *closed = (*closed).max(at + t.cwl + standard.burst() + t.wr),
                Precharge | Refresh => {}
            }
        }
    }
}
