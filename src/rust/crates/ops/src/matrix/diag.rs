//! Vectors as the diagonals of matrices.

use crate::assemble::{PLAIN, plain};
use crate::shape::{Reshape, View, contiguous};
use crate::{Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [n, 1, ...] -> y: [n, n, ...]
    pub struct Diag {}
}

impl Op for Diag {
    fn name(&self) -> &'static str {
        "diag"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        plain("a", a)?;
        if a.ne[1] != 1 {
            return Err(Error::shape(format!("a {} must have one row for each matrix: ne1 = 1", a.show()))
                .arg("a")
                .expected("ne1 = 1")
                .got(a.show()));
        }
        let mut ne = a.ne;
        ne[1] = ne[0];
        Ok(smallvec![Desc::new(a.dtype, &ne[..(a.rank as usize).max(2)])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (v, mut at) in x[0].data.iter().zip(x[0].indices()) {
            at[1] = at[0];
            let j = y[0].at(&at);
            y[0].data[j] = *v;
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        PLAIN
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let (n, size) = (call.y(0).ne[0], call.y(0).dtype.bytes());
        let x = call.get::<u8>(0)?;
        let y = call.out::<u8>(0)?;
        let row = n * size;
        rows(call.pool, y, row, row as f64 * 0.1, |first, part| {
            for (i, out) in part.chunks_mut(row).enumerate() {
                // Rows of the result are numbered as the elements of the source.
                let r = first + i;
                let at = r % n * size;
                out.fill(0);
                out[at..at + size].copy_from_slice(&x[r * size..(r + 1) * size]);
            }
        });
        Ok(())
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a) = (g.dy()?, g.desc(g.x(0))?);
        let dy = contiguous(g, dy)?;
        let d = g.desc(dy)?;
        // The diagonal of each matrix as a column: one step down and one to the right.
        let mut ne = d.extents().to_vec();
        ne[0] = 1;
        let mut outer = d.nb[1..ne.len()].to_vec();
        outer[0] += d.nb[0];
        let column = g.op(View::new(d.dtype, ne, &outer, 0), &[dy])?;
        let column = contiguous(g, column)?;
        let da = g.op(Reshape::to(&a), &[column])?;
        g.push(0, da);
        Ok(())
    }
}

fn cases() -> Vec<Case> {
    let op = || Case::new(Diag {}).tol(Tol::Exact);
    let mut v = vec![
        op().f32(&[5]).grad(),
        op().f32(&[1]).grad(),
        op().f32(&[4, 1, 3, 2]).grad().note("batch"),
        op().f32(&[3, 1, 2, 1, 2]).grad().note("five dimensions"),
        op().f32(&[300, 1, 5]).note("several blocks"),
        op().f32(&[0]).grad().note("empty"),
        op().f32(&[3, 1, 0]).grad().note("no matrix"),
        op().f32(&[3, 2]).fails(Kind::Shape),
    ];
    let typed = |t: DType| op().input(t, &[4, 1, 3], Values::Ints(0, 100), false).note(t.name());
    v.extend([DType::I32, DType::F16, DType::I64, DType::U8].map(typed));
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "diag".into(),
        r: vec!["ggml_diag(ctx, a)".into()],
        inputs: &["a"],
        title: "Diagonal matrix".into(),
        details: "Matrices with the rows of `a` on their diagonals and zeros elsewhere. `a`: `[n, 1, ...]`, any type \
                  without blocks; the result is `[n, n, ...]`."
            .into(),
        topic: "matrix",
        example: "ctx <- ggml_init()\n\
                  a <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3)\n\
                  ggml_set_f32(a, 1:3)\n\
                  y <- ggml_diag(ctx, a)\n\
                  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                  matrix(ggml_get_f32(y), 3)\n\
                  ggml_free(ctx)"
            .into(),
        make: |_| Ok(Arc::new(Diag {}) as OpRef),
        cases,
    }
}
