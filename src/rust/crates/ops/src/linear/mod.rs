//! Products of matrices.

pub mod mul_mat;
pub mod out_prod;
mod product;

use crate::Entry;
use crate::reduce::RepeatBack;
use crate::shape::Reshape;
use ggmlr_core::{Desc, Error, Grad, MAX_DIMS, Result, Val};

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    vec![mul_mat::entry(), out_prod::entry()]
}

/// How many consecutive entries of `b` along dimension `d` share one of `a`.
fn group(a: &Desc, b: &Desc, d: usize) -> usize {
    b.ne[d].checked_div(a.ne[d]).unwrap_or(1).max(1)
}

/// From dimension 2 on, `a` must serve whole groups of `b`.
fn check_batch(a: &Desc, b: &Desc) -> Result<()> {
    for d in 2..MAX_DIMS {
        let fits = if a.ne[d] == 0 { b.ne[d] == 0 } else { b.ne[d] % a.ne[d] == 0 };
        if !fits {
            return Err(Error::shape(format!(
                "a {} cannot be broadcast to b {}: ne{d} of b must be a multiple of that of a",
                a.show(),
                b.show()
            ))
            .arg("a")
            .expected(format!("ne{d} that divides {}", b.ne[d]))
            .got(a.show()));
        }
    }
    Ok(())
}
