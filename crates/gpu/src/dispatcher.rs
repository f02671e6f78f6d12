//! The front end of a GPU, thin: kernels one after another, workgroups to whoever has room.
//!
//! Before a kernel, first-level caches forget what they hold; after it, everything written has arrived where the host
//! will read it. Both are requests like any other, on wires of the dispatcher's own.

use crate::{compute_unit::ComputeUnit, kernel::Kernel};
use engine::{Context, EventCount, Histogram, Inlet, Lane, Outlet, RoundRobin};
use interconnect::{HEADER, Wire};
use mem::{Access, Asid, Block, LineAddr, Observation, Observer, Reply, Request, RequestId, Scope, Seen, VirtAddr};
use std::rc::Rc;

pub struct Dispatcher {
    /// What it is given to do.
    pub kernels: Vec<Kernel>,
    pub units: Vec<ComputeUnit>,
    /// Advanced by the units whenever a workgroup has ended.
    pub ended: EventCount,
    /// Whether first-level caches are invalidated before each kernel.
    pub invalidate: bool,
    /// To every first-level cache.
    pub caches: Vec<Wire<Reply, Request>>,
    /// From the start of a kernel's first order to the caches to the end of its last.
    pub kernel_cycles: Histogram,
    /// To whoever checks the run.
    pub observer: Option<(Observer, Outlet<Observation>)>,
}

impl Dispatcher {
    pub async fn run(mut self, cx: Context) {
        let kernels = std::mem::take(&mut self.kernels);
        let mut ended = 0;
        for kernel in kernels {
            cx.region(kernel.name());
            let (kernel, start) = (Rc::new(kernel), cx.now().0);
            if self.invalidate {
                self.tell_caches(Access::Invalidate, Scope::Device).await;
            }
            if let Err(message) = self.deal(&kernel, &mut ended).await {
                return cx.fail(message);
            }
            // Everything must have left the first caches before the shared ones below are told.
            self.tell_caches(Access::Flush, Scope::Device).await;
            self.tell_one(0, Access::Flush, Scope::System).await;
            self.kernel_cycles.record(cx.now().0 - start);
            if let Some((who, observations)) = &self.observer {
                let observation = Observation { who: *who, line: LineAddr(0), seen: Seen::Synchronised };
                let told = observations.try_send(Lane::Request, observation, 0);
                assert!(told.is_ok(), "the wire to the golden image holds any number");
            }
        }
    }

    /// Deals the workgroups of a kernel to the compute units in turn, and waits until all have ended.
    async fn deal(&self, kernel: &Rc<Kernel>, ended: &mut u64) -> Result<(), String> {
        let mut turns = RoundRobin::new(self.units.len());
        let first = *ended;
        for index in 0..kernel.groups() {
            loop {
                let seen = self.ended.count();
                let mut started = None;
                for unit in turns.order() {
                    if self.units[unit].try_start(kernel, index)? {
                        started = Some(unit);
                        break;
                    }
                }
                match started {
                    Some(unit) => {
                        turns.grant(|turn| turn == unit);
                        break;
                    }
                    None => self.ended.wait(seen + 1).await,
                }
            }
        }
        *ended = first + kernel.groups();
        self.ended.wait(*ended).await;
        Ok(())
    }

    async fn tell_caches(&self, access: Access, scope: Scope) {
        for cache in &self.caches {
            cache.to.send(Lane::Request, order(access, scope), HEADER).await;
        }
        for cache in &self.caches {
            answer(&cache.from).await;
        }
    }

    async fn tell_one(&self, cache: usize, access: Access, scope: Scope) {
        self.caches[cache].to.send(Lane::Request, order(access, scope), HEADER).await;
        answer(&self.caches[cache].from).await;
    }
}

fn order(access: Access, scope: Scope) -> Request {
    let (asid, virt, phys) = (Asid::default(), VirtAddr(0), None);
    Request { id: RequestId(0), access, scope, asid, virt, phys, data: Block::EMPTY }
}

async fn answer(from: &Inlet<Reply>) {
    from.recv(Lane::Reply).await;
}
