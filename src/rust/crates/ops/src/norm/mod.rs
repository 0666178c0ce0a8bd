//! Normalisation along the innermost dimension.

pub mod group_norm;
pub mod l2_norm;
pub mod layer_norm;
pub mod rms_norm;
pub(crate) mod row;
pub mod soft_max;

use crate::Entry;
use ggmlr_core::{Error, Result};

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    vec![
        rms_norm::entry(),
        rms_norm::back_entry(),
        layer_norm::entry(),
        layer_norm::back_entry(),
        soft_max::entry(),
        soft_max::back_entry(),
        group_norm::entry(),
        group_norm::back_entry(),
        l2_norm::entry(),
        l2_norm::back_entry(),
    ]
}

fn check_eps(eps: f32) -> Result<()> {
    if eps >= 0.0 {
        return Ok(());
    }
    Err(Error::argument("eps", format!("eps must be zero or more, got {eps}")))
}
