//! The loop that all point-by-point kernels share.
//!
//! Slices are cut into blocks of a fixed length, so that the compiler knows the trip count, and the rest is padded to a
//! whole block: a row of 63 costs what a row of 64 does, instead of one scalar `exp` after the other.

use crate::isa::{Kernel, dispatch};

/// A multiple of every vector length; long enough for several vectors in flight.
const BLOCK: usize = 64;

/// 1 is in the domain of every formula and no denormal.
const PADDING: [f32; BLOCK] = [1.0; BLOCK];

/// What happens at each point, from `I` inputs to `O` outputs.
pub(crate) trait Pointwise<const I: usize, const O: usize>: Copy {
    /// Has to be `#[inline(always)]`.
    fn at<const FUSED: bool>(self, x: [f32; I]) -> [f32; O];
}

/// Applies `op` at each point. All slices have the same length; callers check.
pub(crate) fn pointwise<P: Pointwise<I, O>, const I: usize, const O: usize>(op: P, x: [&[f32]; I], y: [&mut [f32]; O]) {
    dispatch(Loop { op, x, y });
}

struct Loop<'a, P, const I: usize, const O: usize> {
    op: P,
    x: [&'a [f32]; I],
    y: [&'a mut [f32]; O],
}

impl<P: Pointwise<I, O>, const I: usize, const O: usize> Kernel for Loop<'_, P, I, O> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let x = self.x.map(|x| x.as_chunks::<BLOCK>());
        let y = self.y.map(|y| y.as_chunks_mut::<BLOCK>());
        for i in 0..y[0].0.len() {
            let mut block = [&PADDING; I];
            for k in 0..I {
                block[k] = &x[k].0[i];
            }
            let result = at_block::<P, I, O, FUSED>(self.op, block);
            for k in 0..O {
                y[k].0[i] = result[k];
            }
        }
        let rest = y[0].1.len();
        if rest > 0 {
            let mut padded = [PADDING; I];
            for k in 0..I {
                padded[k][..rest].copy_from_slice(x[k].1);
            }
            let result = at_block::<P, I, O, FUSED>(self.op, padded.each_ref());
            for k in 0..O {
                y[k].1.copy_from_slice(&result[k][..rest]);
            }
        }
    }
}

/// The results come back by value: so the compiler need not fear that writing one changes an input.
#[inline(always)]
fn at_block<P: Pointwise<I, O>, const I: usize, const O: usize, const FUSED: bool>(
    op: P,
    x: [&[f32; BLOCK]; I],
) -> [[f32; BLOCK]; O] {
    let mut y = [[0.0; BLOCK]; O];
    for i in 0..BLOCK {
        let mut point = [0.0; I];
        for k in 0..I {
            point[k] = x[k][i];
        }
        let result = op.at::<FUSED>(point);
        for k in 0..O {
            y[k][i] = result[k];
        }
    }
    y
}
