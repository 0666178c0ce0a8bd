//! CPU kernel of dropout.

use crate::elementwise::real::{Real, by_real};
use ggmlr_core::pool::{block_rows, blocks};
use ggmlr_core::{CpuCall, Result, rng};
use std::ops::Mul;

/// Nanoseconds for one element on one thread.
pub const NS: f64 = 5.0;

/// Draws made side by side; each serves four elements.
const LANES: usize = 16;
const GROUP: usize = 4 * LANES;

pub fn forward(rate: f32, call: &mut CpuCall<'_>) -> Result<()> {
    let scale = 1.0 / (1.0 - f64::from(rate));
    by_real!(call.dtype(), T => forward_as::<T>(rate, T::of(scale), call))
}

fn forward_as<T: Real + Mul<Output = T>>(rate: f32, scale: T, call: &mut CpuCall<'_>) -> Result<()> {
    let (key, node, step) = (call.word(0), call.word(1) as u32, call.word(2) as u32);
    let x = call.get_unless_in_place::<T>(0)?;
    let y = call.out::<T>(0)?;
    // Blocks begin where a group of draws does.
    let block = block_rows(y.len(), NS).next_multiple_of(GROUP);
    blocks(call.pool, &mut [(y, 1)], block, |first, parts| {
        let Some(part) = parts.first_mut() else { return };
        for (g, y) in part.chunks_mut(GROUP).enumerate() {
            let at = first + g * GROUP;
            if let Some(x) = x {
                y.copy_from_slice(&x[at..at + y.len()]);
            }
            let keep = draw(key, at as u64 / 4, node, step, rate);
            for (y, keep) in y.iter_mut().zip(keep) {
                let kept = *y * scale;
                *y = if keep { kept } else { T::of(0.0) };
            }
        }
    });
    Ok(())
}

/// Whether to keep each element of a group whose first draw has this counter.
fn draw(key: u64, counter: u64, node: u32, step: u32, rate: f32) -> [bool; GROUP] {
    let mut c = [[0; LANES], [0; LANES], [node; LANES], [step; LANES]];
    for lane in 0..LANES {
        let counter = counter + lane as u64;
        (c[0][lane], c[1][lane]) = (counter as u32, (counter >> 32) as u32);
    }
    let words = rng::philox_lanes(key, c).map(|w| w.map(|w| rng::unit_f32(w) >= rate));
    let mut keep = [false; GROUP];
    for lane in 0..LANES {
        for w in 0..4 {
            keep[4 * lane + w] = words[w][lane];
        }
    }
    keep
}
