//! How many rows a classifier gets right.

use crate::elementwise::real::{Real, by_real};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// p, t: [K, ...] -> y: [1], f32
    pub struct Correct {}
}

impl Op for Correct {
    fn name(&self) -> &'static str {
        "correct"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [p, t] = check::sources(x)?;
        check::float("p", p)?;
        check::same_dtype("p", p, "t", t)?;
        check::same_shape("p", p, "t", t)?;
        Ok(smallvec![Desc::new(DType::F32, &[1])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let k = x[0].ne[0];
        for (p, t) in x[0].data.chunks(k.max(1)).zip(x[1].data.chunks(k.max(1))) {
            let class = |v: &[f64]| {
                if k == 1 {
                    return usize::from(v[0] > 0.5);
                }
                // The first of the largest.
                let mut best = 0;
                for i in 1..k {
                    if v[i] > v[best] {
                        best = i;
                    }
                }
                best
            };
            if class(p) == class(t) {
                y[0].data[0] += 1.0;
            }
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let count = by_real!(call.dtype(), T => {
            let k = call.x(0).ne[0].max(1);
            let (p, t) = (call.get::<T>(0)?, call.get::<T>(1)?);
            Ok(p.chunks(k).zip(t.chunks(k)).filter(|(p, t)| class(p) == class(t)).count())
        })?;
        call.out::<f32>(0)?.fill(count as f32);
        Ok(())
    }

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

/// Position of the first largest number, or the side of 0.5 for a row of one.
fn class<T: Real>(row: &[T]) -> usize {
    if let [one] = row {
        return usize::from(one.f64() > 0.5);
    }
    let mut best = (0, row[0]);
    for (i, &v) in row.iter().enumerate() {
        if v > best.1 {
            best = (i, v);
        }
    }
    best.0
}

/// The entry of the table.
pub fn entry() -> Entry {
    Entry {
        name: "correct".into(),
        r: Vec::new(),
        inputs: &["p", "t"],
        title: "Number of right predictions".into(),
        details:
            "How many rows of `p` have their largest number where that of `t` is; with `K = 1`, how many lie on the \
                  same side of 0.5. `p`, `t`: `[K, ...]`; the result: one f32."
                .into(),
        topic: "losses",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(Correct::from_params(c.params)?) as OpRef),
        cases: || {
            let op = || Case::new(Correct {}).tol(Tol::Exact);
            let two = |ne: &[usize]| {
                op().input(DType::F32, ne, Values::Distinct, false).input(DType::F32, ne, Values::Distinct, false)
            };
            vec![
                two(&[3, 50]),
                two(&[2, 10, 4]).note("three dimensions"),
                two(&[1000, 20]).note("many classes"),
                op().input(DType::F32, &[1, 40], Values::Uniform(0.0, 1.0), false)
                    .input(DType::F32, &[1, 40], Values::Ints(0, 1), false)
                    .note("one class"),
                op().f32(&[3, 2])
                    .values(Values::Given(&[1.0]))
                    .f32(&[3, 2])
                    .values(Values::Given(&[0.0, 0.0, 1.0, 1.0, 0.0, 0.0]))
                    .note("ties go to the first"),
                op().f32(&[0, 4]).f32(&[0, 4]).note("empty"),
                op().input(DType::F64, &[3, 9], Values::Distinct, false)
                    .input(DType::F64, &[3, 9], Values::Distinct, false)
                    .note("f64"),
                op().f32(&[3, 2]).f32(&[3, 3]).fails(Kind::Shape),
                op().i32(&[3], 0, 1).i32(&[3], 0, 1).fails(Kind::DType),
            ]
        },
    }
}
