//! Matrix products `c = alpha * a b + beta * c` over strided matrices, on the thread that calls.
//!
//! Most are left to the kernels of the `gemm` crate, which chooses its instructions by itself: `GGMLR_SIMD` doesn't reach it.
//! A caller that works in parallel gives each call a block of `c`; the result of a block depends on nothing but the block.

mod skinny;

use gemm_common::Parallelism;

/// An operand: element (i, j) is at `i * row + j * column`.
struct Matrix<'a, T> {
    data: &'a [T],
    row: usize,
    column: usize,
}

impl<T> Matrix<'_, T> {
    fn transposed(self) -> Self {
        Matrix { row: self.column, column: self.row, ..self }
    }
}

/// The result, laid out like an operand.
struct MatrixMut<'a, T> {
    data: &'a mut [T],
    row: usize,
    column: usize,
}

/// Whether all elements of a matrix lie in `length`.
fn fits(length: usize, rows: usize, columns: usize, row: usize, column: usize) -> bool {
    if rows == 0 || columns == 0 {
        return true;
    }
    let last_row = (rows - 1).checked_mul(row);
    let last_column = (columns - 1).checked_mul(column);
    match (last_row, last_column) {
        (Some(i), Some(j)) => i.checked_add(j).is_some_and(|last| last < length),
        _ => false,
    }
}

macro_rules! define_gemm {
    ($(#[$doc:meta])* $name:ident, $run:ident, $T:ident, $lanes:literal, $kernel:path) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        pub fn $name(
            m: usize,
            n: usize,
            k: usize,
            alpha: $T,
            a: &[$T],
            a_rs: usize,
            a_cs: usize,
            b: &[$T],
            b_rs: usize,
            b_cs: usize,
            beta: $T,
            c: &mut [$T],
            c_rs: usize,
            c_cs: usize,
        ) {
            let a = Matrix { data: a, row: a_rs, column: a_cs };
            let b = Matrix { data: b, row: b_rs, column: b_cs };
            if c_cs < c_rs {
                // The kernels want columns of `c` to be contiguous: the transposed product.
                let c = MatrixMut { data: c, row: c_cs, column: c_rs };
                $run([n, m, k], alpha, b.transposed(), a.transposed(), beta, c);
            } else {
                let c = MatrixMut { data: c, row: c_rs, column: c_cs };
                $run([m, n, k], alpha, a, b, beta, c);
            }
        }

        fn $run(
            [m, n, k]: [usize; 3],
            alpha: $T,
            a: Matrix<'_, $T>,
            b: Matrix<'_, $T>,
            beta: $T,
            c: MatrixMut<'_, $T>,
        ) {
            assert!(fits(c.data.len(), m, n, c.row, c.column), "c is too short for {m} x {n}");
            assert!(fits(a.data.len(), m, k, a.row, a.column), "a is too short for {m} x {k}");
            assert!(fits(b.data.len(), k, n, b.row, b.column), "b is too short for {k} x {n}");
            if a.column == 1 && b.row == 1 && skinny::is_faster(n, k) {
                skinny::product::<$T, $lanes>([m, n, k], alpha, a, b, beta, c);
                return;
            }
            if a.column == 1 && b.row == 1 && skinny::is_faster(m, k) {
                let c = MatrixMut { data: c.data, row: c.column, column: c.row };
                skinny::product::<$T, $lanes>([n, m, k], alpha, b.transposed(), a.transposed(), beta, c);
                return;
            }
            let kernel = $kernel();
            // SAFETY: `fits` has shown that the strides lead to elements of the slices, and a slice has fewer than
            // isize::MAX elements, so that no stride in use is changed by the casts. `c` is borrowed mutably, hence
            // overlaps neither `a` nor `b`. It is initialised, so that reading it is sound for any `beta`.
            unsafe {
                kernel(
                    m,
                    n,
                    k,
                    c.data.as_mut_ptr(),
                    c.column as isize,
                    c.row as isize,
                    beta != 0.0,
                    a.data.as_ptr(),
                    a.column as isize,
                    a.row as isize,
                    b.data.as_ptr(),
                    b.column as isize,
                    b.row as isize,
                    beta,
                    alpha,
                    false,
                    false,
                    false,
                    Parallelism::None,
                );
            }
        }
    };
}

define_gemm!(
    /// `c = alpha * a b + beta * c` with `a` m x k, `b` k x n, `c` m x n. Element (i, j) of a matrix is at `i * rs + j * cs`.
    /// `c` is not read if `beta` is 0. Panics if an element lies outside its slice.
    gemm_f32,
    run_f32,
    f32,
    16,
    gemm_f32::gemm::f32::get_gemm_fn
);

