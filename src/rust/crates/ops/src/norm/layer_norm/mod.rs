//! Normalisation to mean 0 and variance 1: `y = (x - mean) / sqrt(var + eps)` over dimension 0.
//!
//! Source: Ba, Kiros and Hinton, "Layer normalization", 2016 (without gain and bias; population variance).

mod cpu;

use super::check_eps;
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Grad, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// x: [n, ...] -> y: [n, ...]
    pub struct Norm { eps: f32 }
}

op_struct! {
    /// dy: [n, ...], x: [n, ...] -> dx: [n, ...]
    pub struct NormBack { eps: f32 }
}

/// Mean and `1 / sqrt(var + eps)` of a row.
fn moments(x: &[f64], eps: f32) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let var = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, 1.0 / (var + f64::from(eps)).sqrt())
}

impl Op for Norm {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        check_eps(self.eps)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0].max(1);
        for (xr, yr) in x[0].data.chunks(n).zip(y[0].data.chunks_mut(n)) {
            let (mean, r) = moments(xr, self.eps);
            for (v, w) in xr.iter().zip(yr) {
                *w = (v - mean) * r;
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
        let dx = g.op(NormBack { eps: self.eps }, &[dy, g.x(0)])?;
        g.push(0, dx);
        Ok(())
    }
}

impl Op for NormBack {
    fn name(&self) -> &'static str {
        "norm_back"
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
        // With h = (x - mean) r: dx = r (dy - mean(dy) - h mean(dy h)).
        let n = x[0].ne[0].max(1);
        for ((gr, xr), yr) in x[0].data.chunks(n).zip(x[1].data.chunks(n)).zip(y[0].data.chunks_mut(n)) {
            let (mean, r) = moments(xr, self.eps);
            let g_mean = gr.iter().sum::<f64>() / n as f64;
            let gh_mean = gr.iter().zip(xr).map(|(g, v)| g * (v - mean) * r).sum::<f64>() / n as f64;
            for j in 0..n {
                yr[j] = r * (gr[j] - g_mean - (xr[j] - mean) * r * gh_mean);
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

/// The forward operator.
pub fn entry() -> Entry {
    Entry {
        name: "norm".into(),
        r: vec!["ggml_norm(ctx, a, eps = 1e-5)".into(), "ggml_norm_inplace(ctx, a, eps = 1e-5)".into()],
        inputs: &["a"],
        title: "Normalisation to mean 0 and variance 1".into(),
        details:
            "`y = (x - mean) / sqrt(var + eps)` over dimension 0, with the population variance. `a`: `[n, ...]`, f32; \
                  the result has its shape. Source: Ba, Kiros and Hinton (2016), without gain and bias."
                .into(),
        topic: "normalisation",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(Norm::from_params(c.params)?) as OpRef),
        cases: || {
            let op = || Norm { eps: 1e-5 };
            let mut v: Vec<Case> = [&[64, 5, 2][..], &[1, 1], &[1025, 3], &[7, 2, 3]]
                .iter()
                .map(|ne| Case::new(op()).f32(ne).tol(Tol::Reduce(ne[0])).grad())
                .collect();
            v.push(Case::new(op()).f32(&[64, 5, 4, 300]).tol(Tol::Reduce(64)).note("several blocks"));
            v.push(Case::new(op()).f32(&[0, 3]).note("empty rows"));
            v.push(Case::new(op()).f32(&[3, 0]).note("no rows"));
            v.push(Case::new(op()).f32(&[33, 4]).in_place().tol(Tol::Reduce(33)).note("in place"));
            v.push(Case::new(op()).input(DType::F64, &[33, 4], Values::Uniform(-2.0, 2.0), true).tol(Tol::Reduce(33)));
            v.push(Case::new(Norm { eps: -1.0 }).f32(&[4]).fails(Kind::Argument));
            v.push(Case::new(op()).i32(&[4], 0, 3).fails(Kind::DType));
            v
        },
    }
}

/// The backward operator: first the gradient that arrives, then the forward input.
pub fn back_entry() -> Entry {
    Entry {
        name: "norm_back".into(),
        r: vec!["ggml_norm_back(ctx, a, b, eps = 1e-5)".into()],
        inputs: &["a", "b"],
        title: "Gradient of normalisation to mean 0 and variance 1".into(),
        details: "`a`: the gradient that reaches the result, `b`: the forward input, both `[n, ...]`, f32.".into(),
        topic: "normalisation",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(NormBack::from_params(c.params)?) as OpRef),
        cases: || {
            let op = || NormBack { eps: 1e-5 };
            let f64s = |c: Case| c.input(DType::F64, &[33, 4], Values::Uniform(-2.0, 2.0), true);
            vec![
                Case::new(op()).f32(&[64, 5, 2]).f32(&[64, 5, 2]).tol(Tol::Reduce(64)),
                Case::new(op()).f32(&[1, 3]).f32(&[1, 3]).tol(Tol::Reduce(1)),
                f64s(f64s(Case::new(op()))).tol(Tol::Reduce(33)).note("f64"),
                Case::new(op()).f32(&[4]).f32(&[5]).fails(Kind::Shape),
            ]
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_hand() {
        // Mean 2.5, variance 1.25.
        let x = Array::from(&[4], vec![1.0, 2.0, 3.0, 4.0]);
        let mut y = [Array::from(&[4], vec![0.0; 4])];
        Norm { eps: 0.0 }.oracle(&[&x], &mut y).unwrap();
        for (got, want) in y[0].data.iter().zip([-1.5, -0.5, 0.5, 1.5]) {
            assert!((got - want / 1.25_f64.sqrt()).abs() < 1e-15);
        }
    }
}
