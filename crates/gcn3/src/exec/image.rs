use super::Handler;
use crate::{error::Fault, memop::MemOp, ops::Op, wave::Wavefront};
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {}
impl Sampled {
    pub fn write(&self, _wave: &mut Wavefront, _first: usize, _op: &MemOp) -> Result<(), Fault> {
        Ok(())
    }
}
pub fn handler(_: Op) -> Option<Handler> {
    None
}
