//! Rows of a matrix by index, `y[., i] = a[., b[i]]`, and the sum that leads the gradient back to them.

mod cpu;

use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, Layout, MAX_DIMS, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [n, rows, B2, B3], b: [r, B2, B3] -> y: [n, r, B2, B3]
    pub struct GetRows {}
}

op_struct! {
    /// dy: [n, r, B2, B3], b: [r, B2, B3], shape of a: [n, rows, B2, B3] -> da: [n, rows, B2, B3]
    pub struct GetRowsBack {}
}

/// Index `i` must name one of `rows` rows.
fn check_index(i: i64, rows: usize) -> Result<usize> {
    match usize::try_from(i) {
        Ok(at) if at < rows => Ok(at),
        _ if rows == 0 => Err(Error::argument("b", format!("index {i}, but there are no rows"))),
        _ => {
            let range = format!("0..{}", rows - 1);
            Err(Error::argument("b", format!("index {i} outside {range}")).expected(range).got(i.to_string()))
        }
    }
}

/// Dimensions of `b` from 1 on must be those of `a` from 2 on.
fn check_batch(an: &str, a: &Desc, b: &Desc) -> Result<()> {
    if a.ne[2..] == b.ne[1..MAX_DIMS - 1] && b.ne[MAX_DIMS - 1] == 1 {
        return Ok(());
    }
    Err(Error::shape(format!(
        "b {} needs one list of indices for each matrix of {an} {}: its ne1, ne2, ... must be ne2, ne3, ... of {an}",
        b.show(),
        a.show()
    ))
    .arg("b")
    .expected(format!("ne1 = {}, ne2 = {}", a.ne[2], a.ne[3]))
    .got(b.show()))
}

/// Where the batch entry of an index into `b` lies in the other operands.
fn batch_of(at: &[usize; MAX_DIMS]) -> [usize; MAX_DIMS] {
    let mut out = [0; MAX_DIMS];
    out[2..].copy_from_slice(&at[1..MAX_DIMS - 1]);
    out
}

impl Op for GetRows {
    fn name(&self) -> &'static str {
        "get_rows"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        if !matches!(a.dtype, DType::F32 | DType::F64 | DType::I32) {
            return Err(Error::dtype(format!("a must be f32 or i32, got {}", a.dtype))
                .arg("a")
                .expected("f32 or i32")
                .got(a.dtype.name()));
        }
        check::dtype("b", b, DType::I32)?;
        check_batch("a", a, b)?;
        let mut ne = [1; MAX_DIMS];
        ne[0] = a.ne[0];
        ne[1..].copy_from_slice(&b.ne[..MAX_DIMS - 1]);
        let rank = (usize::from(b.rank) + 1).min(MAX_DIMS);
        Ok(smallvec![Desc::new(a.dtype, &ne[..rank])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (a, b) = (x[0], x[1]);
        for at in b.indices() {
            let (mut from, mut to) = (batch_of(&at), batch_of(&at));
            from[1] = check_index(b.data[b.at(&at)] as i64, a.ne[1])?;
            to[1] = at[0];
            for i in 0..a.ne[0] {
                (from[0], to[0]) = (i, i);
                let p = y[0].at(&to);
                y[0].data[p] = a.data[a.at(&from)];
            }
        }
        Ok(())
    }

    op_fields!();

    fn layout(&self, i: usize) -> Layout {
        // Packing a large table to read a few rows of it would be a waste.
        if i == 0 { Layout::Rows } else { Layout::Contiguous }
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64, DType::I32]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::forward(call)
    }

    fn cost(&self, _x: &[Desc], y: &[Desc]) -> f64 {
        cpu::cost(&y[0])
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let da = g.op(GetRowsBack {}, &[dy, g.x(1), g.x(0)])?;
        g.push(0, da);
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        i == 0
    }
}

