//! Diagonals, triangular masks, sequences, constants and sums over chosen dimensions.

mod arange;
mod diag;
mod fill;
mod generate;
mod mask;
mod sum_axes;

pub use arange::ARange;
pub use diag::Diag;
pub use fill::Fill;
pub use mask::{DiagMaskInf, DiagMaskZero};
pub use sum_axes::SumAxes;

use crate::Entry;

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    let mut v = vec![diag::entry()];
    v.extend(mask::entries());
    v.extend([arange::entry(), fill::entry(), sum_axes::entry()]);
    v
}
