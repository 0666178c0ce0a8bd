//! Products of a matrix with few vectors, as dot products.
//!
//! The kernels of the `gemm` crate rearrange both operands first, which for few columns is most of the work: with rows of
//! `a` contiguous they reach a quarter of the speed of a matrix-vector product at two columns.

use super::{Matrix, MatrixMut};
use crate::isa::{Kernel, dispatch};

/// Up to so many columns dot products are faster.
pub(super) const MOST_COLUMNS: usize = 16;

/// An element type of the dot products, computed in `L` lanes.
pub(super) trait Real: Copy + Default + PartialEq + std::ops::Mul<Output = Self> + std::ops::Add<Output = Self> {
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
        let [m, n, _] = self.size;
        for i in (0..m - m % 2).step_by(2) {
            for j in (0..n - n % 2).step_by(2) {
                self.tile::<2, 2, FUSED>(i, j);
            }
            if n % 2 == 1 {
                self.tile::<2, 1, FUSED>(i, n - 1);
            }
        }
        if m % 2 == 1 {
            for j in 0..n {
                self.tile::<1, 1, FUSED>(m - 1, j);
            }
        }
    }
}

impl<T: Real, const L: usize> Product<'_, T, L> {
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

#[inline(always)]
fn dots<T: Real, const R: usize, const C: usize, const L: usize, const FUSED: bool>(
    rows: [&[T]; R],
    columns: [&[T]; C],
) -> [[T; C]; R] {
    let rows = rows.map(|row| row.as_chunks::<L>());
    let columns = columns.map(|column| column.as_chunks::<L>());
    let mut sums = [[[T::default(); L]; C]; R];
    for block in 0..rows[0].0.len() {
        for r in 0..R {
            for s in 0..C {
                for lane in 0..L {
                    let product = &mut sums[r][s][lane];
                    *product = rows[r].0[block][lane].multiply_add::<FUSED>(columns[s].0[block][lane], *product);
                }
            }
        }
    }
    let mut dots = [[T::default(); C]; R];
    for r in 0..R {
        for s in 0..C {
            for lane in 0..rows[r].1.len() {
                let product = &mut sums[r][s][lane];
                *product = rows[r].1[lane].multiply_add::<FUSED>(columns[s].1[lane], *product);
            }
            let mut width = L / 2;
            while width > 0 {
                for lane in 0..width {
                    sums[r][s][lane] = sums[r][s][lane] + sums[r][s][lane + width];
                }
                width /= 2;
            }
            dots[r][s] = sums[r][s][0];
        }
    }
    dots
}
