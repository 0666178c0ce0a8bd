//! Contiguous copies.

use super::kernel;
use crate::entry::Entry;
use crate::{Case, Tol, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Grad, Layout, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [...] -> y: [...], contiguous
    pub struct Cont {}
}

op_struct! {
    /// a: [...] -> y: [...], contiguous, or `a` itself in place
    pub struct Dup {}
}

fn same(x: &[Desc]) -> Result<Descs> {
    let [a] = check::sources(x)?;
    Ok(smallvec![a.contiguous()])
}

fn same_oracle(x: &[&Array], y: &mut [Array]) {
    y[0].data.copy_from_slice(&x[0].data);
}

fn pass(g: &mut Grad<'_>) -> Result<()> {
    let dy = g.dy()?;
    g.push(0, dy);
    Ok(())
}

impl Op for Cont {
    fn name(&self) -> &'static str {
        "cont"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        same(x)
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        same_oracle(x, y);
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        DType::ALL
    }

    fn layout(&self, _i: usize) -> Layout {
        Layout::Any
    }

    fn strided_out(&self) -> bool {
        true
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        kernel::copy(call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        pass(g)
    }
}

impl Op for Dup {
    fn name(&self) -> &'static str {
        "dup"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        same(x)
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        same_oracle(x, y);
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }

    fn cpu_types(&self) -> &'static [DType] {
        DType::ALL
    }

    fn layout(&self, _i: usize) -> Layout {
        Layout::Any
    }

    fn strided_out(&self) -> bool {
        true
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        kernel::copy(call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        pass(g)
    }
}

fn cases(op: fn() -> OpRef) -> Vec<Case> {
    let case = || {
        let mut c = Case::new(Cont {}).tol(Tol::Exact);
        c.op = op();
        c
    };
    let mut v = vec![
        case().f32(&[64, 5, 4, 3]).grad(),
        case().f32(&[1]).grad(),
        case().f32(&[130, 70]).note("larger than a tile"),
        case().f32(&[2, 3, 2, 2, 2]).grad().note("five dimensions"),
        case().f32(&[0, 3]).note("empty"),
        case().i32(&[5, 4], -9, 9),
    ];
    for t in [DType::F64, DType::F16, DType::BF16, DType::I64, DType::U8] {
        v.push(case().input(t, &[5, 4, 3], crate::Values::Ints(0, 100), false).note(t.name()));
    }
    v
}

/// Both entries.
pub fn entries() -> Vec<Entry> {
    let cont = Entry {
        name: "cont".into(),
        r: vec!["ggml_cont(ctx, a)".into()],
        inputs: &["a"],
        title: "Contiguous copy".into(),
        details: "The elements of `a` one after another; what views such as `ggml_transpose()` need before `ggml_reshape_2d()`. \
                  Any type; the result has the shape of `a`."
            .into(),
        topic: "shape",
        example: "".into(),
        make: |_| Ok(Arc::new(Cont {}) as OpRef),
        cases: || cases(|| Arc::new(Cont {})),
    };
    let dup = Entry {
        name: "dup".into(),
        r: vec!["ggml_dup(ctx, a)".into(), "ggml_dup_inplace(ctx, a)".into()],
        inputs: &["a"],
        title: "Copy".into(),
        details: "A copy of `a`, or in place a view of it. Any type; the result has the shape of `a`.".into(),
        topic: "shape",
        example: "".into(),
        make: |_| Ok(Arc::new(Dup {}) as OpRef),
        cases: || {
            let mut v = cases(|| Arc::new(Dup {}));
            v.push(Case::new(Dup {}).f32(&[5, 3]).in_place().tol(Tol::Exact).note("in place"));
            v
        },
    };
    vec![cont, dup]
}
