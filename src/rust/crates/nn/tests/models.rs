//! Shapes, errors, scores and predictions of models.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use ggmlr_core::{Kind, Param, Params};
use ggmlr_nn::{Data, Model};

fn shapes(c: &Chain) -> Vec<Vec<usize>> {
    Model::new(&c.0, None).unwrap().plan().into_iter().map(|l| l.shape).collect()
}

#[test]
fn layers_know_their_shapes_and_weights() {
    let c = Chain::new(&[4, 6, 2])
        .layer("batch_norm")
        .layer("flatten")
        .dense(5, "relu")
        .dropout(0.1)
        .layer("rms_norm")
        .dense(3, "softmax");
    assert_eq!(shapes(&c), [vec![4, 6, 2], vec![4, 6, 2], vec![48], vec![5], vec![5], vec![5], vec![3]]);
    let plan = Model::new(&c.0, None).unwrap().plan();
    let ne = |l: usize, w: usize| plan[l].weights[w].ne.clone();
    assert_eq!((ne(1, 0), ne(3, 0), ne(3, 1), ne(6, 0)), (vec![2], vec![48, 5], vec![5], vec![5, 3]));
    let limit = (6.0_f64 / 53.0).sqrt();
    assert_eq!(plan[3].weights[0].init, ggmlr_nn::Init::Uniform(limit));
    assert_eq!(plan[1].weights[0].init, ggmlr_nn::Init::Constant(1.0));
    // A dense layer flattens what is not flat; time_distributed keeps the positions.
    assert_eq!(shapes(&Chain::new(&[7, 3]).dense(5, "linear"))[1], [5]);
    let mut config = Params::new().with("units", 5.0);
    config.set("time_distributed", Param::Flag(true));
    assert_eq!(shapes(&Chain::new(&[7, 3]).push("dense", config.clone()))[1], [7, 5]);
    let e = Model::new(&Chain::new(&[7]).push("dense", config).0, None).unwrap_err();
    assert!(e.message().contains("dense_1") && e.message().contains("time_distributed"), "{e}");
}

#[test]
fn errors_name_the_layer() {
    let bad = |c: Chain| Model::new(&c.0, Some(16_000_000_000)).unwrap_err();
    let e = bad(Chain::new(&[4]).dense(3, "relu").push("dense", Params::new().with("units", -3.0)));
    assert_eq!(e.message(), "layer 'dense_2': units must be a positive whole number, got -3");
    assert_eq!((e.kind(), e.arg_name()), (Kind::Argument, Some("units")));
    let mut config = Params::new();
    config.set("units", Param::Text("eight".into()));
    assert!(bad(Chain::new(&[4]).push("dense", config)).message().contains("got \"eight\""));
    let e = bad(Chain::new(&[4]).dense(3, "elu"));
    assert!(e.message().contains("Unknown activation: elu"), "{e}");
    assert!(e.expected_text().is_some_and(|t| t.contains("hardswish")));
    let e = bad(Chain::new(&[4]).dense(2_000_000_000, "relu"));
    assert_eq!(e.kind(), Kind::Memory);
    assert_eq!(e.message(), "layer 'dense_1' needs 40 GB for its weights");
    assert!(bad(Chain::new(&[4]).dropout(1.0)).message().contains("rate"));
    assert!(bad(Chain::new(&[4]).layer("no_such")).message().contains("unknown layer type"));
    assert!(bad(Chain::new(&[4])).message().contains("no layers"));
    assert!(bad(Chain::new(&[4]).push("rms_norm", Params::new().with("eps", -1.0))).message().contains("eps"));
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let c = Chain::new(&[4]).dense(3, "linear");
    let x = Matrix::random(&[2, 4], 1);
    let go = |w: &ggmlr_nn::Weights<'_>| predict(&c, w, &x, 32);
    let mut w = c.weights(1);
    w[1][0].ne = vec![3, 4];
    let e = go(&w).unwrap_err();
    assert!(e.message().contains("dense_1") && e.message().contains("ne=[4,3]"), "{e}");
    let mut w = c.weights(1);
    w[1].pop();
    assert!(go(&w).unwrap_err().message().contains("'bias' is missing"));
    assert!(go(&vec![]).is_err());
}

