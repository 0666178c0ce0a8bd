//! Shapes, views and copies.

mod cast;
mod copy;
mod cpy;
mod kernel;
mod permute;
mod repeat;
mod reshape;
mod view;

pub use cast::Cast;
pub use copy::{Cont, Dup};
pub use cpy::Cpy;
pub use permute::{Permute, Transpose};
pub use repeat::Repeat;
pub use reshape::Reshape;
pub use view::{View, ViewBack, ViewTensor};

use crate::Entry;
use ggmlr_core::{Desc, Error, Grad, Result, Val};

pub(crate) use kernel::to_real;

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    let mut v = view::entries();
    v.push(reshape::entry());
    v.extend(permute::entries());
    v.extend(copy::entries());
    v.extend([cpy::entry(), cast::entry(), repeat::entry()]);
    v
}

/// The value laid out contiguously, for operators that ask for it.
pub fn contiguous(g: &mut Grad<'_>, v: Val) -> Result<Val> {
    if g.desc(v)?.is_contiguous() { Ok(v) } else { g.op(Cont {}, &[v]) }
}

/// A gradient in the shape and type of the source it belongs to.
fn like(g: &mut Grad<'_>, dy: Val, x: Val) -> Result<Val> {
    let (from, to) = (g.desc(dy)?, g.desc(x)?);
    let dx = if from.dtype == to.dtype { dy } else { g.op(Cast { to: to.dtype }, &[dy])? };
    if from.same_shape(&to) {
        return Ok(dx);
    }
    let dx = contiguous(g, dx)?;
    g.op(Reshape::to(&to), &[dx])
}

/// Views compute nothing.
fn no_kernel() -> Result<()> {
    Err(Error::internal("a view has no kernel"))
}

/// Refusal of a source with too many or too few elements.
fn same_len(an: &str, a: &Desc, bn: &str, b: &Desc) -> Result<()> {
    if a.len() == b.len() {
        return Ok(());
    }
    Err(Error::shape(format!("{bn} {} has {} elements, {an} {} has {}", b.show(), b.len(), a.show(), a.len()))
        .arg(bn)
        .expected(format!("{} elements", a.len()))
        .got(b.show()))
}
