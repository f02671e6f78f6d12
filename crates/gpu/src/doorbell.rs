//! The wire between a host and the command processor of a GPU that is simulated apart from it.
//!
//! ```text
//! front end - command processor (the host's) === commands ==> command processor (the GPU's) - dispatcher
//!                                            <=== ends ====
//! ```
//! What the host's one is given, the GPU's one is given a wire's latency later; and so is told what has ended.

use crate::command_processor::{CommandProcessor, Launch, Recalled};
use engine::{Context, EventCount, Inlet, Lane, LinkReceiver, LinkSender, LinkSpec, Model, Outlet, Scope};
use interconnect::HEADER;
use mem::PhysAddr;
use std::rc::Rc;

/// What a GPU is given.
enum Given {
    Launch(usize, Box<Launch>),
    Flush,
    Recall(Recalled, Vec<PhysAddr>),
}

/// What has ended.
enum Ended {
    Launch(usize),
    Flush,
    Recall,
}

/// The host's end of the wire, and the GPU's, to be taken to their partitions.
pub struct HostEnd(LinkSender<Given>, LinkReceiver<Ended>);
pub struct GpuEnd(LinkSender<Ended>, LinkReceiver<Given>);

/// Declares the wire between a host and a GPU.
pub fn link(model: &mut Model, name: &str, spec: LinkSpec) -> (HostEnd, GpuEnd) {
    let (give, given) = model.link(format!("{name}.commands"), spec);
    let (end, ended) = model.link(format!("{name}.ends"), spec);
    (HostEnd(give, ended), GpuEnd(end, given))
}

impl HostEnd {
    /// The command processor of the GPU at the other end, which can run so many kernels at a time.
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

/// Takes down at the host what has ended.
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
    /// Gives the GPU's command processor what arrives.
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

/// Tells the host what ends at the GPU.
async fn tell(done: EventCount, end: Rc<Outlet<Ended>>, what: impl Fn() -> Ended) {
    for number in 1.. {
        done.wait(number).await;
        end.send(Lane::Reply, what(), HEADER).await;
    }
}
