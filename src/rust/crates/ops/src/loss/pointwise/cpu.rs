//! CPU kernels of the pointwise losses. Elements are computed and summed in f64, whatever their type.

use super::{CLIP, Loss};
use crate::elementwise::real::{Real, by_real};
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, Result};

/// Elements summed at a time; the sums are added in order, so that no thread changes the result.
const BLOCK: usize = 8192;

/// Nanoseconds for one element on one thread.
pub fn ns(loss: Loss) -> f64 {
    match loss {
        Loss::Mse | Loss::Mae | Loss::Huber => 1.0,
        Loss::BinaryCrossEntropy => 15.0,
        Loss::CategoricalCrossEntropy => 8.0,
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
        Loss::Mse => forward_as::<T>(loss, call, |p, t| (p - t) * (p - t)),
        Loss::Mae => forward_as::<T>(loss, call, |p, t| (p - t).abs()),
        Loss::Huber => forward_as::<T>(loss, call, |p, t| {
            // The quadratic part of the distance, and the linear rest.
            let d = (p - t).abs();
            let inner = if d > 1.0 { 1.0 } else { d };
            inner * (d - 0.5 * inner)
        }),
        Loss::BinaryCrossEntropy => forward_as::<T>(loss, call, |p, t| {
            let p = p.clamp(CLIP, 1.0 - CLIP);
            -(t * p.ln() + (1.0 - t) * (1.0 - p).ln())
        }),
        Loss::CategoricalCrossEntropy => forward_as::<T>(loss, call, |p, t| {
            // Most targets are zero, and a logarithm is dear.
            if t == 0.0 && !p.is_nan() { 0.0 } else { -t * p.clamp(CLIP, 1.0 - CLIP).ln() }
        }),
    })
}

fn forward_as<T: Real>(loss: Loss, call: &mut CpuCall<'_>, value: impl Fn(f64, f64) -> f64 + Sync) -> Result<()> {
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
        for (b, sum) in part.iter_mut().enumerate() {
            let from = (first + b) * BLOCK;
            let to = (from + BLOCK).min(p.len());
            *sum = match w {
                Weights::One => sum_of(from..to, |i| value(p[i].f64(), t[i].f64())),
                w => sum_of(from..to, |i| w.of(i) * value(p[i].f64(), t[i].f64())),
            };
        }
    });
    y.fill(T::of(sums.iter().sum::<f64>() / loss.divisor(p.len(), row)));
    Ok(())
}

/// Sum over a range in eight lanes, which can be added side by side.
fn sum_of(range: std::ops::Range<usize>, f: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0_f64; 8];
    for start in range.clone().step_by(8) {
        for (l, lane) in lanes.iter_mut().enumerate() {
            if start + l < range.end {
                *lane += f(start + l);
            }
        }
    }
    lanes.iter().sum()
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
    p < CLIP || p > 1.0 - CLIP
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
