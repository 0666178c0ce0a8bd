//! Rows scaled to length 1: `y = x / max(norm(x), eps)` over dimension 0, with the Euclidean norm.

mod cpu;

use super::check_eps;
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Grad, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// x: [n, ...] -> y: [n, ...]
    pub struct L2Norm { eps: f32 }
}

op_struct! {
    /// dy: [n, ...], x: [n, ...] -> dx: [n, ...]
    pub struct L2NormBack { eps: f32 }
}

/// What a row is divided by; infinity stands for the row of zeros that would be divided by 0 and stays zero.
fn divisor(norm: f64, eps: f64) -> f64 {
    // A norm that is no number passes, so that the whole row tells of it.
    let d = if norm < eps { eps } else { norm };
    if d == 0.0 { f64::INFINITY } else { d }
}

impl Op for L2Norm {
    fn name(&self) -> &'static str {
        "l2_norm"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        check_eps(self.eps)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0];
        for (xr, yr) in x[0].data.chunks(n).zip(y[0].data.chunks_mut(n)) {
            let norm = xr.iter().map(|v| v * v).sum::<f64>().sqrt();
            let d = divisor(norm, f64::from(self.eps));
            for (v, w) in xr.iter().zip(yr) {
                *w = v / d;
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
        cpu::forward(self.eps, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let dx = g.op(L2NormBack { eps: self.eps }, &[dy, g.x(0)])?;
        g.push(0, dx);
        Ok(())
    }
}

impl Op for L2NormBack {
    fn name(&self) -> &'static str {
        "l2_norm_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [dy, x] = check::sources(x)?;
        check::float("a", dy)?;
        check::same_dtype("a", dy, "b", x)?;
        check::same_shape("a", dy, "b", x)?;
        check_eps(self.eps)?;
        Ok(smallvec![x.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        // Above eps, with d = norm(x): dx = dy / d - x (x . dy) / d^3. Below, the row is divided by a constant.
        let n = x[0].ne[0];
        for ((gr, xr), yr) in x[0].data.chunks(n).zip(x[1].data.chunks(n)).zip(y[0].data.chunks_mut(n)) {
            let norm = xr.iter().map(|v| v * v).sum::<f64>().sqrt();
            let d = divisor(norm, f64::from(self.eps));
            let dot: f64 = if norm > f64::from(self.eps) { gr.iter().zip(xr).map(|(g, v)| g * v).sum() } else { 0.0 };
            for j in 0..n {
                yr[j] = gr[j] / d - xr[j] * dot / (d * d * d);
            }
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::backward(self.eps, call)
    }
}

const ZERO_ROW: Values = Values::Given(&[0.0, 0.0, 0.0, 3.0, 0.0, -4.0]);

/// The forward operator.
pub fn entry() -> Entry {
    Entry {
        name: "l2_norm".into(),
        r: vec!["ggml_l2_norm(ctx, a, eps = 1e-05)".into(), "ggml_l2_norm_inplace(ctx, a, eps = 1e-05)".into()],
        inputs: &["a"],
        title: "Rows scaled to length 1".into(),
        details: "`y = x / max(sqrt(sum(x^2)), eps)` over dimension 0; a row of zeros stays zero. `a`: `[n, ...]`, \
                  f32; the result has its shape."
            .into(),
        topic: "normalisation",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(L2Norm::from_params(c.params)?) as OpRef),
        cases: || {
            let of = |eps, ne: &[usize]| Case::new(L2Norm { eps }).f32(ne).tol(Tol::Reduce(ne[0].max(1)));
            vec![
                of(1e-5, &[64, 5, 2]).grad(),
                of(1e-5, &[1, 3]).grad(),
                of(1e-5, &[1025, 3]).grad(),
                of(1e-5, &[7, 2, 3, 1, 2]).grad().note("five dimensions"),
                of(100.0, &[7, 3]).grad().note("below eps"),
                of(0.0, &[7, 3]).grad().note("eps 0"),
                of(1e-5, &[3, 2]).values(ZERO_ROW).note("row of zeros"),
                of(0.0, &[3, 2]).values(ZERO_ROW).note("row of zeros, eps 0"),
                of(1e-5, &[64, 5, 4, 300]).note("several blocks"),
                of(1e-5, &[33, 4]).in_place().note("in place"),
                of(1e-5, &[0, 3]).note("empty rows"),
                of(1e-5, &[3, 0]).note("no rows"),
                of(-1.0, &[4]).fails(Kind::Argument),
                Case::new(L2Norm { eps: 0.0 }).i32(&[4], 0, 3).fails(Kind::DType),
            ]
        },
    }
}

/// The backward operator: first the gradient that arrives, then the forward input.
pub fn back_entry() -> Entry {
    Entry {
        name: "l2_norm_back".into(),
        r: Vec::new(),
        inputs: &["a", "b"],
        title: "Gradient of rows scaled to length 1".into(),
        details: "`a`: the gradient that reaches the result, `b`: the forward input, both `[n, ...]`, f32.".into(),
        topic: "normalisation",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(L2NormBack::from_params(c.params)?) as OpRef),
        cases: || {
            let of = |eps, ne: &[usize]| Case::new(L2NormBack { eps }).f32(ne).f32(ne).tol(Tol::Reduce(ne[0]));
            vec![
                of(1e-5, &[64, 5, 2]),
                of(1e-5, &[1, 3]),
                of(100.0, &[7, 3]).note("below eps"),
                of(0.0, &[3, 2]).values(ZERO_ROW).note("row of zeros, eps 0"),
                of(1e-5, &[64, 5, 4, 300]).note("several blocks"),
                Case::new(L2NormBack { eps: 1e-5 }).f32(&[4]).f32(&[5]).fails(Kind::Shape),
                of(-1.0, &[4]).fails(Kind::Argument),
            ]
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_hand() {
        let x = Array::from(&[3, 2], vec![0.0, 0.0, 0.0, 3.0, 0.0, -4.0]);
        let mut y = [Array::zeros(x.ne)];
        L2Norm { eps: 0.0 }.oracle(&[&x], &mut y).unwrap();
        assert_eq!(y[0].data, [0.0, 0.0, 0.0, 0.6, 0.0, -0.8]);
    }
}
