//! Operators that draw random numbers.

pub mod dropout;

use crate::Entry;

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    vec![dropout::entry()]
}
