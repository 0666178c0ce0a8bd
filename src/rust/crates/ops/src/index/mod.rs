//! Gathering rows by index and scattering them back.

pub mod get_rows;

use crate::Entry;

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    vec![get_rows::entry(), get_rows::back_entry()]
}
