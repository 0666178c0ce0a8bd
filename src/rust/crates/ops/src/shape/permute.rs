//! The same elements with dimensions in another order, as a view.

use super::no_kernel;
use crate::entry::{Call, Entry};
use crate::{Case, Tol, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Field, Grad, Key, MAX_DIMS, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

/// a: [n0, n1, ...] -> y: dimension i of a becomes dimension axes[i]
#[derive(Clone, Debug, PartialEq)]
pub struct Permute {
    pub axes: [usize; MAX_DIMS],
}

op_struct! {
    /// a: [n0, n1, ...] -> y: [n1, n0, ...]
    pub struct Transpose {}
}

impl Permute {
    /// Moves the first dimensions and leaves the others where they are. Fails when `axes` is no permutation.
    pub fn new(axes: &[usize]) -> Result<Permute> {
        let mut all = IDENTITY;
        let mut seen = [false; MAX_DIMS];
        for (i, &to) in axes.iter().enumerate() {
            if to >= axes.len() || seen[to] {
                let list: Vec<String> = axes.iter().map(usize::to_string).collect();
                let last = axes.len() - 1;
                return Err(Error::argument(
                    &format!("axis{i}"),
                    format!("axes ({}) must be a permutation of 0 to {last}", list.join(", ")),
                ));
            }
            seen[to] = true;
            all[i] = to;
        }
        Ok(Permute { axes: all })
    }

    fn inverse(&self) -> Permute {
        let mut axes = IDENTITY;
        for (from, &to) in self.axes.iter().enumerate() {
            axes[to] = from;
        }
        Permute { axes }
    }
}

const IDENTITY: [usize; MAX_DIMS] = [0, 1, 2, 3, 4, 5, 6, 7];
const SWAP: [usize; MAX_DIMS] = [1, 0, 2, 3, 4, 5, 6, 7];

fn permuted(a: &Desc, axes: &[usize; MAX_DIMS]) -> Result<Desc> {
    if a.dtype.block() > 1 && axes[0] != 0 {
        return Err(Error::dtype(format!(
            "a is {}: blocks along dimension 0 cannot become another dimension",
            a.dtype
        ))
        .arg("a")
        .expected("a type without blocks")
        .got(a.dtype.name()));
    }
    let mut y = *a;
    for (from, &to) in axes.iter().enumerate() {
        y.ne[to] = a.ne[from];
        y.nb[to] = a.nb[from];
    }
    y.rank = a.rank.max(y.n_dims() as u8);
    Ok(y)
}

fn permute_oracle(axes: &[usize; MAX_DIMS], x: &Array, y: &mut Array) {
    for (v, at) in x.data.iter().zip(x.indices()) {
        let mut to = [0; MAX_DIMS];
        (0..MAX_DIMS).for_each(|d| to[axes[d]] = at[d]);
        let j = y.at(&to);
        y.data[j] = *v;
    }
}

impl Op for Permute {
    fn name(&self) -> &'static str {
        "permute"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        Ok(smallvec![permuted(a, &self.axes)?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        permute_oracle(&self.axes, x[0], &mut y[0]);
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        self.axes.key(k);
    }

    fn effects(&self) -> Effects {
        Effects::view_of(0)
    }

    fn cpu_types(&self) -> &'static [DType] {
        DType::ALL
    }

    fn cpu(&self, _call: &mut CpuCall<'_>) -> Result<()> {
        no_kernel()
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let da = g.op(self.inverse(), &[dy])?;
        g.push(0, da);
        Ok(())
    }
}

impl Op for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        Ok(smallvec![permuted(a, &SWAP)?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        permute_oracle(&SWAP, x[0], &mut y[0]);
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::view_of(0)
    }

    fn cpu_types(&self) -> &'static [DType] {
        DType::ALL
    }

    fn cpu(&self, _call: &mut CpuCall<'_>) -> Result<()> {
        no_kernel()
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let da = g.op(Transpose {}, &[dy])?;
        g.push(0, da);
        Ok(())
    }
}

