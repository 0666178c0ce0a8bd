// f32 mathematics without branches, table look-ups or saturating float-to-int casts, so that a loop over it becomes
// vector code under any `#[target_feature]`. Conditions are `select`s, rounding to an integer adds and subtracts 1.5 * 2^23.
// Polynomials are minimax fits (Remez, 50 digits) of the expressions in the comments. Expects `fma` in scope.

/// Adding this leaves the nearest integer in the low bits of the sum (|x| < 2^22).
const ROUND: f32 = 12_582_912.0;
const LN_2_HI: f32 = 0.693_359_375;
const LN_2_LO: f32 = -2.121_944_4e-4;

#[inline(always)]
pub fn select(condition: bool, a: f32, b: f32) -> f32 {
    if condition { a } else { b }
}

#[inline(always)]
pub fn abs(x: f32) -> f32 {
    x.abs()
}

/// -1, 0 or 1; NaN for NaN.
#[inline(always)]
pub fn sign(x: f32) -> f32 {
    select(x > 0.0, 1.0, select(x < 0.0, -1.0, x))
}

/// 1 for positive x, 0 for zero and negative x; NaN for NaN.
#[inline(always)]
pub fn step(x: f32) -> f32 {
    select(x > 0.0, 1.0, select(x <= 0.0, 0.0, x))
}

/// The smaller; NaN if either is NaN.
#[inline(always)]
pub fn min(a: f32, b: f32) -> f32 {
    select((a < b) | a.is_nan(), a, b)
}

/// The larger; NaN if either is NaN.
#[inline(always)]
pub fn max(a: f32, b: f32) -> f32 {
    select((a > b) | a.is_nan(), a, b)
}

/// NaN for NaN x; the upper bound if the bounds are crossed and x is below both.
#[inline(always)]
pub fn clamp(x: f32, low: f32, high: f32) -> f32 {
    select(x < low, low, select(x > high, high, x))
}

#[inline(always)]
pub fn floor(x: f32) -> f32 {
    x.floor()
}

#[inline(always)]
pub fn ceil(x: f32) -> f32 {
    x.ceil()
}

#[inline(always)]
pub fn trunc(x: f32) -> f32 {
    x.trunc()
}

/// Halves away from zero.
#[inline(always)]
pub fn round(x: f32) -> f32 {
    x.round()
}

#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    x.sqrt()
}

/// 2^n for -126 <= n <= 127.
#[inline(always)]
fn pow2(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

/// x = n ln 2 + r with |r| <= ln(2) / 2; returns n and exp(r) - 1.
#[inline(always)]
fn exp_parts(x: f32) -> (i32, f32) {
    let shifted = fma(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma(n, -LN_2_LO, fma(n, -LN_2_HI, x));
    // (exp(r) - 1 - r) / r^2
    let q = fma(1.991_487_6e-4, r, 1.394_152e-3);
    let q = fma(q, r, 8.333_272e-3);
    let q = fma(q, r, 4.166_634_8e-2);
    let q = fma(q, r, 1.666_666_7e-1);
    let q = fma(q, r, 0.5);
    let k = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    (k, fma(q * r, r, r))
}

#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Beyond the bounds the result is Inf or 0 all the same; NaN fails both comparisons and stays.
    let (n, p) = exp_parts(clamp(x, -105.0, 89.0));
    // Two factors: 2^128 is no f32, and a result below 2^-126 has to be rounded once, at the end.
    let half = n >> 1;
    (p + 1.0) * pow2(half) * pow2(n - half)
}

#[inline(always)]
pub fn expm1(x: f32) -> f32 {
    let (n, p) = exp_parts(clamp(x, -30.0, 89.0));
    // 2^n p + (2^n - 1), with 2^(n-1) because 2^128 is no f32.
    let s = pow2(n - 1);
    let y = 2.0 * fma(s, p, s - 0.5);
    // Keeps the sign of zero and the last bit of denormals.
    select(abs(x) < 1e-10, x, y)
}

#[inline(always)]
pub fn log(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = x * select(tiny, 8_388_608.0, 1.0);
    // Exponent and mantissa in [sqrt(1/2), sqrt(2)).
    let bits = scaled.to_bits().wrapping_sub(0x3f35_04f3);
    let e = ((bits as i32) >> 23) as f32 + select(tiny, -23.0, 0.0);
    let f = f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3)) - 1.0;
    // (log(1 + f) - f + f^2 / 2) / f^3
    let q = fma(-7.859_53e-2, f, 1.288_159_5e-1);
    let q = fma(q, f, -1.312_876e-1);
    let q = fma(q, f, 1.418_12e-1);
    let q = fma(q, f, -1.662_455_5e-1);
    let q = fma(q, f, 2.000_228_6e-1);
    let q = fma(q, f, -2.500_081e-1);
    let q = fma(q, f, 3.333_331_6e-1);
    let f2 = f * f;
    let low = fma(e, LN_2_LO, fma(-0.5, f2, q * f2 * f));
    let y = fma(e, LN_2_HI, f + low);
    let y = select(x == f32::INFINITY, x, y);
    select(x > 0.0, y, select(x == 0.0, f32::NEG_INFINITY, f32::NAN))
}

