//! Matrix products `c = alpha * a b + beta * c` over strided matrices, on the thread that calls.
//!
//! The inner kernels are those of the `gemm` crate, which chooses its instructions by itself: `GGMLR_SIMD` doesn't reach it.
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
            if k > 0 && n <= skinny::MOST_COLUMNS && a.column == 1 && b.row == 1 {
                skinny::product::<$T, $lanes>([m, n, k], alpha, a, b, beta, c);
                return;
            }
            if k > 0 && m <= skinny::MOST_COLUMNS && a.column == 1 && b.row == 1 {
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
    /// As [`gemm_f32`].
    gemm_f64,
    run_f64,
    f64,
    8,
    gemm_f64::gemm::f64::get_gemm_fn
);
