//! The two sums that every reduction is made of: over the innermost run of elements, and over a run further out.
//!
//! Elements are added in pieces that depend on the shape only and combined in f64, so that results neither change
//! with the number of threads nor lose digits with length.

use crate::elementwise::real::Real;
use ggmlr_core::pool::{Pool, rows};

/// Nanoseconds for one element on one thread.
const NS: f64 = 0.15;

/// Nanoseconds for the call on one row.
const ROW_NS: f64 = 8.0;

/// Elements added in the arithmetic of the source before their sum joins an f64.
const PIECE: usize = 2048;

/// `y[r] = finish(sum of x[r n .. (r + 1) n])`.
pub fn inner<T: Real>(pool: &dyn Pool, x: &[T], n: usize, y: &mut [T], finish: impl Fn(f64) -> f64 + Sync) {
    if n <= PIECE {
        rows(pool, y, 1, n as f64 * NS + ROW_NS, |first, part| {
            for (i, y) in part.iter_mut().enumerate() {
                let at = (first + i) * n;
                *y = T::of(finish(T::sum(&x[at..at + n])));
            }
        });
        return;
    }
    let per_row = n.div_ceil(PIECE);
    let mut sums = vec![0.0_f64; per_row * y.len()];
    rows(pool, &mut sums, 1, PIECE as f64 * NS, |first, part| {
        for (i, s) in part.iter_mut().enumerate() {
            let (row, piece) = ((first + i) / per_row, (first + i) % per_row);
            let at = row * n + piece * PIECE;
            *s = T::sum(&x[at..(at + PIECE).min((row + 1) * n)]);
        }
    });
    for (y, s) in y.iter_mut().zip(sums.chunks(per_row)) {
        *y = T::of(finish(s.iter().sum()));
    }
}

/// Columns from which on a task gets its own columns instead of its own rows.
const WIDE: usize = 2048;

/// Rows added before their sum joins that of the others.
const TALL: usize = 256;

/// Tasks that rows are split into.
const MAX_PARTS: usize = 16;

/// Elements of a task that are worth one.
const PART: usize = 16_384;

/// `x` is `[n, m, k]`, `y` is `[n, k]`: adds over the middle.
pub fn middle<T: Real>(pool: &dyn Pool, x: &[T], n: usize, m: usize, y: &mut [T]) {
    if y.len() >= WIDE {
        rows(pool, y, 1, m as f64 * NS, |first, mut part| {
            let mut at = first;
            while !part.is_empty() {
                let (outer, column) = (at / n, at % n);
                let (columns, rest) = part.split_at_mut((n - column).min(part.len()));
                add_columns(&x[outer * m * n..(outer + 1) * m * n], n, column, columns);
                at += columns.len();
                part = rest;
            }
        });
        return;
    }
    let parts = (n * m / PART).clamp(1, MAX_PARTS);
    let tall = m.div_ceil(parts);
    let parts = m.div_ceil(tall);
    let mut sums = vec![T::of(0.0); y.len() * parts];
    rows(pool, &mut sums, n, (n * tall) as f64 * NS, |first, part| {
        for (i, sum) in part.chunks_mut(n).enumerate() {
            let (outer, p) = ((first + i) / parts, (first + i) % parts);
            let end = ((p + 1) * tall).min(m);
            add_rows(&x[(outer * m + p * tall) * n..(outer * m + end) * n], sum);
        }
    });
    for (y, s) in y.chunks_mut(n).zip(sums.chunks(n * parts)) {
        fold(s, y);
    }
}

/// `y += x` for as many elements as `x` has.
fn add<T: Real>(y: &mut [T], x: &[T]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += *x);
}

/// `y = sum over rows of x[column ..]`, where `x` has rows of `n`.
fn add_columns<T: Real>(x: &[T], n: usize, column: usize, y: &mut [T]) {
    y.fill(T::of(0.0));
    let mut sum = vec![T::of(0.0); y.len()];
    for rows in x.chunks(TALL * n) {
        sum.fill(T::of(0.0));
        for row in rows.chunks(n) {
            add(&mut sum, &row[column..column + y.len()]);
        }
        add(y, &sum);
    }
}

/// `y = sum over rows of x`. Short rows are added side by side.
fn add_rows<T: Real>(x: &[T], y: &mut [T]) {
    let n = y.len();
    let mut wide = vec![T::of(0.0); n * (PIECE / n).max(1)];
    for x in x.chunks(wide.len()) {
        add(&mut wide, x);
    }
    fold(&wide, y);
}

/// `y = sum over rows of x`, in f64.
fn fold<T: Real>(x: &[T], y: &mut [T]) {
    let n = y.len();
    for (i, y) in y.iter_mut().enumerate() {
        *y = T::of(x[i..].iter().step_by(n).map(|v| v.f64()).sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::Serial;

    /// Sizes on both sides of each threshold, which the table's small shapes do not reach.
    #[test]
    fn sums_in_the_middle_agree_with_a_plain_loop() {
        for (n, m, k) in [(3, 40_000, 1), (700, 300, 1), (2500, 600, 1), (5, 7, 900), (1300, 3, 2), (1, 50_000, 3)] {
            let x: Vec<f32> = (0..n * m * k).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
            let mut y = vec![9.0_f32; n * k];
            middle(&Serial, &x, n, m, &mut y);
            for (i, &got) in y.iter().enumerate() {
                let (outer, column) = (i / n, i % n);
                let want: f64 = (0..m).map(|r| f64::from(x[(outer * m + r) * n + column])).sum();
                assert_eq!(f64::from(got), want, "n {n} m {m} k {k} at {i}");
            }
        }
    }

    #[test]
    fn long_sums_keep_their_digits() {
        let n = 3_000_000;
        let x = vec![0.1_f32; n];
        let mut y = [0.0_f32];
        inner(&Serial, &x, n, &mut y, |s| s);
        let want = f64::from(0.1_f32) * n as f64;
        assert!((f64::from(y[0]) / want - 1.0).abs() < 2e-6, "{}", y[0]);
    }
}
