//! The same elements under another shape.

use super::{contiguous, no_kernel};
use crate::entry::{Call, Entry};
use crate::{Case, Tol, check, op_fields, op_struct};
use ggmlr_core::desc::show_ne;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Grad, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: contiguous -> y: [ne0, ne1, ...], a view
    pub struct Reshape { ne: Vec<usize> }
}

impl Reshape {
    /// To the extents of a value.
    pub fn to(d: &Desc) -> Reshape {
        Reshape { ne: d.extents().to_vec() }
    }
}

impl Op for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        if !a.is_contiguous() {
            return Err(Error::shape(format!("a {} is not contiguous", a.show()))
                .arg("a")
                .expected("a contiguous tensor")
                .got(format!("{a:?}"))
                .hint("Copy it with ggml_cont() first."));
        }
        let y = Desc::new(a.dtype, &self.ne)?;
        if y.len() != a.len() {
            let asked = show_ne(&self.ne);
            return Err(Error::shape(format!("a {} has {} elements, {asked} needs {}", a.show(), a.len(), y.len()))
                .arg("a")
                .expected(format!("{} elements", y.len()))
                .got(a.show()));
        }
        Ok(smallvec![y])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data.copy_from_slice(&x[0].data);
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::view_of(0)
    }

    fn cpu_types(&self) -> &'static [DType] {
        DType::ALL
    }

    fn cpu(&self, _call: &mut CpuCall<'_>) -> Result<()> {
        no_kernel()
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let dy = contiguous(g, dy)?;
        let a = g.desc(g.x(0))?;
        let da = g.op(Reshape::to(&a), &[dy])?;
        g.push(0, da);
        Ok(())
    }
}

/// The arguments `ne0`, `ne1` ... of a function whose name ends in its number of dimensions: `ggml_view_3d`.
pub(super) fn extents(c: &Call<'_>) -> Result<Vec<usize>> {
    let n = match c.function.as_bytes() {
        [.., b'_', n @ b'1'..=b'4', b'd'] => n - b'0',
        _ => return Err(Error::internal(format!("{} does not tell its dimensions", c.function))),
    };
    (0..n).map(|i| c.params.get(&format!("ne{i}"))).collect()
}

fn cases() -> Vec<Case> {
    let to = |ne: &[usize]| Case::new(Reshape { ne: ne.to_vec() }).tol(Tol::Exact);
    vec![
        to(&[12]).f32(&[3, 4]).contiguous().grad(),
        to(&[2, 3, 2, 5]).f32(&[6, 10]).contiguous().grad(),
        to(&[1]).f32(&[1]).contiguous().grad(),
        to(&[4, 0]).f32(&[0, 3]).contiguous().note("empty"),
        to(&[6]).i32(&[2, 3], -9, 9).contiguous(),
        to(&[5]).f32(&[3, 4]).contiguous().fails(Kind::Shape),
    ]
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "reshape".into(),
        r: [
            "ggml_reshape_1d(ctx, a, ne0)",
            "ggml_reshape_2d(ctx, a, ne0, ne1)",
            "ggml_reshape_3d(ctx, a, ne0, ne1, ne2)",
            "ggml_reshape_4d(ctx, a, ne0, ne1, ne2, ne3)",
        ]
        .map(Into::into)
        .to_vec(),
        inputs: &["a"],
        title: "Change the shape".into(),
        details: "A view of the same elements in the same order, with the shape `[ne0, ne1, ...]`. `a` must be contiguous and \
                  have as many elements."
            .into(),
        topic: "shape",
        example: "ctx <- ggml_init()\n\
                  a <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 6)\n\
                  ggml_set_f32(a, 1:6)\n\
                  y <- ggml_cont(ctx, ggml_transpose(ctx, ggml_reshape_2d(ctx, a, 2, 3)))\n\
                  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                  ggml_tensor_shape(y)\n\
                  ggml_get_f32(y)\n\
                  ggml_free(ctx)"
            .into(),
        make: |c: &Call<'_>| Ok(Arc::new(Reshape { ne: extents(c)? }) as OpRef),
        cases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Transpose;

    #[test]
    fn strided_sources_are_refused() {
        let a = Desc::new(DType::F32, &[3, 4]).unwrap();
        let t = Transpose {}.infer(&[a]).unwrap();
        let e = Reshape { ne: vec![12] }.infer(&t).unwrap_err();
        assert_eq!((e.kind(), e.arg_name()), (Kind::Shape, Some("a")));
        assert!(e.hint_text().unwrap().contains("ggml_cont"));
    }
}
