//! Normalisation along the innermost dimension.

pub mod rms_norm;

use crate::Entry;

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    vec![rms_norm::entry(), rms_norm::back_entry()]
}
