//! Position of the largest element of each row.

use crate::elementwise::real::{Real, by_real};
use crate::entry::Entry;
use crate::{Case, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [n, m, ...] -> y: [m, ...], I32
    pub struct ArgMax {}
}

impl Op for ArgMax {
    fn name(&self) -> &'static str {
        "argmax"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        if a.ne[0] == 0 {
            return Err(Error::shape(format!("a {} has empty rows, which have no largest element", a.show()))
                .arg("a")
                .expected("ne0 of at least 1")
                .got(a.show()));
        }
        let rank = (a.rank as usize).max(2);
        Ok(smallvec![Desc::new(DType::I32, &a.ne[1..rank])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0];
        for (r, w) in y[0].data.iter_mut().enumerate() {
            let row = &x[0].data[r * n..(r + 1) * n];
            let mut best = None;
            for (i, v) in row.iter().enumerate() {
                if !v.is_nan() && best.is_none_or(|b: usize| *v > row[b]) {
                    best = Some(i);
                }
            }
            *w = best.unwrap_or(0) as f64;
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        by_real!(call.dtype(), T => run::<T>(call))
    }

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

fn run<T: Real>(call: &mut CpuCall<'_>) -> Result<()> {
    let n = call.x(0).ne[0];
    let x = call.get::<T>(0)?;
    let y = call.out::<i32>(0)?;
    rows(call.pool, y, 1, n as f64 * 0.7, |first, part| {
        for (i, y) in part.iter_mut().enumerate() {
            *y = first_max(&x[(first + i) * n..(first + i + 1) * n]) as i32;
        }
    });
    Ok(())
}

/// Elements of a piece whose largest one is found before its position is.
const PIECE: usize = 64;

/// Position of the first largest element; NaN never wins.
fn first_max<T: Real>(row: &[T]) -> usize {
    let (mut at, mut best) = (0, row[0]);
    for (p, piece) in row.chunks(PIECE).enumerate() {
        // Comparing whole pieces keeps the position out of the loop over elements, which then runs on vectors.
        let top = piece.iter().fold(piece[0], |m, &v| if v > m { v } else { m });
        if top > best || best.is_nan() || top.is_nan() {
            for (i, &v) in piece.iter().enumerate() {
                if v > best || (best.is_nan() && !v.is_nan()) {
                    (at, best) = (p * PIECE + i, v);
                }
            }
        }
    }
    if best.is_nan() { 0 } else { at }
}

fn cases() -> Vec<Case> {
    let case = |ne: &[usize]| Case::new(ArgMax {}).f32(ne).values(Values::Distinct).no_grad().tol(Tol::Exact);
    let mut v: Vec<Case> =
        [&[64, 5][..], &[1, 3], &[1025, 2], &[7], &[10, 3, 2, 2]].iter().map(|ne| case(ne)).collect();
    v.push(case(&[6]).values(Values::Given(&[1.0, 3.0, 2.0, 3.0, 0.0, 3.0])).note("ties"));
    v.push(case(&[3, 0]).note("no rows"));
    v.push(case(&[0, 3]).fails(Kind::Shape).note("empty rows"));
    v.push(Case::new(ArgMax {}).i32(&[4], 0, 3).fails(Kind::DType));
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "argmax".into(),
        r: vec!["ggml_argmax(ctx, a)".into()],
        inputs: &["a"],
        title: "Position of the largest element of each row".into(),
        details:
            "0-based position of the first largest element along dimension 0; NaN is never the largest. `a`: `[n, m]`, \
                  f32; the result is `[m]`, I32. Further dimensions stay as they are. No gradient flows."
                .into(),
        topic: "reduction",
        example: "".into(),
        make: |_| Ok(Arc::new(ArgMax {}) as OpRef),
        cases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_never_wins() {
        let nan = f32::NAN;
        assert_eq!(first_max(&[nan, 1.0, 2.0, nan]), 2);
        assert_eq!(first_max(&[nan, nan]), 0);
        assert_eq!(first_max(&[f32::NEG_INFINITY, nan, f32::NEG_INFINITY]), 0);
        let mut long = vec![nan; 200];
        long[150] = -1.0;
        long[180] = -1.0;
        assert_eq!(first_max(&long), 150);
        long[70] = -2.0;
        assert_eq!(first_max(&long), 150);
        long[129] = nan;
        long[199] = 5.0;
        assert_eq!(first_max(&long), 199);
    }
}
