//! Row operations on every tier, against f64 or exact arithmetic.

use ggmlr_simd::{Tier, reduce, with_tier};

fn samples(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + 13) % 2003) as f32 * 0.011 - 11.0).collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

fn lengths() -> impl Iterator<Item = usize> {
    (0..=67).chain([127, 128, 129, 1000, 1025, 4099])
}

fn on_every_tier(test: impl Fn()) {
    for tier in Tier::available() {
        with_tier(tier, &test);
    }
}

#[track_caller]
fn assert_near(got: f64, right: f64, tolerance: f64, context: impl std::fmt::Display) {
    let same = got == right || (got.is_nan() && right.is_nan());
    assert!(same || (got - right).abs() <= tolerance * right.abs().max(1.0), "{context}: {got}, right {right}");
}

#[test]
fn sums() {
    on_every_tier(|| {
        for n in lengths() {
            let x = samples(n);
            let y: Vec<f32> = x.iter().map(|x| 0.5 - x).collect();
            let (x64, y64) = (wide(&x), wide(&y));
            let sum: f64 = x64.iter().sum();
            let dot: f64 = x64.iter().zip(&y64).map(|(x, y)| x * y).sum();
            let squares: f64 = x64.iter().map(|x| x * x).sum();
            assert_near(reduce::sum_wide(&x), sum, 1e-12, n);
            assert_near(reduce::dot_wide(&x, &y), dot, 1e-12, n);
            assert_near(reduce::sum_sq_wide(&x), squares, 1e-12, n);
            assert_eq!(reduce::sum(&x), reduce::sum_wide(&x) as f32);
            assert_eq!(reduce::dot(&x, &y), reduce::dot_wide(&x, &y) as f32);
            assert_eq!(reduce::sum_sq(&x), reduce::sum_sq_wide(&x) as f32);
            let (mean, var) = reduce::mean_var(&x);
            assert_near(mean, sum / n as f64, 1e-12, n);
            let about: f64 = x64.iter().map(|x| (x - sum / n as f64).powi(2)).sum();
            assert_near(var, about / n as f64, 1e-12, n);
        }
    });
}

#[test]
fn sums_are_the_same_on_every_tier() {
    let (x, y) = (samples(10_007), samples(10_008));
    let results = || {
        let (mean, var) = reduce::mean_var(&x);
        [reduce::sum_wide(&x), reduce::dot_wide(&x, &y[1..]), reduce::sum_sq_wide(&x), mean, var]
    };
    let scalar = with_tier(Tier::Scalar, results);
    for tier in Tier::available() {
        assert_eq!(with_tier(tier, results), scalar, "{tier:?}");
    }
}

#[test]
fn hard_sums_lose_nothing() {
    // Each of many small numbers is below half a unit of the large one.
    let mut x = vec![1e-3f32; 1_000_001];
    x[0] = 1e8;
    let right = 1e8 + 1e6 * f64::from(1e-3f32);
    assert_eq!(reduce::sum(&x), right as f32);
    // Squares beyond the range of f32 on the way to a mean.
    assert_near(reduce::sum_sq_wide(&[1e30; 4]), 4e60, 1e-6, "large squares");
    // A mean far from zero.
    let (mean, var) = reduce::mean_var(&[1e6 - 1.0, 1e6, 1e6 + 1.0, 1e6]);
    assert_eq!((mean, var), (1e6, 0.5));
}

#[test]
fn maxima() {
    on_every_tier(|| {
        assert_eq!(reduce::max(&[]), f32::NEG_INFINITY);
        assert_eq!(reduce::argmax(&[]), None);
        for n in lengths().filter(|n| *n > 0) {
            let mut x = samples(n);
            for at in [0, n / 2, n - 1] {
                let old = std::mem::replace(&mut x[at], 99.0);
                assert_eq!((reduce::max(&x), reduce::argmax(&x)), (99.0, Some(at)), "{n}");
                x[at] = f32::NAN;
                assert!(reduce::max(&x).is_nan(), "{n}");
                assert_eq!(reduce::argmax(&x), Some(at), "{n}");
                x[at] = old;
            }
            assert_eq!(reduce::max(&vec![f32::NEG_INFINITY; n]), f32::NEG_INFINITY);
            assert_eq!(reduce::argmax(&vec![f32::NEG_INFINITY; n]), Some(0));
        }
        assert_eq!(reduce::argmax(&[1.0, 3.0, 3.0, 2.0]), Some(1));
    });
}

