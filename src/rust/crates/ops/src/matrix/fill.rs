//! A tensor of one number. Unlike a constant of the graph it takes a new number without being compiled again.

use super::generate::{TYPES, check_type, generate};
use crate::{Call, Case, Entry, Tol, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Kind, Op, OpRef, Result, Scalar};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// y: [ne0, ...], value everywhere
    pub struct Fill { ne: Vec<usize>, dtype: DType, value: Scalar<f64> }
}

impl Op for Fill {
    fn name(&self) -> &'static str {
        "fill"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [] = check::sources(x)?;
        check_type(self.dtype)?;
        Ok(smallvec![Desc::new(self.dtype, &self.ne)?])
    }

    fn oracle(&self, _x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data.fill(self.value.0);
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        TYPES
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let value = call.scalar(0);
        generate(call, |_| value)
    }
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "fill".into(),
        r: Vec::new(),
        inputs: &[],
        title: "Tensor of one number".into(),
        details: "`value` in every element of a tensor of shape `ne` and type `dtype`.".into(),
        topic: "matrix",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(Fill::from_params(c.params)?) as OpRef),
        cases: || {
            let of = |ne: &[usize], dtype, value| {
                Case::new(Fill { ne: ne.to_vec(), dtype, value: Scalar(value) }).tol(Tol::Exact)
            };
            vec![
                of(&[5, 3], DType::F32, -1.5),
                of(&[300, 400], DType::F32, f64::NEG_INFINITY).note("several blocks"),
                of(&[2, 1, 1, 1, 3], DType::F64, 0.1).note("f64, five dimensions"),
                of(&[7], DType::I32, -3.0).note("i32"),
                of(&[7], DType::I64, 1e12).note("i64"),
                of(&[0, 3], DType::F32, 1.0).note("empty"),
                of(&[], DType::F32, 1.0).fails(Kind::Shape),
                of(&[32], DType::Q4_0, 1.0).fails(Kind::DType),
            ]
        },
    }
}
