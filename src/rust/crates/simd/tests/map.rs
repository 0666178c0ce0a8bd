//! Formulas over slices, on every tier of the machine, against the scalar formulas in f64.

use ggmlr_formula::{BinaryId, GluId, UnaryId};
use ggmlr_simd::{Tier, map, with_tier};

/// A slope, bounds, a factor and a bias that suit every formula.
const P: [f32; 2] = [-0.25, 0.5];
const P64: [f64; 2] = [-0.25, 0.5];

/// Around the kinks, into saturation, and NaN now and then.
fn samples(n: usize, seed: usize) -> Vec<f32> {
    (0..n)
        .map(|i| match (i * 37 + seed * 101) % 211 {
            0 => f32::NAN,
            r => (r as f32 - 105.0) * 0.13 + 0.0007 * seed as f32,
        })
        .collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

#[track_caller]
fn assert_close(got: &[f32], right: &[f64], context: impl std::fmt::Display) {
    assert_eq!(got.len(), right.len());
    for (i, (got, right)) in got.iter().zip(right).enumerate() {
        let same = (got.is_nan() && right.is_nan()) || f64::from(*got) == *right;
        let close = (f64::from(*got) - right).abs() <= 4e-6 * right.abs().max(1.0);
        assert!(same || close, "{context} at {i}: {got}, right {right}");
    }
}

/// All bits the same, NaN included.
fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
}

fn on_every_tier(test: impl Fn(Tier)) {
    for tier in Tier::available() {
        with_tier(tier, || test(tier));
    }
}

/// Every length around the block of the loops, and one past the pieces of the in-place forms.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=67).chain([127, 128, 129, 1023, 1024, 1025, 2100])
}

#[test]
fn unary_forms() {
    on_every_tier(|tier| {
        for (seed, n) in lengths().enumerate() {
            let x = samples(n, seed);
            for &id in UnaryId::ALL {
                let mut y = vec![7.0; n];
                map::unary(id, &x, &mut y, P);
                let right: Vec<f64> = wide(&x).iter().map(|x| id.f64(*x, P64)).collect();
                assert_close(&y, &right, format!("{id:?} of {n} on {tier:?}"));
                if tier == Tier::Scalar {
                    let scalar: Vec<f32> = x.iter().map(|x| id.f32(*x, P)).collect();
                    assert!(same_bits(&y, &scalar), "{id:?} of {n}");
                }
                let mut in_place = x.clone();
                map::unary_inplace(id, &mut in_place, P);
                assert!(same_bits(&in_place, &y), "{id:?} in place, {n} on {tier:?}");
            }
        }
    });
}

#[test]
fn unary_gradients() {
    on_every_tier(|tier| {
        for (seed, n) in lengths().enumerate() {
            let x = samples(n, seed);
            let dy: Vec<f32> = (0..n).map(|i| 0.5 + (i % 5) as f32 * 0.25).collect();
            for &id in UnaryId::ALL {
                let mut y = vec![0.0; n];
                map::unary(id, &x, &mut y, P);
                let mut dx = vec![7.0; n];
                map::unary_grad(id, &x, &y, &dy, &mut dx, P);
                let right: Vec<f64> =
                    (0..n).map(|i| f64::from(dy[i]) * id.df64(f64::from(x[i]), f64::from(y[i]), P64)).collect();
                assert_close(&dx, &right, format!("{id:?} gradient of {n} on {tier:?}"));
            }
        }
    });
}

#[test]
fn binary_forms() {
    on_every_tier(|_| {
        for (seed, n) in lengths().enumerate() {
            let (a, b) = (samples(n, seed), samples(n, seed + 50));
            for &id in BinaryId::ALL {
                let right: Vec<f32> = a.iter().zip(&b).map(|(a, b)| id.f32(*a, *b)).collect();
                let mut y = vec![7.0; n];
                map::binary(id, &a, &b, &mut y);
                assert!(same_bits(&y, &right), "{id:?} of {n}");
                let mut y = a.clone();
                map::binary_inplace(id, &mut y, &b);
                assert!(same_bits(&y, &right), "{id:?} into a, {n}");
                let mut y = b.clone();
                map::binary_inplace_b(id, &a, &mut y);
                assert!(same_bits(&y, &right), "{id:?} into b, {n}");
                let right: Vec<f32> = a.iter().map(|a| id.f32(*a, 0.3)).collect();
                let mut y = vec![7.0; n];
                map::binary_scalar_b(id, &a, 0.3, &mut y);
                assert!(same_bits(&y, &right), "{id:?} with a number, {n}");
                let mut y = a.clone();
                map::binary_scalar_b_inplace(id, &mut y, 0.3);
                assert!(same_bits(&y, &right), "{id:?} with a number in place, {n}");
            }
        }
    });
}

