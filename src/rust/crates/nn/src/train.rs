//! Training: batches through the step program until the order, the time or the user's patience ends.

use crate::data::{Data, Resident};
use crate::evaluate::{Scorer, Scores, check_batch_size, right_samples};
use crate::losses::Compile;
use crate::program::{MASK_STEP, StepGraph};
use crate::runtime::{self, Runner, Runtime};
use crate::spec::{Model, ModelSpec};
use crate::weights::{self, Buffers, Weights};
use ggmlr_core::{BufferRef, Cancel, Class, Error, Kind, Result};
use std::time::{Duration, Instant};

/// Why a call of [`Trainer::steps`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The time is over, the order is not.
    Running,
    Done,
    Interrupted,
    /// Loss or gradient of this batch (counted from 0 in the order) is not finite; the weights are those before it.
    NonFinite {
        batch: usize,
    },
}

/// What the batches of one call gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// Position in the order at which to go on.
    pub next: usize,
    /// Sum of the batch losses, each times its number of samples.
    pub loss_sum: f64,
    /// Right predictions, as a number of samples; nothing where there is no right or wrong.
    pub correct: Option<f64>,
    pub samples: usize,
    pub status: Status,
}

/// The step program for one batch size.
#[derive(Debug)]
struct Step {
    n: usize,
    runner: Runner,
    index: BufferRef,
    masks: Vec<usize>,
}

/// A model in training: weights, moments, data and programs stay between steps.
#[derive(Debug)]
pub struct Trainer {
    model: Model,
    compile: Compile,
    rt: Runtime,
    weights: Buffers,
    moments: Vec<Vec<Vec<BufferRef>>>,
    settings: BufferRef,
    data: Resident,
    steps: Vec<Step>,
    validation: Option<(Resident, Scorer)>,
    batch_size: usize,
    key: u64,
    /// Steps taken so far.
    t: u64,
}

