//! Tensors put together from others: joined, padded, rolled, written into a region or into rows.

mod acc;
mod concat;
mod pad;
mod pad_reflect;
mod region;
mod roll;
mod rows;
mod set;
mod set_rows;

pub use acc::Acc;
pub use concat::Concat;
pub use pad::Pad;
pub use pad_reflect::{PadReflect1d, PadReflect1dBack};
pub use roll::Roll;
pub use set::Set;
pub use set_rows::{SetRows, SetRowsBack};

use crate::Entry;
use crate::shape::{View, contiguous};
use ggmlr_core::{DType, Desc, Error, Grad, MAX_DIMS, Result, Val};

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    let mut v = vec![concat::entry(), set::entry(), acc::entry(), pad::entry()];
    v.extend(pad_reflect::entries());
    v.push(roll::entry());
    v.extend(set_rows::entries());
    v
}

/// Nanoseconds to move one byte on one thread.
const NS: f64 = 0.15;

/// Types whose elements are stored one by one: what moves elements handles all of them.
pub(crate) const PLAIN: &[DType] = &[
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::Bool,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
];

/// Source `name` must not be stored in blocks.
pub(crate) fn plain(name: &str, x: &Desc) -> Result<()> {
    if PLAIN.contains(&x.dtype) {
        return Ok(());
    }
    Err(Error::dtype(format!("{name} is {}: elements stored in blocks cannot be moved one by one", x.dtype))
        .arg(name)
        .expected("a type without blocks")
        .got(x.dtype.name()))
}

/// The part of gradient `dy` that starts at index `start` and has the extents of `like`, contiguous.
pub(crate) fn slice(g: &mut Grad<'_>, dy: Val, start: &[usize; MAX_DIMS], like: &Desc) -> Result<Val> {
    let dy = contiguous(g, dy)?;
    let d = g.desc(dy)?;
    // Where nothing is taken, the start may lie outside of what is there.
    let offset = if like.is_empty() { 0 } else { start.iter().zip(d.nb).map(|(i, nb)| i * nb).sum() };
    let part = g.op(View::new(d.dtype, like.extents().to_vec(), &d.nb[1..like.extents().len()], offset), &[dy])?;
    contiguous(g, part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::{Kind, Op, Scalar};

    #[test]
    fn blocks_are_refused() {
        let d = |t, n| Desc::new(t, &[n]).unwrap();
        let (a, i) = (d(DType::Q4_0, 64), d(DType::I32, 1));
        let ops: [(&dyn Op, &[Desc]); 5] = [
            (&Set { nb: vec![], offset: Scalar(0) }, &[a, a]),
            (&Pad { lp: vec![], rp: vec![32] }, &[a]),
            (&PadReflect1d { p0: 1, p1: 0 }, &[a]),
            (&Roll::new(&[1]), &[a]),
            (&SetRows {}, &[a, a, i]),
        ];
        for (op, x) in ops {
            let e = op.infer(x).unwrap_err();
            assert_eq!((e.kind(), e.arg_name()), (Kind::DType, Some("a")), "{}", op.name());
        }
        // Joined they can be: rows are whole blocks.
        assert_eq!(Concat { dim: 0 }.infer(&[a, a]).unwrap()[0].ne[0], 128);
    }

    #[test]
    fn plain_types_are_those_without_blocks() {
        for t in DType::ALL {
            assert_eq!(PLAIN.contains(t), t.block() == 1, "{t}");
        }
    }
}
