//! A demultiplexer: one wire carries messages for several nodes, and each message is forwarded to its node.
//!
//! Takes no time of its own. A message whose receiver has no space blocks the messages behind it in its lane.

use crate::{PATIENCE, Packet};
use engine::{Context, Inlet, Lane, Outlet, Reason};
use protocol::Node;

/// Forwards messages, forever.
pub async fn deal(from: Vec<Inlet<Packet>>, to: Vec<(Node, Outlet<Packet>)>, cx: Context) {
    let bell = cx.scope().eventcount("arrivals");
    let room = cx.scope().eventcount_for("room", Reason::Resource);
    let most = to.iter().map(|(node, _)| usize::from(node.0) + 1).max().unwrap_or(0);
    let mut routes: Vec<Option<Outlet<Packet>>> = (0..most).map(|_| None).collect();
    for (node, outlet) in to {
        routes[usize::from(node.0)] = Some(outlet);
    }
    for inlet in &from {
        inlet.ring(&bell);
    }
    // Number of retries left before waiting until there is space.
    let mut patience = PATIENCE;
    loop {
        let seen = bell.count();
        let (mut held_up, mut dealt) = (false, false);
        for inlet in &from {
            if inlet.is_empty() {
                continue;
            }
            for lane in Lane::ALL {
                while let Some(packet) = inlet.front(lane).map(|packet| *packet) {
                    let way = routes.get(usize::from(packet.msg.to.0)).and_then(Option::as_ref);
                    let way = way.expect("a message goes to a node behind this wire");
                    if way.try_send(lane, packet, crate::bytes(&packet.msg)).is_err() {
                        held_up = true;
                        break;
                    }
                    inlet.try_recv(lane);
                    dealt = true;
                }
            }
        }
        patience = if dealt { PATIENCE } else { patience.saturating_sub(1) };
        match held_up {
            true if patience == 0 => {
                let outlets = || routes.iter().flatten();
                outlets().for_each(|outlet| outlet.ring(&room));
                from.iter().for_each(|inlet| inlet.ring(&room));
                room.next().await;
                outlets().for_each(Outlet::silence);
                from.iter().for_each(|inlet| inlet.ring(&bell));
            }
            true => cx.pause(1).await,
            false => bell.wait(seen + 1).await,
        }
    }
}
