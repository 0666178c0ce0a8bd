//! CPU kernel of dropout: four random words at a time.

use crate::elementwise::real::{Real, by_real};
use ggmlr_core::pool::{block_rows, blocks};
use ggmlr_core::{CpuCall, Result, rng};
use std::ops::Mul;

/// Nanoseconds for one element on one thread.
pub const NS: f64 = 4.0;

pub fn forward(rate: f32, call: &mut CpuCall<'_>) -> Result<()> {
    let scale = 1.0 / (1.0 - f64::from(rate));
    by_real!(call.dtype(), T => forward_as::<T>(rate, T::of(scale), call))
}

fn forward_as<T: Real + Mul<Output = T>>(rate: f32, scale: T, call: &mut CpuCall<'_>) -> Result<()> {
    let (key, node, step) = (call.word(0), call.word(1) as u32, call.word(2) as u32);
    let x = call.get_unless_in_place::<T>(0)?;
    let y = call.out::<T>(0)?;
    // One draw serves four elements, so that blocks begin at multiples of four.
    let block = block_rows(y.len(), NS).next_multiple_of(4);
    blocks(call.pool, &mut [(y, 1)], block, |first, parts| {
        let Some(part) = parts.first_mut() else { return };
        for (q, four) in part.chunks_mut(4).enumerate() {
            let at = first + 4 * q;
            let counter = (at / 4) as u64;
            let words = rng::philox4x32_10(key, [counter as u32, (counter >> 32) as u32, node, step]);
            for (i, y) in four.iter_mut().enumerate() {
                let x = x.map_or(*y, |x| x[at + i]);
                *y = if rng::unit_f32(words[i]) >= rate { x * scale } else { T::of(0.0) };
            }
        }
    });
    Ok(())
}
