//! Senders: items that don't fit on the wire are queued and stay in order.

use engine::{Cycles, Hertz, Lane, Model, Outcome, PortSpec, RunOptions};
use interconnect::{Pending, Sender};
use std::sync::{Arc, Mutex};

const ITEMS: u32 = 60;

/// Sends items, one every `gap` cycles, over a wire with space for two. Every `pause` cycles, `taken` items are
/// received. Returns the order of arrival.
fn order(gap: u64, taken: usize, pause: u64) -> Vec<u32> {
    let mut model = Model::new();
    let clock = model.clock(Hertz::giga(1));
    let came: Arc<Mutex<Vec<u32>>> = Arc::default();
    let result = Arc::clone(&came);
    model.partition(move |partition| {
        let (from, to) = (partition.scope(clock).scope("from"), partition.scope(clock).scope("to"));
        let spec = PortSpec { capacity: 2, latency: Cycles(0), bytes_per_cycle: None };
        let (outlet, inlet) = from.port::<u32>("wire", spec, &to);
        to.spawn("take", move |cx| async move {
            while came.lock().unwrap().len() < ITEMS as usize {
                cx.pause(pause).await;
                came.lock().unwrap().extend((0..taken).map_while(|_| inlet.try_recv(Lane::Request)));
            }
        });
        let sender = Sender::new(outlet, &Pending::default(), &from, &from.eventcount("bell"));
        from.spawn("send", move |cx| async move {
            for item in 0..ITEMS {
                sender.send(Lane::Request, item, 8);
                cx.pause(gap).await;
            }
        });
    });
    assert_eq!(model.run(&RunOptions::default()).outcome, Outcome::Finished);
    Arc::into_inner(result).expect("the run is over").into_inner().unwrap()
}

#[test]
fn items_arrive_in_the_order_in_which_they_were_sent_however_credits_return() {
    for gap in 1..=4 {
        for taken in 1..=2 {
            for pause in 1..=8 {
                let came = order(gap, taken, pause);
                assert!(came.is_sorted(), "one every {gap} cycles, {taken} taken every {pause} cycles: {came:?}");
            }
        }
    }
}
