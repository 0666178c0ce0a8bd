//! Rows written by index, `y[., c[i]] = b[., i]`, and the gradient that leads back to them. In place it is how caches
//! of keys and values grow.

mod cases;
mod cpu;

pub use cases::entries;

use super::{PLAIN, plain};
use crate::shape::Cast;
use crate::{check, op_fields, op_struct};
use ggmlr_core::desc::show_ne;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Grad, Layout, MAX_DIMS, Op, Result};
use smallvec::smallvec;

op_struct! {
    /// a: [n, rows, B2, B3], b: [n, r, B2, B3], c: [r, extents that divide B2, B3] -> y: a with the rows of b. Where an
    /// index comes twice, the later row stays.
    pub struct SetRows {}
}

op_struct! {
    /// dy: [n, rows, B2, B3], c: [r, ...] -> db: [n, r, B2, B3], with 0 for rows that a later one replaced
    pub struct SetRowsBack {}
}

/// Index `i` must name one of `rows` rows.
fn check_index(i: i64, rows: usize) -> Result<usize> {
    match usize::try_from(i) {
        Ok(at) if at < rows => Ok(at),
        _ if rows == 0 => Err(Error::argument("c", format!("index {i}, but there are no rows"))),
        _ => {
            let range = format!("0..{}", rows - 1);
            Err(Error::argument("c", format!("index {i} outside {range}")).expected(range).got(i.to_string()))
        }
    }
}

/// `c` holds row numbers, and its dimensions from 1 on must repeat into those of `a` from 2 on.
fn check_indices(an: &str, a: &Desc, c: &Desc) -> Result<()> {
    if !matches!(c.dtype, DType::I32 | DType::I64) {
        let text = format!("c must be i32 or i64, got {}", c.dtype);
        return Err(Error::dtype(text).arg("c").expected("i32 or i64").got(c.dtype.name()));
    }
    let fits = |d: usize| a.ne[d + 1].is_multiple_of(c.ne[d]);
    if (1..MAX_DIMS - 1).all(fits) && c.ne[MAX_DIMS - 1] == 1 {
        return Ok(());
    }
    Err(Error::shape(format!(
        "c {} does not fit {an} {}: its ne1, ne2, ... must divide ne2, ne3, ... of {an}",
        c.show(),
        a.show()
    ))
    .arg("c")
    .expected(format!("ne1 that divides {}, ne2 that divides {}", a.ne[2], a.ne[3]))
    .got(c.show()))
}

/// The index that belongs to the row of an element.
fn index_of(c: &Array, at: &[usize; MAX_DIMS]) -> f64 {
    let mut i = [0; MAX_DIMS];
    i[..MAX_DIMS - 1].copy_from_slice(&at[1..]);
    c.wrap(&i)
}

impl Op for SetRows {
    fn name(&self) -> &'static str {
        "set_rows"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b, c] = check::sources(x)?;
        plain("a", a)?;
        if !(b.dtype == DType::F32 && matches!(a.dtype, DType::F16 | DType::BF16)) {
            check::same_dtype("a", a, "b", b)?;
        }
        check_indices("a", a, c)?;
        let mut ne = a.ne;
        ne[1] = c.ne[0];
        if b.ne != ne {
            return Err(Error::shape(format!(
                "b {} must have one row of a {} for each index of c {}",
                b.show(),
                a.show(),
                c.show()
            ))
            .arg("b")
            .expected(show_ne(&ne[..b.n_dims().max(4)]))
            .got(b.show()));
        }
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (b, c) = (x[1], x[2]);
        y[0].data.copy_from_slice(&x[0].data);
        for (v, at) in b.data.iter().zip(b.indices()) {
            let mut to = at;
            to[1] = check_index(index_of(c, &at) as i64, y[0].ne[1])?;
            let j = y[0].at(&to);
            y[0].data[j] = *v;
        }
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }

    fn layout(&self, i: usize) -> Layout {
        if i == 1 { Layout::Rows } else { Layout::Contiguous }
    }

    fn cpu_types(&self) -> &'static [DType] {
        PLAIN
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::forward(call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, c) = (g.dy()?, g.x(2));
        let b = g.desc(g.x(1))?;
        let t = g.desc(dy)?.dtype;
        if g.wants(0) {
            // Rows that were replaced do not depend on a.
            let zeros = g.fill(Desc::new(t, b.extents())?, 0.0)?;
            let da = g.op(SetRows {}, &[dy, zeros, c])?;
            g.push(0, da);
        }
        if g.wants(1) {
            let db = g.op(SetRowsBack {}, &[dy, c])?;
            let db = if b.dtype == t { db } else { g.op(Cast { to: b.dtype }, &[db])? };
            g.push(1, db);
        }
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        i != 2
    }
}

impl Op for SetRowsBack {
    fn name(&self) -> &'static str {
        "set_rows_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [dy, c] = check::sources(x)?;
        plain("a", dy)?;
        check_indices("a", dy, c)?;
        let mut ne = dy.ne;
        ne[1] = c.ne[0];
        Ok(smallvec![Desc::new(dy.dtype, &ne[..(dy.rank as usize).max(2)])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (dy, c) = (x[0], x[1]);
        let (r, indices) = (y[0].ne[1], y[0].indices());
        for (w, at) in y[0].data.iter_mut().zip(indices) {
            let j = index_of(c, &at);
            let replaced = (at[1] + 1..r).any(|later| {
                let mut other = at;
                other[1] = later;
                index_of(c, &other) == j
            });
            let mut from = at;
            from[1] = check_index(j as i64, dy.ne[1])?;
            *w = if replaced { 0.0 } else { dy.data[dy.at(&from)] };
        }
        Ok(())
    }

    op_fields!();

    fn layout(&self, i: usize) -> Layout {
        if i == 0 { Layout::Rows } else { Layout::Contiguous }
    }

    fn cpu_types(&self) -> &'static [DType] {
        PLAIN
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::backward(call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (d, c) = (g.dy()?, g.x(1));
        let dy = g.desc(g.x(0))?;
        let zeros = g.fill(Desc::new(dy.dtype, dy.extents())?, 0.0)?;
        let d = g.op(SetRows {}, &[zeros, d, c])?;
        g.push(0, d);
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        i == 0
    }
}
