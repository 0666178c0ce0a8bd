//! The CPU kernel behind the products: one matrix product per batch entry, operands with any strides.
//!
//! Work is split by shapes only. A column of the result is contiguous, so a wide result is cut into blocks of columns;
//! a tall one with few columns into blocks of rows, which need a scratch copy unless there is one column.

use crate::elementwise::real::{Real, by_real};
use ggmlr_core::pool::{blocks, rows};
use ggmlr_core::{CpuCall, DType, Desc, Error, MAX_DIMS, Pool, Result};
use ggmlr_simd::gemm;

/// Floating point operations per nanosecond on one thread.
const FLOPS_F32: f64 = 50.0;
const FLOPS_F64: f64 = 25.0;

/// A block worth packing both operands for, in nanoseconds.
const BLOCK_NS: f64 = 100_000.0;

const MAX_BLOCKS: usize = 64;

/// Blocks of one matrix, unless it is so wide that each still has `WIDE` columns.
const BLOCKS_PER_MATRIX: usize = 8;
const WIDE: usize = 512;

/// Blocks begin where a tile of the inner loops can.
const TILE: usize = 16;

/// Columns that a block must keep so that packing the other operand again costs little.
const NARROW: usize = 32;

/// Nanoseconds to read or write a byte, and to begin.
const BYTE_NS: f64 = 0.12;
const START_NS: f64 = 300.0;

/// Estimated time of a product on one thread: products with a vector wait for memory, others compute.
pub fn cost(dtype: DType, n: usize, m: usize, k: usize) -> f64 {
    let (n, m, k) = (n as f64, m as f64, k as f64);
    let flops = 2.0 * n * m * k / if dtype == DType::F64 { FLOPS_F64 } else { FLOPS_F32 };
    let bytes = (n * k + m * k + n * m) * dtype.bytes() as f64 * BYTE_NS;
    START_NS + flops.max(bytes)
}

/// `y[i, j] = sum_p a[i, p] b[p, j]` for each batch entry: `n` rows `i`, `m` columns `j`, `k` terms. Strides count
/// elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    pub n: usize,
    pub m: usize,
    pub k: usize,
    /// Strides of `a` along `i` and `p`.
    pub a: [usize; 2],
    /// Strides of `b` along `p` and `j`.
    pub b: [usize; 2],
    batch: Batch,
}

/// Batch entries of the result; `a` serves each group of consecutive ones.
#[derive(Clone, Debug, PartialEq)]
struct Batch {
    ne: [usize; MAX_DIMS],
    group: [usize; MAX_DIMS],
    a: [usize; MAX_DIMS],
    b: [usize; MAX_DIMS],
}

impl Batch {
    fn new(a: &Desc, a_strides: &[usize; MAX_DIMS], b: &Desc, b_strides: &[usize; MAX_DIMS]) -> Batch {
        let mut batch = Batch { ne: [1; MAX_DIMS], group: [1; MAX_DIMS], a: [0; MAX_DIMS], b: [0; MAX_DIMS] };
        for d in 2..MAX_DIMS {
            batch.ne[d] = b.ne[d];
            batch.group[d] = super::group(a, b, d);
            batch.a[d] = a_strides[d];
            batch.b[d] = b_strides[d];
        }
        batch
    }

    fn len(&self) -> usize {
        self.ne.iter().product()
    }

    /// Where the operands of entry `t` begin.
    fn offsets(&self, mut t: usize) -> (usize, usize) {
        let (mut a, mut b) = (0, 0);
        for d in 2..MAX_DIMS {
            let i = t % self.ne[d];
            t /= self.ne[d];
            a += i / self.group[d] * self.a[d];
            b += i * self.b[d];
        }
        (a, b)
    }
}

/// Strides in elements.
fn strides(d: &Desc) -> Result<[usize; MAX_DIMS]> {
    let size = d.dtype.bytes();
    if d.nb.iter().any(|nb| nb % size != 0) {
        return Err(Error::internal(format!("strides of {d:?} are no multiple of its element")));
    }
    Ok(d.nb.map(|nb| nb / size))
}

/// Dimensions 1 and up as one, if a single stride walks through them: how many columns, and the stride.
fn merged_columns(b: &Desc, strides: &[usize; MAX_DIMS]) -> Option<(usize, usize)> {
    let (mut count, mut stride) = (1, strides[1]);
    for d in 1..MAX_DIMS {
        if b.ne[d] == 1 {
            continue;
        }
        if count == 1 {
            stride = strides[d];
        } else if strides[d] != stride * count {
            return None;
        }
        count *= b.ne[d];
    }
    Some((count, stride))
}

