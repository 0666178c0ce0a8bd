//! What the rows promise: names, derivatives, kinks, NaN.

use ggmlr_formula::{BinaryId, GluId, UnaryId};

const P: [f64; 2] = [-0.25, 0.5];

fn smooth_samples(kinks: &[f64]) -> Vec<f64> {
    let samples = (-300..=300).map(|i| f64::from(i) * 0.0317 + 0.0007);
    samples.filter(|x| kinks.iter().all(|k| (x - k).abs() > 1e-3)).collect()
}

/// Where a value or a derivative jumps.
fn kinks(id: UnaryId) -> Vec<f64> {
    match id {
        UnaryId::Floor | UnaryId::Ceil | UnaryId::Trunc => (-10..=10).map(f64::from).collect(),
        UnaryId::Round => (-10..=10).map(|i| f64::from(i) + 0.5).collect(),
        UnaryId::Hardswish | UnaryId::Hardsigmoid => vec![-3.0, 3.0],
        UnaryId::Clamp => P.to_vec(),
        _ => vec![0.0],
    }
}

/// Central difference of fourth order.
fn difference(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    let h = 1e-3;
    (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)
}

#[track_caller]
fn assert_close(analytic: f64, numeric: f64, context: impl std::fmt::Display) {
    let error = (analytic - numeric).abs() / numeric.abs().max(1.0);
    assert!(error < 1e-8, "{context}: {analytic} but differences say {numeric}");
}

#[test]
fn unary_derivatives_match_central_differences() {
    for &id in UnaryId::ALL {
        let positive_only = matches!(id, UnaryId::Sqrt | UnaryId::Log);
        for x in smooth_samples(&kinks(id)) {
            if positive_only && x < 0.2 || kinks(id).iter().any(|k| (x - k).abs() < 3e-3) {
                continue;
            }
            let y = id.f64(x, P);
            assert_close(id.df64(x, y, P), difference(|x| id.f64(x, P), x), format!("{id:?} at {x}"));
        }
    }
}

#[test]
fn binary_derivatives_match_central_differences() {
    for &id in BinaryId::ALL {
        for (a, b) in [(0.7, 1.9), (-2.3, 0.8), (1.1, -3.0)] {
            let (da, db) = id.df64(a, b, id.f64(a, b));
            assert_close(da, difference(|a| id.f64(a, b), a), format!("{id:?} by a"));
            assert_close(db, difference(|b| id.f64(a, b), b), format!("{id:?} by b"));
        }
    }
}

#[test]
fn glu_derivatives_match_central_differences() {
    for &id in GluId::ALL {
        for x in smooth_samples(&[0.0, 7.0]).into_iter().step_by(3) {
            for g in [-7.9, -0.6, 0.9, 6.1, 8.2] {
                let (dx, dg) = id.df64(x, g);
                assert_close(dx, difference(|x| id.f64(x, g), x), format!("{id:?} by x at {x}, {g}"));
                assert_close(dg, difference(|g| id.f64(x, g), g), format!("{id:?} by g at {x}, {g}"));
            }
        }
    }
}

#[test]
fn nan_goes_through_every_value() {
    for &id in UnaryId::ALL {
        assert!(id.f32(f32::NAN, [-0.25, 0.5]).is_nan(), "{id:?}");
        assert!(id.f64(f64::NAN, P).is_nan(), "{id:?}");
    }
    for &id in BinaryId::ALL {
        assert!(id.f32(f32::NAN, 1.0).is_nan() && id.f32(1.0, f32::NAN).is_nan(), "{id:?}");
    }
    for &id in GluId::ALL {
        assert!(id.f32(f32::NAN, 1.0).is_nan() && id.f32(1.0, f32::NAN).is_nan(), "{id:?}");
        assert!(id.f64(f64::NAN, 1.0).is_nan() && id.f64(1.0, f64::NAN).is_nan(), "{id:?}");
    }
}

#[test]
fn finite_arguments_give_finite_activations_and_slopes() {
    use UnaryId::{Cos, Elu, Exp, Expm1, Log, Scale, Sin, Sqr, Sqrt};
    let may_overflow = [Exp, Expm1, Sqr, Log, Sqrt, Scale, Sin, Cos];
    for &id in UnaryId::ALL.iter().filter(|id| !may_overflow.contains(id) && **id != Elu) {
        for x in [-f32::MAX, -1e20, -200.0, -1e-40, 0.0, 1e-40, 200.0, 1e20, f32::MAX] {
            let y = id.f32(x, [-0.25, 0.5]);
            assert!(y.is_finite(), "{id:?}({x:e}) = {y}");
            let slope = id.df32(x, y, [-0.25, 0.5]);
            assert!(slope.is_finite(), "{id:?}'({x:e}) = {slope}");
        }
    }
}

