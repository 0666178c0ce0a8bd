//! Sum of everything, sums and means of rows.

use super::cpu;
use crate::elementwise::real::by_real;
use crate::elementwise::unary::Unary;
use crate::entry::Entry;
use crate::shape::Repeat;
use crate::{Case, Tol, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Grad, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [...] -> y: [1]
    pub struct Sum {}
}

op_struct! {
    /// a: [n, ...] -> y: [1, ...]
    pub struct SumRows {}
}

op_struct! {
    /// a: [n, ...] -> y: [1, ...]
    pub struct Mean {}
}

/// Extents of one number per row.
fn per_row(x: &[Desc]) -> Result<Descs> {
    let [a] = check::sources(x)?;
    check::float("a", a)?;
    let mut ne = a.ne;
    ne[0] = 1;
    Ok(smallvec![Desc::new(a.dtype, &ne[..a.rank as usize])?])
}

/// Kernel of all three: sums runs of `n` elements of the source.
fn run(n: usize, finish: impl Fn(f64) -> f64 + Sync, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => {
        let x = call.get::<T>(0)?;
        let y = call.out::<T>(0)?;
        cpu::inner::<T>(call.pool, x, n, y, finish);
        Ok(())
    })
}

impl Op for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        Ok(smallvec![Desc::new(a.dtype, &[1])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data[0] = x[0].data.iter().sum();
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        run(call.x(0).len(), |s| s, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a) = (g.dy()?, g.x(0));
        let da = g.op(Repeat {}, &[dy, a])?;
        g.push(0, da);
        Ok(())
    }
}

impl Op for SumRows {
    fn name(&self) -> &'static str {
        "sum_rows"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        per_row(x)
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0];
        for (r, w) in y[0].data.iter_mut().enumerate() {
            *w = x[0].data[r * n..(r + 1) * n].iter().sum();
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        run(call.x(0).ne[0], |s| s, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a) = (g.dy()?, g.x(0));
        let da = g.op(Repeat {}, &[dy, a])?;
        g.push(0, da);
        Ok(())
    }
}

impl Op for Mean {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        per_row(x)
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0];
        for (r, w) in y[0].data.iter_mut().enumerate() {
            *w = x[0].data[r * n..(r + 1) * n].iter().sum::<f64>() / n as f64;
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let n = call.x(0).ne[0];
        run(n, |s| s / n as f64, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a) = (g.dy()?, g.x(0));
        let n = g.desc(a)?.ne[0];
        let part = g.op(Unary::scale(1.0 / n as f64, 0.0), &[dy])?;
        let da = g.op(Repeat {}, &[part, a])?;
        g.push(0, da);
        Ok(())
    }
}

fn cases(op: fn() -> OpRef, rows_only: bool) -> Vec<Case> {
    let case = |ne: &[usize]| {
        let n = if rows_only { ne[0] } else { ne.iter().product() }.max(1);
        let mut c = Case::new(Sum {}).f32(ne).tol(Tol::Reduce(n));
        c.op = op();
        c
    };
    let mut v: Vec<Case> = [&[64, 5, 4, 3][..], &[1], &[1, 7], &[5000, 3]].iter().map(|ne| case(ne).grad()).collect();
    v.push(case(&[3, 0]).note("no rows"));
    v.push(case(&[0, 3]).note("empty rows"));
    let mut integers = case(&[4]).fails(Kind::DType);
    integers.inputs.clear();
    v.push(integers.i32(&[4], 0, 3));
    v
}

fn entry(
    name: &'static str,
    title: &'static str,
    details: &'static str,
    make: fn(&crate::Call<'_>) -> Result<OpRef>,
    cases: fn() -> Vec<Case>,
) -> Entry {
    Entry {
        name: name.into(),
        r: vec![format!("ggml_{name}(ctx, a)").into()],
        inputs: &["a"],
        title: title.into(),
        details: details.into(),
        topic: "reduction",
        example: if name == "sum_rows" { EXAMPLE.into() } else { "".into() },
        make,
        cases,
    }
}

const EXAMPLE: &str = "ctx <- ggml_init()\n\
                       a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 3, 2)\n\
                       ggml_set_f32(a, 1:6)\n\
                       y <- ggml_sum_rows(ctx, a)\n\
                       ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                       ggml_get_f32(y)\n\
                       ggml_free(ctx)";

/// Entries of the sums.
pub fn entries() -> Vec<Entry> {
    vec![
        entry(
            "sum",
            "Sum of all elements",
            "`a`: any shape, f32; the result is `[1]`. An empty tensor sums to 0.",
            |_| Ok(Arc::new(Sum {})),
            || cases(|| Arc::new(Sum {}), false),
        ),
        entry(
            "sum_rows",
            "Sum of each row",
            "Sums over dimension 0. `a`: `[n, ...]`, f32; the result is `[1, ...]`.",
            |_| Ok(Arc::new(SumRows {})),
            || cases(|| Arc::new(SumRows {}), true),
        ),
        entry(
            "mean",
            "Mean of each row",
            "Averages over dimension 0. `a`: `[n, ...]`, f32; the result is `[1, ...]`. The mean of an empty row is NaN.",
            |_| Ok(Arc::new(Mean {})),
            || cases(|| Arc::new(Mean {}), true),
        ),
    ]
}
