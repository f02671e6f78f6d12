//! A DMA engine's port to the memory of a host outside the machine, for machines that do not model that memory.

use super::OutsideProcess;
use dram::HostBytes;
use engine::{Context, Lane};
use interconnect::{HEADER, Wire};
use mem::{Access, Block, LINE, PhysAddr, Reply, Request};

pub struct HostPort {
    pub process: OutsideProcess,
    pub wire: Wire<Request, Reply>,
}

impl HostPort {
    pub async fn run(self, _: Context) {
        loop {
            let request = self.wire.from.recv(Lane::Request).await;
            let data = self.serve(&request);
            let size = HEADER + data.mask().len() as u64;
            self.wire.to.send(Lane::Reply, Reply { id: request.id, data, stamp: 0 }, size).await;
        }
    }

    fn serve(&self, request: &Request) -> Block<LINE> {
        let line = request.line().0;
        if request.access == Access::Store {
            for (start, count) in request.data.mask().pieces() {
                self.process.write(PhysAddr(line + start as u64), &request.data.bytes()[start..start + count]);
            }
            return Block::EMPTY;
        }
        let mut bytes = [0; LINE];
        self.process.read(PhysAddr(line), &mut bytes);
        Block::of(bytes, request.data.mask())
    }
}
