//! Copies the values of one tensor into another.

use super::cast::check_conversion;
use super::{kernel, like, same_len};
use crate::entry::Entry;
use crate::{Case, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Grad, Kind, Layout, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [...], b: as many elements -> y: b, overwritten with the elements of a in order
    pub struct Cpy {}
}

impl Op for Cpy {
    fn name(&self) -> &'static str {
        "cpy"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        same_len("a", a, "b", b)?;
        check_conversion("b", a.dtype, b.dtype)?;
        Ok(smallvec![*b])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data.copy_from_slice(&x[0].data);
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().writes(0, 1)
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
        let (dy, a) = (g.dy()?, g.x(0));
        // Between whole numbers and fractions values change in steps.
        if g.desc(a)?.dtype.is_float() && g.desc(dy)?.dtype.is_float() {
            let da = like(g, dy, a)?;
            g.push(0, da);
        }
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        // What b held is gone.
        i == 0
    }
}

fn cases() -> Vec<Case> {
    use DType::{BF16, F16, F32, F64, I32};
    const WHOLE: Values = Values::Ints(-100, 100);
    let copy = |a: &[usize], b: &[usize]| Case::new(Cpy {}).f32(a).f32(b).no_grad().tol(Tol::Exact);
    let mut v = vec![
        copy(&[64, 5, 4, 3], &[64, 5, 4, 3]).grad(),
        copy(&[6, 4], &[3, 8]).grad().note("another shape"),
        copy(&[1], &[1]).grad(),
        copy(&[0, 3], &[2, 0]).note("empty"),
        copy(&[6], &[5]).fails(Kind::Shape),
    ];
    for (from, to) in [(F32, F16), (F16, F32), (F32, BF16), (BF16, F32), (F32, I32), (I32, F32), (F32, F64), (F64, F32)]
    {
        let c = Case::new(Cpy {}).input(from, &[11, 3], WHOLE, false).input(to, &[11, 3], WHOLE, false);
        v.push(c.tol(Tol::Exact).note(to.name()));
    }
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "cpy".into(),
        r: vec!["ggml_cpy(ctx, a, b)".into()],
        inputs: &["a", "b"],
        title: "Copy into a tensor".into(),
        details: "Writes the elements of `a` into `b` in order, converted to the type of `b`, and returns a view of `b`. Both \
                  must have as many elements; shapes and strides may differ. Conversions as in `ggml_cast()`."
            .into(),
        topic: "shape",
        example: "".into(),
        make: |_| Ok(Arc::new(Cpy {}) as OpRef),
        cases,
    }
}
