//! Root mean square normalisation: `y = x / sqrt(mean(x^2) + eps)` over dimension 0.
//!
//! Source: Zhang and Sennrich, "Root mean square layer normalization", 2019 (without the gain).

mod cpu;

use super::check_eps;
use crate::{Call, Case, Entry, Tol, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Grad, Kind, Layout, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// x: [n, ...] -> y: [n, ...]
    pub struct RmsNorm { eps: f32 }
}

op_struct! {
    /// dy: [n, ...], x: [n, ...] -> dx: [n, ...]
    pub struct RmsNormBack { eps: f32 }
}

impl Op for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
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
            let mean = xr.iter().map(|v| v * v).sum::<f64>() / n as f64;
            let scale = 1.0 / (mean + f64::from(self.eps)).sqrt();
            for (v, w) in xr.iter().zip(yr) {
                *w = v * scale;
            }
        }
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }

    fn layout(&self, _i: usize) -> Layout {
        Layout::Contiguous
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::forward(self.eps, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let dx = g.op(RmsNormBack { eps: self.eps }, &[dy, g.x(0)])?;
        g.push(0, dx);
        Ok(())
    }
}

impl Op for RmsNormBack {
    fn name(&self) -> &'static str {
        "rms_norm_back"
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
        // d/dx_j sum_i dy_i x_i r, with r = (mean(x^2) + eps)^(-1/2) and dr/dx_j = -r^3 x_j / n.
        let n = x[0].ne[0].max(1);
        for ((gr, xr), yr) in x[0].data.chunks(n).zip(x[1].data.chunks(n)).zip(y[0].data.chunks_mut(n)) {
            let mean = xr.iter().map(|v| v * v).sum::<f64>() / n as f64;
            let r = 1.0 / (mean + f64::from(self.eps)).sqrt();
            let dot: f64 = gr.iter().zip(xr).map(|(g, v)| g * v).sum();
            for j in 0..n {
                yr[j] = gr[j] * r - xr[j] * r * r * r * dot / n as f64;
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
        name: "rms_norm".into(),
        r: vec!["ggml_rms_norm(ctx, a, eps = 1e-5)".into(), "ggml_rms_norm_inplace(ctx, a, eps = 1e-5)".into()],
        inputs: &["a"],
        title: "Root mean square normalisation".into(),
        details: "`y = x / sqrt(mean(x^2) + eps)` over dimension 0. `a`: `[n, ...]`, f32; the result has its shape. \
                  Source: Zhang and Sennrich (2019)."
            .into(),
        topic: "normalisation",
        example: "ctx <- ggml_init()\n\
                  x <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)\n\
                  ggml_set_f32(x, c(1, 2, 3, 4))\n\
                  y <- ggml_rms_norm(ctx, x)\n\
                  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                  ggml_get_f32(y)\n\
                  ggml_free(ctx)"
            .into(),
        make: |c: &Call<'_>| Ok(Arc::new(RmsNorm::from_params(c.params)?) as OpRef),
        cases: || {
            let op = || RmsNorm { eps: 1e-6 };
            let mut v: Vec<Case> = [&[64, 5, 4, 3][..], &[1, 1], &[1025, 3], &[7, 2, 3]]
                .iter()
                .map(|ne| Case::new(op()).f32(ne).tol(Tol::Reduce(ne[0])).grad())
                .collect();
            v.push(Case::new(op()).f32(&[0, 3]).note("empty rows"));
            v.push(Case::new(op()).f32(&[3, 0]).note("no rows"));
            v.push(Case::new(op()).f32(&[33, 4]).in_place().tol(Tol::Reduce(33)).note("in place"));
            v.push(Case::new(RmsNorm { eps: -1.0 }).f32(&[4]).fails(Kind::Argument));
            v.push(Case::new(op()).i32(&[4], 0, 3).fails(Kind::DType));
            v
        },
    }
}

/// The backward operator: first the gradient that arrives, then the forward input.
pub fn back_entry() -> Entry {
    Entry {
        name: "rms_norm_back".into(),
        r: vec!["ggml_rms_norm_back(ctx, a, b, eps = 1e-5)".into()],
        inputs: &["a", "b"],
        title: "Gradient of root mean square normalisation".into(),
        details: "`a`: the gradient that reaches the result, `b`: the forward input, both `[n, ...]`, f32.".into(),
        topic: "normalisation",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(RmsNormBack::from_params(c.params)?) as OpRef),
        cases: || {
            let op = || RmsNormBack { eps: 1e-6 };
            vec![
                Case::new(op()).f32(&[64, 5, 2]).f32(&[64, 5, 2]).tol(Tol::Reduce(64)),
                Case::new(op()).f32(&[1, 3]).f32(&[1, 3]).tol(Tol::Reduce(1)),
                Case::new(op()).f32(&[4]).f32(&[5]).fails(Kind::Shape),
            ]
        },
    }
}
