//! A copy of a tensor with another one added into a region of it. Used by gradients and by the engine.

use super::region::{check_region, from_call, place, strides};
use super::set::{copy_a, placed, region_cases, region_of, rows_of_b};
use crate::elementwise::real::{Real, by_real};
use crate::{Call, Case, Entry, check, op_fields, op_struct};
use ggmlr_core::call::cast;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Grad, Layout, Op, OpRef, Result, Scalar};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [...], b: no more elements than a -> y: a plus element (i0, i1, ...) of b at offset + i0 + i1 nb1 + i2 nb2 ...
    /// Strides `nb` start at `nb1`; they and the offset count elements of a contiguous a.
    pub struct Acc { nb: Vec<usize>, offset: Scalar<usize> }
}

impl Op for Acc {
    fn name(&self) -> &'static str {
        "acc"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        check::float("a", a)?;
        check_region(a, b, &self.nb, self.offset.0)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data.copy_from_slice(&x[0].data);
        let s = strides(&self.nb, &x[1].ne);
        for (v, at) in x[1].data.iter().zip(x[1].indices()) {
            y[0].data[place(&s, self.offset.0, &at)] += *v;
        }
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }

    fn layout(&self, i: usize) -> Layout {
        if i == 0 { Layout::Contiguous } else { Layout::Rows }
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        by_real!(call.dtype(), T => run::<T>(self, call))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        g.push(0, dy);
        if g.wants(1) {
            let b = g.desc(g.x(1))?;
            let db = region_of(g, dy, &b, &self.nb, self.offset.0)?;
            g.push(1, db);
        }
        Ok(())
    }
}

fn run<T: Real>(op: &Acc, call: &mut CpuCall<'_>) -> Result<()> {
    let (s, offset) = placed(&op.nb, call)?;
    let y =
        bytemuck::try_cast_slice_mut::<u8, T>(copy_a(call)?).map_err(|e| Error::internal(format!("result 0: {e}")))?;
    rows_of_b(call, |row, at| {
        let (row, start) = (cast::<T>(row)?, place(&s, offset, at));
        y[start..start + row.len()].iter_mut().zip(row).for_each(|(y, b)| *y += *b);
        Ok(())
    })
}

fn cases() -> Vec<Case> {
    region_cases(|nb, offset| Case::new(Acc { nb: nb.to_vec(), offset: Scalar(offset) }))
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "acc".into(),
        r: Vec::new(),
        inputs: &["a", "b"],
        title: "Add a tensor into a region of another".into(),
        details: "A copy of `a` to which the elements of `b` are added in the region that `ggml_set()` describes, \
                  f32."
            .into(),
        topic: "assembly",
        example: "".into(),
        make: |c: &Call<'_>| {
            let (nb, offset) = from_call(c)?;
            Ok(Arc::new(Acc { nb, offset: Scalar(offset) }) as OpRef)
        },
        cases,
    }
}
