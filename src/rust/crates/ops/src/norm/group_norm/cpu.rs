//! CPU kernels of the normalisation of groups. The elements of a group follow each other, so that a group is a row of
//! the normalisation of rows, whose kernels do the work.

use crate::norm::layer_norm::{Norm, NormBack};
use ggmlr_core::{CpuCall, Desc, Dst, Op, Result, Src};
use smallvec::smallvec;

pub fn forward(n_groups: usize, eps: f32, call: &mut CpuCall<'_>) -> Result<()> {
    as_rows(n_groups, &Norm { eps }, call)
}

pub fn backward(n_groups: usize, eps: f32, call: &mut CpuCall<'_>) -> Result<()> {
    as_rows(n_groups, &NormBack { eps }, call)
}

/// Calls a kernel of rows with groups as rows.
fn as_rows(n_groups: usize, kernel: &dyn Op, call: &mut CpuCall<'_>) -> Result<()> {
    let d = *call.y(0);
    let (plane, channels) = (d.ne[0] * d.ne[1], d.ne[2]);
    let items: usize = d.ne[3..].iter().product();
    let width = channels.div_ceil(n_groups);
    let (full, rest) = (channels / width, channels % width);
    let bytes = call.out::<u8>(0)?;
    if rest == 0 {
        return part(kernel, call, 0, Desc::new(d.dtype, &[plane * width, full * items])?, bytes);
    }
    // The last group of each item is shorter than the others, so that items must be done one by one.
    let (item, split) = (plane * channels * d.dtype.bytes(), plane * width * full * d.dtype.bytes());
    for (i, bytes) in bytes.chunks_mut(item).enumerate() {
        let (head, tail) = bytes.split_at_mut(split);
        part(kernel, call, i * item, Desc::new(d.dtype, &[plane * width, full])?, head)?;
        part(kernel, call, i * item + split, Desc::new(d.dtype, &[plane * rest, 1])?, tail)?;
    }
    Ok(())
}

/// Calls the kernel on the part of the operands that starts at byte `at` and looks like `desc`.
fn part(kernel: &dyn Op, call: &CpuCall<'_>, at: usize, desc: Desc, bytes: &mut [u8]) -> Result<()> {
    let src = call
        .src
        .iter()
        .map(|s| match *s {
            Src::Data { bytes: x, .. } => Src::Data { desc: &desc, bytes: &x[at..at + bytes.len()] },
            Src::InPlace { result, .. } => Src::InPlace { desc: &desc, result },
        })
        .collect();
    kernel.cpu(&mut CpuCall { src, dst: smallvec![Dst { desc: &desc, bytes }], scalars: &[], pool: call.pool })
}
