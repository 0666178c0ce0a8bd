//! Products of matrices.

pub mod mul_mat;
pub mod out_prod;
mod product;

pub use mul_mat::MulMat;
pub use out_prod::OutProd;

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
    b.ne[d].checked_div(a.ne[d]).unwrap_or(1)
}

/// From dimension 2 on, `a` must serve whole groups of `b`.
fn check_batch(a: &Desc, b: &Desc) -> Result<()> {
    for d in 2..MAX_DIMS {
        let fits = b.ne[d].checked_rem(a.ne[d]).map_or(b.ne[d] == 0, |rest| rest == 0);
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

/// Adds up the groups of consecutive batch entries of `each` that belong to one entry of `a`. The result has the shape
/// of `a`: the first two dimensions are those of `each`, the others divide its.
fn sum_groups(g: &mut Grad<'_>, each: Val, a: Val) -> Result<Val> {
    let small = g.desc(a)?;
    let mut sum = each;
    let mut d = g.desc(each)?;
    for i in 2..MAX_DIMS {
        if small.ne[i] == d.ne[i] {
            continue;
        }
        // [below, group, n, above]: repeat_back takes the group out.
        let below = d.ne[..i].iter().product();
        let above: usize = d.ne[i + 1..].iter().product();
        let (n, group) = (small.ne[i], group(&small, &d, i));
        let split = g.op(Reshape { ne: vec![below, group, n, above] }, &[sum])?;
        let shape = g.fill(Desc::new(d.dtype, &[below, 1, n, above])?, 0.0)?;
        sum = g.op(RepeatBack {}, &[split, shape])?;
        d.ne[i] = n;
    }
    if g.desc(sum)?.same_shape(&small) { Ok(sum) } else { g.op(Reshape::to(&small), &[sum]) }
}
