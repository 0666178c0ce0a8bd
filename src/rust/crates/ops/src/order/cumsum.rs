//! Running sums along rows.

use crate::elementwise::real::{Real, by_real};
use crate::{Call, Case, Entry, Tol, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Grad, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [n, ...] -> y: [n, ...], element i the sum of a from 0 to i, or in reverse from i to n - 1
    pub struct CumSum { reverse: bool }
}

impl Op for CumSum {
    fn name(&self) -> &'static str {
        "cumsum"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0];
        for (xr, yr) in x[0].data.chunks(n).zip(y[0].data.chunks_mut(n)) {
            for i in 0..n {
                yr[i] = if self.reverse { xr[i..].iter().sum() } else { xr[..=i].iter().sum() };
            }
        }
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        by_real!(call.dtype(), T => run::<T>(self.reverse, call))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let da = g.op(CumSum { reverse: !self.reverse }, &[dy])?;
        g.push(0, da);
        Ok(())
    }
}

/// Nanoseconds for one element on one thread: each sum waits for the one before.
const NS: f64 = 1.3;

fn run<T: Real>(reverse: bool, call: &mut CpuCall<'_>) -> Result<()> {
    let n = call.y(0).ne[0];
    let x = call.get_unless_in_place::<T>(0)?;
    let y = call.out::<T>(0)?;
    rows(call.pool, y, n, n as f64 * NS, |first, part| {
        for (i, out) in part.chunks_mut(n).enumerate() {
            if let Some(x) = x {
                out.copy_from_slice(&x[(first + i) * n..(first + i + 1) * n]);
            }
            // The sum itself stays in f64, so that long rows do not drift.
            let mut sum = 0.0;
            let add = |y: &mut T| {
                sum += y.f64();
                *y = T::of(sum);
            };
            if reverse { out.iter_mut().rev().for_each(add) } else { out.iter_mut().for_each(add) }
        }
    });
    Ok(())
}

fn cases() -> Vec<Case> {
    let op = |reverse| Case::new(CumSum { reverse });
    let mut v = Vec::new();
    for reverse in [false, true] {
        v.extend([
            op(reverse).f32(&[64, 5, 4, 3]).tol(Tol::Reduce(64)).grad(),
            op(reverse).f32(&[1, 3]).tol(Tol::Exact).grad(),
            op(reverse).f32(&[5, 2, 1, 2, 2]).tol(Tol::Reduce(5)).grad().note("five dimensions"),
            op(reverse).f32(&[5000, 3]).tol(Tol::Reduce(5000)),
            op(reverse).f32(&[70, 900]).tol(Tol::Reduce(70)).note("several blocks"),
            op(reverse).f32(&[33, 4]).in_place().tol(Tol::Reduce(33)).note("in place"),
        ]);
    }
    v.extend([
        op(false).f32(&[0, 3]).note("empty rows"),
        op(false).f32(&[3, 0]).note("no rows"),
        op(false).i32(&[4], 0, 3).fails(Kind::DType),
    ]);
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "cumsum".into(),
        r: vec!["ggml_cumsum(ctx, a)".into()],
        inputs: &["a"],
        title: "Running sums".into(),
        details: "`y[i] = a[0] + ... + a[i]` along dimension 0. `a`: `[n, ...]`, f32; the result has its shape.".into(),
        topic: "ordering",
        example: "".into(),
        make: |c: &Call<'_>| {
            let reverse = c.params.find("reverse").is_some() && c.params.get("reverse")?;
            Ok(Arc::new(CumSum { reverse }) as OpRef)
        },
        cases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions() {
        let x = Array::from(&[3], vec![1.0, 2.0, 4.0]);
        let mut y = [Array::zeros(x.ne)];
        CumSum { reverse: false }.oracle(&[&x], &mut y).unwrap();
        assert_eq!(y[0].data, [1.0, 3.0, 7.0]);
        CumSum { reverse: true }.oracle(&[&x], &mut y).unwrap();
        assert_eq!(y[0].data, [7.0, 6.0, 4.0]);
    }
}