#[test]
fn bad_data_is_named() {
    let c = Chain::new(&[4]).dense(1, "linear");
    let try_fit = |d: &Data<'_>| {
        ggmlr_nn::Trainer::new(&c.0, &c.weights(1), compile("mse", "adam"), d, None, 32, 0, rt())
            .map(|_| ())
            .unwrap_err()
    };
    let y = Matrix::random(&[64, 1], 2);
    assert_eq!(try_fit(&data(&Matrix::random(&[64, 6], 1), &y)).message(), "x: expected 4 columns, got 6");
    let x = Matrix::random(&[64, 4], 1);
    let e = try_fit(&data(&x, &Matrix::random(&[40, 1], 1)));
    assert_eq!(e.message(), "x and y differ in rows (64, 40)");
    assert!(try_fit(&data(&x, &Matrix::random(&[64, 2], 1))).message().starts_with("y: expected 1 columns"));
    let mut holed = Matrix::random(&[64, 4], 1);
    holed.values[64 + 5] = f64::NEG_INFINITY;
    assert_eq!(try_fit(&data(&holed, &y)).message(), "x holds -Inf at row 6, column 2");
    let w = Matrix::random(&[63], 1);
    let mut d = data(&x, &y);
    d.weights = Some(w.array());
    assert!(try_fit(&d).message().contains("length 64"));
    let none = Matrix::new(&[0, 4], vec![]);
    assert!(predict(&c, &c.weights(1), &none, 32).unwrap_err().message().contains("No samples"));
}

/// A layer that passes its two inputs on, so that predictions can be chosen.
fn identity(k: usize, activation: &str) -> (Chain, ggmlr_nn::Weights<'static>) {
    let c = Chain::new(&[k]).dense(k, activation);
    let eye: Vec<f32> = (0..k * k).map(|i| f32::from(u8::from(i % (k + 1) == 0))).collect();
    (c, vec![vec![], vec![tensor("weight", &[k, k], &eye), tensor("bias", &[k], &vec![0.0; k])]])
}

#[test]
fn scores_equal_their_definitions() {
    let (c, w) = identity(2, "linear");
    let n = 70;
    let p = Matrix::new(&[n, 2], (0..2 * n).map(|i| 0.5 + 0.49 * noise(7, i)).collect());
    let t = Matrix::one_hot(&(0..n).map(|i| i % 2).collect::<Vec<_>>(), 2);
    let weight = Matrix::new(&[n], (0..n).map(|i| (i % 3) as f64).collect());
    let all: Vec<(usize, f64, f64)> =
        (0..n).flat_map(|i| (0..2).map(move |j| (i, j))).map(|(i, j)| (i, p.at(i, j), t.at(i, j))).collect();
    let k = 2.0;
    let mean = |f: &dyn Fn(f64, f64) -> f64, w: Option<&Matrix>, div: f64| {
        all.iter().map(|(i, p, t)| w.map_or(1.0, |w| w.values[*i]) * f(*p, *t)).sum::<f64>() / div
    };
    type F = fn(f64, f64) -> f64;
    let losses: [(&str, F, f64); 5] = [
        ("categorical_crossentropy", |p, t| -t * p.ln(), n as f64),
        ("mse", |p, t| (p - t).powi(2), n as f64 * k),
        ("mae", |p, t| (p - t).abs(), n as f64 * k),
        ("huber", |p, t| 0.5 * (p - t).powi(2), n as f64 * k),
        ("binary_crossentropy", |p, t| -t * p.ln() - (1.0 - t) * (1.0 - p).ln(), n as f64 * k),
    ];
    let right = (0..n).filter(|&i| (p.at(i, 1) > p.at(i, 0)) == (t.at(i, 1) > 0.5)).count();
    for (name, f, div) in losses {
        for weights in [None, Some(&weight)] {
            let mut d = data(&p, &t);
            d.weights = weights.map(Matrix::array);
            let s = evaluate(&c, &w, compile(name, "adam"), &d, 32);
            let want = mean(&f, weights, div);
            assert!((s.loss - want).abs() < 1e-5, "{name}: {} is not {want}", s.loss);
            assert_eq!((s.accuracy, s.n), (Some(right as f64 / n as f64), n));
            assert!((s.mae.unwrap() - mean(&|p, t| (p - t).abs(), None, n as f64 * k)).abs() < 1e-6);
            assert!((s.mse.unwrap() - mean(&|p, t| (p - t).powi(2), None, n as f64 * k)).abs() < 1e-6);
        }
    }
}

