//! Sequences of equally spaced numbers.

use super::generate::{TYPES, check_type, generate};
use crate::{Call, Case, Entry, Tol, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// y: [ceil((stop - start) / step)], start + i step
    pub struct ARange { start: f64, stop: f64, step: f64, dtype: DType }
}

impl Op for ARange {
    fn name(&self) -> &'static str {
        "arange"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [] = check::sources(x)?;
        let Self { start, stop, step, dtype } = *self;
        check_type(dtype)?;
        for (name, value) in [("start", start), ("stop", stop), ("step", step)] {
            if !value.is_finite() {
                return Err(Error::argument(name, format!("{name} must be finite, got {value}")));
            }
        }
        if step == 0.0 {
            return Err(Error::argument("step", "step must not be 0").expected("a step towards stop").got("0"));
        }
        let n = ((stop - start) / step).ceil();
        if n < 1.0 {
            let side = if step > 0.0 { "above" } else { "below" };
            let text = format!("stop must be {side} start for steps of {step}: start is {start}, stop {stop}");
            return Err(Error::argument("stop", text).expected(format!("{side} {start}")).got(stop.to_string()));
        }
        // What a usize cannot hold saturates, and is refused as too large a shape.
        Ok(smallvec![Desc::new(dtype, &[n as usize])?])
    }

    fn oracle(&self, _x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (i, w) in y[0].data.iter_mut().enumerate() {
            *w = self.start + i as f64 * self.step;
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        TYPES
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let Self { start, step, .. } = *self;
        generate(call, |i| start + i as f64 * step)
    }
}

fn cases() -> Vec<Case> {
    let op = |start, stop, step, dtype| Case::new(ARange { start, stop, step, dtype }).tol(Tol::Exact);
    let f32s = |start, stop, step| op(start, stop, step, DType::F32);
    vec![
        f32s(0.0, 5.0, 1.0),
        f32s(1.5, 2.6, 0.25).note("last step cut short"),
        f32s(-3.0, 40_000.0, 0.37).note("several blocks"),
        f32s(5.0, 0.0, -2.0).note("downwards"),
        f32s(0.0, 1e-3, 1.0).note("one number"),
        op(0.0, 7.0, 0.5, DType::F64).note("f64"),
        op(-3.0, 7.0, 2.0, DType::I32).note("i32"),
        op(0.0, 9.0, 1.0, DType::I64).note("i64"),
        f32s(0.0, 5.0, 0.0).fails(Kind::Argument),
        f32s(5.0, 5.0, 1.0).fails(Kind::Argument),
        f32s(0.0, 5.0, -1.0).fails(Kind::Argument),
        f32s(0.0, f64::INFINITY, 1.0).fails(Kind::Argument),
        f32s(0.0, 1e300, 1.0).fails(Kind::Memory).note("too large"),
        op(0.0, 5.0, 1.0, DType::Q4_0).fails(Kind::DType),
    ]
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "arange".into(),
        r: vec!["ggml_arange(ctx, start, stop, step = 1)".into()],
        inputs: &[],
        title: "Sequence of numbers".into(),
        details: "`start`, `start + step`, ... up to but without `stop`: `ceil((stop - start) / step)` numbers, f32, \
                  which must be at least one. A negative `step` counts down."
            .into(),
        topic: "matrix",
        example: "".into(),
        make: |c: &Call<'_>| {
            let number = |name| c.params.get::<f64>(name);
            let dtype = if c.params.find("dtype").is_some() { c.params.get("dtype")? } else { DType::F32 };
            Ok(Arc::new(ARange { start: number("start")?, stop: number("stop")?, step: number("step")?, dtype })
                as OpRef)
        },
        cases,
    }
}
