//! Operators that treat every element alike: formulas of one tensor, arithmetic of two, gated linear units.

pub mod binary;
pub(crate) mod broadcast;
pub mod glu;
pub(crate) mod real;
pub mod unary;

use crate::Entry;

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    [unary::entries(), binary::entries(), glu::entries()].concat()
}
