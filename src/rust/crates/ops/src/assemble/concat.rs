//! Tensors joined along one dimension.

use super::rows::RowStarts;
use super::{NS, slice};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, Layout, MAX_DIMS, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [..., n, ...], b: [..., m, ...], any number more -> y: [..., n + m + ..., ...] along dimension `dim`
    pub struct Concat { dim: usize }
}

/// Name of source `i` in messages.
fn name_of(i: usize) -> String {
    u8::try_from(i).ok().filter(|i| *i < 26).map_or_else(|| format!("source {i}"), |i| char::from(b'a' + i).to_string())
}

impl Op for Concat {
    fn name(&self) -> &'static str {
        "concat"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let a = x.first().ok_or_else(|| Error::internal("nothing to join"))?;
        let dim = self.dim;
        if dim >= MAX_DIMS {
            return Err(Error::argument("dim", format!("dim must be below {MAX_DIMS}, got {dim}")));
        }
        let (mut ne, mut rank) = (a.ne, (dim + 1).max(a.rank as usize));
        for (i, b) in x.iter().enumerate().skip(1) {
            let name = name_of(i);
            check::same_dtype("a", a, &name, b)?;
            if (0..MAX_DIMS).any(|d| d != dim && a.ne[d] != b.ne[d]) {
                return Err(Error::shape(format!(
                    "{name} {} must have the extents of a {} except along dimension {dim}",
                    b.show(),
                    a.show()
                ))
                .arg(name)
                .expected(a.show())
                .got(b.show()));
            }
            ne[dim] = ne[dim].saturating_add(b.ne[dim]);
            rank = rank.max(b.rank as usize);
        }
        Ok(smallvec![Desc::new(a.dtype, &ne[..rank])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let mut start = 0;
        for a in x {
            for (v, mut at) in a.data.iter().zip(a.indices()) {
                at[self.dim] += start;
                let j = y[0].at(&at);
                y[0].data[j] = *v;
            }
            start += a.ne[self.dim];
        }
        Ok(())
    }

    op_fields!();

    fn layout(&self, _i: usize) -> Layout {
        Layout::Rows
    }

    fn cpu_types(&self) -> &'static [DType] {
        DType::ALL
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        run(self.dim, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let mut start = [0; MAX_DIMS];
        for i in 0..g.n_x() {
            let x = g.desc(g.x(i))?;
            if g.wants(i) {
                let dx = slice(g, dy, &start, &x)?;
                g.push(i, dx);
            }
            start[self.dim] += x.ne[self.dim];
        }
        Ok(())
    }
}

/// A source and where its rows lie.
struct Part<'a> {
    bytes: &'a [u8],
    /// Bytes of a row.
    row: usize,
    starts: RowStarts,
    /// Rows that follow each other in the result before another source's turn.
    run: usize,
    /// Whether rows follow each other in the source as well.
    packed: bool,
}

impl Part<'_> {
    /// Copies rows from `first` on until `out` is full.
    fn copy(&self, first: usize, out: &mut [u8]) {
        if self.packed {
            let at = first * self.row;
            out.copy_from_slice(&self.bytes[at..at + out.len()]);
            return;
        }
        for (i, out) in out.chunks_mut(self.row).enumerate() {
            let at = self.starts.at(first + i);
            out.copy_from_slice(&self.bytes[at..at + self.row]);
        }
    }
}

fn run(dim: usize, call: &mut CpuCall<'_>) -> Result<()> {
    let row_bytes = |d: &Desc| d.bytes() / d.rows().max(1);
    let mut parts = Vec::new();
    for i in 0..call.src.len() {
        let d = call.x(i);
        if d.is_empty() {
            continue;
        }
        parts.push(Part {
            bytes: call.get(i)?,
            row: row_bytes(d),
            starts: RowStarts::new(d),
            run: d.ne[1..=dim].iter().product(),
            packed: d.is_contiguous(),
        });
    }
    let row = row_bytes(call.y(0));
    let y = call.out::<u8>(0)?;
    if dim == 0 {
        rows(call.pool, y, row, row as f64 * NS + 4.0 * parts.len() as f64, |first, out| {
            for (i, mut out) in out.chunks_mut(row).enumerate() {
                for p in &parts {
                    let (head, tail) = out.split_at_mut(p.row);
                    p.copy(first + i, head);
                    out = tail;
                }
            }
        });
        return Ok(());
    }
    let cycle: usize = parts.iter().map(|p| p.run).sum();
    rows(call.pool, y, row, row as f64 * NS, |first, mut out| {
        let mut at = first;
        while !out.is_empty() {
            // Row `i` of the sources' turn number `turn`.
            let (turn, mut i) = (at / cycle, at % cycle);
            for p in &parts {
                if i >= p.run {
                    i -= p.run;
                    continue;
                }
                let n = (p.run - i).min(out.len() / row);
                let (head, tail) = out.split_at_mut(n * row);
                p.copy(turn * p.run + i, head);
                at += n;
                out = tail;
                break;
            }
        }
    });
    Ok(())
}

