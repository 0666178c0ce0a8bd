//! The order of the elements of each row.

use super::key::{Sortable, before, keys};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [n, ...] -> y: [n, ...], I32. `order` 0 sorts up, 1 down.
    pub struct ArgSort { order: i32 }
}

/// `a` must hold numbers of a type with a kernel, in rows that an I32 can count.
pub(super) fn check_rows(a: &Desc) -> Result<()> {
    if a.dtype != DType::I32 {
        check::float("a", a)?;
    }
    if i32::try_from(a.ne[0]).is_err() {
        return Err(Error::shape(format!("rows of a {} are too long for positions of type i32", a.show())).arg("a"));
    }
    Ok(())
}

impl Op for ArgSort {
    fn name(&self) -> &'static str {
        "argsort"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        if !matches!(self.order, 0 | 1) {
            let text = format!("order must be GGML_SORT_ORDER_ASC (0) or GGML_SORT_ORDER_DESC (1), got {}", self.order);
            return Err(Error::argument("order", text).expected("0 or 1").got(self.order.to_string()));
        }
        check_rows(a)?;
        Ok(smallvec![a.with_dtype(DType::I32)?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0];
        for (xr, yr) in x[0].data.chunks(n).zip(y[0].data.chunks_mut(n)) {
            let mut list: Vec<(f64, usize)> = xr.iter().copied().zip(0..).collect();
            list.sort_by(|a, b| before(*a, *b, self.order == 1));
            yr.iter_mut().zip(list).for_each(|(w, (_, i))| *w = i as f64);
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64, DType::I32]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let descending = self.order == 1;
        match call.dtype() {
            DType::F32 => run::<f32>(descending, call),
            DType::F64 => run::<f64>(descending, call),
            DType::I32 => run::<i32>(descending, call),
            other => Err(Error::dtype(format!("no kernel for {other}"))),
        }
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].rows() as f64 * row_ns(x[0].ne[0])
    }

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

/// Nanoseconds to sort a row of `n` elements on one thread.
fn row_ns(n: usize) -> f64 {
    let n = n.max(2) as f64;
    1.5 * n * n.log2()
}

fn run<T: Sortable>(descending: bool, call: &mut CpuCall<'_>) -> Result<()> {
    let n = call.x(0).ne[0];
    let x = call.get::<T>(0)?;
    let y = call.out::<i32>(0)?;
    rows(call.pool, y, n, row_ns(n), |first, part| {
        let mut list = Vec::with_capacity(n);
        for (i, out) in part.chunks_mut(n).enumerate() {
            let at = (first + i) * n;
            keys(&x[at..at + n], descending, &mut list);
            // Keys differ in their position, so this is the stable order.
            list.sort_unstable();
            out.iter_mut().zip(&list).for_each(|(y, k)| *y = T::position(*k));
        }
    });
    Ok(())
}

fn cases() -> Vec<Case> {
    const NAN: f64 = f64::NAN;
    const TIES: Values = Values::Given(&[2.0, 1.0, 2.0, -0.0, 0.0, 1.0, 2.0]);
    const HOLES: Values = Values::Given(&[2.0, NAN, f64::INFINITY, -1.0, NAN, f64::NEG_INFINITY, 0.5]);
    let op = |order| Case::new(ArgSort { order }).tol(Tol::Exact);
    let by = |order, ne: &[usize], v: Values| op(order).input(DType::F32, ne, v, false);
    let mut v = Vec::new();
    for order in [0, 1] {
        v.extend([
            by(order, &[64, 5], Values::Distinct),
            by(order, &[1, 3], Values::Distinct),
            by(order, &[1025, 2, 2], Values::Uniform(-2.0, 2.0)),
            by(order, &[7, 3, 2, 2, 2], Values::Distinct).note("five dimensions"),
            by(order, &[7, 2], TIES).note("ties"),
            by(order, &[7, 2], HOLES).note("not a number"),
            by(order, &[50, 600], Values::Ints(0, 9)).note("several blocks"),
            op(order).i32(&[30, 3], -9, 9).note("i32"),
        ]);
    }
    v.extend([
        by(0, &[0, 3], Values::Distinct).note("empty rows"),
        by(1, &[3, 0], Values::Distinct).note("no rows"),
        by(2, &[3], Values::Distinct).fails(Kind::Argument),
        op(0).input(DType::F16, &[3], Values::Distinct, false).fails(Kind::DType),
    ]);
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "argsort".into(),
        r: vec!["ggml_argsort(ctx, a, order = GGML_SORT_ORDER_ASC)".into()],
        inputs: &["a"],
        title: "Order of the elements of each row".into(),
        details: "0-based positions that sort each row of `a`, up with `GGML_SORT_ORDER_ASC`, down with \
                  `GGML_SORT_ORDER_DESC`. Equal elements keep their order and NaN comes last, both ways. `a`: `[n, \
                  ...]`, f32 or i32; the result has its shape, I32. No gradient flows."
            .into(),
        topic: "ordering",
        example: "ctx <- ggml_init()\n\
                  a <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)\n\
                  ggml_set_f32(a, c(30, 10, 40, 20))\n\
                  y <- ggml_argsort(ctx, a, GGML_SORT_ORDER_DESC)\n\
                  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                  ggml_get_i32(y)\n\
                  ggml_free(ctx)"
            .into(),
        make: |c: &Call<'_>| Ok(Arc::new(ArgSort::from_params(c.params)?) as OpRef),
        cases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_an_i32() {
        let a = |n| Desc::new(DType::F32, &[n]).unwrap();
        assert!(ArgSort { order: 0 }.infer(&[a(i32::MAX as usize)]).is_ok());
        assert_eq!(ArgSort { order: 0 }.infer(&[a(1 << 31)]).unwrap_err().kind(), Kind::Shape);
    }

    #[test]
    fn stable_with_nan_last() {
        let x = Array::from(&[6], vec![2.0, f64::NAN, 1.0, 2.0, f64::NAN, 1.0]);
        let mut y = [Array::zeros(x.ne)];
        ArgSort { order: 0 }.oracle(&[&x], &mut y).unwrap();
        assert_eq!(y[0].data, [2.0, 5.0, 0.0, 3.0, 1.0, 4.0]);
        ArgSort { order: 1 }.oracle(&[&x], &mut y).unwrap();
        assert_eq!(y[0].data, [0.0, 3.0, 2.0, 5.0, 1.0, 4.0]);
    }
}