#[test]
fn a_softmax_head_is_scored_on_probabilities() {
    let (c, w) = identity(3, "softmax");
    let x = Matrix::new(&[2, 3], vec![1.0, 200.0, 2.0, -200.0, 0.5, 0.0]);
    let y = Matrix::one_hot(&[1, 1], 3);
    let s = evaluate(&c, &w, compile("crossentropy", "adam"), &data(&x, &y), 32);
    let p = 2.0_f64.exp() / (1.0_f64.exp() + 2.0_f64.exp() + 0.5_f64.exp());
    // The second sample's probability is clipped to 1e-7.
    let want = -(p.ln() + 1e-7_f64.ln()) / 2.0;
    assert!((s.loss - want).abs() < 1e-5, "{} {want}", s.loss);
    assert_eq!(s.accuracy, Some(0.5));
    // Training sees the logits, where nothing is clipped: the loss is one of log-softmax.
    let mut t = trainer(&c, &w, compile("crossentropy", "sgd"), &data(&x, &y), 2, 0);
    let want = (-p.ln() + 400.0) / 2.0;
    assert!((epoch(&mut t, 0.0).loss_sum / 2.0 - want).abs() < 1e-4);
}

#[test]
fn single_outputs_have_accuracy_only_as_probabilities() {
    let (c, w) = identity(1, "linear");
    let (x, y) = (Matrix::new(&[4, 1], vec![0.9, 0.2, 0.6, 0.4]), Matrix::new(&[4, 1], vec![1.0, 0.0, 0.0, 0.0]));
    let score = |loss| evaluate(&c, &w, compile(loss, "adam"), &data(&x, &y), 3);
    assert_eq!(score("mse").accuracy, None);
    assert_eq!(score("binary_crossentropy").accuracy, Some(0.75));
}

#[test]
fn predictions_for_any_number_of_rows() {
    let c = Chain::new(&[4]).dense(8, "relu").dropout(0.5).dense(3, "softmax");
    let w = c.weights(1);
    let x = Matrix::random(&[50, 4], 2);
    let go = |x: &Matrix, batch| predict(&c, &w, x, batch).unwrap();
    let all = go(&x, 32);
    assert_eq!(all.dim, [50, 3]);
    for i in 0..50 {
        let sum: f64 = (0..3).map(|j| all.data[i + 50 * j]).sum();
        assert!((sum - 1.0).abs() < 1e-6);
        let one = Matrix::new(&[1, 4], (0..4).map(|j| x.at(i, j)).collect());
        let one = go(&one, 32);
        assert_eq!(one.dim, [1, 3]);
        assert!((0..3).all(|j| (one.data[j] - all.data[i + 50 * j]).abs() < 1e-6));
    }
    assert!(go(&x, 1).data.iter().zip(&all.data).all(|(a, b)| (a - b).abs() < 1e-6));
    // A missing or infinite value spoils its own row only.
    let mut holed = Matrix::new(&[50, 4], x.values.clone());
    for bad in [f64::NAN, f64::INFINITY] {
        holed.values[50 + 7] = bad;
        let some = go(&holed, 32);
        for i in 0..50 {
            for j in 0..3 {
                let v = some.data[i + 50 * j];
                assert!(if i == 7 { v.is_nan() } else { v == all.data[i + 50 * j] }, "row {i}");
            }
        }
    }
}

#[test]
fn normalisations_equal_their_definitions() {
    // Sequences and flat samples over their features, images over the channels of each pixel.
    for dims in [vec![6, 5], vec![6, 4, 5], vec![6, 2, 3, 5]] {
        let x = Matrix::random(&dims, 3);
        let features = dims[dims.len() - 1];
        let positions = x.values.len() / features;
        for (kind, centred) in [("batch_norm", false), ("rms_norm", false), ("layer_norm", true)] {
            let c = Chain::new(&dims[1..]).layer(kind);
            let gamma: Vec<f32> = (0..features).map(|i| 1.0 + i as f32).collect();
            let beta: Vec<f32> = (0..features).map(|i| 0.1 * i as f32).collect();
            let w = vec![vec![], vec![tensor("gamma", &[features], &gamma), tensor("beta", &[features], &beta)]];
            let y = predict(&c, &w, &x, 4).unwrap();
            assert_eq!(y.dim, dims);
            for p in 0..positions {
                // The last dimension runs slowest in R, so that a position's features are `positions` apart.
                let v: Vec<f64> = (0..features).map(|f| x.values[p + positions * f]).collect();
                let mean = if centred { v.iter().sum::<f64>() / features as f64 } else { 0.0 };
                let power = v.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / features as f64;
                for f in 0..features {
                    let want = (v[f] - mean) / (power + 1e-5).sqrt() * f64::from(gamma[f]) + f64::from(beta[f]);
                    let got = y.data[p + positions * f];
                    assert!((got - want).abs() < 1e-5, "{kind} {dims:?} position {p}: {got} is not {want}");
                }
            }
        }
    }
}