impl Product {
    /// `a: [k, n, B2, ...]`, `b: [k, m, b2, ...]`: rows of both are multiplied.
    pub fn mul_mat(a: &Desc, b: &Desc) -> Result<Product> {
        let (sa, sb) = (strides(a)?, strides(b)?);
        let mut p = Product {
            n: a.ne[1],
            m: b.ne[1],
            k: a.ne[0],
            a: [sa[1], sa[0]],
            b: [sb[0], sb[1]],
            batch: Batch::new(a, &sa, b, &sb),
        };
        // One wide product beats many narrow ones where a single matrix serves the whole batch.
        if a.ne[2..].iter().all(|&n| n == 1)
            && let Some((columns, stride)) = merged_columns(b, &sb)
        {
            p.m = columns;
            p.b[1] = stride;
            p.batch.ne = [1; MAX_DIMS];
        }
        Ok(p)
    }

    /// `a: [n, k, B2, ...]`, `b: [m, k, b2, ...]`: columns of both are multiplied.
    pub fn out_prod(a: &Desc, b: &Desc) -> Result<Product> {
        let (sa, sb) = (strides(a)?, strides(b)?);
        Ok(Product {
            n: a.ne[0],
            m: b.ne[0],
            k: a.ne[1],
            a: [sa[0], sa[1]],
            b: [sb[1], sb[0]],
            batch: Batch::new(a, &sa, b, &sb),
        })
    }