#[test]
fn kinks_follow_the_contract() {
    let none = [0.0; 2];
    assert_eq!(UnaryId::Relu.df64(0.0, 0.0, none), 0.0);
    assert_eq!(UnaryId::Abs.df64(0.0, 0.0, none), 0.0);
    assert_eq!(UnaryId::LeakyRelu.df64(0.0, 0.0, [0.1, 0.0]), 0.1);
    assert_eq!(UnaryId::Elu.df64(0.0, 0.0, none), 1.0);
    assert_eq!([-0.25, 0.5].map(|x| UnaryId::Clamp.df64(x, x, P)), [1.0, 1.0]);
    assert_eq!([-0.26, 0.51].map(|x| UnaryId::Clamp.df64(x, 0.0, P)), [0.0, 0.0]);
    assert_eq!([-3.0, 3.0].map(|x| UnaryId::Hardsigmoid.df64(x, 0.0, none)), [0.0, 0.0]);
    assert_eq!([-3.0, 3.0].map(|x| UnaryId::Hardswish.df64(x, 0.0, none)), [0.0, 1.0]);
    assert_eq!([20.0f64, 20.5].map(|x| UnaryId::Softplus.f64(x, none)), [20f64.exp().ln_1p(), 20.5]);
    assert_eq!([-2.5f32, 0.5, 1.5, 0.49999997].map(|x| UnaryId::Round.f32(x, [0.0; 2])), [-3.0, 1.0, 2.0, 0.0]);
    assert_eq!([-1.5f32, 0.0, 3.0].map(|x| UnaryId::Step.f32(x, [0.0; 2])), [0.0, 0.0, 1.0]);
    assert_eq!([-1.5f32, 0.0, 3.0].map(|x| UnaryId::Sgn.f32(x, [0.0; 2])), [-1.0, 0.0, 1.0]);
    assert_eq!(GluId::SwigluOai.df64(7.1, 1.0).0, 0.0);
    assert_eq!([-7.1, 7.1].map(|g| GluId::SwigluOai.df64(1.0, g).1), [0.0, 0.0]);
}

#[test]
fn documented_values() {
    let at = |id: UnaryId, x: f64| id.f64(x, [0.0; 2]);
    assert!((at(UnaryId::Gelu, -2.0) + 0.0454).abs() < 5e-5);
    let x = 0.83f64;
    let tanh_form = 0.5 * x * (1.0 + (0.7978845608 * x * (1.0 + 0.044715 * x * x)).tanh());
    assert!((at(UnaryId::Gelu, x) - tanh_form).abs() < 1e-15);
    assert!((UnaryId::Silu.df64(0.5, 0.0, [0.0; 2]) - 0.74).abs() < 5e-3);
    assert_eq!(GluId::Reglu.f32(3.0, 1.0), 3.0);
    assert_eq!(GluId::Reglu.f32(4.0, 2.0), 8.0);
    let swiglu_oai = |x: f64, g: f64| {
        let x = x.min(7.0);
        x / (1.0 + (-1.702 * x).exp()) * (g.clamp(-7.0, 7.0) + 1.0)
    };
    for (x, g) in [(1.0, 2.0), (9.0, -9.0), (-3.0, 9.0)] {
        assert!((GluId::SwigluOai.f64(x, g) - swiglu_oai(x, g)).abs() < 1e-14);
    }
}

#[test]
fn names_lead_back_to_ids() {
    for &id in UnaryId::ALL {
        assert_eq!(UnaryId::from_name(id.name()), Some(id));
        assert_eq!(UnaryId::from_name(id.ggml_name()), Some(id));
    }
    for &id in BinaryId::ALL {
        assert_eq!(BinaryId::from_name(id.ggml_name()), Some(id));
    }
    for &id in GluId::ALL {
        assert_eq!(GluId::from_name(id.ggml_name()), Some(id));
    }
    assert_eq!(UnaryId::from_name("mish"), None);
    assert_eq!(UnaryId::GeluQuick.ggml_name(), "GELU_QUICK");
    let counts = [UnaryId::Relu, UnaryId::LeakyRelu, UnaryId::Clamp, UnaryId::Scale].map(UnaryId::n_params);
    assert_eq!(counts, [0, 1, 2, 2]);
}
