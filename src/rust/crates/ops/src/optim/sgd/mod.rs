//! One step of gradient descent with decoupled weight decay.

mod cpu;

use super::{check_gate, check_params};
use crate::{Call, Case, Entry, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// w, grad: one shape, params: [2], gate: [1] (optional) -> w
    ///
    /// `params` holds alpha and the decay. A gate other than 1 leaves w as it is.
    pub struct OptStepSgd {}
}

impl Op for OptStepSgd {
    fn name(&self) -> &'static str {
        "opt_step_sgd"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let (x, gate) = match x.split_at_checked(3) {
            Some((x, [])) => (x, None),
            Some((x, [gate])) => (x, Some(gate)),
            _ => return Err(Error::internal(format!("{} sources given, 3 or 4 expected", x.len()))),
        };
        let [w, grad, params] = check::sources(x)?;
        check::float("a", w)?;
        check::same_dtype("a", w, "grad", grad)?;
        check::same_shape("a", w, "grad", grad)?;
        check_params("sgd_params", w, params, 2)?;
        check_gate(gate)?;
        Ok(smallvec![w.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (alpha, decay) = (x[2].data[0], x[2].data[1]);
        let open = x.get(3).is_none_or(|gate| gate.data[0] == 1.0);
        for i in 0..x[0].len() {
            let (w, g) = (x[0].data[i], x[1].data[i]);
            y[0].data[i] = if open { w * (1.0 - alpha * decay) - alpha * g } else { w };
        }
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().writes(0, 0)
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

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

/// The entry of the table.
pub fn entry() -> Entry {
    Entry {
        name: "opt_step_sgd".into(),
        r: Vec::new(),
        inputs: &["a", "grad", "sgd_params", "gate?"],
        title: "Step of gradient descent".into(),
        details:
            "Updates the weights `a` in place: `a = a (1 - alpha wd) - alpha g`. `sgd_params`: `[2]`: `alpha`, `wd`."
                .into(),
        topic: "optimiser steps",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(OptStepSgd::from_params(c.params)?) as OpRef),
        cases,
    }
}

fn case(dtype: DType, ne: &[usize]) -> Case {
    Case::new(OptStepSgd {})
        .input(dtype, ne, Values::Uniform(-2.0, 2.0), false)
        .input(dtype, ne, Values::Uniform(-2.0, 2.0), false)
        .input(dtype, &[2], Values::Given(&[0.05, 0.1]), false)
}

fn cases() -> Vec<Case> {
    let f32s = |ne: &[usize]| case(DType::F32, ne);
    let gate = |c: Case, value| c.input(DType::F32, &[1], Values::Given(value), false);
    vec![
        f32s(&[5, 3, 2]),
        f32s(&[700, 300]).note("several blocks"),
        f32s(&[0]).note("empty"),
        case(DType::F64, &[7, 3]).note("f64"),
        gate(f32s(&[5, 3]), &[1.0]).note("open gate"),
        gate(f32s(&[5, 3]), &[0.0]).note("closed gate"),
        Case::new(OptStepSgd {}).f32(&[3]).f32(&[4]).f32(&[2]).fails(Kind::Shape),
        Case::new(OptStepSgd {}).f32(&[3]).f32(&[3]).f32(&[3]).fails(Kind::Shape),
        Case::new(OptStepSgd {}).f32(&[3]).f32(&[3]).f32(&[2]).f32(&[2]).fails(Kind::Shape).note("gate of two"),
        Case::new(OptStepSgd {}).i32(&[3], 0, 1).f32(&[3]).f32(&[2]).fails(Kind::DType),
    ]
}