impl Op for GetRowsBack {
    fn name(&self) -> &'static str {
        "get_rows_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [dy, b, a] = check::sources(x)?;
        check::float("a", dy)?;
        check::dtype("b", b, DType::I32)?;
        check_batch("c", a, b)?;
        let mut ne = [1; MAX_DIMS];
        ne[0] = a.ne[0];
        ne[1..].copy_from_slice(&b.ne[..MAX_DIMS - 1]);
        if dy.ne != ne {
            return Err(Error::shape(format!(
                "a {} must have one row of c {} for each index of b {}",
                dy.show(),
                a.show(),
                b.show()
            ))
            .arg("a")
            .expected(ggmlr_core::desc::show_ne(&ne[..4]))
            .got(dy.show()));
        }
        Ok(smallvec![a.with_dtype(dy.dtype)?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (dy, b) = (x[0], x[1]);
        for at in b.indices() {
            let (mut from, mut to) = (batch_of(&at), batch_of(&at));
            from[1] = at[0];
            to[1] = check_index(b.data[b.at(&at)] as i64, y[0].ne[1])?;
            for i in 0..dy.ne[0] {
                (from[0], to[0]) = (i, i);
                let p = y[0].at(&to);
                y[0].data[p] += dy.data[dy.at(&from)];
            }
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::backward(call)
    }

    fn cost(&self, x: &[Desc], y: &[Desc]) -> f64 {
        cpu::cost(&x[0]) + cpu::cost(&y[0])
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let dx = g.op(GetRows {}, &[dy, g.x(1)])?;
        g.push(0, dx);
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        i == 0
    }

    fn shape_only(&self, i: usize) -> bool {
        i == 2
    }
}

/// The gather.
pub fn entry() -> Entry {
    Entry {
        name: "get_rows".into(),
        r: vec!["ggml_get_rows(ctx, a, b)".into()],
        inputs: &["a", "b"],
        title: "Rows by index".into(),
        details:
            "`y[., i] = a[., b[i]]`. `a`: `[n, rows, B2, B3]`, f32 or i32, `b`: `[r, B2, B3]`, i32, counted from 0; \
                  the result: `[n, r, B2, B3]` of the type of `a`. An index outside `0..rows - 1` is an error when the \
                  graph is computed."
                .into(),
        topic: "rows",
        example: "ctx <- ggml_init()\n\
                  a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3)\n\
                  b <- ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 2)\n\
                  ggml_set_f32(a, c(1, 2, 10, 20, 100, 200))\n\
                  ggml_set_i32(b, c(2L, 0L))\n\
                  y <- ggml_get_rows(ctx, a, b)\n\
                  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                  ggml_get_f32(y)\n\
                  ggml_free(ctx)"
            .into(),
        make: |c: &Call<'_>| Ok(Arc::new(GetRows::from_params(c.params)?) as OpRef),
        cases: || {
            let case = |a: &[usize], b: &[usize]| {
                Case::new(GetRows {}).f32(a).i32(b, 0, a[1].saturating_sub(1) as i64).tol(Tol::Exact)
            };
            vec![
                case(&[5, 7], &[4]).grad(),
                case(&[1, 1], &[3]).grad().note("one number"),
                case(&[3, 4, 2, 3], &[5, 2, 3]).grad().note("batch"),
                case(&[3, 4, 1, 1, 2], &[2, 1, 1, 2]).grad().note("five dimensions"),
                case(&[130, 9], &[1000]).note("several blocks"),
                case(&[0, 4], &[3]).note("empty rows"),
                case(&[4, 3], &[0]).note("no index"),
                Case::new(GetRows {}).i32(&[3, 4], -9, 9).i32(&[6], 0, 3).tol(Tol::Exact).note("i32"),
                Case::new(GetRows {})
                    .input(DType::F64, &[3, 4], Values::Uniform(-2.0, 2.0), true)
                    .i32(&[6], 0, 3)
                    .tol(Tol::Exact)
                    .note("f64"),
                case(&[2, 3], &[1]).values(Values::Given(&[100_000.0])).fails(Kind::Argument).note("index too large"),
                case(&[2, 3], &[2]).values(Values::Given(&[0.0, -1.0])).fails(Kind::Argument).note("index negative"),
                case(&[2, 0], &[1]).fails(Kind::Argument).note("no rows"),
                case(&[2, 3, 2], &[1, 3]).fails(Kind::Shape),
                Case::new(GetRows {}).f32(&[2, 3]).f32(&[1]).fails(Kind::DType),
                Case::new(GetRows {})
                    .input(DType::F16, &[2, 3], Values::Uniform(-1.0, 1.0), false)
                    .i32(&[1], 0, 1)
                    .fails(Kind::DType),
            ]
        },
    }
}

/// The sum.
pub fn back_entry() -> Entry {
    Entry {
        name: "get_rows_back".into(),
        r: vec!["ggml_get_rows_back(ctx, a, b, c)".into()],
        inputs: &["a", "b", "c"],
        title: "Gradient of rows by index".into(),
        details:
            "Row `j` of the result is the sum of the rows `i` of `a` with `b[i] = j`. `a`: `[n, r, B2, B3]`, f32, `b`: \
                  `[r, B2, B3]`, i32; `c` gives the result's shape `[n, rows, B2, B3]`. Rows are added in the order of \
                  `b`, whatever the number of threads."
                .into(),
        topic: "rows",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(GetRowsBack::from_params(c.params)?) as OpRef),
        cases: || {
            let case = |a: &[usize], b: &[usize], c: &[usize]| {
                let top = c[1].saturating_sub(1) as i64;
                Case::new(GetRowsBack {}).f32(a).i32(b, 0, top).f32(c).no_grad().tol(Tol::Reduce(b[0].max(1)))
            };
            vec![
                case(&[5, 4], &[4], &[5, 7]).grad(),
                case(&[5, 40], &[40], &[5, 3]).note("duplicates"),
                case(&[3, 5, 2, 3], &[5, 2, 3], &[3, 4, 2, 3]).grad().note("batch"),
                case(&[64, 500], &[500], &[64, 300]).note("several blocks"),
                case(&[4, 0], &[0], &[4, 3]).note("no index"),
                Case::new(GetRowsBack {})
                    .f32(&[2, 1])
                    .i32(&[1], 0, 0)
                    .values(Values::Given(&[3.0]))
                    .f32(&[2, 3])
                    .fails(Kind::Argument)
                    .note("index too large"),
                case(&[2, 1], &[1], &[3, 3]).fails(Kind::Shape),
                case(&[2, 2], &[1], &[2, 3]).fails(Kind::Shape),
            ]
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::{Dst, Serial, Src};
    use smallvec::smallvec;

    #[test]
    fn an_index_outside_is_named() {
        assert_eq!(check_index(100_000, 3).unwrap_err().message(), "index 100000 outside 0..2");
        assert_eq!(check_index(-1, 3).unwrap_err().message(), "index -1 outside 0..2");
        assert_eq!(check_index(2, 3).unwrap(), 2);
        assert!(check_index(0, 0).is_err());
    }

    #[test]
    fn duplicates_add_up_in_index_order() {
        // 1e8 + 1 - 1e8 is 0 in f32, 1e8 - 1e8 + 1 is 1: the order is part of the result.
        let dy = Desc::new(DType::F32, &[1, 3]).unwrap();
        let b = Desc::new(DType::I32, &[3]).unwrap();
        let a = Desc::new(DType::F32, &[1, 2]).unwrap();
        let sum = |values: [f32; 3]| {
            let mut y = [9.0_f32; 2];
            let mut call = CpuCall {
                src: smallvec![
                    Src::Data { desc: &dy, bytes: bytemuck::cast_slice(&values) },
                    Src::Data { desc: &b, bytes: bytemuck::cast_slice(&[1_i32; 3]) },
                    Src::Data { desc: &a, bytes: &[] },
                ],
                dst: smallvec![Dst { desc: &a, bytes: bytemuck::cast_slice_mut(&mut y) }],
                scalars: &[],
                pool: &Serial,
            };
            GetRowsBack {}.cpu(&mut call).unwrap();
            drop(call);
            y
        };
        assert_eq!(sum([1e8, 1.0, -1e8]), [0.0, 0.0]);
        assert_eq!(sum([1e8, -1e8, 1.0]), [0.0, 1.0]);
    }
}
