//! A shared bus: carries one message at a time. Senders take turns round-robin.

use crate::freight::{Directory, Freight, NetworkError, Routes, Station};
use engine::{Context, Counter, EventCount, Inlet, Lane, Outlet, RoundRobin, Scope};

/// The parameters of a bus, from the machine file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BusSpec {
    /// Bandwidth in bytes per cycle; `None`: a message of any length takes one cycle.
    pub bytes_per_cycle: Option<u64>,
}

/// Builds a bus between stations.
pub(crate) fn bus<T: Freight>(spec: BusSpec, stations: Vec<Station<T>>, scope: &Scope) -> Result<(), NetworkError> {
    let routes = Directory::new(&stations)?.routes(|station| station);
    let bell = scope.eventcount("work");
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for station in stations {
        station.wire.from.ring(&bell);
        station.wire.to.ring(&bell);
        from.push(station.wire.from);
        to.push(station.wire.to);
    }
    let turns = RoundRobin::new(from.len() * Lane::ALL.len());
    let (forwarded, blocked) = (scope.counter("forwarded"), scope.counter("blocked_cycles"));
    let bus = Bus { spec, from, to, routes, turns, bell, forwarded, blocked };
    scope.serve("control", |cx| bus.run(cx));
    Ok(())
}

struct Bus<T> {
    spec: BusSpec,
    from: Vec<Inlet<T>>,
    to: Vec<Outlet<T>>,
    routes: Routes,
    /// Round-robin over all lanes of all stations.
    turns: RoundRobin,
    /// Advances when a message arrives or a station has space again.
    bell: EventCount,
    forwarded: Counter,
    blocked: Counter,
}

impl<T: Freight> Bus<T> {
    async fn run(mut self, cx: Context) {
        self.from.iter().for_each(|inlet| cx.takes(inlet));
        self.to.iter().for_each(|outlet| cx.sends(outlet));
        loop {
            while self.from.iter().all(Inlet::is_empty) {
                self.bell.next().await;
            }
            cx.settle().await;
            let seen = self.bell.count();
            let stations = self.from.len();
            let place = |turn: usize| (&self.from[turn % stations], Lane::ALL[turn / stations]);
            let way = |turn: usize| {
                let (from, lane) = place(turn);
                Some(&self.to[self.routes.port(from.front(lane)?.to())])
            };
            let granted = self.turns.grant(|turn| way(turn).is_some_and(|to| to.has_room(place(turn).1)));
            let Some(turn) = granted else {
                let since = cx.now().0;
                while self.bell.rest(seen + 1).await {
                    self.explain(&cx);
                }
                self.blocked.add(cx.now().0 - since);
                continue;
            };
            let ((from, lane), to) = (place(turn), way(turn).expect("it was granted"));
            let item = from.try_recv(lane).expect("it was granted");
            let bytes = item.bytes();
            cx.pause(self.spec.bytes_per_cycle.map_or(1, |rate| bytes.div_ceil(rate).max(1))).await;
            let sent = to.try_send(lane, item, bytes);
            assert!(sent.is_ok(), "room that was seen stays: no other context sends there");
            self.forwarded.increment();
        }
    }

    /// Tells a report on a stuck run which stations this bus waits for.
    fn explain(&self, cx: &Context) {
        for inlet in &self.from {
            for lane in Lane::ALL {
                let Some(node) = inlet.front(lane).map(|head| head.to()) else { continue };
                let to = &self.to[self.routes.port(node)];
                cx.needs_of_receiver(format!("room for a message to node {}", node.0), to, lane);
            }
        }
    }
}
