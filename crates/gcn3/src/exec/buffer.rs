use super::Handler;
use crate::ops::Op;
pub fn handler(_: Op) -> Option<Handler> {
    None
}
