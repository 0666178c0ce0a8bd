//! Triangular masks: what lies right of the diagonal becomes minus infinity, so that a softmax ignores it, or zero.

use crate::elementwise::real::{Real, by_real};
use crate::{Call, Case, Entry, Tol, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Grad, Kind, Op, OpRef, Result, Scalar};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [n, m, ...] -> y: [n, m, ...], minus infinity where i0 > n_past + i1
    pub struct DiagMaskInf { n_past: Scalar<usize> }
}

op_struct! {
    /// a: [n, m, ...] -> y: [n, m, ...], 0 where i0 > n_past + i1
    pub struct DiagMaskZero { n_past: Scalar<usize> }
}

fn infer(x: &[Desc]) -> Result<Descs> {
    let [a] = check::sources(x)?;
    check::float("a", a)?;
    Ok(smallvec![a.contiguous()])
}

fn oracle(n_past: usize, mask: f64, x: &Array, y: &mut Array) {
    let indices = x.indices();
    for ((v, w), at) in x.data.iter().zip(&mut y.data).zip(indices) {
        *w = if at[0] > n_past + at[1] { mask } else { *v };
    }
}

fn run(mask: f64, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => run_as::<T>(T::of(mask), call))
}

fn run_as<T: Real>(mask: T, call: &mut CpuCall<'_>) -> Result<()> {
    let n_past = call.word(0) as usize;
    let (n, m) = (call.y(0).ne[0], call.y(0).ne[1]);
    let x = call.get_unless_in_place::<T>(0)?;
    let y = call.out::<T>(0)?;
    rows(call.pool, y, n, n as f64 * 0.4, |first, part| {
        for (i, out) in part.chunks_mut(n).enumerate() {
            let r = first + i;
            let keep = n_past.saturating_add(r % m + 1).min(n);
            if let Some(x) = x {
                out[..keep].copy_from_slice(&x[r * n..r * n + keep]);
            }
            out[keep..].fill(mask);
        }
    });
    Ok(())
}

/// Neither mask lets a gradient through.
fn grad(n_past: Scalar<usize>, g: &mut Grad<'_>) -> Result<()> {
    let dy = g.dy()?;
    let da = g.op(DiagMaskZero { n_past }, &[dy])?;
    g.push(0, da);
    Ok(())
}

impl Op for DiagMaskInf {
    fn name(&self) -> &'static str {
        "diag_mask_inf"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        infer(x)
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        oracle(self.n_past.0, f64::NEG_INFINITY, x[0], &mut y[0]);
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
        run(f64::NEG_INFINITY, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        grad(self.n_past, g)
    }
}

impl Op for DiagMaskZero {
    fn name(&self) -> &'static str {
        "diag_mask_zero"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        infer(x)
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        oracle(self.n_past.0, 0.0, x[0], &mut y[0]);
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
        run(0.0, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        grad(self.n_past, g)
    }
}

fn cases(case: fn(usize) -> Case, grad: bool) -> Vec<Case> {
    // Differences of infinities are no numbers, so a mask of them can be differentiated only where it covers nothing.
    let with = |c: Case, covers: bool| if grad || !covers { c.grad() } else { c };
    vec![
        with(case(0).f32(&[5, 5]), true),
        with(case(2).f32(&[7, 5, 3, 2]), true),
        with(case(0).f32(&[3, 6]), true).note("more rows than columns"),
        with(case(4).f32(&[3, 2]), false).note("covers nothing"),
        with(case(0).f32(&[4, 3, 1, 2, 2]), true).note("five dimensions"),
        case(9).f32(&[300, 200, 2]).note("several blocks"),
        case(1).f32(&[5, 5]).in_place().note("in place"),
        case(0).f32(&[0, 3]).note("empty rows"),
        case(0).i32(&[4], 0, 3).fails(Kind::DType),
    ]
}

fn entry(
    name: &'static str,
    in_place: bool,
    title: &'static str,
    details: &'static str,
    make: fn(&Call<'_>) -> Result<OpRef>,
    cases: fn() -> Vec<Case>,
) -> Entry {
    let mut r = vec![format!("ggml_{name}(ctx, a, n_past)").into()];
    if in_place {
        r.push(format!("ggml_{name}_inplace(ctx, a, n_past)").into());
    }
    Entry {
        name: name.into(),
        r,
        inputs: &["a"],
        title: title.into(),
        details: details.into(),
        topic: "matrix",
        example: "".into(),
        make,
        cases,
    }
}

/// Both entries.
pub fn entries() -> Vec<Entry> {
    vec![
        entry(
            "diag_mask_inf",
            true,
            "Mask what lies right of the diagonal for a softmax",
            "Element `(i0, i1)` becomes `-Inf` where `i0 > n_past + i1`: row `i1` of attention scores sees the `n_past` columns \
             before and its own. `a`: `[n, m, ...]`, f32; the result has its shape.",
            |c| Ok(Arc::new(DiagMaskInf::from_params(c.params)?)),
            || cases(|n| Case::new(DiagMaskInf { n_past: Scalar(n) }).tol(Tol::Exact), false),
        ),
        entry(
            "diag_mask_zero",
            false,
            "Set what lies right of the diagonal to zero",
            "Element `(i0, i1)` becomes 0 where `i0 > n_past + i1`. `a`: `[n, m, ...]`, f32; the result has its shape.",
            |c| Ok(Arc::new(DiagMaskZero::from_params(c.params)?)),
            || cases(|n| Case::new(DiagMaskZero { n_past: Scalar(n) }).tol(Tol::Exact), true),
        ),
    ]
}