define_gemm!(
    /// As `gemm_f32`.
    gemm_f64,
    run_f64,
    f64,
    8,
    gemm_f64::gemm::f64::get_gemm_fn
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Tier, with_tier};

    /// Numbers with few digits, so that sums are exact in any order and results can be compared with `==`.
    fn small(i: usize) -> f32 {
        ((i * 7 + 3) % 11) as f32 - 5.0
    }

    /// Strides of a rows x columns matrix: contiguous columns, contiguous rows, gaps in both.
    fn layouts(rows: usize, columns: usize) -> [(usize, usize); 3] {
        [(1, rows.max(1)), (columns.max(1), 1), (2, 2 * rows + 3)]
    }

    fn filled(rows: usize, columns: usize, (row, column): (usize, usize)) -> Vec<f32> {
        let length = if rows * columns == 0 { 0 } else { (rows - 1) * row + (columns - 1) * column + 1 };
        (0..length).map(small).collect()
    }

    fn check([m, n, k]: [usize; 3], alpha: f32, beta: f32) {
        for a_layout in layouts(m, k) {
            for b_layout in layouts(k, n) {
                for c_layout in layouts(m, n) {
                    let a = filled(m, k, a_layout);
                    let b = filled(k, n, b_layout);
                    let before = filled(m, n, c_layout);
                    let mut c = before.clone();
                    let mut wide = before.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
                    let to_f64 = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
                    let ((ar, ac), (br, bc), (cr, cc)) = (a_layout, b_layout, c_layout);
                    gemm_f32(m, n, k, alpha, &a, ar, ac, &b, br, bc, beta, &mut c, cr, cc);
                    let (a64, b64) = (to_f64(&a), to_f64(&b));
                    let (alpha64, beta64) = (f64::from(alpha), f64::from(beta));
                    gemm_f64(m, n, k, alpha64, &a64, ar, ac, &b64, br, bc, beta64, &mut wide, cr, cc);
                    let mut expected = before;
                    for i in 0..m {
                        for j in 0..n {
                            let sum: f32 = (0..k).map(|l| a[i * ar + l * ac] * b[l * br + j * bc]).sum();
                            let c = &mut expected[i * cr + j * cc];
                            *c = beta * *c + alpha * sum;
                        }
                    }
                    let context = format!("{m} x {n} x {k}, {a_layout:?} {b_layout:?} {c_layout:?}");
                    assert_eq!(c, expected, "{context}");
                    assert_eq!(wide, to_f64(&expected), "{context}");
                }
            }
        }
    }

    #[test]
    fn sizes_layouts_and_factors() {
        let sizes = [
            [1, 1, 1],
            [5, 7, 3],
            [17, 1, 40],
            [1, 9, 33],
            [19, 33, 65],
            [70, 3, 35],
            [4, 50, 37],
            [7, 6, 300],
            [5, 20, 1030],
        ];
        for size in sizes {
            check(size, 1.0, 0.0);
            check(size, -0.5, 1.0);
            check(size, 2.0, 0.25);
        }
    }

    #[test]
    fn dot_products_on_every_tier() {
        for tier in Tier::available() {
            with_tier(tier, || (1..=18).for_each(|n| check([5, n, 261], 1.0, 0.0)));
        }
    }

    #[test]
    fn empty_extents() {
        for beta in [0.0, 1.0, 0.5] {
            check([0, 3, 2], 1.0, beta);
            check([3, 0, 2], 1.0, beta);
            check([3, 2, 0], 1.0, beta);
            check([0, 0, 0], 1.0, beta);
        }
    }

    #[test]
    fn old_values_are_not_read_if_beta_is_zero() {
        for [m, n, k] in [[3, 4, 5], [3, 1, 5], [40, 2, 64], [33, 40, 20], [3, 4, 0]] {
            let (a, b) = (vec![1.0f32; m * k], vec![1.0f32; k * n]);
            let mut c = vec![f32::NAN; m * n];
            gemm_f32(m, n, k, 1.0, &a, k.max(1), 1, &b, 1, k.max(1), 0.0, &mut c, 1, m);
            assert!(c.iter().all(|c| *c == k as f32), "{m} x {n} x {k}");
        }
    }

    #[test]
    #[should_panic(expected = "b is too short")]
    fn operands_that_are_too_short_panic() {
        let mut c = [0.0; 4];
        gemm_f32(2, 2, 2, 1.0, &[1.0; 4], 1, 2, &[1.0; 3], 1, 2, 0.0, &mut c, 1, 2);
    }

    #[test]
    #[should_panic(expected = "c is too short")]
    fn strides_that_overflow_panic() {
        let mut c = [0.0; 4];
        gemm_f32(2, 2, 2, 1.0, &[1.0; 4], 1, 2, &[1.0; 4], 1, 2, 0.0, &mut c, usize::MAX, usize::MAX);
    }
}