#[inline(always)]
pub fn log1p(x: f32) -> f32 {
    let u = 1.0 + x;
    // What the sum lost, to first order. At -1 and Inf it is NaN and log(u) is already right.
    let lost = (x - (u - 1.0)) / u;
    log(u) + select(lost.is_nan(), 0.0, lost)
}

/// 1 / (1 + exp(-x)), without the overflow of exp(-x) for negative x.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let z = exp(-abs(x));
    let sum = 1.0 + z;
    let y = select(x < 0.0, z, 1.0) / sum;
    // Gives back, to first order, what the sum lost.
    fma(-y, z - (sum - 1.0), y)
}

#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let e = expm1(2.0 * min(abs(x), 10.0));
    let sum = e + 2.0;
    let y = e / sum;
    // Gives back, to first order, what the sum lost; near the limits nothing depends on it.
    let lost = select(e < 1.0, e - (sum - 2.0), 0.0);
    fma(-0.5 * y, lost, y).copysign(x)
}

#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let a = min(abs(x), 4.0);
    // erf(a) / a - 1 in a^2, a <= 0.9
    let a2 = a * a;
    let p = fma(8.513_108_3e-5, a2, -8.175_640_6e-4);
    let p = fma(p, a2, 5.203_859_4e-3);
    let p = fma(p, a2, -2.686_050_9e-2);
    let p = fma(p, a2, 1.128_371_5e-1);
    let p = fma(p, a2, -3.761_263_5e-1);
    let near = fma(a, fma(p, a2, 0.128_379_17), a);
    // -log(1 - erf(a)), 0.9 <= a <= 4
    let q = fma(-1.982_127_1e-4, a, 3.065_475e-3);
    let q = fma(q, a, -2.231_516_7e-2);
    let q = fma(q, a, 1.041_136_1e-1);
    let q = fma(q, a, 6.369_761_2e-1);
    let q = fma(q, a, 1.127_797_2);
    let far = 1.0 - exp(-fma(q, a, 1.664_512_4e-4));
    select(a < 0.9, near, far).copysign(x)
}

/// Quadrant and remainder of x by pi/2, in f64 so that the remainder is good to a relative 1e-9 for |x| <= 1e6.
#[inline(always)]
fn quadrant(x: f32) -> (u32, f32) {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    // 33 leading bits of pi/2, so that products with n < 2^20 are exact, and the rest.
    const HI: f64 = 1.570_796_326_734_125_6;
    const LO: f64 = 6.077_100_506_506_192e-11;
    let x = f64::from(x);
    let shifted = x * std::f64::consts::FRAC_2_PI + SHIFT;
    let n = shifted - SHIFT;
    let r = ((x - n * HI) - n * LO) as f32;
    // Arguments too large to be reduced still give a value in [-1, 1]; NaN stays.
    (shifted.to_bits() as u32, clamp(r, -0.79, 0.79))
}

/// sin of n quarter turns plus r.
#[inline(always)]
fn sin_from(n: u32, r: f32) -> f32 {
    let r2 = r * r;
    // (sin(r) - r) / r^3 in r^2
    let s = fma(-1.951_600_9e-4, r2, 8.332_168_7e-3);
    let s = fma(s, r2, -1.666_665_5e-1);
    let s = fma(s * r2, r, r);
    // (cos(r) - 1 + r^2 / 2) / r^4 in r^2
    let c = fma(2.443_700_4e-5, r2, -1.388_735_5e-3);
    let c = fma(c, r2, 4.166_664_6e-2);
    let c = fma(c * r2, r2, fma(-0.5, r2, 1.0));
    let y = select(n & 1 == 0, s, c);
    f32::from_bits(y.to_bits() ^ ((n & 2) << 30))
}

#[inline(always)]
pub fn sin(x: f32) -> f32 {
    let (n, r) = quadrant(x);
    sin_from(n, r)
}

#[inline(always)]
pub fn cos(x: f32) -> f32 {
    let (n, r) = quadrant(x);
    sin_from(n.wrapping_add(1), r)
}
