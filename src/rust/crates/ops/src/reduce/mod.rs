//! Sums, means, counts and positions of extrema.

mod argmax;
mod count_equal;
mod cpu;
mod repeat_back;
mod sum;

pub use argmax::ArgMax;
pub use count_equal::CountEqual;
pub use repeat_back::RepeatBack;
pub use sum::{Mean, Sum, SumRows};

use crate::Entry;

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    let mut v = sum::entries();
    v.extend([repeat_back::entry(), argmax::entry(), count_equal::entry()]);
    v
}