fn cases() -> Vec<Case> {
    let two = |dim, a: &[usize], b: &[usize]| Case::new(Concat { dim }).f32(a).f32(b).tol(Tol::Exact);
    let typed = |t: DType| {
        let c = Case::new(Concat { dim: 1 }).input(t, &[3, 2], Values::Ints(0, 100), false);
        c.input(t, &[3, 4], Values::Ints(0, 100), false).tol(Tol::Exact).note(t.name())
    };
    let mut v = vec![
        two(0, &[3, 4], &[5, 4]).grad(),
        two(1, &[3, 4], &[3, 2]).grad(),
        two(2, &[3, 4, 2], &[3, 4, 5]).grad(),
        two(3, &[3, 2, 2, 1], &[3, 2, 2, 4]).grad(),
        two(1, &[5, 2, 3, 2], &[5, 4, 3, 2]).grad().note("in the middle"),
        two(2, &[3, 4], &[3, 4]).grad().note("new dimension"),
        two(0, &[4], &[3]).grad().note("vectors"),
        two(4, &[2, 3, 1, 2, 3], &[2, 3, 1, 2, 2]).grad().note("five dimensions"),
        two(0, &[33, 500], &[70, 500]).note("several blocks"),
        two(1, &[64, 300, 3], &[64, 501, 3]).note("several blocks in the middle"),
        two(0, &[0, 4], &[5, 4]).grad().note("first empty"),
        two(0, &[2, 0], &[3, 0]).grad().note("no rows"),
        two(1, &[3, 2], &[3, 0]).grad().note("second empty"),
        two(1, &[3, 4], &[3, 2]).f32(&[3, 5]).grad().note("three sources"),
        Case::new(Concat { dim: 1 }).f32(&[3, 4]).grad().tol(Tol::Exact).note("one source"),
        two(1, &[3, 4], &[2, 4]).fails(Kind::Shape),
        two(8, &[3, 4], &[3, 4]).fails(Kind::Argument),
        Case::new(Concat { dim: 0 }).f32(&[3]).i32(&[3], 0, 3).fails(Kind::DType),
    ];
    v.extend([DType::I32, DType::I64, DType::F16, DType::U8, DType::F64].map(typed));
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "concat".into(),
        r: vec!["ggml_concat(ctx, a, b, dim = 0)".into()],
        inputs: &["a", "b"],
        title: "Join two tensors".into(),
        details: "`a` and `b` one after the other along dimension `dim`, 0 to 3: extents `n` and `m` become `n + m`. \
                  All other extents and the types must be equal."
            .into(),
        topic: "assembly",
        example: "ctx <- ggml_init()\n\
                  a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 2)\n\
                  b <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 1, 2)\n\
                  ggml_set_f32(a, 1:4)\n\
                  ggml_set_f32(b, c(10, 20))\n\
                  y <- ggml_concat(ctx, a, b, dim = 0)\n\
                  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                  ggml_tensor_shape(y)\n\
                  ggml_get_f32(y)\n\
                  ggml_free(ctx)"
            .into(),
        make: |c: &Call<'_>| {
            let dim: usize = c.params.get("dim")?;
            if dim > 3 {
                return Err(Error::argument("dim", format!("dim must be 0 to 3, got {dim}"))
                    .expected("0 to 3")
                    .got(dim.to_string()));
            }
            Ok(Arc::new(Concat { dim }) as OpRef)
        },
        cases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::Params;

    #[test]
    fn the_message_shows_both_shapes() {
        let d = |ne: &[usize]| Desc::new(DType::F32, ne).unwrap();
        let e = Concat { dim: 1 }.infer(&[d(&[3, 4]), d(&[2, 4])]).unwrap_err();
        assert_eq!(e.arg_name(), Some("b"));
        assert_eq!(e.message(), "b ne=[2,4,1,1] must have the extents of a ne=[3,4,1,1] except along dimension 1");
        let e = (entry().make)(&Call { function: "ggml_concat", params: &Params::new().with("dim", 4.0), x: &[] });
        assert_eq!(e.unwrap_err().arg_name(), Some("dim"));
    }
}
