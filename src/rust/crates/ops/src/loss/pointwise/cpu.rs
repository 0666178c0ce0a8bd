//! CPU kernels of the pointwise losses. Everything but the logarithms is computed in f64.

use super::{CLIP, Loss};
use crate::elementwise::real::{Real, by_real};
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, Result};
use ggmlr_formula::UnaryId;
use ggmlr_simd::reduce;

/// Elements summed at a time; the sums are added in order, so that no thread changes the result.
const BLOCK: usize = 8192;

/// Elements whose terms are held at a time.
const PIECE: usize = 256;

/// Nanoseconds for one element on one thread.
pub fn ns(loss: Loss) -> f64 {
    match loss {
        Loss::Mse | Loss::Mae | Loss::Huber => 1.0,
        Loss::BinaryCrossEntropy => 4.0,
        Loss::CategoricalCrossEntropy => 2.0,
    }
}

/// Weights of the elements.
#[derive(Clone, Copy)]
enum Weights<'a, T> {
    One,
    /// One for each row of this many elements.
    Rows(&'a [T], usize),
    Each(&'a [T]),
}

impl<T: Real> Weights<'_, T> {
    fn of(&self, i: usize) -> f64 {
        match self {
            Weights::One => 1.0,
            Weights::Rows(w, n) => w[i / n].f64(),
            Weights::Each(w) => w[i].f64(),
        }
    }

    /// Multiplies the terms of the elements from `at` on.
    fn weigh(&self, at: usize, terms: &mut [f64]) {
        match *self {
            Weights::One => {}
            Weights::Each(w) => terms.iter_mut().zip(&w[at..]).for_each(|(x, w)| *x *= w.f64()),
            Weights::Rows(w, n) => {
                let (mut row, mut rest) = (at / n, terms);
                let mut left = (row + 1) * n - at;
                while !rest.is_empty() {
                    let (terms, tail) = rest.split_at_mut(left.min(rest.len()));
                    terms.iter_mut().for_each(|x| *x *= w[row].f64());
                    (row, rest, left) = (row + 1, tail, n);
                }
            }
        }
    }
}

/// Source `i`, if it is there, as weights of a prediction with rows of `row`, `len` elements in all.
fn weights<'a, T: Real>(call: &CpuCall<'a>, i: usize, row: usize, len: usize) -> Result<Weights<'a, T>> {
    if call.src.len() <= i {
        return Ok(Weights::One);
    }
    let w = call.get::<T>(i)?;
    Ok(if w.len() == len { Weights::Each(w) } else { Weights::Rows(w, row) })
}

pub fn forward(loss: Loss, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => match loss {
        Loss::Mse => forward_as::<T>(loss, call, |p, t, terms| each(p, t, terms, |p, t| (p - t) * (p - t))),
        Loss::Mae => forward_as::<T>(loss, call, |p, t, terms| each(p, t, terms, |p, t| (p - t).abs())),
        Loss::Huber => forward_as::<T>(loss, call, |p, t, terms| {
            each(p, t, terms, |p, t| {
                // The quadratic part of the distance, and the linear rest.
                let d = (p - t).abs();
                let inner = if d > 1.0 { 1.0 } else { d };
                inner * (d - 0.5 * inner)
            })
        }),
        Loss::BinaryCrossEntropy => forward_as::<T>(loss, call, |p, t, terms| {
            let mut log_q = [0.0; PIECE];
            logs(p, &mut log_q, |p| 1.0 - p);
            logs(p, terms, |p| p);
            for ((term, log_q), t) in terms.iter_mut().zip(log_q).zip(t) {
                let t = t.f64();
                *term = -(t * *term + (1.0 - t) * log_q);
            }
        }),
        Loss::CategoricalCrossEntropy => forward_as::<T>(loss, call, |p, t, terms| {
            logs(p, terms, |p| p);
            terms.iter_mut().zip(t).for_each(|(term, t)| *term *= -t.f64());
        }),
    })
}

