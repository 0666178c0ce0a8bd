//! The same numbers in another type.

use super::kernel;
use crate::entry::{Call, Entry};
use crate::{Case, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::dtype::TypeClass;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, Layout, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [...] -> y: [...] of type `to`
    pub struct Cast { to: DType }
}

/// Whether the kernel converts these types, or copies within one.
pub(super) fn check_conversion(name: &str, from: DType, to: DType) -> Result<()> {
    if from == to || (kernel::converts(from) && kernel::converts(to)) {
        return Ok(());
    }
    Err(Error::new(Kind::Unsupported, format!("no conversion from {from} to {to}")).arg(name))
}

impl Op for Cast {
    fn name(&self) -> &'static str {
        "cast"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check_conversion("type", a.dtype, self.to)?;
        Ok(smallvec![a.with_dtype(self.to)?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (v, w) in x[0].data.iter().zip(&mut y[0].data) {
            *w = if self.to.class() == TypeClass::Int { v.trunc() } else { *v };
        }
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
        let (dy, a) = (g.dy()?, g.desc(g.x(0))?);
        if self.to.is_float() && a.dtype.is_float() {
            let da = if a.dtype == self.to { dy } else { g.op(Cast { to: a.dtype }, &[dy])? };
            g.push(0, da);
        }
        // Whole numbers change in steps: flat wherever there is a derivative.
        Ok(())
    }
}

fn cases() -> Vec<Case> {
    use DType::{BF16, F16, F32, F64, I32};
    let mut v = Vec::new();
    // Exact in every type, bf16 with its 8 bits included.
    const SHORT: Values = Values::Given(&[-2.5, -1.0, -0.5, 0.0, 0.5, 1.75, 3.0, 100.0]);
    for from in [F32, F16, BF16, F64, I32] {
        for to in [F32, F16, BF16, F64, I32] {
            let values = if from == I32 { Values::Ints(-100, 100) } else { SHORT };
            v.push(Case::new(Cast { to }).input(from, &[11, 3], values, false).tol(Tol::Exact).note(to.name()));
        }
    }
    v.push(Case::new(Cast { to: F16 }).f32(&[64, 3]).tol(Tol::Half).note("rounded to f16"));
    v.push(Case::new(Cast { to: F64 }).f32(&[5, 3]).tol(Tol::Exact).grad());
    v.push(Case::new(Cast { to: F16 }).f32(&[0, 3]).note("empty"));
    v.push(Case::new(Cast { to: DType::IQ1_S }).f32(&[256]).fails(Kind::Unsupported));
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "cast".into(),
        r: vec!["ggml_cast(ctx, a, type)".into(), "ggml_cast_numeric(ctx, a, type)".into()],
        inputs: &["a"],
        title: "Convert to another type".into(),
        details: "A new tensor of `type`, with the shape of `a`. Floating point numbers are rounded to nearest, towards whole \
                  numbers the fraction is dropped. Conversions between F32, F16, BF16, F64 and I32; others are an error."
            .into(),
        topic: "shape",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(Cast { to: c.params.get("type")? }) as OpRef),
        cases,
    }
}
