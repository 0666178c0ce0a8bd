//! Loss, accuracy and metrics over a whole data set, forward only.

use crate::data::{Data, Resident};
use crate::losses::{Compile, Loss};
use crate::program::ScoreGraph;
use crate::runtime::{Runner, Runtime, stop_if};
use crate::spec::{Model, ModelSpec};
use crate::weights::{self, Buffers, Weights};
use ggmlr_core::{Cancel, Error, Result};
use ggmlr_graph::ValueId;

/// What a model scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    pub loss: f64,
    /// Share of right predictions; `None` for a single output that is no probability.
    pub accuracy: Option<f64>,
    pub n: usize,
    pub mae: Option<f64>,
    pub mse: Option<f64>,
}

/// Right predictions as a number of samples, where they mean anything: a single output that is no probability is
/// neither right nor wrong.
pub(crate) fn right_samples(model: &Model, loss: Loss, correct: f64) -> Option<f64> {
    let shape = model.output_shape(0);
    // Each row of the prediction is one decision; a sequence has many.
    let k = shape.ne(1)[0];
    (k > 1 || loss == Loss::BinaryCrossentropy).then_some(correct / (shape.size() / k) as f64)
}

#[derive(Debug)]
struct Batch {
    n: usize,
    runner: Runner,
    x: ValueId,
    y: ValueId,
    w: Option<ValueId>,
}

/// The scoring programs for one set of weights and one data set.
#[derive(Debug)]
pub(crate) struct Scorer {
    batch_size: usize,
    batches: Vec<Batch>,
}

impl Scorer {
    pub fn new(batch_size: usize) -> Scorer {
        Scorer { batch_size, batches: Vec::new() }
    }

    /// Compiles the full batch, so that errors and costs are known before a run.
    pub fn prepare(
        &mut self,
        rt: &Runtime,
        model: &Model,
        compile: &Compile,
        weights: &Buffers,
        data: &Resident,
    ) -> Result<()> {
        self.batch(rt, model, compile, weights, data, self.batch_size.min(data.n())).map(|_| ())
    }

    fn batch(
        &mut self,
        rt: &Runtime,
        model: &Model,
        compile: &Compile,
        weights: &Buffers,
        data: &Resident,
        n: usize,
    ) -> Result<&mut Batch> {
        let at = match self.batches.iter().position(|b| b.n == n) {
            Some(i) => i,
            None => {
                let g = ScoreGraph::new(model, compile, n, data.weight_row())?;
                let mut runner = Runner::new(rt, g.graph, &g.results, self.batches.first().map(|b| &b.runner))?;
                for (leaf, buffer) in g.weights.iter().flatten().zip(weights.iter().flatten()) {
                    runner.bind(*leaf, buffer, 0)?;
                }
                self.batches.push(Batch { n, runner, x: g.x, y: g.y, w: g.w });
                self.batches.len() - 1
            }
        };
        Ok(&mut self.batches[at])
    }

    /// Scores all samples.
    pub fn run(
        &mut self,
        rt: &Runtime,
        model: &Model,
        compile: &Compile,
        weights: &Buffers,
        data: &Resident,
        cancel: &Cancel,
    ) -> Result<Scores> {
        let total = data.n();
        // Loss, right predictions, metrics.
        let mut sums = [0.0; 4];
        for first in (0..total).step_by(self.batch_size) {
            let n = self.batch_size.min(total - first);
            let b = self.batch(rt, model, compile, weights, data, n)?;
            b.runner.bind(b.x, &data.x.buffer, data.x.offset(first))?;
            b.runner.bind(b.y, &data.y.buffer, data.y.offset(first))?;
            if let (Some(leaf), Some(table)) = (b.w, &data.w) {
                b.runner.bind(leaf, &table.buffer, table.offset(first))?;
            }
            b.runner.run(cancel)?;
            b.runner.fetch()?;
            for (i, sum) in sums.iter_mut().enumerate() {
                // The count is a sum already, everything else a mean over the batch.
                *sum += b.runner.result(i) * if i == 1 { 1.0 } else { n as f64 };
            }
        }
        stop_if(cancel)?;
        let mut metrics = sums[2..].iter().map(|s| s / total as f64);
        Ok(Scores {
            loss: sums[0] / total as f64,
            accuracy: right_samples(model, compile.loss, sums[1]).map(|c| c / total as f64),
            n: total,
            mae: if compile.metrics.mae { metrics.next() } else { None },
            mse: if compile.metrics.mse { metrics.next() } else { None },
        })
    }

    /// Estimated nanoseconds for `n` samples, once a batch was compiled.
    pub fn cost(&self, n: usize) -> f64 {
        self.batches.first().map_or(0.0, |b| b.runner.cost() * n as f64 / b.n as f64)
    }
}

/// A model and data to score it on, ready to run on any thread.
#[derive(Debug)]
pub struct Evaluation {
    model: Model,
    compile: Compile,
    rt: Runtime,
    weights: Buffers,
    data: Resident,
    scorer: Scorer,
}

impl Evaluation {
    /// Takes data and weights to the device and compiles.
    pub fn new(
        spec: &ModelSpec,
        weights: &Weights<'_>,
        compile: Compile,
        data: &Data<'_>,
        batch_size: usize,
        rt: Runtime,
    ) -> Result<Evaluation> {
        let model = Model::new(spec, rt.memory())?;
        model.one_in_one_out()?;
        let data = Resident::new(&rt, &model, data, compile.loss.takes_mask())?;
        let buffers = weights::allocate(&model, &rt)?;
        weights::upload(&model, weights, &buffers)?;
        let mut scorer = Scorer::new(check_batch_size(batch_size)?);
        scorer.prepare(&rt, &model, &compile, &buffers, &data)?;
        Ok(Evaluation { model, compile, rt, weights: buffers, data, scorer })
    }

    /// Estimated nanoseconds on one thread.
    pub fn cost(&self) -> f64 {
        self.scorer.cost(self.data.n())
    }

    /// Scores.
    pub fn run(&mut self, cancel: &Cancel) -> Result<Scores> {
        self.scorer.run(&self.rt, &self.model, &self.compile, &self.weights, &self.data, cancel)
    }
}

/// Samples in a batch: at least one.
pub(crate) fn check_batch_size(batch_size: usize) -> Result<usize> {
    if batch_size > 0 {
        return Ok(batch_size);
    }
    Err(Error::argument("batch_size", "batch_size must be a positive whole number, got 0"))
}
