//! Positions of the largest elements of each row.

use super::argsort::check_rows;
use super::key::{Sortable, before, keys};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [n, ...] -> y: [k, ...], I32, the largest first
    pub struct TopK { k: usize }
}

impl Op for TopK {
    fn name(&self) -> &'static str {
        "top_k"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check_rows(a)?;
        if !(1..=a.ne[0]).contains(&self.k) {
            let text = format!("k must be 1 to {}, the length of the rows of a {}, got {}", a.ne[0], a.show(), self.k);
            return Err(Error::argument("k", text).expected(format!("1 to {}", a.ne[0])).got(self.k.to_string()));
        }
        let mut ne = a.ne;
        ne[0] = self.k;
        Ok(smallvec![Desc::new(DType::I32, &ne[..a.rank as usize])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (xr, yr) in x[0].data.chunks(x[0].ne[0]).zip(y[0].data.chunks_mut(self.k)) {
            let mut list: Vec<(f64, usize)> = xr.iter().copied().zip(0..).collect();
            list.sort_by(|a, b| before(*a, *b, true));
            yr.iter_mut().zip(list).for_each(|(w, (_, i))| *w = i as f64);
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64, DType::I32]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        match call.dtype() {
            DType::F32 => run::<f32>(self.k, call),
            DType::F64 => run::<f64>(self.k, call),
            DType::I32 => run::<i32>(self.k, call),
            other => Err(Error::dtype(format!("no kernel for {other}"))),
        }
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].rows() as f64 * row_ns(x[0].ne[0], self.k)
    }

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

/// Nanoseconds to find and sort `k` of `n` elements on one thread.
fn row_ns(n: usize, k: usize) -> f64 {
    let k = k.max(2) as f64;
    3.0 * n as f64 + 1.5 * k * k.log2()
}

fn run<T: Sortable>(k: usize, call: &mut CpuCall<'_>) -> Result<()> {
    let n = call.x(0).ne[0];
    let x = call.get::<T>(0)?;
    let y = call.out::<i32>(0)?;
    rows(call.pool, y, k, row_ns(n, k), |first, part| {
        let mut list = Vec::with_capacity(n);
        for (i, out) in part.chunks_mut(k).enumerate() {
            let at = (first + i) * n;
            keys(&x[at..at + n], true, &mut list);
            if k < n {
                list.select_nth_unstable(k);
            }
            list[..k].sort_unstable();
            out.iter_mut().zip(&list).for_each(|(y, k)| *y = T::position(*k));
        }
    });
    Ok(())
}

fn cases() -> Vec<Case> {
    const TIES: Values = Values::Given(&[2.0, 1.0, 2.0, 0.0, 0.0, 1.0, 2.0]);
    const HOLES: Values = Values::Given(&[2.0, f64::NAN, f64::INFINITY, -1.0, f64::NAN, f64::NEG_INFINITY, 0.5]);
    let op = |k| Case::new(TopK { k }).tol(Tol::Exact);
    let of = |k, ne: &[usize], v: Values| op(k).input(DType::F32, ne, v, false);
    vec![
        of(5, &[64, 5], Values::Distinct),
        of(1, &[1, 3], Values::Distinct),
        of(7, &[7, 3, 2, 2, 2], Values::Distinct).note("all, five dimensions"),
        of(40, &[1025, 2, 2], Values::Uniform(-2.0, 2.0)),
        of(4, &[7, 2], TIES).note("ties"),
        of(6, &[7, 2], HOLES).note("not a number"),
        of(3, &[300, 400], Values::Ints(0, 9)).note("several blocks"),
        op(4).i32(&[30, 3], -9, 9).note("i32"),
        of(2, &[3, 0], Values::Distinct).note("no rows"),
        of(4, &[3], Values::Distinct).fails(Kind::Argument),
        of(0, &[3], Values::Distinct).fails(Kind::Argument),
        of(1, &[0, 3], Values::Distinct).fails(Kind::Argument).note("empty rows"),
        op(1).input(DType::F16, &[3], Values::Distinct, false).fails(Kind::DType),
    ]
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "top_k".into(),
        r: vec!["ggml_top_k(ctx, a, k)".into()],
        inputs: &["a"],
        title: "Positions of the largest elements of each row".into(),
        details: "0-based positions of the `k` largest elements of each row of `a`, the largest first; of equal ones \
                  those that come first. NaN counts as smaller than everything. `a`: `[n, ...]`, f32 or i32, `k` \
                  from 1 to `n`; the result is `[k, ...]`, I32. No gradient flows."
            .into(),
        topic: "ordering",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(TopK::from_params(c.params)?) as OpRef),
        cases,
    }
}
