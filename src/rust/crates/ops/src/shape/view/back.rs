//! Gradient of a view: adds each element to the one of the source that it shows.

use crate::elementwise::real::{Real, by_real};
use crate::{check, op_fields, op_struct};
use ggmlr_core::desc::show_ne;
use ggmlr_core::pool::{Pool, rows};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Kind, MAX_DIMS, Op, Result, Scalar};
use smallvec::smallvec;

op_struct! {
    /// dy: [ne0, ...] -> dx: [source_ne0, ...]. Strides and offset count elements. Elements of the source that the
    /// view shows several times get the sum, those it does not show get 0.
    pub struct ViewBack {
        ne: Vec<usize>,
        nb: Vec<usize>,
        source_ne: Vec<usize>,
        source_nb: Vec<usize>,
        offset: Scalar<usize>
    }
}

impl ViewBack {
    /// For view `y` of `source`, `offset` bytes into it.
    pub fn of(source: &Desc, y: &Desc, offset: usize) -> ViewBack {
        let bytes = source.dtype.bytes();
        let strides = |d: &Desc| d.nb[..d.rank as usize].iter().map(|nb| nb / bytes).collect();
        ViewBack {
            ne: y.extents().to_vec(),
            nb: strides(y),
            source_ne: source.extents().to_vec(),
            source_nb: strides(source),
            offset: Scalar(offset / bytes),
        }
    }

    fn gap(at: usize) -> Error {
        let message = format!("the view shows memory that is no element of its source, {at} elements into it");
        Error::new(Kind::NoGradient, message).hint("Take the view of the tensor that owns the memory.")
    }
}

impl Op for ViewBack {
    fn name(&self) -> &'static str {
        "view_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [dy] = check::sources(x)?;
        check::float("a", dy)?;
        let view = Desc::new(dy.dtype, &self.ne)?;
        if !view.same_shape(dy) {
            let text = format!("a {} must have the shape of the view, {}", dy.show(), show_ne(&self.ne));
            return Err(Error::shape(text).arg("a").expected(show_ne(&self.ne)).got(dy.show()));
        }
        Ok(smallvec![Desc::new(dy.dtype, &self.source_ne)?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        // The element of the source at each position of its memory, by trying them all.
        let place = |nb: &[usize], at: [usize; MAX_DIMS]| nb.iter().zip(at).map(|(nb, i)| nb * i).sum::<usize>();
        let places: Vec<usize> = y[0].indices().map(|at| place(&self.source_nb, at)).collect();
        for (v, at) in x[0].data.iter().zip(x[0].indices()) {
            let p = self.offset.0 + place(&self.nb, at);
            let j = places.iter().position(|&q| q == p).ok_or_else(|| ViewBack::gap(p))?;
            y[0].data[j] += v;
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn flush_denormals(&self) -> bool {
        true
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        by_real!(call.dtype(), T => run::<T>(self, call))
    }
}

/// Dimensions of the view that have more than one element, innermost first.
type Dims = Vec<(usize, usize)>;

/// Nanoseconds for one element on one thread.
const NS: f64 = 0.5;

fn run<T: Real>(op: &ViewBack, call: &mut CpuCall<'_>) -> Result<()> {
    let offset = call.word(0) as usize;
    let dy = call.get::<T>(0)?;
    let source = *call.y(0);
    let dx = call.out::<T>(0)?;
    dx.fill(T::of(0.0));
    if dy.is_empty() {
        return Ok(());
    }
    let dims: Dims = op.ne.iter().copied().zip(op.nb.iter().copied()).filter(|d| d.0 > 1).collect();
    let end = offset + dims.iter().map(|(n, nb)| (n - 1) * nb).sum::<usize>();
    let packed = source.nb.iter().zip(&op.source_nb).zip(&source.ne);
    let is_packed = packed.into_iter().all(|((nb, s), n)| *n == 1 || nb / T::TYPE.bytes() == *s);
    if !is_packed {
        return scatter(op, &dims, offset, dy, dx);
    }
    match dx.get_mut(offset..=end) {
        Some(dx) => add_slabs(call.pool, &dims, dy, dx),
        None => return Err(ViewBack::gap(end)),
    }
    Ok(())
}

/// Adds `dy` into the part of a contiguous source that the view reaches.
fn add_slabs<T: Real>(pool: &dyn Pool, dims: &[(usize, usize)], dy: &[T], dx: &mut [T]) {
    let (&(n, step), inner) = match dims {
        [] => {
            dx[0] = dy[0];
            return;
        }
        [(n, 1)] => {
            rows(pool, &mut dx[..*n], 1, NS, |first, dx| dx.copy_from_slice(&dy[first..first + dx.len()]));
            return;
        }
        [inner @ .., last] => (last, inner),
    };
    let width = 1 + inner.iter().map(|(n, nb)| (n - 1) * nb).sum::<usize>();
    if inner.is_empty() || step < width {
        // One row, or slabs that overlap: two threads could meet at one element.
        return add(dims, dy, dx);
    }
    let slab = dy.len() / n;
    // The last slab has no gap behind it, which makes it shorter than a step.
    let (most, last) = dx.split_at_mut((n - 1) * step);
    rows(pool, most, step, slab as f64 * NS, |first, part| {
        for (i, dx) in part.chunks_mut(step).enumerate() {
            let s = first + i;
            add(inner, &dy[s * slab..(s + 1) * slab], dx);
        }
    });
    add(inner, &dy[(n - 1) * slab..], last);
}

/// Adds `dy`, contiguous, to the elements of `dx` at the strides of `dims`.
fn add<T: Real>(dims: &[(usize, usize)], dy: &[T], dx: &mut [T]) {
    match dims {
        [] => dx[0] += dy[0],
        [(_, 1)] => dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += *dy),
        [inner @ .., (n, step)] => {
            for (i, dy) in dy.chunks(dy.len() / n).enumerate() {
                add(inner, dy, &mut dx[i * step..]);
            }
        }
    }
}

/// Adds to a source whose elements lie at strides of their own.
fn scatter<T: Real>(op: &ViewBack, dims: &[(usize, usize)], offset: usize, dy: &[T], dx: &mut [T]) -> Result<()> {
    // Outermost stride first; where each dimension's step lies in the contiguous result.
    let mut order = Vec::new();
    let mut step = 1;
    for (&n, &nb) in op.source_ne.iter().zip(&op.source_nb) {
        order.push((n, nb, step));
        step *= n;
    }
    order.retain(|d| d.0 > 1 && d.1 > 0);
    order.sort_by_key(|d| std::cmp::Reverse(d.1));
    for (i, v) in dy.iter().enumerate() {
        let (mut p, mut left) = (offset, i);
        for (n, nb) in dims {
            p += left % n * nb;
            left /= n;
        }
        let (mut rest, mut at) = (p, 0);
        for &(n, nb, step) in &order {
            let j = (rest / nb).min(n - 1);
            rest -= j * nb;
            at += j * step;
        }
        if rest != 0 {
            return Err(ViewBack::gap(p));
        }
        dx[at] += *v;
    }
    Ok(())
}
