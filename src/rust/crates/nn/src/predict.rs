//! Prediction for any number of samples, batch by batch.

use crate::data::{RArray, Rows, Table, one};
use crate::evaluate::check_batch_size;
use crate::program::PredictGraph;
use crate::runtime::{Runner, Runtime, stop_if};
use crate::spec::{Model, ModelSpec};
use crate::weights::{self, Buffers, Weights};
use ggmlr_core::{Cancel, Error, Result};

/// Values of one output as an R array `[N, ...]`, column-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    pub dim: Vec<usize>,
    pub data: Vec<f64>,
}

#[derive(Debug)]
struct Batch {
    runner: Runner,
    graph: PredictGraph,
}

impl Batch {
    fn new(rt: &Runtime, model: &Model, weights: &Buffers, n: usize, other: Option<&Batch>) -> Result<Batch> {
        let graph = PredictGraph::new(model, n)?;
        let mut runner = Runner::new(rt, graph.graph.clone(), &[], other.map(|o| &o.runner))?;
        for (leaf, buffer) in graph.weights.iter().flatten().zip(weights.iter().flatten()) {
            runner.bind(*leaf, buffer, 0)?;
        }
        Ok(Batch { runner, graph })
    }

    fn run(&mut self, x: &Table, first: usize, cancel: &Cancel) -> Result<()> {
        self.runner.bind(self.graph.x, &x.buffer, x.offset(first))?;
        self.runner.run(cancel)
    }
}

/// A model and the samples to predict, ready to run on any thread.
#[derive(Debug)]
pub struct Predictor {
    model: Model,
    rt: Runtime,
    weights: Buffers,
    x: Table,
    /// Samples with a missing or infinite value.
    unknown: Vec<usize>,
    batch_size: usize,
    full: Batch,
}

impl Predictor {
    /// Takes samples and weights to the device and compiles.
    pub fn new(
        spec: &ModelSpec,
        weights: &Weights<'_>,
        x: &[RArray<'_>],
        batch_size: usize,
        rt: Runtime,
    ) -> Result<Predictor> {
        let model = Model::new(spec, rt.memory())?;
        model.one_in_one_out()?;
        let rows = Rows::new(one(x, "x", "inputs")?, model.input_shape(0), "x")?;
        if rows.n() == 0 {
            return Err(Error::argument("x", "No samples provided."));
        }
        let batch_size = check_batch_size(batch_size)?.min(rows.n());
        let mut unknown = Vec::new();
        let x = Table::watched(&rt, &rows, |first, part| {
            let finite = |sample: &[f32]| sample.iter().fold(true, |all, v| all & v.is_finite());
            unknown.extend(part.chunks(rows.row()).enumerate().filter(|(_, s)| !finite(s)).map(|(i, _)| first + i));
            Ok(())
        })?;
        let buffers = weights::allocate(&model, &rt)?;
        weights::upload(&model, weights, &buffers)?;
        let full = Batch::new(&rt, &model, &buffers, batch_size, None)?;
        Ok(Predictor { model, rt, weights: buffers, x, unknown, batch_size, full })
    }

    /// Estimated nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        self.full.runner.cost() * self.x.n as f64 / self.batch_size as f64
    }

    /// Predicts every sample. One with a missing or infinite value has missing predictions; others are not affected.
    pub fn run(&mut self, cancel: &Cancel) -> Result<Vec<Prediction>> {
        let n = self.x.n;
        let mut out = Collect::new(&self.model, n)?;
        for first in (0..n).step_by(self.batch_size) {
            let len = self.batch_size.min(n - first);
            if len == self.batch_size {
                self.full.run(&self.x, first, cancel)?;
                out.take(&self.full, first, len)?;
            } else {
                let mut short = Batch::new(&self.rt, &self.model, &self.weights, len, Some(&self.full))?;
                short.run(&self.x, first, cancel)?;
                out.take(&short, first, len)?;
            }
        }
        stop_if(cancel)?;
        self.unknown.iter().for_each(|&i| out.forget(i));
        Ok(out.outputs)
    }
}

/// The predictions so far.
struct Collect {
    n: usize,
    outputs: Vec<Prediction>,
    /// For each output and each element of a sample in tensor order, the column of the R array.
    columns: Vec<Vec<usize>>,
    bytes: Vec<u8>,
}

impl Collect {
    fn new(model: &Model, n: usize) -> Result<Collect> {
        let mut outputs = Vec::with_capacity(model.outputs.len());
        let mut columns = Vec::with_capacity(model.outputs.len());
        for i in 0..model.outputs.len() {
            let shape = model.output_shape(i);
            let len = n
                .checked_mul(shape.size())
                .ok_or_else(|| Error::shape(format!("{n} predictions of shape {shape} are too many")))?;
            let mut dim = vec![n];
            dim.extend(shape.dims());
            outputs.push(Prediction { dim, data: vec![0.0; len] });
            columns.push(shape.r_positions());
        }
        Ok(Collect { n, outputs, columns, bytes: Vec::new() })
    }

    /// Takes the outputs of a batch of `len` samples from sample `first` on.
    fn take(&mut self, batch: &Batch, first: usize, len: usize) -> Result<()> {
        for ((v, to), columns) in batch.graph.outputs.iter().zip(&mut self.outputs).zip(&self.columns) {
            let row = columns.len();
            self.bytes.resize(row * len * size_of::<f32>(), 0);
            batch.runner.read(*v, &mut self.bytes)?;
            for (j, &c) in columns.iter().enumerate() {
                let column = &mut to.data[c * self.n + first..c * self.n + first + len];
                for (i, y) in column.iter_mut().enumerate() {
                    let at = (i * row + j) * size_of::<f32>();
                    if let Some(&[a, b, c, d]) = self.bytes.get(at..at + size_of::<f32>()) {
                        *y = f64::from(f32::from_le_bytes([a, b, c, d]));
                    }
                }
            }
        }
        Ok(())
    }

    /// Marks a sample as unknown.
    fn forget(&mut self, sample: usize) {
        for out in &mut self.outputs {
            out.data.iter_mut().skip(sample).step_by(self.n).for_each(|v| *v = f64::NAN);
        }
    }
}
