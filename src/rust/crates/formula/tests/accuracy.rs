//! The f32 functions and formulas against f64.

use ggmlr_formula::math::{f64 as exact, fused, plain};
use ggmlr_formula::{BinaryId, Fused, GluId, UnaryId, UnaryRow, with_unary_row};

/// Distance in units in the last place of the f32 nearest to `right`.
fn ulps(got: f32, right: f64) -> f64 {
    if got == right as f32 || (got.is_nan() && right.is_nan()) {
        return 0.0;
    }
    let exponent = (((right.abs().to_bits() >> 52) as i32) - 1023).clamp(-126, 127);
    (f64::from(got) - right).abs() / 2f64.powi(exponent - 23)
}

/// Every `stride`-th f32 bit pattern of both signs, with Inf.
fn floats(stride: usize) -> impl Iterator<Item = f32> {
    let positive = (0..=f32::INFINITY.to_bits()).step_by(stride).chain([f32::INFINITY.to_bits()]);
    positive.flat_map(|bits| [f32::from_bits(bits), -f32::from_bits(bits)])
}

/// The `fused` functions only run fast where the test is compiled with FMA, hence the wider stride.
#[cfg(not(miri))]
const STRIDES: (usize, usize) = (1009, 50_021);
#[cfg(miri)]
const STRIDES: (usize, usize) = (20_000_003, 20_000_003);

#[track_caller]
fn check(limit: f64, range: f32, f: fn(f32) -> f32, fused: fn(f32) -> f32, g: fn(f64) -> f64) {
    let plain = floats(STRIDES.0).map(|x| (x, f(x)));
    let fused = floats(STRIDES.1).map(|x| (x, fused(x)));
    for (x, y) in plain.chain(fused).filter(|(x, _)| x.abs() <= range) {
        let error = ulps(y, g(f64::from(x)));
        assert!(error <= limit, "f({x:e}) = {y:e}, right {:e}: {error} ulp", g(f64::from(x)));
    }
}

#[test]
fn functions_are_good_to_two_ulps() {
    let all = f32::INFINITY;
    check(1.1, all, plain::exp, fused::exp, exact::exp);
    check(1.7, all, plain::expm1, fused::expm1, exact::expm1);
    check(1.0, all, plain::log, fused::log, exact::log);
    check(1.6, all, plain::log1p, fused::log1p, exact::log1p);
    check(2.0, all, plain::sigmoid, fused::sigmoid, exact::sigmoid);
    check(2.0, all, plain::tanh, fused::tanh, exact::tanh);
    check(1.5, all, plain::erf, fused::erf, exact::erf);
    check(1.7, 1e6, plain::sin, fused::sin, exact::sin);
    check(1.7, 1e6, plain::cos, fused::cos, exact::cos);
}

#[test]
fn huge_angles_stay_in_range_and_infinite_ones_are_nan() {
    for x in floats(100_003).filter(|x| x.is_finite()) {
        assert!(plain::sin(x).abs() <= 1.0 && plain::cos(x).abs() <= 1.0, "{x:e}");
    }
    assert!(plain::sin(f32::INFINITY).is_nan() && plain::cos(f32::NEG_INFINITY).is_nan());
}

#[test]
fn tails_and_special_values_are_exact() {
    assert_eq!(plain::exp(-100.0), 3.8e-44);
    assert_eq!(plain::sigmoid(-100.0), 3.8e-44);
    assert_eq!(plain::exp(88.72), 3.393_180_6e38);
    assert_eq!(plain::exp(89.0), f32::INFINITY);
    assert_eq!(plain::exp(f32::NEG_INFINITY), 0.0);
    assert_eq!(plain::log(f32::from_bits(1)), -103.278_93);
    assert_eq!(plain::log(0.0), f32::NEG_INFINITY);
    assert_eq!(plain::log(-0.0), f32::NEG_INFINITY);
    assert!(plain::log(-1.0).is_nan() && plain::sqrt(-1.0).is_nan());
    assert!(plain::expm1(-0.0).is_sign_negative() && plain::tanh(-0.0).is_sign_negative());
}

