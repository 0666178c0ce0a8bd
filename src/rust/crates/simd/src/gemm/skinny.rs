//! Products of a matrix with few vectors, as dot products.
//!
//! The kernels of the `gemm` crate rearrange both operands first, which for few columns is most of the work: with rows of
//! `a` contiguous, two columns took them four times as long as one (1024 x 1024, measured).

use super::{Matrix, MatrixMut};
use crate::isa::{Kernel, dispatch};

/// Whether dot products of length `k` beat the general kernels for `columns` columns. One column has a kernel of its own.
pub(super) fn is_faster(columns: usize, k: usize) -> bool {
    match columns {
        2..=4 => k >= 32,
        5..=16 => k >= 256,
        17..=32 => k >= 1024,
        _ => false,
    }
}

/// Shape of the tiles of `c`: their running sums and what is multiplied fit the 16 vector registers of AVX2.
const ROWS: usize = 3;
const COLUMNS: usize = 2;

/// An element type of the dot products, computed in `L` lanes.
pub(super) trait Real:
    Copy + Default + PartialEq + std::ops::Mul<Output = Self> + std::ops::Add<Output = Self>
{
    /// `self * b + c`. Has to be `#[inline(always)]`.
    fn multiply_add<const FUSED: bool>(self, b: Self, c: Self) -> Self;
}

macro_rules! real {
    ($T:ident) => {
        impl Real for $T {
            #[inline(always)]
            fn multiply_add<const FUSED: bool>(self, b: $T, c: $T) -> $T {
                if FUSED { self.mul_add(b, c) } else { self * b + c }
            }
        }
    };
}

real!(f32);
real!(f64);

/// `c = alpha * a b + beta * c`, where rows of `a` and columns of `b` are contiguous. The operands fit their slices.
pub(super) fn product<T: Real, const L: usize>(
    size: [usize; 3],
    alpha: T,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    beta: T,
    c: MatrixMut<'_, T>,
) {
    dispatch(Product::<T, L> { size, alpha, a, b, beta, c });
}

struct Product<'a, T, const L: usize> {
    size: [usize; 3],
    alpha: T,
    a: Matrix<'a, T>,
    b: Matrix<'a, T>,
    beta: T,
    c: MatrixMut<'a, T>,
}

impl<T: Real, const L: usize> Kernel for Product<'_, T, L> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        let [m, _, _] = self.size;
        for i in (0..m / ROWS).map(|i| i * ROWS) {
            self.rows::<ROWS, FUSED>(i);
        }
        for i in m / ROWS * ROWS..m {
            self.rows::<1, FUSED>(i);
        }
    }
}

impl<T: Real, const L: usize> Product<'_, T, L> {
    /// `R` rows of `c` from `i` on.
    #[inline(always)]
    fn rows<const R: usize, const FUSED: bool>(&mut self, i: usize) {
        let n = self.size[1];
        for j in (0..n / COLUMNS).map(|j| j * COLUMNS) {
            self.tile::<R, COLUMNS, FUSED>(i, j);
        }
        for j in n / COLUMNS * COLUMNS..n {
            self.tile::<R, 1, FUSED>(i, j);
        }
    }

    /// `R` x `C` elements of `c` from (`i`, `j`) on.
    #[inline(always)]
    fn tile<const R: usize, const C: usize, const FUSED: bool>(&mut self, i: usize, j: usize) {
        let k = self.size[2];
        let mut rows = [&self.a.data[..0]; R];
        for r in 0..R {
            rows[r] = &self.a.data[(i + r) * self.a.row..][..k];
        }
        let mut columns = [&self.b.data[..0]; C];
        for s in 0..C {
            columns[s] = &self.b.data[(j + s) * self.b.column..][..k];
        }
        let dots = dots::<T, R, C, L, FUSED>(rows, columns);
        for r in 0..R {
            for s in 0..C {
                let c = &mut self.c.data[(i + r) * self.c.row + (j + s) * self.c.column];
                let new = self.alpha * dots[r][s];
                *c = if self.beta == T::default() { new } else { self.beta * *c + new };
            }
        }
    }
}

/// Sums that run side by side.
#[derive(Clone, Copy)]
struct Lanes<T, const L: usize>([T; L]);

impl<T: Real, const L: usize> Lanes<T, L> {
    #[inline(always)]
    fn add_product<const FUSED: bool>(self, a: &[T; L], b: &[T; L]) -> Self {
        let mut sums = self.0;
        for lane in 0..L {
            sums[lane] = a[lane].multiply_add::<FUSED>(b[lane], sums[lane]);
        }
        Lanes(sums)
    }

    #[inline(always)]
    fn total(mut self) -> T {
        let mut width = L / 2;
        while width > 0 {
            for lane in 0..width {
                self.0[lane] = self.0[lane] + self.0[lane + width];
            }
            width /= 2;
        }
        self.0[0]
    }
}

#[inline(always)]
fn dots<T: Real, const R: usize, const C: usize, const L: usize, const FUSED: bool>(
    rows: [&[T]; R],
    columns: [&[T]; C],
) -> [[T; C]; R] {
    let rows = rows.map(|row| row.as_chunks::<L>());
    let columns = columns.map(|column| column.as_chunks::<L>());
    let mut sums = [[Lanes([T::default(); L]); C]; R];
    for block in 0..rows[0].0.len() {
        for r in 0..R {
            for s in 0..C {
                sums[r][s] = sums[r][s].add_product::<FUSED>(&rows[r].0[block], &columns[s].0[block]);
            }
        }
    }
    let rest = rows[0].1.len();
    if rest > 0 {
        for r in 0..R {
            let mut row = [T::default(); L];
            row[..rest].copy_from_slice(rows[r].1);
            for s in 0..C {
                let mut column = [T::default(); L];
                column[..rest].copy_from_slice(columns[s].1);
                sums[r][s] = sums[r][s].add_product::<FUSED>(&row, &column);
            }
        }
    }
    sums.map(|row| row.map(Lanes::total))
}