#[test]
fn normalisations_train() {
    for dims in [vec![12, 5], vec![12, 4, 5], vec![12, 2, 3, 5]] {
        for kind in ["batch_norm", "layer_norm"] {
            let (x, y) = (Matrix::random(&dims, 3), Matrix::random(&[12, 2], 4));
            let c = Chain::new(&dims[1..]).layer(kind).layer("flatten").dense(2, "linear");
            let mut t = trainer(&c, &c.weights(1), compile("mse", "adam"), &data(&x, &y), 12, 0);
            let first = epoch(&mut t, 0.01).loss_sum;
            (0..50).for_each(|_| {
                epoch(&mut t, 0.01);
            });
            assert!(epoch(&mut t, 0.01).loss_sum < 0.5 * first, "{kind} {dims:?}");
        }
    }
}

#[test]
fn sequences_are_trained_and_scored_by_position() {
    let mut config = Params::new().with("units", 2.0);
    config.set("time_distributed", Param::Flag(true));
    config.set("activation", Param::Text("softmax".into()));
    let c = Chain::new(&[3, 2]).push("dense", config);
    let (_, w) = identity(2, "softmax");
    let (n, seq) = (5, 3);
    let x = Matrix::random(&[n, seq, 2], 1);
    let at = |m: &Matrix, i: usize, s: usize, k: usize| m.values[i + n * (s + seq * k)];
    // Positions where the first feature is the larger one belong to class 0, except in the last sample.
    let class = |i: usize, s: usize| usize::from((at(&x, i, s, 0) <= at(&x, i, s, 1)) != (i == 4));
    let mut y = Matrix::new(&[n, seq, 2], vec![0.0; n * seq * 2]);
    for (i, s) in (0..n).flat_map(|i| (0..seq).map(move |s| (i, s))) {
        y.values[i + n * (s + seq * class(i, s))] = 1.0;
    }
    let weight = Matrix::new(&[n], vec![1.0, 2.0, 0.5, 0.0, 3.0]);
    let mut want = 0.0;
    for (i, s) in (0..n).flat_map(|i| (0..seq).map(move |s| (i, s))) {
        let (a, b) = (at(&x, i, s, 0), at(&x, i, s, 1));
        let p = [a, b][class(i, s)].exp() / (a.exp() + b.exp());
        want -= weight.values[i] * p.ln() / (n * seq) as f64;
    }
    let mut d = data(&x, &y);
    d.weights = Some(weight.array());
    let score = evaluate(&c, &w, compile("crossentropy", "adam"), &d, 2);
    assert!((score.loss - want).abs() < 1e-6, "{} {want}", score.loss);
    assert_eq!(score.accuracy, Some(0.8));
    let mut t = trainer(&c, &w, compile("crossentropy", "sgd"), &d, 5, 0);
    let s = epoch(&mut t, 0.0);
    assert!((s.loss_sum / 5.0 - want).abs() < 1e-6);
    assert!((s.correct.unwrap() - 4.0).abs() < 1e-9);
    let p = predict(&c, &w, &x, 2).unwrap();
    assert_eq!(p.dim, [n, seq, 2]);
    let (a, b) = (at(&x, 3, 1, 0), at(&x, 3, 1, 1));
    assert!((p.data[3 + n * (1 + seq)] - b.exp() / (a.exp() + b.exp())).abs() < 1e-6);
}

#[test]
fn many_rows_arrive_in_order() {
    // More than one piece of the conversion.
    let (c, w) = identity(7, "linear");
    let x = Matrix::random(&[20_001, 7], 1);
    let p = predict(&c, &w, &x, 1000).unwrap();
    assert!(p.data.iter().zip(&x.values).all(|(p, x)| (p - x).abs() < 1e-6));
}
