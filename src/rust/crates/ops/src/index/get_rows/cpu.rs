//! CPU kernels of the gather and of its gradient.

use super::check_index;
use crate::elementwise::real::{Real, by_real};
use bytemuck::Pod;
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, DType, Desc, Error, MAX_DIMS, Result};

/// Nanoseconds to move one byte.
const NS: f64 = 0.15;

/// Estimated time to visit each element of `d` once.
pub fn cost(d: &Desc) -> f64 {
    2.0 * d.bytes() as f64 * NS
}

/// The indices, all checked before any work is shared out.
fn indices(call: &CpuCall<'_>, rows: usize) -> Result<Vec<usize>> {
    call.get::<i32>(1)?.iter().map(|&i| check_index(i64::from(i), rows)).collect()
}

pub fn forward(call: &mut CpuCall<'_>) -> Result<()> {
    // Only the width of an element matters to a copy.
    match call.dtype() {
        DType::F32 | DType::I32 => forward_as::<u32>(call),
        DType::F64 => forward_as::<u64>(call),
        other => Err(Error::dtype(format!("no kernel for {other}"))),
    }
}

fn forward_as<T: Pod + Send + Sync>(call: &mut CpuCall<'_>) -> Result<()> {
    let (a, n) = (call.x(0), call.y(0).ne[0]);
    let list = indices(call, a.ne[1])?;
    let per_matrix = call.x(1).ne[0];
    let x = call.get::<T>(0)?;
    let y = call.out::<T>(0)?;
    let size = size_of::<T>();
    rows(call.pool, y, n, (n * size) as f64 * NS, |first, part| {
        for (r, out) in part.chunks_mut(n).enumerate() {
            let i = first + r;
            let at = (list[i] * a.nb[1] + matrix_offset(a, i / per_matrix)) / size;
            out.copy_from_slice(&x[at..at + n]);
        }
    });
    Ok(())
}

/// Byte offset of matrix `t`, counting through the dimensions from 2 on.
fn matrix_offset(a: &Desc, mut t: usize) -> usize {
    let mut offset = 0;
    for d in 2..MAX_DIMS {
        offset += t % a.ne[d] * a.nb[d];
        t /= a.ne[d];
    }
    offset
}

pub fn backward(call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => backward_as::<T>(call))
}

fn backward_as<T: Real>(call: &mut CpuCall<'_>) -> Result<()> {
    let (n, n_rows) = (call.y(0).ne[0], call.y(0).ne[1]);
    let list = indices(call, n_rows)?;
    let per_matrix = call.x(1).ne[0].max(1);
    let dy = call.get::<T>(0)?;
    let y = call.out::<T>(0)?;
    // Rows of `dy` sorted by the row of the result that they belong to, so that each result row can be summed alone;
    // the sort is stable, so that the order of addition is that of the indices.
    let (starts, sorted) = group_by_row(&list, per_matrix, n_rows, y.len() / n);
    let ns = (n * size_of::<T>()) as f64 * NS * (1.0 + list.len() as f64 / starts.len() as f64);
    rows(call.pool, y, n, ns, |first, part| {
        for (r, out) in part.chunks_mut(n).enumerate() {
            out.fill(T::of(0.0));
            let i = first + r;
            for &from in &sorted[starts[i]..starts[i + 1]] {
                out.iter_mut().zip(&dy[from * n..(from + 1) * n]).for_each(|(y, g)| *y += *g);
            }
        }
    });
    Ok(())
}

/// Counting sort: `sorted[starts[j]..starts[j + 1]]` are the positions in `list` that belong to result row `j`,
/// ascending.
fn group_by_row(list: &[usize], per_matrix: usize, rows: usize, total: usize) -> (Vec<usize>, Vec<usize>) {
    let target = |(i, &row): (usize, &usize)| i / per_matrix * rows + row;
    let mut starts = vec![0; total + 1];
    for entry in list.iter().enumerate() {
        starts[target(entry) + 1] += 1;
    }
    for j in 0..total {
        starts[j + 1] += starts[j];
    }
    let mut next = starts.clone();
    let mut sorted = vec![0; list.len()];
    for entry in list.iter().enumerate() {
        let slot = &mut next[target(entry)];
        sorted[*slot] = entry.0;
        *slot += 1;
    }
    (starts, sorted)
}