    fn split(&self, dtype: DType) -> Split {
        let batches = self.batch.len();
        let tasks = (cost(dtype, self.n, self.m * batches, self.k) / BLOCK_NS) as usize;
        let tasks = tasks.clamp(1, MAX_BLOCKS);
        if batches >= tasks {
            return Split::Columns(batches.div_ceil(tasks) * self.m);
        }
        let parts = tasks.div_ceil(batches).min(BLOCKS_PER_MATRIX.max(self.m / WIDE));
        if self.m >= self.n || self.m >= NARROW * parts {
            Split::Columns(self.m.div_ceil(parts).next_multiple_of(TILE))
        } else {
            Split::Rows(self.n.div_ceil(parts).next_multiple_of(TILE))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Split {
    Columns(usize),
    Rows(usize),
}

/// Element types that products compute in.
trait Number: Real {
    /// `c = a b`, `dims` being rows and columns of `c` and the number of terms; strides as in [`gemm`].
    fn gemm(dims: [usize; 3], a: &[Self], sa: [usize; 2], b: &[Self], sb: [usize; 2], c: &mut [Self], sc: [usize; 2]);
}

impl Number for f32 {
    fn gemm(
        [n, m, k]: [usize; 3],
        a: &[f32],
        sa: [usize; 2],
        b: &[f32],
        sb: [usize; 2],
        c: &mut [f32],
        sc: [usize; 2],
    ) {
        gemm::gemm_f32(n, m, k, 1.0, a, sa[0], sa[1], b, sb[0], sb[1], 0.0, c, sc[0], sc[1]);
    }
}

impl Number for f64 {
    fn gemm(
        [n, m, k]: [usize; 3],
        a: &[f64],
        sa: [usize; 2],
        b: &[f64],
        sb: [usize; 2],
        c: &mut [f64],
        sc: [usize; 2],
    ) {
        gemm::gemm_f64(n, m, k, 1.0, a, sa[0], sa[1], b, sb[0], sb[1], 0.0, c, sc[0], sc[1]);
    }
}

/// Computes the product of sources 0 and 1.
pub fn run(p: &Product, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => run_as::<T>(p, call))
}

fn run_as<T: Number>(p: &Product, call: &mut CpuCall<'_>) -> Result<()> {
    let dtype = call.dtype();
    let (a, b) = (call.get::<T>(0)?, call.get::<T>(1)?);
    let y = call.out::<T>(0)?;
    if p.k == 0 {
        y.fill(T::of(0.0));
        return Ok(());
    }
    match p.split(dtype) {
        Split::Columns(block) => by_columns(p, call.pool, block, a, b, y),
        Split::Rows(block) => by_rows(p, call.pool, block, a, b, y),
    }
    Ok(())
}

fn by_columns<T: Number>(p: &Product, pool: &dyn Pool, block: usize, a: &[T], b: &[T], y: &mut [T]) {
    blocks(pool, &mut [(y, p.n)], block, |first, parts| {
        let Some(part) = parts.first_mut() else { return };
        let (mut column, mut rest): (usize, &mut [T]) = (first, part);
        // A block may end in one batch entry and begin in another.
        while !rest.is_empty() {
            let (entry, j) = (column / p.m, column % p.m);
            let columns = (p.m - j).min(rest.len() / p.n);
            let (c, tail) = rest.split_at_mut(columns * p.n);
            let (a_at, b_at) = p.batch.offsets(entry);
            let b = &b[b_at + j * p.b[1]..];
            T::gemm([p.n, columns, p.k], &a[a_at..], p.a, b, p.b, c, [1, p.n]);
            column += columns;
            rest = tail;
        }
    });
}

fn by_rows<T: Number>(p: &Product, pool: &dyn Pool, block: usize, a: &[T], b: &[T], y: &mut [T]) {
    let mut scratch = vec![T::of(0.0); if p.m == 1 { 0 } else { p.n * p.m }];
    for (entry, y) in y.chunks_mut(p.n * p.m).enumerate() {
        let (a_at, b_at) = p.batch.offsets(entry);
        let (a, b) = (&a[a_at..], &b[b_at..]);
        if p.m == 1 {
            row_blocks(p, pool, block, a, b, y);
            continue;
        }
        row_blocks(p, pool, block, a, b, &mut scratch);
        let scratch = &scratch;
        rows(pool, y, p.n, p.n as f64, |first, part| {
            for (c, column) in part.chunks_mut(p.n).enumerate() {
                column.iter_mut().enumerate().for_each(|(i, y)| *y = scratch[i * p.m + first + c]);
            }
        });
    }
}

/// Computes one batch entry with each row of the result contiguous.
fn row_blocks<T: Number>(p: &Product, pool: &dyn Pool, block: usize, a: &[T], b: &[T], out: &mut [T]) {
    blocks(pool, &mut [(out, p.m)], block, |first, parts| {
        let Some(c) = parts.first_mut() else { return };
        T::gemm([c.len() / p.m, p.m, p.k], &a[first * p.a[0]..], p.a, b, p.b, c, [p.m, 1]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desc(ne: &[usize]) -> Desc {
        Desc::new(DType::F32, ne).unwrap()
    }

    #[test]
    fn one_matrix_for_a_batch_becomes_one_wide_product() {
        let p = Product::mul_mat(&desc(&[8, 5]), &desc(&[8, 3, 4, 2])).unwrap();
        assert_eq!((p.m, p.b, p.batch.len()), (24, [1, 8], 1));
        let p = Product::mul_mat(&desc(&[8, 5]), &desc(&[8, 1, 1, 6])).unwrap();
        assert_eq!((p.m, p.b, p.batch.len()), (6, [1, 8], 1));
        let p = Product::mul_mat(&desc(&[8, 5, 2]), &desc(&[8, 3, 4])).unwrap();
        assert_eq!((p.m, p.batch.len()), (3, 4));
        // Groups are consecutive: entries 0 and 1 share the first matrix.
        assert_eq!([0, 1, 2, 3].map(|t| p.batch.offsets(t)), [(0, 0), (0, 24), (40, 48), (40, 72)]);
    }

    #[test]
    fn columns_that_do_not_follow_each_other_stay_a_batch() {
        let mut b = desc(&[8, 3, 4]);
        b.nb[2] += 32;
        let p = Product::mul_mat(&desc(&[8, 5]), &b).unwrap();
        assert_eq!((p.m, p.batch.len()), (3, 4));
    }

    #[test]
    fn blocks_follow_the_shape() {
        let split = |n, m, k| Product::mul_mat(&desc(&[k, n]), &desc(&[k, m])).unwrap().split(DType::F32);
        assert_eq!(split(64, 64, 64), Split::Columns(64));
        assert_eq!(split(2048, 2048, 2048), Split::Columns(256));
        assert_eq!(split(4096, 1, 4096), Split::Rows(512));
        assert_eq!(split(4096, 16, 4096), Split::Rows(512));
        assert_eq!(split(512, 16_384, 512), Split::Columns(512));
        let heads = Product::mul_mat(&desc(&[64, 128, 96]), &desc(&[64, 128, 96])).unwrap();
        assert_eq!(heads.split(DType::F32), Split::Columns(3 * 128));
    }
}
