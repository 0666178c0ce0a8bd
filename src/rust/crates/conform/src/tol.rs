//! The only place that says how far a result may be from the definition.
//!
//! A difference is allowed up to `limit(class) * scale`.
//! * `Ulp`: the scale is the magnitude of the expected number, or 1 for smaller ones.
//! * `Reduce` and `Half`: the scale is the magnitude of the expected number, or the root mean square of the whole result
//!   for smaller ones. The latter stands for the sum of the magnitudes of a sum's terms, which cannot be seen from
//!   outside: where terms cancel, the result is small but its rounding errors are not. It makes the class as strict for
//!   the thousandths of a long softmax as for sums of thousands.
//!
//! NaN equals NaN only, and infinities equal themselves only.

use ggmlr_core::{DType, Error, Result};
use ggmlr_ops::Tol;
use half::{bf16, f16};

/// Factor in front of `eps * sqrt(n)` for sums. A sum in random order stays below 1 nearly always; kernels that use
/// several accumulators and a shorter final sum stay below 4.
const SUM_FACTOR: f64 = 4.0;

/// Units in the last place allowed where half precision numbers meet: two roundings of an operand and one of the
/// result, then the same headroom as for sums.
const HALF_FACTOR: f64 = 4.0;

/// A result below this throughout is one where everything cancels: its terms were about 1, as the inputs are.
const CANCELLED: f64 = 1e-4;

/// Allowed relative difference of kernels in f64, whatever the class: formulas differ from their definition by the
/// order of a few operations only.
const F64_LIMIT: f64 = 1e-12;

/// Distance between 1 and the next number of a type; 0 for types of whole numbers.
pub fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::EPSILON),
        DType::F64 => f64::EPSILON,
        DType::F16 => f64::from(f16::EPSILON),
        DType::BF16 => f64::from(bf16::EPSILON),
        _ => 0.0,
    }
}

/// How a result compares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Whether every element is within its limit.
    pub ok: bool,
    /// Largest difference relative to its scale.
    pub err: f64,
    /// What was allowed.
    pub limit: f64,
    /// Element with the largest difference relative to what is allowed.
    pub worst: usize,
    pub got: f64,
    pub expected: f64,
}

/// Allowed relative difference of a class. `result` is the type compared; `types` are those of the operands.
pub fn limit(tol: Tol, result: DType, types: &[DType]) -> f64 {
    let eps = epsilon(result);
    // Half operands next to f32 results: the coarser type decides.
    let coarsest = types.iter().chain([&result]).map(|t| epsilon(*t)).fold(0.0, f64::max);
    match tol {
        Tol::Exact => 0.0,
        // Whole numbers have no last place: they must be right.
        _ if eps == 0.0 => 0.0,
        _ if result == DType::F64 => F64_LIMIT,
        Tol::Ulp(k) => f64::from(k) * eps,
        Tol::Reduce(n) => SUM_FACTOR * eps * (n.max(1) as f64).sqrt(),
        Tol::Half => HALF_FACTOR * coarsest,
    }
}

/// The number of a type that is nearest to `x`.
fn round_to(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F32 => f64::from(x as f32),
        DType::F16 => f64::from(f16::from_f64(x)),
        DType::BF16 => f64::from(bf16::from_f64(x)),
        _ => x,
    }
}

/// The smallest scale of a result's elements.
fn floor(tol: Tol, expected: &[f64]) -> f64 {
    if !matches!(tol, Tol::Reduce(_) | Tol::Half) {
        return 1.0;
    }
    let finite = || expected.iter().filter(|x| x.is_finite());
    let rms = (finite().map(|x| x * x).sum::<f64>() / finite().count().max(1) as f64).sqrt();
    if rms < CANCELLED { 1.0 } else { rms }
}

/// Compares a result, element by element.
pub fn compare(tol: Tol, result: DType, types: &[DType], got: &[f64], expected: &[f64]) -> Result<Verdict> {
    if got.len() != expected.len() {
        return Err(Error::internal(format!("{} elements came back, {} were expected", got.len(), expected.len())));
    }
    let limit = limit(tol, result, types);
    let floor = floor(tol, expected);
    let mut out = Verdict { ok: true, err: 0.0, limit, worst: 0, got: 0.0, expected: 0.0 };
    for (i, (&g, &e)) in got.iter().zip(expected).enumerate() {
        let want = round_to(result, e);
        let err = if g == want || (g.is_nan() && want.is_nan()) {
            0.0
        } else if !g.is_finite() || !want.is_finite() {
            f64::INFINITY
        } else {
            (g - e).abs() / e.abs().max(floor)
        };
        out.ok &= err <= limit;
        if i == 0 || err > out.err {
            out = Verdict { err, worst: i, got: g, expected: e, ..out };
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(tol: Tol, got: f32, expected: f64) -> bool {
        compare(tol, DType::F32, &[DType::F32], &[f64::from(got)], &[expected]).unwrap().ok
    }

    #[test]
    fn classes_let_through_what_they_say() {
        assert!(ok(Tol::Exact, 0.1, 0.1));
        assert!(!ok(Tol::Exact, 0.1 + f32::EPSILON, 0.1));
        assert!(ok(Tol::Ulp(2), 1.0 + 2.0 * f32::EPSILON, 1.0));
        assert!(!ok(Tol::Ulp(2), 1.0 + 3.0 * f32::EPSILON, 1.0));
        assert!(ok(Tol::Ulp(2), 0.001 + f32::EPSILON, 0.001), "small results are measured against 1");
        assert!(ok(Tol::Reduce(100), 1.0 + 30.0 * f32::EPSILON, 1.0));
        assert!(!ok(Tol::Reduce(100), 1.0 + 50.0 * f32::EPSILON, 1.0));
    }

    #[test]
    fn special_numbers_equal_themselves_only() {
        let tol = Tol::Ulp(1000);
        assert!(ok(tol, f32::NAN, f64::NAN) && ok(tol, f32::INFINITY, f64::INFINITY));
        assert!(!ok(tol, f32::NAN, 1.0) && !ok(tol, 1.0, f64::NAN));
        assert!(!ok(tol, f32::INFINITY, f64::NEG_INFINITY) && !ok(tol, f32::MAX, f64::INFINITY));
        assert!(ok(tol, f32::INFINITY, 1e300), "what is too large for the type is infinite in it");
    }

    #[test]
    fn whole_numbers_and_f64_have_limits_of_their_own() {
        let v = compare(Tol::Ulp(4), DType::I32, &[DType::F32], &[3.0], &[4.0]).unwrap();
        assert!(!v.ok);
        let f64s = |d| compare(Tol::Ulp(4), DType::F64, &[DType::F64], &[1.0 + d], &[1.0]).unwrap().ok;
        assert!(f64s(1e-13) && !f64s(1e-11));
        assert_eq!(limit(Tol::Half, DType::F32, &[DType::BF16, DType::F32]), 4.0 * f64::from(bf16::EPSILON));
        assert!(compare(Tol::Exact, DType::F32, &[], &[], &[1.0]).is_err());
    }

    #[test]
    fn sums_are_measured_against_their_neighbours() {
        let sum = |got: &[f64], expected: &[f64]| {
            compare(Tol::Reduce(1), DType::F32, &[DType::F32], got, expected).unwrap().ok
        };
        assert!(sum(&[100.0, 1e-5], &[100.0, 0.0]), "terms that cancel");
        assert!(!sum(&[1e-3, 1.001e-3], &[1e-3, 1e-3]), "small numbers are not measured against 1");
        assert!(sum(&[1e-7], &[0.0]) && !sum(&[1e-6], &[0.0]), "everything cancels");
    }
}
