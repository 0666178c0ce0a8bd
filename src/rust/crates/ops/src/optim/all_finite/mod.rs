//! Whether every number of every source is finite: the gate that keeps an overflowed gradient out of the weights.

use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use bytemuck::Pod;
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Kind, Op, OpRef, Pool, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// x0, x1, ...: any shapes -> y: [1], f32: 1 if all are finite, else 0
    pub struct AllFinite {}
}

/// Elements that one task looks at, and nanoseconds for each.
const BLOCK: usize = 1 << 16;
const NS: f64 = 0.2;

impl Op for AllFinite {
    fn name(&self) -> &'static str {
        "all_finite"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        x.iter().try_for_each(|x| check::float("a", x))?;
        Ok(smallvec![Desc::new(DType::F32, &[1])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data[0] = 1.0;
        for v in x.iter().flat_map(|x| &x.data) {
            if !v.is_finite() {
                y[0].data[0] = 0.0;
            }
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let mut all = true;
        for i in 0..call.src.len() {
            all &= match call.x(i).dtype {
                DType::F32 => finite(call.pool, call.get(i)?, |x: &f32| x.is_finite()),
                DType::F64 => finite(call.pool, call.get(i)?, |x: &f64| x.is_finite()),
                other => return Err(Error::dtype(format!("no kernel for {other}"))),
            };
        }
        call.out::<f32>(0)?.fill(if all { 1.0 } else { 0.0 });
        Ok(())
    }

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

fn finite<T: Pod + Sync>(pool: &dyn Pool, x: &[T], is: impl Fn(&T) -> bool + Sync) -> bool {
    let mut good = vec![true; x.len().div_ceil(BLOCK)];
    rows(pool, &mut good, 1, BLOCK as f64 * NS, |first, part| {
        for (good, x) in part.iter_mut().zip(x[first * BLOCK..].chunks(BLOCK)) {
            // Without an early exit the loop is vector code.
            *good = x.iter().fold(true, |all, x| all & is(x));
        }
    });
    good.into_iter().all(|g| g)
}

/// The entry of the table.
pub fn entry() -> Entry {
    Entry {
        name: "all_finite".into(),
        r: Vec::new(),
        inputs: &["a"],
        title: "Whether all numbers are finite".into(),
        details: "One f32: 1 if no source, of any number and shape, holds a NaN or an infinity, else 0.".into(),
        topic: "optimiser steps",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(AllFinite::from_params(c.params)?) as OpRef),
        cases: || {
            let op = || Case::new(AllFinite {}).tol(Tol::Exact);
            vec![
                op().f32(&[5, 3]).f32(&[1]).f32(&[0, 2]).f32(&[300, 250]),
                op().f32(&[5, 3]).f32(&[3]).values(Values::Given(&[0.0, 1.0, f64::NAN])).note("NaN in the second"),
                op().f32(&[4]).values(Values::Given(&[1.0, f64::INFINITY])).f32(&[3]).note("infinity in the first"),
                op().f32(&[4]).values(Values::Given(&[f64::NEG_INFINITY])),
                op().input(DType::F64, &[4], Values::Given(&[1e300]), false).note("f64"),
                op().f32(&[0]).note("nothing"),
                op().i32(&[4], 0, 3).fails(Kind::DType),
            ]
        },
    }
}