fn each<T: Real>(p: &[T], t: &[T], terms: &mut [f64], value: impl Fn(f64, f64) -> f64) {
    for ((term, p), t) in terms.iter_mut().zip(p).zip(t) {
        *term = value(p.f64(), t.f64());
    }
}

/// `y = log(f(p))` with `p` clipped, at most `PIECE` elements. The logarithm is taken in the arithmetic of the type,
/// and what its rounded argument lacks is given back to first order.
fn logs<T: Real>(p: &[T], y: &mut [f64], f: impl Fn(f64) -> f64) {
    let mut rounded = [T::of(1.0); PIECE];
    for ((y, rounded), p) in y.iter_mut().zip(&mut rounded).zip(p) {
        let x = f(p.f64().clamp(CLIP, 1.0 - CLIP));
        *rounded = T::of(x);
        *y = (x - rounded.f64()) / x;
    }
    let rounded = &mut rounded[..p.len()];
    T::unary_inplace(UnaryId::Log, rounded, [T::of(0.0); 2]);
    y.iter_mut().zip(rounded).for_each(|(y, log)| *y += log.f64());
}

fn forward_as<T: Real>(
    loss: Loss,
    call: &mut CpuCall<'_>,
    terms: impl Fn(&[T], &[T], &mut [f64]) + Sync,
) -> Result<()> {
    let row = call.x(0).ne[0];
    let (p, t) = (call.get::<T>(0)?, call.get::<T>(1)?);
    let y = call.out::<T>(0)?;
    if p.is_empty() {
        y.fill(T::of(0.0));
        return Ok(());
    }
    let w = weights::<T>(call, 2, row, p.len())?;
    let mut sums = vec![0.0_f64; p.len().div_ceil(BLOCK)];
    rows(call.pool, &mut sums, 1, BLOCK as f64 * ns(loss), |first, part| {
        let mut buffer = [0.0; PIECE];
        for (b, sum) in part.iter_mut().enumerate() {
            let end = ((first + b + 1) * BLOCK).min(p.len());
            for at in ((first + b) * BLOCK..end).step_by(PIECE) {
                let to = (at + PIECE).min(end);
                let piece = &mut buffer[..to - at];
                terms(&p[at..to], &t[at..to], piece);
                w.weigh(at, piece);
                *sum += reduce::sum_f64(piece);
            }
        }
    });
    y.fill(T::of(sums.iter().sum::<f64>() / loss.divisor(p.len(), row)));
    Ok(())
}

pub fn backward(loss: Loss, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => match loss {
        Loss::Mse => backward_as::<T>(loss, call, |p, t| 2.0 * (p - t)),
        Loss::Mae => backward_as::<T>(loss, call, |p, t| if p == t { 0.0 } else { (p - t).signum() }),
        Loss::Huber => backward_as::<T>(loss, call, |p, t| (p - t).clamp(-1.0, 1.0)),
        Loss::BinaryCrossEntropy => backward_as::<T>(loss, call, |p, t| {
            if is_clipped(p) { 0.0 } else { (p - t) / (p * (1.0 - p)) }
        }),
        Loss::CategoricalCrossEntropy => backward_as::<T>(loss, call, |p, t| if is_clipped(p) { 0.0 } else { -t / p }),
    })
}

fn is_clipped(p: f64) -> bool {
    !(CLIP..=1.0 - CLIP).contains(&p) && !p.is_nan()
}

fn backward_as<T: Real>(loss: Loss, call: &mut CpuCall<'_>, slope: impl Fn(f64, f64) -> f64 + Sync) -> Result<()> {
    let row = call.y(0).ne[0];
    let (dy, p, t) = (call.get::<T>(0)?, call.get::<T>(1)?, call.get::<T>(2)?);
    let y = call.out::<T>(0)?;
    let w = weights::<T>(call, 3, row, p.len())?;
    let scale = dy[0].f64() / loss.divisor(p.len(), row);
    rows(call.pool, y, 1, 2.0, |first, part| {
        for (i, y) in (first..).zip(part) {
            *y = T::of(scale * w.of(i) * slope(p[i].f64(), t[i].f64()));
        }
    });
    Ok(())
}