#[test]
fn scaled_sums() {
    on_every_tier(|| {
        for n in lengths() {
            let x = samples(n);
            let start: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let mut y = start.clone();
            reduce::axpy(0.3, &x, &mut y);
            assert!((0..n).all(|i| y[i] == start[i] + 0.3 * x[i]));
            let mut y = start.clone();
            reduce::scale_add(0.3, &x, -2.0, &mut y);
            assert!((0..n).all(|i| y[i] == 0.3 * x[i] + -2.0 * start[i]));
            reduce::scale(0.1, &mut y);
            assert!((0..n).all(|i| y[i] == (0.3 * x[i] + -2.0 * start[i]) * 0.1));
        }
    });
}

#[test]
fn softmax_and_relatives() {
    on_every_tier(|| {
        for n in lengths().filter(|n| *n > 0) {
            let x = samples(n);
            let target: Vec<f32> = (0..n).map(|i| (i % 3) as f32).collect();
            let (x64, target64) = (wide(&x), wide(&target));
            for scale in [1.0f32, 0.125, -1.5] {
                let context = format!("{n} at {scale}");
                let (mut y, mut right) = (vec![7.0; n], vec![0.0; n]);
                let (max, log_sum) = reduce::softmax_row(&x, &mut y, scale);
                let (right_max, right_sum) = reduce::softmax_row_f64(&x64, &mut right, f64::from(scale));
                assert_near(max.into(), right_max, 1e-7, &context);
                assert_near(log_sum.into(), right_sum, 2e-7, &context);
                for i in 0..n {
                    // Rounding `x * scale`, up to 16, moves the exponential by as much.
                    assert!((f64::from(y[i]) - right[i]).abs() <= 3e-6 * right[i], "{context} at {i}");
                }
                assert_eq!(reduce::log_sum_exp(&x, scale), (max, log_sum));
                let mut in_place = x.clone();
                let (_, in_place_sum) = reduce::softmax_row_inplace(&mut in_place, scale);
                assert_near(in_place_sum.into(), right_sum, 2e-7, &context);
                assert!((0..n).all(|i| (in_place[i] - y[i]).abs() <= 1e-6 * y[i]), "{context}");
                let (mut dx, mut right_dx) = (vec![7.0; n], vec![0.0; n]);
                reduce::softmax_back_row(&y, &target, &mut dx, scale);
                reduce::softmax_back_row_f64(&wide(&y), &target64, &mut right_dx, scale.into());
                assert!((0..n).all(|i| (f64::from(dx[i]) - right_dx[i]).abs() < 2e-6), "{context}");
            }
            let (mut y, mut right) = (vec![7.0; n], vec![0.0; n]);
            reduce::log_softmax_row(&x, &mut y);
            let log_sum = reduce::log_softmax_row_f64(&x64, &mut right);
            for i in 0..n {
                assert_near(y[i].into(), right[i], 2e-6, n);
                assert_near(right[i], x64[i] - log_sum, 1e-15, n);
            }
            let loss = reduce::log_softmax_dot(&x, &target);
            assert_near(loss, reduce::log_softmax_dot_f64(&x64, &target64), 1e-6, n);
            let (mut dx, mut right_dx) = (vec![7.0; n], vec![0.0; n]);
            reduce::cross_entropy_back_row(&x, &target, &mut dx, 0.5);
            reduce::cross_entropy_back_row_f64(&x64, &target64, &mut right_dx, 0.5);
            for i in 0..n {
                assert_near(dx[i].into(), right_dx[i], 1e-6, n);
            }
        }
    });
}

