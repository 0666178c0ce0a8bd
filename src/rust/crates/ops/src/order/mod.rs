//! Orders and running sums along rows.

mod argsort;
mod cumsum;
mod key;
mod top_k;

pub use argsort::ArgSort;
pub use cumsum::CumSum;
pub use top_k::TopK;

use crate::Entry;

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    vec![argsort::entry(), top_k::entry(), cumsum::entry()]
}
