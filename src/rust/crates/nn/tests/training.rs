//! Training through the engine.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use ggmlr_core::Cancel;
use ggmlr_nn::{Status, Trainer};
use std::time::Duration;

#[test]
fn linear_regression_converges() {
    let x = Matrix::random(&[200, 3], 1);
    let y = Matrix::new(&[200, 1], (0..200).map(|i| 2.0 * x.at(i, 0) - x.at(i, 1) + 0.5 * x.at(i, 2) + 3.0).collect());
    let c = Chain::new(&[3]).dense(1, "linear");
    let mut t = trainer(&c, &c.weights(2), compile("mse", "adam"), &data(&x, &y), 32, 0);
    for _ in 0..200 {
        epoch(&mut t, 0.05);
    }
    let w = t.weights().unwrap();
    for (got, want) in floats(&w[1][0]).iter().chain(&floats(&w[1][1])).zip([2.0, -1.0, 0.5, 3.0]) {
        assert!((got - want).abs() < 1e-2, "{got} is not {want}");
    }
}

#[test]
fn xor_is_learnt() {
    let x = Matrix::new(&[4, 2], vec![0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    let y = Matrix::one_hot(&[0, 1, 1, 0], 2);
    let c = Chain::new(&[2]).dense(8, "tanh").dense(2, "softmax");
    let mut t = trainer(&c, &c.weights(5), compile("categorical_crossentropy", "adam"), &data(&x, &y), 4, 0);
    let mut last = epoch(&mut t, 0.05);
    for _ in 0..300 {
        last = epoch(&mut t, 0.05);
    }
    assert_eq!((last.correct, last.samples), (Some(4.0), 4));
    assert!(last.loss_sum / 4.0 < 0.05, "{}", last.loss_sum);
}

#[test]
fn adam_follows_its_formula() {
    // One weight, one sample: the gradient of (w x - y)^2 is 2 x (w x - y).
    let (x, y) = (Matrix::new(&[1, 1], vec![2.0]), Matrix::new(&[1, 1], vec![1.0]));
    let c = Chain::new(&[1]).dense(1, "linear");
    let start = vec![vec![], vec![tensor("weight", &[1, 1], &[1.5]), tensor("bias", &[1], &[0.25])]];
    let mut t = trainer(&c, &start, compile("mse", "adamw"), &data(&x, &y), 1, 0);
    let (mut p, mut m, mut v) = ([1.5_f64, 0.25], [0.0; 2], [0.0; 2]);
    for step in 1..=5 {
        let lr = 0.1 / f64::from(step);
        epoch(&mut t, lr);
        let d = p[0] * 2.0 + p[1] - 1.0;
        for (i, g) in [2.0 * 2.0 * d, 2.0 * d].into_iter().enumerate() {
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.999 * v[i] + 0.001 * g * g;
            let (mh, vh) = (m[i] / (1.0 - 0.9_f64.powi(step)), v[i] / (1.0 - 0.999_f64.powi(step)));
            p[i] -= lr * mh / (vh.sqrt() + 1e-8);
        }
        let w = t.weights().unwrap();
        assert!((f64::from(floats(&w[1][0])[0]) - p[0]).abs() < 1e-5, "step {step}");
        assert!((f64::from(floats(&w[1][1])[0]) - p[1]).abs() < 1e-5, "step {step}");
    }
}

/// Loss of a tanh - sigmoid - softmax network in f64, written without the engine.
fn mlp_loss(w: &[Vec<f64>], sizes: &[usize], x: &Matrix, y: &Matrix) -> f64 {
    let n = x.dim[0];
    let mut total = 0.0;
    for s in 0..n {
        let mut h: Vec<f64> = (0..sizes[0]).map(|j| x.at(s, j)).collect();
        for l in 0..3 {
            let (k, u) = (sizes[l], sizes[l + 1]);
            h = (0..u).map(|i| w[2 * l + 1][i] + (0..k).map(|j| w[2 * l][i * k + j] * h[j]).sum::<f64>()).collect();
            match l {
                0 => h.iter_mut().for_each(|v| *v = v.tanh()),
                1 => h.iter_mut().for_each(|v| *v = 1.0 / (1.0 + (-*v).exp())),
                _ => {
                    let sum: f64 = h.iter().map(|v| v.exp()).sum();
                    h.iter_mut().for_each(|v| *v = v.exp() / sum);
                }
            }
        }
        total -= h.iter().enumerate().map(|(j, p)| y.at(s, j) * p.ln()).sum::<f64>();
    }
    total / n as f64
}

#[test]
fn gradient_of_a_network_equals_differences_of_its_definition() {
    let sizes = [4, 5, 6, 3];
    let x = Matrix::random(&[7, 4], 3);
    let y = Matrix::one_hot(&[0, 1, 2, 0, 1, 2, 1], 3);
    let c = Chain::new(&[4]).dense(5, "tanh").dense(6, "sigmoid").dense(3, "softmax");
    let start = c.weights(4);
    let w: Vec<Vec<f64>> = start.iter().flatten().map(|t| floats(t).iter().map(|&v| f64::from(v)).collect()).collect();
    // With rate 1 a step of gradient descent subtracts exactly the gradient.
    let mut t = trainer(&c, &start, compile("categorical_crossentropy", "sgd"), &data(&x, &y), 7, 0);
    let s = epoch(&mut t, 1.0);
    assert!((s.loss_sum / 7.0 - mlp_loss(&w, &sizes, &x, &y)).abs() < 1e-6);
    let after = t.weights().unwrap();
    let after: Vec<Vec<f32>> = after.iter().flatten().map(floats).collect();
    for (k, values) in w.iter().enumerate() {
        for i in 0..values.len() {
            let h = 1e-5;
            let moved = |d: f64| {
                let mut w = w.clone();
                w[k][i] += d;
                mlp_loss(&w, &sizes, &x, &y)
            };
            let want = (moved(h) - moved(-h)) / (2.0 * h);
            let got = values[i] - f64::from(after[k][i]);
            assert!((got - want).abs() < 3e-7, "weight {k}[{i}]: {got} is not {want}");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let x = Matrix::random(&[300, 150], 1);
    let y = Matrix::one_hot(&(0..300).map(|i| i % 10).collect::<Vec<_>>(), 10);
    let c = Chain::new(&[150]).dense(256, "relu").dropout(0.3).layer("layer_norm").dense(10, "softmax");
    let run = |threads| {
        let mut t = Trainer::new(
            &c.0,
            &c.weights(9),
            compile("categorical_crossentropy", "adam"),
            &data(&x, &y),
            None,
            128,
            77,
            rt().with_threads(threads),
        )
        .unwrap();
        let loss = (0..3).map(|_| epoch(&mut t, 0.01).loss_sum).collect::<Vec<_>>();
        (loss, t.weights().unwrap())
    };
    assert!(run(1) == run(2), "one and two threads differ");
}

#[test]
fn a_bad_batch_leaves_the_weights_alone() {
    let mut x = Matrix::random(&[12, 2], 1);
    x.values[9] = f64::NAN;
    let y = Matrix::random(&[12, 1], 2);
    let c = Chain::new(&[2]).dense(3, "relu").dense(1, "linear");
    let mut t = trainer(&c, &c.weights(3), compile("mse", "adam"), &data(&x, &y), 4, 0);
    let order: Vec<u32> = (0..12).collect();
    let s = t.steps(&order, 0, 0.1, FOREVER, &Cancel::new()).unwrap();
    assert_eq!((s.status, s.next, s.samples), (Status::NonFinite { batch: 2 }, 8, 8));
    assert!(s.loss_sum.is_finite());
    let finite = t.weights().unwrap();
    assert!(finite.iter().flatten().flat_map(floats).all(f32::is_finite));
    // Going on with the good part of the order works from where it was.
    let s = t.steps(&order, 8, 0.1, FOREVER, &Cancel::new()).unwrap();
    assert_eq!((s.status, s.samples), (Status::NonFinite { batch: 2 }, 0));
    assert_eq!(t.weights().unwrap(), finite);
    assert_eq!(t.steps(&order[..8], 0, 0.1, FOREVER, &Cancel::new()).unwrap().status, Status::Done);
}

#[test]
fn the_short_last_batch_counts() {
    let x = Matrix::random(&[33, 2], 1);
    let fit = |last: f64| {
        let mut y = Matrix::new(&[33, 1], vec![0.0; 33]);
        y.values[32] = last;
        let c = Chain::new(&[2]).dense(1, "linear");
        let mut t = trainer(&c, &c.weights(3), compile("mse", "sgd"), &data(&x, &y), 32, 0);
        let s = epoch(&mut t, 0.01);
        assert_eq!(s.samples, 33);
        t.weights().unwrap()
    };
    assert_ne!(fit(0.0), fit(50.0));
    // Fewer samples than a batch: one short batch.
    let (x, y) = (Matrix::random(&[5, 2], 1), Matrix::random(&[5, 1], 2));
    let c = Chain::new(&[2]).dense(1, "linear");
    let mut t = trainer(&c, &c.weights(3), compile("mse", "sgd"), &data(&x, &y), 32, 0);
    assert_eq!((t.batch_size(), epoch(&mut t, 0.01).samples), (5, 5));
}

#[test]
fn dropout_follows_the_key() {
    let x = Matrix::random(&[64, 10], 1);
    let y = Matrix::random(&[64, 2], 2);
    let c = Chain::new(&[10]).dense(20, "relu").dropout(0.5).dense(2, "linear");
    let losses = |key| {
        let mut t = trainer(&c, &c.weights(3), compile("mse", "sgd"), &data(&x, &y), 64, key);
        // A rate of zero keeps the weights, so that only the mask changes from step to step.
        [epoch(&mut t, 0.0).loss_sum, epoch(&mut t, 0.0).loss_sum]
    };
    assert_eq!(losses(1), losses(1));
    assert_ne!(losses(1), losses(2));
    assert_ne!(losses(1)[0], losses(1)[1]);
}

#[test]
fn deterministic_dropout_scales() {
    let (x, y) = (Matrix::random(&[8, 3], 1), Matrix::random(&[8, 1], 2));
    let loss = |c: Chain| {
        let w = c.weights(3);
        epoch(&mut trainer(&c, &w, compile("mse", "sgd"), &data(&x, &y), 8, 0), 0.0).loss_sum
    };
    let mut config = ggmlr_core::Params::new().with("rate", 0.25);
    config.set("stochastic", ggmlr_core::Param::Flag(false));
    let scaled = loss(Chain::new(&[3]).push("dropout", config).dense(1, "linear"));
    let c = Chain::new(&[3]).dense(1, "linear");
    let w = floats(&c.weights(3)[1][0]);
    let by_hand: f64 = (0..8)
        .map(|i| (0..3).map(|j| 0.75 * x.at(i, j) * f64::from(w[j])).sum::<f64>() - y.at(i, 0))
        .map(|d| d * d)
        .sum();
    assert!((scaled - by_hand).abs() < 1e-5, "{scaled} {by_hand}");
}

#[test]
fn frozen_layers_stay() {
    let (x, y) = (Matrix::random(&[16, 3], 1), Matrix::random(&[16, 1], 2));
    let c = Chain::new(&[3]).dense(4, "tanh").frozen().dense(1, "linear");
    let before = c.weights(3);
    let mut t = trainer(&c, &before, compile("mse", "adam"), &data(&x, &y), 16, 0);
    epoch(&mut t, 0.1);
    let after = t.weights().unwrap();
    assert_eq!(after[1], before[1]);
    assert_ne!(after[2], before[2]);
    // Nothing to train: the loss is still told.
    let c = Chain::new(&[3]).dense(1, "linear").frozen();
    let before = c.weights(3);
    let mut t = trainer(&c, &before, compile("mse", "adam"), &data(&x, &y), 16, 0);
    assert!(epoch(&mut t, 0.1).loss_sum > 0.0);
    assert_eq!(t.weights().unwrap(), before);
}

#[test]
fn time_and_cancel_stop_between_batches() {
    let (x, y) = (Matrix::random(&[40, 3], 1), Matrix::random(&[40, 1], 2));
    let c = Chain::new(&[3]).dense(1, "linear");
    let order: Vec<u32> = (0..40).rev().collect();
    let mut once = trainer(&c, &c.weights(3), compile("mse", "adam"), &data(&x, &y), 8, 0);
    let whole = once.steps(&order, 0, 0.1, FOREVER, &Cancel::new()).unwrap();
    // Piece by piece gives the same, batch after batch.
    let mut t = trainer(&c, &c.weights(3), compile("mse", "adam"), &data(&x, &y), 8, 0);
    let (mut at, mut loss, mut calls) = (0, 0.0, 0);
    loop {
        let s = t.steps(&order, at, 0.1, Duration::ZERO, &Cancel::new()).unwrap();
        (at, loss, calls) = (s.next, loss + s.loss_sum, calls + 1);
        if s.status == Status::Done {
            break;
        }
        assert_eq!(s.status, Status::Running);
    }
    assert_eq!((at, loss, calls), (40, whole.loss_sum, 5));
    assert_eq!(t.weights().unwrap(), once.weights().unwrap());
    let cancel = Cancel::new();
    cancel.set();
    let s = t.steps(&order, 0, 0.1, FOREVER, &cancel).unwrap();
    assert_eq!((s.status, s.next), (Status::Interrupted, 0));
    assert!(t.steps(&[40], 0, 0.1, FOREVER, &Cancel::new()).is_err());
}

#[test]
fn sample_weights_scale_the_gradient() {
    let (x, y) = (Matrix::random(&[6, 2], 1), Matrix::random(&[6, 2], 2));
    let c = Chain::new(&[2]).dense(2, "linear");
    let start = c.weights(3);
    let fit = |w: Option<Matrix>, loss: &str, rows: usize| {
        let (x, y) = (cut(&x, rows), cut(&y, rows));
        let mut d = data(&x, &y);
        d.weights = w.as_ref().map(Matrix::array);
        let mut t = trainer(&c, &start, compile(loss, "sgd"), &d, 6, 0);
        epoch(&mut t, 0.1);
        t.weights().unwrap().iter().flatten().flat_map(floats).collect::<Vec<f32>>()
    };
    let near = |a: Vec<f32>, b: Vec<f32>| a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6);
    // Weight 2 for the first half and 0 for the rest is the plain mean over the first half.
    let half = || Some(Matrix::new(&[6], vec![2.0, 2.0, 2.0, 0.0, 0.0, 0.0]));
    for loss in ["mse", "mae", "huber"] {
        assert!(near(fit(half(), loss, 6), fit(None, loss, 3)), "{loss}");
    }
    let mask = Matrix::new(&[6, 2], [[2.0, 2.0, 2.0, 0.0, 0.0, 0.0]; 2].concat());
    assert!(near(fit(Some(mask), "mse", 6), fit(None, "mse", 3)));
}

fn cut(m: &Matrix, rows: usize) -> Matrix {
    let values = m.values.chunks(m.dim[0]).flat_map(|c| c[..rows].to_vec()).collect();
    Matrix::new(&[rows, m.dim[1]], values)
}

#[test]
fn validation_is_scored_with_the_present_weights() {
    let (x, y) = (Matrix::random(&[20, 2], 1), Matrix::random(&[20, 1], 2));
    let (xv, yv) = (Matrix::random(&[7, 2], 3), Matrix::random(&[7, 1], 4));
    let c = Chain::new(&[2]).dense(1, "linear");
    let how = compile("mse", "adam");
    let mut t = Trainer::new(&c.0, &c.weights(3), how, &data(&x, &y), Some(&data(&xv, &yv)), 4, 0, rt()).unwrap();
    let before = t.validate(&Cancel::new()).unwrap();
    epoch(&mut t, 0.1);
    let after = t.validate(&Cancel::new()).unwrap();
    assert_ne!(before.loss, after.loss);
    let w = t.weights().unwrap();
    let again = evaluate(&c, &w, how, &data(&xv, &yv), 4);
    assert_eq!(after, again);
    // Old weights can be put back.
    t.set_weights(&c.weights(3)).unwrap();
    assert_eq!(t.validate(&Cancel::new()).unwrap(), before);
}
