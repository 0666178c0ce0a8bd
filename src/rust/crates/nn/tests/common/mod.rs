//! Models, weights and data for tests.
#![allow(dead_code, clippy::unwrap_used)]

use ggmlr_core::rng::{unit_f32, word};
use ggmlr_core::{Cancel, DType, Param, Params, Result};
use ggmlr_cpu::CpuDevice;
use ggmlr_nn::{
    Compile, Data, Evaluation, Init, LayerSpec, Loss, Metrics, Model, ModelSpec, Numbers, Optimizer, Prediction,
    Predictor, RArray, Runtime, Scores, Status, Steps, Tensor, Trainer, Weights,
};
use std::time::Duration;

pub const FOREVER: Duration = Duration::from_secs(3600);

pub fn rt() -> Runtime {
    Runtime::new(vec![CpuDevice::shared()])
}

/// A number in -1 .. 1.
pub fn noise(key: u64, i: usize) -> f64 {
    2.0 * f64::from(unit_f32(word(key, i as u64, 0, 0))) - 1.0
}

/// A chain of layers behind an input.
#[derive(Clone)]
pub struct Chain(pub ModelSpec);

impl Chain {
    pub fn new(shape: &[usize]) -> Chain {
        let mut config = Params::new();
        config.set("shape", Param::Numbers(shape.iter().map(|&d| d as f64).collect()));
        Chain(ModelSpec { layers: Vec::new(), outputs: vec![0] }).push("input", config)
    }

    pub fn push(mut self, kind: &str, config: Params) -> Chain {
        let at = self.0.layers.len();
        let count = self.0.layers.iter().filter(|l| l.kind == kind).count();
        self.0.layers.push(LayerSpec {
            kind: kind.to_owned(),
            name: format!("{kind}_{}", count + 1),
            inputs: if at == 0 { vec![] } else { vec![at - 1] },
            config,
            trainable: true,
        });
        self.0.outputs = vec![at];
        self
    }

    pub fn dense(self, units: usize, activation: &str) -> Chain {
        let mut config = Params::new().with("units", units as f64);
        config.set("activation", Param::Text(activation.to_owned()));
        self.push("dense", config)
    }

    pub fn dropout(self, rate: f64) -> Chain {
        self.push("dropout", Params::new().with("rate", rate))
    }

    pub fn layer(self, kind: &str) -> Chain {
        self.push(kind, Params::new())
    }

    pub fn frozen(mut self) -> Chain {
        if let Some(l) = self.0.layers.last_mut() {
            l.trainable = false;
        }
        self
    }

    /// Weights as R would draw them.
    pub fn weights(&self, key: u64) -> Weights<'static> {
        let mut at = 0;
        Model::new(&self.0, None)
            .unwrap()
            .plan()
            .iter()
            .map(|l| {
                l.weights
                    .iter()
                    .map(|w| {
                        let values: Vec<f32> = (0..w.ne.iter().product())
                            .map(|_| {
                                at += 1;
                                match w.init {
                                    Init::Uniform(limit) => (limit * noise(key, at)) as f32,
                                    Init::Constant(c) => c as f32,
                                }
                            })
                            .collect();
                        tensor(w.name, &w.ne, &values)
                    })
                    .collect()
            })
            .collect()
    }
}

pub fn tensor(name: &str, ne: &[usize], values: &[f32]) -> Tensor<'static> {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Tensor { name: name.to_owned(), dtype: DType::F32, ne: ne.to_vec(), data: data.into() }
}

pub fn floats(t: &Tensor<'_>) -> Vec<f32> {
    t.data.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

pub fn compile(loss: &str, optimizer: &str) -> Compile {
    Compile {
        loss: Loss::parse(loss).unwrap(),
        optimizer: Optimizer::parse(optimizer).unwrap(),
        metrics: Metrics { mae: true, mse: true },
    }
}

/// A matrix in R's order.
pub struct Matrix {
    pub dim: Vec<usize>,
    pub values: Vec<f64>,
}

impl Matrix {
    pub fn new(dim: &[usize], values: Vec<f64>) -> Matrix {
        assert_eq!(dim.iter().product::<usize>(), values.len());
        Matrix { dim: dim.to_vec(), values }
    }

    pub fn random(dim: &[usize], key: u64) -> Matrix {
        Matrix::new(dim, (0..dim.iter().product()).map(|i| noise(key, i)).collect())
    }

    /// One-hot rows of the classes.
    pub fn one_hot(classes: &[usize], k: usize) -> Matrix {
        let n = classes.len();
        let mut values = vec![0.0; n * k];
        classes.iter().enumerate().for_each(|(i, c)| values[i + n * c] = 1.0);
        Matrix::new(&[n, k], values)
    }

    pub fn array(&self) -> RArray<'_> {
        RArray { values: Numbers::Real(&self.values), dim: self.dim.clone() }
    }

    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.values[i + self.dim[0] * j]
    }
}

pub fn data<'a>(x: &'a Matrix, y: &'a Matrix) -> Data<'a> {
    Data { x: vec![x.array()], y: vec![y.array()], weights: None }
}

pub fn trainer(c: &Chain, w: &Weights<'_>, how: Compile, d: &Data<'_>, batch: usize, key: u64) -> Trainer {
    Trainer::new(&c.0, w, how, d, None, batch, key, rt()).unwrap()
}

/// One pass over the data in order.
pub fn epoch(t: &mut Trainer, lr: f64) -> Steps {
    let order: Vec<u32> = (0..t.n() as u32).collect();
    let s = t.steps(&order, 0, lr, FOREVER, &Cancel::new()).unwrap();
    assert_eq!(s.status, Status::Done);
    s
}

pub fn evaluate(c: &Chain, w: &Weights<'_>, how: Compile, d: &Data<'_>, batch: usize) -> Scores {
    Evaluation::new(&c.0, w, how, d, batch, rt()).unwrap().run(&Cancel::new()).unwrap()
}

pub fn predict(c: &Chain, w: &Weights<'_>, x: &Matrix, batch: usize) -> Result<Prediction> {
    Ok(Predictor::new(&c.0, w, &[x.array()], batch, rt())?.run(&Cancel::new())?.remove(0))
}