/// Reference values of erf by mpmath.
#[test]
fn erf_in_f64_is_good_to_1e_15() {
    let values = [
        (1e-10, 1.128_379_167_095_512_6e-10),
        (0.1, 0.112_462_916_018_284_9),
        (0.5, 0.520_499_877_813_046_5),
        (0.999_999_9, 0.842_700_751_438_961),
        (1.0, 0.842_700_792_949_714_9),
        (1.5, 0.966_105_146_475_310_7),
        (2.5, 0.999_593_047_982_555),
        (5.0, 0.999_999_999_998_462_6),
        (6.4, 1.0),
        (f64::INFINITY, 1.0),
    ];
    for (x, right) in values {
        assert!((exact::erf(x) - right).abs() <= 1e-15 * right, "erf({x})");
        assert_eq!(exact::erf(-x), -exact::erf(x));
    }
    assert!(exact::erf(f64::NAN).is_nan());
}

/// Parameters that suit every row: a slope, bounds, a factor and a bias.
const P32: [f32; 2] = [-0.25, 0.5];
const P64: [f64; 2] = [-0.25, 0.5];

/// Samples of both signs around the kinks and out to where everything has saturated.
fn samples() -> impl Iterator<Item = f32> {
    (-4000..=4000).map(|i| i as f32 * 0.01 + 0.001)
}

/// Close in the sense of a formula that adds and cancels: relative to the value or to 1, whichever is larger.
fn close(got: f32, right: f64, tolerance: f64) -> bool {
    (f64::from(got) - right).abs() <= tolerance * right.abs().max(1.0)
}

#[test]
fn unary_rows_agree_with_f64() {
    for &id in UnaryId::ALL {
        for x in samples().filter(|x| *x > 0.0 || !matches!(id, UnaryId::Sqrt | UnaryId::Log)) {
            let right = id.f64(f64::from(x), P64);
            let y = id.f32(x, P32);
            assert!(close(y, right, 1e-6), "{id:?}({x}) = {y}, right {right}");
            let fused = with_unary_row!(id, R => <R as UnaryRow<Fused>>::value(x, P32));
            assert!(close(fused, right, 1e-6), "fused {id:?}({x}) = {fused}, right {right}");
            let right = id.df64(f64::from(x), right, P64);
            let slope = id.df32(x, y, P32);
            assert!(close(slope, right, 2e-6), "{id:?}'({x}) = {slope}, right {right}");
        }
    }
}

#[test]
fn glu_rows_agree_with_f64() {
    for &id in GluId::ALL {
        for x in samples().step_by(7) {
            for g in [-9.3f32, -0.7, 0.4, 6.9, 7.5] {
                let (wide_x, wide_g) = (f64::from(x), f64::from(g));
                let (dx, dg) = id.df32(x, g);
                let (right_dx, right_dg) = id.df64(wide_x, wide_g);
                assert!(close(id.f32(x, g), id.f64(wide_x, wide_g), 2e-6), "{id:?}({x}, {g})");
                assert!(close(dx, right_dx, 2e-5), "{id:?} by x ({x}, {g}): {dx} {right_dx}");
                assert!(close(dg, right_dg, 2e-6), "{id:?} by g ({x}, {g}): {dg} {right_dg}");
            }
        }
    }
}

#[test]
fn binary_rows_agree_with_f64() {
    for &id in BinaryId::ALL {
        let (a, b) = (1.75f32, -0.5f32);
        let y = id.f32(a, b);
        assert_eq!(y, id.f64(1.75, -0.5) as f32);
        let (da, db) = id.df64(1.75, -0.5, id.f64(1.75, -0.5));
        assert_eq!(id.df32(a, b, y), (da as f32, db as f32));
    }
}