impl Trainer {
    /// Takes data and weights to the device. `key` decides about every random number of this training.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        spec: &ModelSpec,
        weights: &Weights<'_>,
        compile: Compile,
        data: &Data<'_>,
        validation: Option<&Data<'_>>,
        batch_size: usize,
        key: u64,
        rt: Runtime,
    ) -> Result<Trainer> {
        let model = Model::new(spec, rt.memory())?;
        model.one_in_one_out()?;
        let batch_size = check_batch_size(batch_size)?;
        let mask = compile.loss.takes_mask();
        let data = Resident::new(&rt, &model, data, mask)?;
        let validation = match validation {
            Some(v) => {
                let v = Resident::new(&rt, &model, v, mask).map_err(|e| in_validation(&e))?;
                Some((v, Scorer::new(batch_size)))
            }
            None => None,
        };
        let buffers = weights::allocate(&model, &rt)?;
        weights::upload(&model, weights, &buffers)?;
        let mut moments = Vec::with_capacity(model.layers.len());
        for l in &model.layers {
            let count = if l.trainable { compile.optimizer.moments() } else { 0 };
            let of = |ne: &[usize]| (0..count).map(|_| rt.alloc(weights::bytes(ne), Class::Weights)).collect();
            moments.push(l.weights.iter().map(|w| of(&w.ne)).collect::<Result<Vec<Vec<_>>>>()?);
        }
        let settings = rt.alloc(compile.optimizer.settings(0.0, 1).len() * size_of::<f32>(), Class::Inputs)?;
        let batch_size = batch_size.min(data.n());
        let mut trainer = Trainer {
            model,
            compile,
            rt,
            weights: buffers,
            moments,
            settings,
            data,
            steps: Vec::new(),
            validation,
            batch_size,
            key,
            t: 0,
        };
        // Errors of the graph belong to the construction, not to the first step.
        trainer.step(batch_size)?;
        if let Some((data, scorer)) = &mut trainer.validation {
            scorer.prepare(&trainer.rt, &trainer.model, &trainer.compile, &trainer.weights, data)?;
        }
        Ok(trainer)
    }

    /// Position in `steps` of the program for `n` samples.
    fn step(&mut self, n: usize) -> Result<usize> {
        if let Some(i) = self.steps.iter().position(|s| s.n == n) {
            return Ok(i);
        }
        let g = StepGraph::new(&self.model, &self.compile, n, self.data.n(), self.data.weight_row())?;
        let index = self.rt.alloc(n * size_of::<i32>(), Class::Inputs)?;
        let mut runner = Runner::new(&self.rt, g.graph, &g.results, self.steps.first().map(|s| &s.runner))?;
        runner.keep_updates_whole();
        for (leaf, buffer) in g.weights.iter().flatten().zip(self.weights.iter().flatten()) {
            runner.bind(*leaf, buffer, 0)?;
        }
        for (leaf, buffer) in g.moments.iter().flatten().flatten().zip(self.moments.iter().flatten().flatten()) {
            runner.bind(*leaf, buffer, 0)?;
        }
        runner.bind(g.settings, &self.settings, 0)?;
        runner.bind(g.x, &self.data.x.buffer, 0)?;
        runner.bind(g.y, &self.data.y.buffer, 0)?;
        if let (Some(leaf), Some(table)) = (g.w, &self.data.w) {
            runner.bind(leaf, &table.buffer, 0)?;
        }
        runner.bind(g.index, &index, 0)?;
        for &at in &g.masks {
            runner.scalars()[at] = self.key;
        }
        self.steps.push(Step { n, runner, index, masks: g.masks });
        Ok(self.steps.len() - 1)
    }

    /// Samples to train on.
    pub fn n(&self) -> usize {
        self.data.n()
    }

    /// Samples of a full batch.
    pub fn batch_size(&self) -> usize {
        self.batch_size
    }

    /// Estimated nanoseconds of a full batch on one thread.
    pub fn step_cost(&self) -> f64 {
        self.steps.first().map_or(0.0, |s| s.runner.cost())
    }

    /// Trains on the samples of `order` from position `from` until its end, or until `budget` is over, which is looked
    /// at after each batch.
    pub fn steps(&mut self, order: &[u32], from: usize, lr: f64, budget: Duration, cancel: &Cancel) -> Result<Steps> {
        let n = self.n();
        if let Some(bad) = order.iter().find(|i| **i as usize >= n) {
            return Err(Error::argument("order", format!("order holds sample {bad}, there are {n}")));
        }
        if !lr.is_finite() {
            return Err(Error::argument("lr", format!("the learning rate must be a finite number, got {lr}")));
        }
        let start = Instant::now();
        let mut correct = 0.0;
        let mut out = Steps { next: from, loss_sum: 0.0, correct: None, samples: 0, status: Status::Running };
        while out.next < order.len() && !cancel.is_set() {
            let batch = &order[out.next..(out.next + self.batch_size).min(order.len())];
            let (loss, right) = match self.batch(batch, lr, cancel) {
                Ok(Some(done)) => done,
                Ok(None) => {
                    out.status = Status::NonFinite { batch: out.next / self.batch_size };
                    break;
                }
                // The batch was given up before the optimiser began: the weights are those of the last whole step.
                Err(e) if e.kind() == Kind::Interrupted => break,
                Err(e) => return Err(e),
            };
            out.loss_sum += loss * batch.len() as f64;
            correct += right;
            out.samples += batch.len();
            out.next += batch.len();
            if start.elapsed() >= budget {
                break;
            }
        }
        // Also when it came during the last batch: whoever set it has used up the user's request.
        if out.status == Status::Running && cancel.is_set() {
            out.status = Status::Interrupted;
        } else if out.next >= order.len() {
            out.status = Status::Done;
        }
        out.correct = right_samples(&self.model, self.compile.loss, correct);
        Ok(out)
    }

    /// One step: loss and right predictions, or nothing when they or a gradient are not finite.
    fn batch(&mut self, samples: &[u32], lr: f64, cancel: &Cancel) -> Result<Option<(f64, f64)>> {
        let at = self.step(samples.len())?;
        let step = &mut self.steps[at];
        // Sample numbers fit an i32: the data was checked for it.
        runtime::write(step.index.as_ref(), samples)?;
        runtime::write(self.settings.as_ref(), &self.compile.optimizer.settings(lr, self.t + 1))?;
        for &mask in &step.masks {
            step.runner.scalars()[mask + MASK_STEP] = self.t;
        }
        step.runner.run(cancel)?;
        step.runner.fetch()?;
        if step.runner.result(2) != 1.0 {
            return Ok(None);
        }
        self.t += 1;
        Ok(Some((step.runner.result(0), step.runner.result(1))))
    }

    /// Scores the validation data with the present weights.
    pub fn validate(&mut self, cancel: &Cancel) -> Result<Scores> {
        let (data, scorer) = self
            .validation
            .as_mut()
            .ok_or_else(|| Error::argument("validation_data", "this training has no validation data"))?;
        scorer.run(&self.rt, &self.model, &self.compile, &self.weights, data, cancel)
    }

    /// Estimated nanoseconds of a validation on one thread.
    pub fn validation_cost(&self) -> f64 {
        self.validation.as_ref().map_or(0.0, |(data, scorer)| scorer.cost(data.n()))
    }

    /// The present weights.
    pub fn weights(&self) -> Result<Weights<'static>> {
        weights::download(&self.model, &self.weights)
    }

    /// Replaces the weights; the optimiser goes on as if they had come from its own steps.
    pub fn set_weights(&mut self, weights: &Weights<'_>) -> Result<()> {
        weights::upload(&self.model, weights, &self.weights)
    }
}

fn in_validation(e: &Error) -> Error {
    let mut out = Error::new(e.kind(), format!("validation_data: {}", e.message())).arg("validation_data");
    if let Some(text) = e.expected_text() {
        out = out.expected(text);
    }
    if let Some(text) = e.got_text() {
        out = out.got(text);
    }
    out
}
