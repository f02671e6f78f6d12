//! The wire between a host and the command processor of a GPU that lies in another partition.
//!
//! ```text
//! front end - command processor (the host's) === commands ==> command processor (the GPU's) - dispatcher
//!                                            <=== ends ====
//! ```
//! Commands given to the host's command processor reach the GPU's one after the latency of the wire, and completions
//! come back the same way.

use crate::command_processor::{CommandProcessor, Launch, Recalled};
use engine::{Context, EventCount, Inlet, Lane, LinkReceiver, LinkSender, LinkSpec, Model, Outlet, Scope};
use interconnect::HEADER;
use mem::PhysAddr;
use std::rc::Rc;

/// A command to the GPU.
enum Given {
    Launch(usize, Box<Launch>),
    Flush,
    Recall(Recalled, Vec<PhysAddr>),
}

/// A completion.
enum Ended {
    Launch(usize),
    Flush,
    Recall,
}

/// The host's end of the wire and the GPU's end, to be placed in their partitions.
pub struct HostEnd(LinkSender<Given>, LinkReceiver<Ended>);
pub struct GpuEnd(LinkSender<Ended>, LinkReceiver<Given>);

/// Declares the wire between a host and a GPU.
pub fn link(model: &mut Model, name: &str, spec: LinkSpec) -> (HostEnd, GpuEnd) {
    let (give, given) = model.link(format!("{name}.commands"), spec);
    let (end, ended) = model.link(format!("{name}.ends"), spec);
    (HostEnd(give, ended), GpuEnd(end, given))
}

impl HostEnd {
    /// Builds the host's command processor for the GPU at the other end, for up to `kernels` concurrent kernels.
    pub fn place(self, kernels: usize, scope: &Scope) -> CommandProcessor {
        let processor = CommandProcessor::new(kernels, scope);
        let (give, ended) = (Rc::new(scope.sender(self.0)), scope.receiver(self.1));
        for slot in 0..kernels {
            let (own, give) = (processor.clone(), Rc::clone(&give));
            scope.serve(("launch", slot), |_| async move {
                loop {
                    let launch = own.next(slot).await;
                    give.send(Lane::Request, Given::Launch(slot, Box::new(launch)), HEADER).await;
                }
            });
        }
        let (flushes, to) = (Rc::clone(&processor.flushes), Rc::clone(&give));
        scope.serve("flush", |_| async move {
            for number in 1.. {
                flushes.given.wait(number).await;
                to.send(Lane::Request, Given::Flush, HEADER).await;
            }
        });
        let recalls = Rc::clone(&processor.recalls);
        scope.serve("recall", |_| async move {
            for number in 1.. {
                recalls.progress.given.wait(number).await;
                let (caches, pages) = recalls.take();
                give.send(Lane::Request, Given::Recall(caches, pages), HEADER).await;
            }
        });
        let own = processor.clone();
        scope.serve("hear", |cx| async move { hear(&own, &ended, cx).await });
        processor
    }
}

/// Receives completions at the host.
async fn hear(processor: &CommandProcessor, ended: &Inlet<Ended>, cx: Context) {
    processor.slots.iter().for_each(|slot| cx.provides(&slot.progress.done));
    cx.provides(&processor.flushes.done);
    cx.provides(&processor.recalls.progress.done);
    loop {
        match ended.recv(Lane::Reply).await {
            Ended::Launch(slot) => processor.end(slot),
            Ended::Flush => processor.flushes.done.advance(),
            Ended::Recall => processor.end_recall(),
        }
    }
}

impl GpuEnd {
    /// Passes arriving commands to the GPU's command processor.
    pub fn place(self, processor: &CommandProcessor, scope: &Scope) {
        let (end, given) = (Rc::new(scope.sender(self.0)), scope.receiver(self.1));
        for (number, slot) in processor.slots.iter().enumerate() {
            let (done, end) = (slot.progress.done.clone(), Rc::clone(&end));
            scope.serve(("launch", number), |_| tell(done, end, move || Ended::Launch(number)));
        }
        let done = processor.flushes.done.clone();
        scope.serve("flush", |_| tell(done, Rc::clone(&end), || Ended::Flush));
        let done = processor.recalls.progress.done.clone();
        scope.serve("recall", |_| tell(done, end, || Ended::Recall));
        let own = processor.clone();
        scope.serve("obey", |_| async move {
            loop {
                let _ticket = match given.recv(Lane::Request).await {
                    Given::Launch(slot, launch) => own.launch(slot, *launch),
                    Given::Flush => own.flush(),
                    Given::Recall(caches, pages) => own.recall(caches, pages),
                };
            }
        });
    }
}

/// Sends completions from the GPU to the host.
async fn tell(done: EventCount, end: Rc<Outlet<Ended>>, what: impl Fn() -> Ended) {
    for number in 1.. {
        done.wait(number).await;
        end.send(Lane::Reply, what(), HEADER).await;
    }
}
