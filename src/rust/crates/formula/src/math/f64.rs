//! f64 mathematics: the standard library's, apart from what it lacks. This is the reference the f32 code and the
//! shaders are judged by, and the f64 path of the CPU.

#[inline(always)]
pub fn select(condition: bool, a: f64, b: f64) -> f64 {
    if condition { a } else { b }
}

#[inline(always)]
pub fn abs(x: f64) -> f64 {
    x.abs()
}

/// -1, 0 or 1; NaN for NaN.
#[inline(always)]
pub fn sign(x: f64) -> f64 {
    select(x > 0.0, 1.0, select(x < 0.0, -1.0, x))
}

/// 1 for positive x, 0 for zero and negative x; NaN for NaN.
#[inline(always)]
pub fn step(x: f64) -> f64 {
    select(x > 0.0, 1.0, select(x <= 0.0, 0.0, x))
}

/// The smaller; NaN if either is NaN.
#[inline(always)]
pub fn min(a: f64, b: f64) -> f64 {
    select((a < b) | a.is_nan(), a, b)
}

/// The larger; NaN if either is NaN.
#[inline(always)]
pub fn max(a: f64, b: f64) -> f64 {
    select((a > b) | a.is_nan(), a, b)
}

/// NaN for NaN x; the upper bound if the bounds are crossed and x is below both.
#[inline(always)]
pub fn clamp(x: f64, low: f64, high: f64) -> f64 {
    select(x < low, low, select(x > high, high, x))
}

#[inline(always)]
pub fn floor(x: f64) -> f64 {
    x.floor()
}

#[inline(always)]
pub fn ceil(x: f64) -> f64 {
    x.ceil()
}

#[inline(always)]
pub fn trunc(x: f64) -> f64 {
    x.trunc()
}

/// Halves away from zero.
#[inline(always)]
pub fn round(x: f64) -> f64 {
    x.round()
}

#[inline(always)]
pub fn sqrt(x: f64) -> f64 {
    x.sqrt()
}

#[inline(always)]
pub fn exp(x: f64) -> f64 {
    x.exp()
}

#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    x.exp_m1()
}

#[inline(always)]
pub fn log(x: f64) -> f64 {
    x.ln()
}

#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    x.ln_1p()
}

/// 1 / (1 + exp(-x)), without the overflow of exp(-x) for negative x.
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    let z = exp(-abs(x));
    select(x < 0.0, z, 1.0) / (1.0 + z)
}

#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    x.tanh()
}

#[inline(always)]
pub fn sin(x: f64) -> f64 {
    x.sin()
}

#[inline(always)]
pub fn cos(x: f64) -> f64 {
    x.cos()
}

/// Coefficients of erf(x) / x in x^2: 2 / sqrt(pi) * (-1)^n / (n! (2 n + 1)). Abramowitz and Stegun, 7.1.5.
const ERF_SERIES: [f64; 20] = [
    std::f64::consts::FRAC_2_SQRT_PI,
    -0.3761263890318375246,
    0.1128379167095512574,
    -0.02686617064513125176,
    0.005223977625442187842,
    -0.0008548327023450852833,
    0.0001205533298178966425,
    -1.492565035840625098e-5,
    1.64621143658892474e-6,
    -1.636584469123492432e-7,
    1.480719281587921724e-8,
    -1.229055530171792735e-9,
    9.422759064650410971e-11,
    -6.711366855164110378e-12,
    4.463224263286477345e-13,
    -2.783516207210921355e-14,
    1.634261409536715189e-15,
    -9.063970842808672479e-17,
    4.76334804051506812e-18,
    -2.378459885277429425e-19,
];

/// Coefficients of (1 + 2x) exp(x^2) erfc(x) in z, for 1 <= x <= 6.5.
const ERFC_SCALED: [f64; 17] = [
    1.259001431498310594,
    -0.05653837221144365258,
    -0.009786319057257367469,
    0.01346895092100754436,
    -0.006629715755800864002,
    0.002231034818943052646,
    -0.0005583735794609686748,
    0.0001023504682728151208,
    -1.212421747217080996e-5,
    3.879596147633812979e-7,
    1.566127606813271501e-7,
    -2.602669555051070097e-8,
    -5.077370842824161291e-10,
    5.817687444915178172e-10,
    -2.629868046654940749e-11,
    -1.091601470265922416e-11,
    9.285802887300785877e-13,
];

#[inline(always)]
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Power series below 1; above, the Chebyshev expansion of (1 + 2x) exp(x^2) erfc(x) in t = (x - 3.75) / (x + 3.75)
/// after M. M. Shepherd and J. G. Laframboise, Mathematics of Computation 36 (1981) 249-253, recomputed for
/// 1 <= x <= 6.5 (truncation 4e-18).
#[inline]
pub fn erf(x: f64) -> f64 {
    let a = abs(x);
    if a < 1.0 {
        return x * polynomial(&ERF_SERIES, x * x);
    }
    let a = min(a, 6.5);
    // t mapped from [t(1), t(6.5)] to [-1, 1].
    let z = ((a - 3.75) / (a + 3.75) + 0.15532734274711168164) * 2.3606060606060606061;
    let erfc = exp(-a * a) * polynomial(&ERFC_SCALED, z) / (1.0 + 2.0 * a);
    (1.0 - erfc).copysign(x)
}
