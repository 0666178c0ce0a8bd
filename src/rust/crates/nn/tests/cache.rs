//! Programs are compiled once. Alone in its process, so that no other test counts along.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use ggmlr_core::Cancel;
use ggmlr_nn::{Predictor, Trainer, compiled_programs};

#[test]
fn shapes_that_repeat_compile_nothing() {
    let c = Chain::new(&[4]).dense(8, "relu").dropout(0.2).dense(3, "softmax");
    let (x, y) = (Matrix::random(&[50, 4], 2), Matrix::one_hot(&[1; 50], 3));
    let rt = rt();
    let use_all = |seed: u64| {
        let w = c.weights(seed);
        let how = compile("crossentropy", "adam");
        let mut t = Trainer::new(&c.0, &w, how, &data(&x, &y), Some(&data(&x, &y)), 32, seed, rt.clone()).unwrap();
        epoch(&mut t, 0.1);
        t.validate(&Cancel::new()).unwrap();
        Predictor::new(&c.0, &t.weights().unwrap(), &[x.array()], 32, rt.clone()).unwrap().run(&Cancel::new()).unwrap()
    };
    let first = use_all(1);
    // Step, score and prediction, each for a full and a short batch.
    assert_eq!(compiled_programs(), 6);
    let second = use_all(2);
    assert_eq!(compiled_programs(), 6);
    // A cached program must not bring the first training's random key along.
    assert_ne!(first, second);
    assert_eq!(use_all(1), first);
}
