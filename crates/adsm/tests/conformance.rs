//! The runtime looks up cells where the checker steps through tables: both must agree for every protocol, state and
//! event.

use adsm::{
    Protocol,
    coherence::{Event, Plan, Rules},
};
use protocol::{
    Block, Controller, Kind, Line, Log, Mask, Msg, Node, Place, Step, Table,
    adsm::{BATCH, Host, LAZY, ROLLING},
    step,
};

const EVENTS: [(Event, Kind); 7] = [
    (Event::Load, Kind::Load),
    (Event::Store, Kind::Store),
    (Event::Call, Kind::Call),
    (Event::Return, Kind::Return),
    (Event::Roll, Kind::Roll),
    (Event::Data, Kind::Data),
    (Event::Landed, Kind::Ack),
];

/// A line that fits its state, with everything that `step` may need.
fn line(host: &'static Host, table: &Table, state: u8) -> Line<2> {
    let full = Block::full([1, 2]);
    let candidates = [Block::EMPTY, Block::one(0, 1), full].into_iter().flat_map(|data| {
        [Mask::NONE, Mask::byte(0), Mask::first(2)]
            .into_iter()
            .flat_map(move |dirty| [None, Some(Node(9))].map(|asked| Line { data, dirty, asked, ..Line::new(state) }))
    });
    candidates
        .into_iter()
        .find(|line| host.fits(line))
        .unwrap_or_else(|| panic!("no line fits {}", table.states[state as usize]))
}

#[test]
fn the_runtime_s_plans_are_the_checker_s_steps() {
    let place = Place::new(Node(0), Node(1));
    for (chosen, host) in [(Protocol::Batch, &BATCH), (Protocol::Lazy, &LAZY), (Protocol::Rolling, &ROLLING)] {
        let (rules, table) = (Rules::of(chosen), Controller::<2>::table(host));
        let mut compared = 0;
        for state in 0..table.states.len() as u8 {
            for (event, kind) in EVENTS {
                let mut line = line(host, table, state);
                let data = match kind {
                    Kind::Store => Block::one(0, 7),
                    Kind::Data | Kind::Ack => Block::full([5, 6]),
                    _ => Block::EMPTY,
                };
                let msg = Msg::new(Node(9), Node(0), kind, Default::default(), data);
                let stepped = step(host, table, place, &mut line, &msg, &mut Log::new(table, 0));
                let what = format!("{} {} {event:?}", table.name, table.states[state as usize]);
                match (rules.plan(state, event), stepped) {
                    (Plan::Never, Err(_)) | (Plan::Stall, Ok(Step::Stall)) => {}
                    (Plan::Go(steps), Ok(Step::Sends(sends))) => {
                        assert_eq!(steps.next, line.state, "{what}");
                        assert_eq!(steps.fetch, sends.iter().any(|send| send.kind == Kind::Read), "{what}");
                        assert_eq!(steps.send, sends.iter().any(|send| send.kind == Kind::Write), "{what}");
                        let had = matches!(table.states[state as usize], "ReadOnly" | "Dirty" | "Sending" | "Rolling");
                        assert_eq!(steps.drop, had && line.is_empty(), "{what}");
                    }
                    (plan, stepped) => panic!("{what}: the runtime plans {plan:?}, the checker {stepped:?}"),
                }
                compared += 1;
            }
        }
        assert_eq!(compared, table.states.len() * EVENTS.len());
    }
}