#[test]
fn softmax_f64_is_the_definition() {
    let x = [0.3f64, -2.0, 1.7, 0.0];
    let mut y = [0.0; 4];
    let (max, log_sum) = reduce::softmax_row_f64(&x, &mut y, 2.0);
    let sum: f64 = x.iter().map(|x| (2.0 * x).exp()).sum();
    assert_eq!(max, 3.4);
    assert_near(log_sum, sum.ln(), 1e-15, "log-sum-exp");
    for (x, y) in x.iter().zip(y) {
        assert_near(y, (2.0 * x).exp() / sum, 1e-15, x);
    }
    // The gradient of the cross entropy by central differences.
    let target = [0.25, 0.5, 0.0, 1.0];
    let loss = |x: &[f64]| -reduce::log_softmax_dot_f64(x, &target);
    let mut dx = [0.0; 4];
    reduce::cross_entropy_back_row_f64(&x, &target, &mut dx, 1.0);
    for i in 0..4 {
        let moved = |h: f64| {
            let mut x = x;
            x[i] += h;
            loss(&x)
        };
        assert_near(dx[i], (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-9, i);
    }
}

#[test]
fn masked_rows() {
    on_every_tier(|| {
        let masked = [f32::NEG_INFINITY; 70];
        let mut y = [7.0; 70];
        let nothing = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        assert_eq!(reduce::softmax_row(&masked, &mut y, 0.5), nothing);
        assert_eq!(y, [0.0; 70]);
        assert_eq!(reduce::log_sum_exp(&masked, 1.0), nothing);
        assert_eq!(reduce::softmax_row(&[], &mut [], 1.0), nothing);
        let mut in_place = masked;
        assert_eq!(reduce::softmax_row_inplace(&mut in_place, 1.0), nothing);
        assert_eq!(in_place, [0.0; 70]);
        let mut x = masked;
        (x[3], x[69]) = (-5.0, -5.0);
        reduce::softmax_row(&x, &mut y, 1.0);
        assert!(y.iter().enumerate().all(|(i, y)| *y == if i == 3 || i == 69 { 0.5 } else { 0.0 }));
        // A target of 0 at a masked place costs nothing.
        let mut target = [0.0; 70];
        target[3] = 1.0;
        assert_near(reduce::log_softmax_dot(&x, &target), -(2f64.ln()), 1e-6, "masked");
        x[5] = f32::NAN;
        reduce::softmax_row(&x, &mut y, 1.0);
        assert!(y.iter().all(|y| y.is_nan()));
    });
}

#[test]
fn large_logits_do_not_overflow() {
    on_every_tier(|| {
        let x = [1e4f32, 1e4 - 1.0, -1e4];
        let mut y = [0.0; 3];
        let (max, log_sum) = reduce::softmax_row(&x, &mut y, 1.0);
        assert_eq!(max, 1e4);
        assert_near(log_sum.into(), 1e4 + (-1f64).exp().ln_1p(), 1e-7, "log-sum-exp");
        assert_near(y[0].into(), 1.0 / (1.0 + (-1f64).exp()), 1e-7, "first");
        assert_eq!(y[2], 0.0);
    });
}

#[test]
fn f64_forms() {
    let x: Vec<f64> = wide(&samples(67));
    let sum: f64 = x.iter().sum();
    assert_near(reduce::sum_f64(&x), sum, 1e-14, "sum");
    assert_near(reduce::sum_sq_f64(&x), reduce::dot_f64(&x, &x), 1e-15, "squares");
    assert_near(reduce::mean_var_f64(&x).0, sum / 67.0, 1e-14, "mean");
    assert_near(reduce::mean_var_f64(&[1.0, 2.0, 3.0, 6.0]).1, 3.5, 1e-15, "variance");
    assert!(reduce::max_f64(&[1.0, f64::NAN, 3.0]).is_nan());
    assert_eq!(reduce::argmax_f64(&[1.0, 5.0, 5.0]), Some(1));
    let mut y = vec![1.0; 67];
    reduce::axpy_f64(2.0, &x, &mut y);
    reduce::scale_add_f64(1.0, &x, 0.5, &mut y);
    reduce::scale_f64(2.0, &mut y);
    assert!((0..67).all(|i| y[i] == 2.0 * (x[i] + 0.5 * (1.0 + 2.0 * x[i]))));
    let mut in_place = [f64::NEG_INFINITY; 3];
    assert_eq!(reduce::softmax_row_inplace_f64(&mut in_place, 1.0).0, f64::NEG_INFINITY);
    assert_eq!(in_place, [0.0; 3]);
    assert_eq!(reduce::log_sum_exp_f64(&[0.0, 0.0], 3.0).1, 2f64.ln());
}