fn permute() -> Entry {
    Entry {
        name: "permute".into(),
        r: vec!["ggml_permute(ctx, a, axis0, axis1, axis2, axis3)".into()],
        inputs: &["a"],
        title: "Reorder the dimensions".into(),
        details:
            "A view in which dimension `i` of `a` is dimension `axis_i`: `ne[axis_i]` of the result is `ne[i]` of `a`. \
                  The axes must be a permutation of 0 to 3; a fifth dimension stays."
                .into(),
        topic: "shape",
        example: "".into(),
        make: |c: &Call<'_>| {
            let axes: Vec<usize> = (0..4).map(|i| c.params.get(&format!("axis{i}"))).collect::<Result<_>>()?;
            Ok(Arc::new(Permute::new(&axes)?) as OpRef)
        },
        cases: || {
            let to = |axes: [usize; 4]| {
                let mut all = IDENTITY;
                all[..4].copy_from_slice(&axes);
                Case::new(Permute { axes: all }).tol(Tol::Exact)
            };
            vec![
                to([2, 0, 1, 3]).f32(&[2, 3, 4]).grad(),
                to([0, 2, 1, 3]).f32(&[5, 3, 4, 2]).grad(),
                to([3, 2, 1, 0]).f32(&[5, 3, 4, 2, 2]).grad(),
                to([0, 1, 2, 3]).f32(&[3, 2]).grad(),
                to([1, 2, 0, 3]).f32(&[0, 3]).note("empty"),
                to([1, 0, 2, 3]).i32(&[4, 3], -9, 9),
            ]
        },
    }
}

fn transpose() -> Entry {
    Entry {
        name: "transpose".into(),
        r: vec!["ggml_transpose(ctx, a)".into()],
        inputs: &["a"],
        title: "Swap the first two dimensions".into(),
        details: "A view: `[n0, n1, ...]` becomes `[n1, n0, ...]`.".into(),
        topic: "shape",
        example: "".into(),
        make: |_| Ok(Arc::new(Transpose {}) as OpRef),
        cases: || {
            let op = || Case::new(Transpose {}).tol(Tol::Exact);
            vec![
                op().f32(&[5, 3]).grad(),
                op().f32(&[7]).grad(),
                op().f32(&[4, 3, 2, 2]).grad(),
                op().f32(&[0, 3]).note("empty"),
            ]
        },
    }
}

/// Both entries.
pub fn entries() -> Vec<Entry> {
    vec![permute(), transpose()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::Kind;

    #[test]
    fn axes_must_be_a_permutation() {
        for axes in [[0, 1, 2, 2], [0, 1, 2, 4]] {
            let e = Permute::new(&axes).unwrap_err();
            assert_eq!((e.kind(), e.arg_name()), (Kind::Argument, Some("axis3")));
        }
    }

    #[test]
    fn blocks_stay_in_their_row() {
        let a = Desc::new(DType::Q4_0, &[32, 2, 3]).unwrap();
        assert_eq!(Transpose {}.infer(&[a]).unwrap_err().kind(), Kind::DType);
        let y = Permute::new(&[0, 2, 1, 3]).unwrap().infer(&[a]).unwrap();
        assert_eq!((y[0].extents(), y[0].nb[1]), (&[32, 3, 2][..], 36));
    }

    #[test]
    fn measured_example() {
        let a = Desc::new(DType::F32, &[2, 3, 4]).unwrap();
        let y = Permute::new(&[2, 0, 1, 3]).unwrap().infer(&[a]).unwrap();
        assert_eq!(y[0].extents(), [3, 4, 2]);
    }

    #[test]
    fn the_rank_grows_when_an_extent_moves_out() {
        let a = Desc::new(DType::F32, &[5]).unwrap();
        let y = Transpose {}.infer(&[a]).unwrap();
        assert_eq!(y[0].extents(), [1, 5]);
    }
}
