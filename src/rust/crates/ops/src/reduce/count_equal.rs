//! Number of positions where two integer tensors agree.

use crate::entry::Entry;
use crate::{Case, Tol, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [...] I32, b: [...] I32 -> y: [1] I64
    pub struct CountEqual {}
}

impl Op for CountEqual {
    fn name(&self) -> &'static str {
        "count_equal"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        check::dtype("a", a, DType::I32)?;
        check::dtype("b", b, DType::I32)?;
        check::same_shape("a", a, "b", b)?;
        Ok(smallvec![Desc::new(DType::I64, &[1])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data[0] = x[0].data.iter().zip(&x[1].data).filter(|(a, b)| a == b).count() as f64;
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::I32]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let (a, b) = (call.get::<i32>(0)?, call.get::<i32>(1)?);
        let y = call.out::<i64>(0)?;
        let mut counts = vec![0_i64; a.len().div_ceil(PIECE)];
        rows(call.pool, &mut counts, 1, PIECE as f64 * NS, |first, part| {
            for (i, n) in part.iter_mut().enumerate() {
                let at = (first + i) * PIECE..((first + i + 1) * PIECE).min(a.len());
                *n = a[at.clone()].iter().zip(&b[at]).map(|(a, b)| i64::from(a == b)).sum();
            }
        });
        y[0] = counts.iter().sum();
        Ok(())
    }

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

/// Elements counted as one piece.
const PIECE: usize = 8192;

/// Nanoseconds for one element on one thread.
const NS: f64 = 0.4;

fn cases() -> Vec<Case> {
    let case = |ne: &[usize]| Case::new(CountEqual {}).i32(ne, 0, 3).i32(ne, 0, 3).tol(Tol::Exact);
    vec![
        case(&[64, 5, 4]),
        case(&[1]),
        case(&[20_000]),
        case(&[0, 3]).note("empty"),
        Case::new(CountEqual {}).i32(&[4], 0, 3).i32(&[5], 0, 3).fails(Kind::Shape),
        Case::new(CountEqual {}).i32(&[4], 0, 3).f32(&[4]).fails(Kind::DType),
    ]
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "count_equal".into(),
        r: vec!["ggml_count_equal(ctx, a, b)".into()],
        inputs: &["a", "b"],
        title: "Number of equal elements".into(),
        details: "`a`, `b`: I32 of one shape; the result is `[1]`, I64. No gradient flows.".into(),
        topic: "reduction",
        example: "".into(),
        make: |_| Ok(Arc::new(CountEqual {}) as OpRef),
        cases,
    }
}
