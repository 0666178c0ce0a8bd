//! One step of Adam with decoupled weight decay.
//!
//! Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.

mod cpu;

use super::{check_gate, check_params};
use crate::{Call, Case, Entry, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// w, grad, m, v: one shape, params: [7], gate: [1] (optional) -> w, m, v
    ///
    /// `params` holds alpha, beta1, beta2, eps, decay, 1 / (1 - beta1^t), 1 / (1 - beta2^t). A gate other than 1 leaves
    /// w, m and v as they are.
    pub struct OptStepAdamw {}
}

impl Op for OptStepAdamw {
    fn name(&self) -> &'static str {
        "opt_step_adamw"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let (x, gate) = match x.split_at_checked(5) {
            Some((x, [])) => (x, None),
            Some((x, [gate])) => (x, Some(gate)),
            _ => return Err(Error::internal(format!("{} sources given, 5 or 6 expected", x.len()))),
        };
        let [w, grad, m, v, params] = check::sources(x)?;
        check::float("a", w)?;
        for (name, other) in [("grad", grad), ("m", m), ("v", v)] {
            check::same_dtype("a", w, name, other)?;
            check::same_shape("a", w, name, other)?;
        }
        check_params("adamw_params", w, params, 7)?;
        check_gate(gate)?;
        Ok(smallvec![w.contiguous(), m.contiguous(), v.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let p = &x[4].data;
        let (alpha, beta1, beta2, eps, decay, scale1, scale2) = (p[0], p[1], p[2], p[3], p[4], p[5], p[6]);
        let open = x.get(5).is_none_or(|gate| gate.data[0] == 1.0);
        for i in 0..x[0].len() {
            let (mut w, g, mut m, mut v) = (x[0].data[i], x[1].data[i], x[2].data[i], x[3].data[i]);
            if open {
                m = beta1 * m + (1.0 - beta1) * g;
                v = beta2 * v + (1.0 - beta2) * g * g;
                w = w * (1.0 - alpha * decay) - alpha * (m * scale1) / ((v * scale2).sqrt() + eps);
            }
            (y[0].data[i], y[1].data[i], y[2].data[i]) = (w, m, v);
        }
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().writes(0, 0).writes(1, 2).writes(2, 3)
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn flush_denormals(&self) -> bool {
        true
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::step(call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].len() as f64 * cpu::NS
    }

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

/// The entry of the table.
pub fn entry() -> Entry {
    Entry {
        name: "opt_step_adamw".into(),
        r: vec!["ggml_opt_step_adamw(ctx, a, grad, m, v, adamw_params)".into()],
        inputs: &["a", "grad", "m", "v", "adamw_params", "gate?"],
        title: "Step of the AdamW optimiser".into(),
        details: "Updates the weights `a` and their moments `m` and `v` in place, all of the shape of the gradient \
                  `grad`, f32: `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, `a = a (1 - alpha wd) - alpha m \
                  p5 / (sqrt(v p6) + eps)`. `adamw_params`: `[7]`, f32: `alpha`, `b1`, `b2`, `eps`, `wd`, `p5 = 1 / \
                  (1 - b1^t)`, `p6 = 1 / (1 - b2^t)` for step `t`, counted from 1. The result is a view of `a`. \
                  Source: Loshchilov and Hutter (2019)."
            .into(),
        topic: "optimiser steps",
        example: "ctx <- ggml_init()\n\
                  tensor <- function(x) {\n\
                  \x20 t <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, length(x))\n\
                  \x20 ggml_set_f32(t, x)\n\
                  \x20 t\n\
                  }\n\
                  w <- tensor(c(1, 2))\n\
                  params <- tensor(c(0.1, 0.9, 0.999, 1e-8, 0, 1 / (1 - 0.9), 1 / (1 - 0.999)))\n\
                  y <- ggml_opt_step_adamw(ctx, w, tensor(c(1, -1)), tensor(c(0, 0)), tensor(c(0, 0)), params)\n\
                  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                  ggml_get_f32(w)\n\
                  ggml_free(ctx)"
            .into(),
        make: |c: &Call<'_>| Ok(Arc::new(OptStepAdamw::from_params(c.params)?) as OpRef),
        cases,
    }
}

/// Third step with weight decay.
const PARAMS: &[f64] = &[0.01, 0.9, 0.999, 1e-8, 0.1, 3.690_036_9, 333.666_9];

fn case(dtype: DType, ne: &[usize]) -> Case {
    let any = || Values::Uniform(-2.0, 2.0);
    Case::new(OptStepAdamw {})
        .input(dtype, ne, any(), false)
        .input(dtype, ne, any(), false)
        .input(dtype, ne, Values::Uniform(-1.0, 1.0), false)
        .input(dtype, ne, Values::Uniform(0.01, 1.0), false)
        .input(dtype, &[7], Values::Given(PARAMS), false)
}

fn gate(c: Case, value: &'static [f64]) -> Case {
    c.input(DType::F32, &[1], Values::Given(value), false)
}

fn cases() -> Vec<Case> {
    let f32s = |ne: &[usize]| case(DType::F32, ne);
    vec![
        f32s(&[5, 3, 2]),
        f32s(&[1]),
        f32s(&[700, 150]).note("several blocks"),
        f32s(&[0, 3]).note("empty"),
        case(DType::F64, &[7, 3]).note("f64"),
        gate(f32s(&[5, 3]), &[1.0]).note("open gate"),
        gate(f32s(&[5, 3]), &[0.0]).note("closed gate"),
        gate(f32s(&[5, 3]), &[f64::NAN]).note("gate that is no number"),
        Case::new(OptStepAdamw {}).f32(&[3]).f32(&[4]).f32(&[3]).f32(&[3]).f32(&[7]).fails(Kind::Shape),
        Case::new(OptStepAdamw {}).f32(&[3]).f32(&[3]).f32(&[3]).f32(&[3]).f32(&[6]).fails(Kind::Shape),
        Case::new(OptStepAdamw {}).i32(&[3], 0, 1).f32(&[3]).f32(&[3]).f32(&[3]).f32(&[7]).fails(Kind::DType),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_step_moves_by_the_learning_rate() {
        // Bias correction makes the first step alpha * g / (|g| + eps), whatever the gradient.
        let a = |data: Vec<f64>| Array::from(&[data.len()], data);
        let (w, g, zero) = (a(vec![1.0, 2.0]), a(vec![0.5, -30.0]), a(vec![0.0; 2]));
        let params = a(vec![0.1, 0.9, 0.999, 0.0, 0.0, 1.0 / (1.0 - 0.9), 1.0 / (1.0 - 0.999)]);
        let mut y = [zero.clone(), zero.clone(), zero.clone()];
        OptStepAdamw {}.oracle(&[&w, &g, &zero, &zero, &params], &mut y).unwrap();
        for (got, want) in y[0].data.iter().zip([0.9, 2.1]) {
            assert!((got - want).abs() < 1e-12, "{got}");
        }
    }

    #[test]
    fn two_steps_with_decay() {
        // Calculated with Python from the paper's algorithm: alpha 0.1, betas 0.9 and 0.99, eps 1e-8, decay 0.5.
        let one = |v: f64| Array::from(&[1], vec![v]);
        let mut y = [one(1.0), one(0.0), one(0.0)];
        for (t, g) in [(1, 0.5), (2, -2.0)] {
            let scales = [0.9_f64, 0.99].map(|b| 1.0 / (1.0 - b.powi(t)));
            let params = Array::from(&[7], vec![0.1, 0.9, 0.99, 1e-8, 0.5, scales[0], scales[1]]);
            let [w, m, v] = y.clone();
            OptStepAdamw {}.oracle(&[&w, &one(g), &m, &v, &params], &mut y).unwrap();
        }
        for (got, want) in y.iter().zip([0.863_339_041_322_570_4, -0.155, 0.042_475]) {
            assert!((got.data[0] - want).abs() < 1e-14, "{got:?}");
        }
    }
}