#[test]
fn glu_forms() {
    on_every_tier(|tier| {
        for (seed, n) in lengths().enumerate() {
            let (x, g) = (samples(n, seed), samples(n, seed + 50));
            let dy: Vec<f32> = (0..n).map(|i| 0.5 + (i % 5) as f32 * 0.25).collect();
            for &id in GluId::ALL {
                let (x64, g64) = (wide(&x), wide(&g));
                let mut y = vec![7.0; n];
                map::glu(id, &x, &g, &mut y);
                let right: Vec<f64> = x64.iter().zip(&g64).map(|(x, g)| id.f64(*x, *g)).collect();
                assert_close(&y, &right, format!("{id:?} of {n} on {tier:?}"));
                let (mut dx, mut dg) = (vec![7.0; n], vec![7.0; n]);
                map::glu_grad(id, &x, &g, &dy, &mut dx, &mut dg);
                let right: Vec<(f64, f64)> = x64.iter().zip(&g64).map(|(x, g)| id.df64(*x, *g)).collect();
                let by_x: Vec<f64> = right.iter().zip(&dy).map(|(d, dy)| d.0 * f64::from(*dy)).collect();
                let by_g: Vec<f64> = right.iter().zip(&dy).map(|(d, dy)| d.1 * f64::from(*dy)).collect();
                // A product of two rounded factors of up to 14.
                let scaled = |d: &[f32]| d.iter().map(|d| d / 16.0).collect::<Vec<_>>();
                let scaled64 = |d: &[f64]| d.iter().map(|d| d / 16.0).collect::<Vec<_>>();
                assert_close(&scaled(&dx), &scaled64(&by_x), format!("{id:?} by x, {n} on {tier:?}"));
                assert_close(&scaled(&dg), &scaled64(&by_g), format!("{id:?} by g, {n} on {tier:?}"));
            }
        }
    });
}

#[test]
fn f64_forms_are_the_formulas() {
    let x: Vec<f64> = wide(&samples(67, 1)).into_iter().map(|x| if x.is_nan() { 1.0 } else { x.abs() + 0.1 }).collect();
    let b: Vec<f64> = x.iter().map(|x| 3.0 - x).collect();
    let mut y = vec![0.0; x.len()];
    let mut d = vec![0.0; x.len()];
    for &id in UnaryId::ALL {
        map::unary_f64(id, &x, &mut y, P64);
        assert!(y.iter().zip(&x).all(|(y, x)| *y == id.f64(*x, P64)), "{id:?}");
        map::unary_grad_f64(id, &x, &y, &b, &mut d, P64);
        assert!((0..x.len()).all(|i| d[i] == b[i] * id.df64(x[i], y[i], P64)), "{id:?}");
        let mut in_place = x.clone();
        map::unary_inplace_f64(id, &mut in_place, P64);
        assert_eq!(in_place, y, "{id:?}");
    }
    for &id in BinaryId::ALL {
        map::binary_f64(id, &x, &b, &mut y);
        assert!((0..x.len()).all(|i| y[i] == id.f64(x[i], b[i])), "{id:?}");
        let (mut into_a, mut into_b) = (x.clone(), b.clone());
        map::binary_inplace_f64(id, &mut into_a, &b);
        map::binary_inplace_b_f64(id, &x, &mut into_b);
        assert_eq!((&into_a, &into_b), (&y, &y), "{id:?}");
        map::binary_scalar_b_f64(id, &x, 0.3, &mut y);
        let mut in_place = x.clone();
        map::binary_scalar_b_inplace_f64(id, &mut in_place, 0.3);
        assert_eq!(in_place, y, "{id:?}");
        assert!((0..x.len()).all(|i| y[i] == id.f64(x[i], 0.3)), "{id:?}");
    }
    for &id in GluId::ALL {
        let mut dg = vec![0.0; x.len()];
        map::glu_f64(id, &x, &b, &mut y);
        map::glu_grad_f64(id, &x, &b, &x, &mut d, &mut dg);
        for i in 0..x.len() {
            let (by_x, by_g) = id.df64(x[i], b[i]);
            assert_eq!((y[i], d[i], dg[i]), (id.f64(x[i], b[i]), x[i] * by_x, x[i] * by_g), "{id:?}");
        }
    }
}

#[test]
fn slices_need_no_alignment() {
    let x = samples(201, 3);
    let mut aligned = vec![0.0; 200];
    map::unary(UnaryId::Silu, &x[1..], &mut aligned, P);
    let mut shifted = vec![0.0; 203];
    map::unary(UnaryId::Silu, &x[1..], &mut shifted[3..], P);
    assert!(same_bits(&shifted[3..], &aligned));
    assert_eq!(shifted[..3], [0.0; 3]);
}

#[test]
#[should_panic(expected = "different lengths")]
fn lengths_must_agree() {
    map::unary(UnaryId::Relu, &[1.0; 4], &mut [0.0; 3], P);
}
