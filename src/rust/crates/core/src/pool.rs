//! How kernels split work: blocks that depend on the shape and cost only, never on the number of threads, so that
//! results are the same bit for bit whatever runs them.

use smallvec::SmallVec;
use std::sync::Mutex;

/// Runs the blocks of a kernel, possibly on several threads.
pub trait Pool: Sync {
    /// Threads that may take part.
    fn threads(&self) -> usize;

    /// Calls `f(0) .. f(tasks - 1)`, each once, in any order. Remaining calls are left out after a cancel.
    fn run(&self, tasks: usize, f: &(dyn Fn(usize) + Sync));

    /// Whether the run was cancelled: a kernel with a long serial part looks here.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Everything on the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Pool for Serial {
    fn threads(&self) -> usize {
        1
    }
    fn run(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..tasks).for_each(f);
    }
}

/// Work worth handing to another thread, in nanoseconds.
pub const GRAIN_NS: f64 = 20_000.0;

const MAX_BLOCKS: usize = 64;

/// Number of rows in a block when `rows` rows cost `ns` each.
pub fn block_rows(rows: usize, ns: f64) -> usize {
    let blocks = (rows as f64 * ns / GRAIN_NS) as usize;
    rows.div_ceil(blocks.clamp(1, MAX_BLOCKS)).max(1)
}

/// Calls `f(first_row, rows)` for blocks of rows of `out`; `row` elements make a row that costs `ns` nanoseconds.
pub fn rows<T: Send>(pool: &dyn Pool, out: &mut [T], row: usize, ns: f64, f: impl Fn(usize, &mut [T]) + Sync) {
    if row == 0 || out.is_empty() {
        return;
    }
    let n = out.len() / row;
    let block = block_rows(n, ns);
    blocks(pool, &mut [(out, row)], block, |first, parts| {
        if let [part] = parts {
            f(first, part);
        }
    });
}

/// Splits several outputs along their rows into blocks of `block` rows and calls `f(first_row, parts)` for each.
/// `outs` pairs each output with its row length; all must have the same number of rows.
pub fn blocks<T: Send>(
    pool: &dyn Pool,
    outs: &mut [(&mut [T], usize)],
    block: usize,
    f: impl Fn(usize, &mut [&mut [T]]) + Sync,
) {
    let n = outs.iter().map(|(o, row)| if *row == 0 { 0 } else { o.len() / row }).max().unwrap_or(0);
    let tasks = n.div_ceil(block.max(1));
    if tasks <= 1 {
        let mut parts: SmallVec<[&mut [T]; 4]> = outs.iter_mut().map(|(o, _)| &mut **o).collect();
        if n > 0 {
            f(0, &mut parts);
        }
        return;
    }
    let mut cells: Vec<SmallVec<[&mut [T]; 4]>> = (0..tasks).map(|_| SmallVec::new()).collect();
    for (out, row) in outs.iter_mut() {
        let mut rest: &mut [T] = out;
        for cell in &mut cells {
            let (head, tail) = rest.split_at_mut((block * *row).min(rest.len()));
            cell.push(head);
            rest = tail;
        }
    }
    let cells: Vec<Mutex<SmallVec<[&mut [T]; 4]>>> = cells.into_iter().map(Mutex::new).collect();
    pool.run(tasks, &|i| {
        // Each task takes its own cell once: the lock is never contended and cannot be poisoned by another task.
        if let Ok(mut parts) = cells[i].lock() {
            f(i * block, &mut parts);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_visited_once_and_blocks_ignore_threads() {
        let mut v = vec![0_u32; 7 * 103];
        rows(&Serial, &mut v, 7, 5_000.0, |first, part| {
            for (r, row) in part.chunks_mut(7).enumerate() {
                row.iter_mut().for_each(|x| *x += (first + r) as u32);
            }
        });
        for (i, x) in v.iter().enumerate() {
            assert_eq!(*x as usize, i / 7);
        }
        assert_eq!(block_rows(100, 1.0), 100);
        assert_eq!(block_rows(0, 1.0), 1);
    }

    #[test]
    fn outputs_of_different_width_stay_in_step() {
        let (mut a, mut b) = (vec![0; 40], vec![0; 10]);
        blocks(&Serial, &mut [(&mut a, 4), (&mut b, 1)], 3, |first, parts| {
            for p in parts.iter_mut() {
                p.iter_mut().for_each(|x| *x = first);
            }
        });
        assert_eq!(b, [0, 0, 0, 3, 3, 3, 6, 6, 6, 9]);
        assert_eq!(a[36], 9);
    }
}
