//! Statistics: cheap enough to be always on.
//!
//! A statistic is a cell that its element adds to. Its name is used only when a region of the run ends. Regions follow
//! each other without a gap: at a boundary every statistic is read, kept under the region's name, and reset.

mod order;
mod path;
mod rate;
mod registry;
mod series;
mod value;

pub use path::Path;
pub use rate::Rate;
pub(crate) use registry::Registry;
pub use registry::{Counter, Histogram, Level, Matrix, Phases};
pub use series::{Series, Spans};
pub use value::{Region, Statistics, Value};
