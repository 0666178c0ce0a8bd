//! The graphs of a model: one training step, one scored batch, one predicted batch.

use crate::activation::Activation;
use crate::layers::Lower;
use crate::losses::{Compile, Head};
use crate::optim::Trained;
use crate::shape::Shape;
use crate::spec::{Model, in_layer};
use ggmlr_core::{DType, Desc, Error, Result, Val};
use ggmlr_graph::{Graph, ValueId, backward};
use ggmlr_ops::index::get_rows::GetRows;
use ggmlr_ops::loss::correct::Correct;
use ggmlr_ops::optim::all_finite::AllFinite;
use ggmlr_ops::random::dropout::Dropout;
use ggmlr_ops::shape::{Repeat, Reshape};

/// Leaves for the weights of each layer.
pub(crate) type Leaves = Vec<Vec<ValueId>>;

fn leaf(graph: &mut Graph, ne: &[usize]) -> Result<ValueId> {
    Ok(graph.leaf(Desc::new(DType::F32, ne)?))
}

fn weight_leaves(graph: &mut Graph, model: &Model) -> Result<Leaves> {
    let mut out = Vec::with_capacity(model.layers.len());
    for l in &model.layers {
        out.push(l.weights.iter().map(|w| leaf(graph, &w.ne)).collect::<Result<_>>()?);
    }
    Ok(out)
}

/// How the layers are lowered.
#[derive(Clone, Copy)]
struct Mode {
    n: usize,
    training: bool,
    /// Leave out the softmax of an output.
    logits: bool,
}

/// Adds all layers; `x` are the inputs as tensors of the batch.
fn forward(graph: &mut Graph, model: &Model, x: &[ValueId], w: &Leaves, mode: Mode) -> Result<Vec<Head>> {
    let mut values: Vec<ValueId> = Vec::with_capacity(model.layers.len());
    let mut stripped = vec![false; model.layers.len()];
    for (at, l) in model.layers.iter().enumerate() {
        if let Some(i) = model.inputs.iter().position(|&i| i == at) {
            values.push(*x.get(i).ok_or_else(|| Error::internal("an input has no value"))?);
            continue;
        }
        let sources: Vec<ValueId> = l.inputs.iter().map(|&i| values[i]).collect();
        let shapes: Vec<Shape> = l.inputs.iter().map(|&i| model.layers[i].shape.clone()).collect();
        let mut b = Lower { graph: &mut *graph, training: mode.training, n: mode.n, position: at };
        let y = l.layer.lower(&mut b, &shapes, &sources, &w[at]).map_err(|e| in_layer(&l.name, e))?;
        // Another layer that reads this one wants probabilities.
        stripped[at] = mode.logits
            && l.layer.activation() == Activation::Softmax
            && model.outputs.contains(&at)
            && !model.layers.iter().any(|o| o.inputs.contains(&at));
        values.push(if stripped[at] { y } else { l.layer.activation().lower(graph, y)? });
    }
    Ok(model.outputs.iter().map(|&o| Head { value: values[o], logits: stripped[o] }).collect())
}

/// Gives a row per sample the shape of the samples.
fn shaped(graph: &mut Graph, rows: ValueId, shape: &Shape, n: usize) -> Result<ValueId> {
    if shape.is_flat() { Ok(rows) } else { graph.op(Reshape { ne: shape.ne(n) }, &[rows]) }
}

/// Weights for each row of the prediction, from one number or one row per sample.
fn spread(graph: &mut Graph, w: ValueId, shape: &Shape, n: usize) -> Result<ValueId> {
    let row = graph.value(w).desc.ne[0];
    if shape.is_flat() {
        return Ok(w);
    }
    if row > 1 {
        return shaped(graph, w, shape, n);
    }
    let mut ne = shape.ne(n);
    ne[0] = 1;
    let positions = ne[1..ne.len() - 1].iter().product();
    let like = graph.filled(Desc::new(DType::F32, &[positions, n])?, 0.0);
    let each = graph.op(Repeat {}, &[w, like])?;
    graph.op(Reshape { ne }, &[each])
}

/// One training step.
#[derive(Debug)]
pub(crate) struct StepGraph {
    pub graph: Graph,
    pub weights: Leaves,
    /// Moments of each weight, in the order of `weights`; empty for those that stay.
    pub moments: Vec<Vec<Vec<ValueId>>>,
    pub settings: ValueId,
    pub x: ValueId,
    pub y: ValueId,
    pub w: Option<ValueId>,
    pub index: ValueId,
    /// Loss, right predictions, gate.
    pub results: [ValueId; 3],
    /// Where in the scalar block the dropout masks keep their key and, two words on, their step.
    pub masks: Vec<usize>,
}

/// Position of the step behind the key of a dropout operator in the scalar block.
pub(crate) const MASK_STEP: usize = 2;

impl StepGraph {
    /// For batches of `n` out of `total` samples; `weight_row` numbers weigh a sample, 0 for none.
    pub fn new(model: &Model, compile: &Compile, n: usize, total: usize, weight_row: usize) -> Result<StepGraph> {
        let mut graph = Graph::new();
        let g = &mut graph;
        let weights = weight_leaves(g, model)?;
        let mut moments = Vec::with_capacity(weights.len());
        for l in &model.layers {
            let count = if l.trainable { compile.optimizer.moments() } else { 0 };
            let of = |g: &mut Graph, ne: &[usize]| (0..count).map(|_| leaf(g, ne)).collect::<Result<Vec<_>>>();
            moments.push(l.weights.iter().map(|w| of(g, &w.ne)).collect::<Result<Vec<_>>>()?);
        }
        let settings = leaf(g, &[compile.optimizer.settings(0.0, 1).len()])?;
        let (shape, target) = (model.input_shape(0), model.output_shape(0));
        let x = leaf(g, &[shape.size(), total])?;
        let y = leaf(g, &[target.size(), total])?;
        let w = if weight_row > 0 { Some(leaf(g, &[weight_row, total])?) } else { None };
        let index = g.leaf(Desc::new(DType::I32, &[n])?);

        let batch = g.op(GetRows {}, &[x, index])?;
        let batch = shaped(g, batch, shape, n)?;
        let labels = g.op(GetRows {}, &[y, index])?;
        let labels = shaped(g, labels, target, n)?;
        let row_weights = match w {
            Some(w) => {
                let rows = g.op(GetRows {}, &[w, index])?;
                Some(spread(g, rows, target, n)?)
            }
            None => None,
        };
        let mode = Mode { n, training: true, logits: compile.loss.takes_logits() };
        let head = forward(g, model, &[batch], &weights, mode)?[0];
        let loss = compile.loss.lower(g, &head, labels, row_weights)?;
        let correct = g.op(Correct {}, &[head.value, labels])?;

        let trained: Vec<Trained> = model
            .layers
            .iter()
            .enumerate()
            .filter(|(_, l)| l.trainable)
            .flat_map(|(i, l)| (0..l.weights.len()).map(move |j| (i, j)))
            .map(|(i, j)| Trained { weight: weights[i][j], moments: moments[i][j].clone() })
            .collect();
        let grads = gradients(g, loss, &trained)?;
        let mut checked = vec![loss];
        checked.extend(grads.iter().map(|(_, grad)| *grad));
        let gate = g.op(AllFinite {}, &checked)?;
        for (i, grad) in grads {
            compile.optimizer.lower(g, &trained[i], grad, settings, gate)?;
        }
        let masks =
            graph.nodes().iter().filter(|n| n.op.downcast::<Dropout>().is_some()).map(|n| n.scalars.start).collect();
        Ok(StepGraph { graph, weights, moments, settings, x, y, w, index, results: [loss, correct, gate], masks })
    }
}

/// Gradients of the trained weights, by position; weights that the loss does not depend on have none.
fn gradients(g: &mut Graph, loss: ValueId, trained: &[Trained]) -> Result<Vec<(usize, ValueId)>> {
    if trained.is_empty() {
        return Ok(Vec::new());
    }
    let order: Vec<Val> = (0..g.nodes().len()).map(|node| Val::from(ValueId { node: node as u32, out: 0 })).collect();
    let params: Vec<Val> = trained.iter().map(|t| t.weight.into()).collect();
    let seed = g.filled(Desc::new(DType::F32, &[1])?, 1.0);
    let grads = backward(g, &order, loss.into(), seed.into(), &params)?;
    Ok(params.iter().enumerate().filter_map(|(i, p)| grads.get(p).map(|v| (i, ValueId::from(*v)))).collect())
}

/// One scored batch.
#[derive(Debug)]
pub(crate) struct ScoreGraph {
    pub graph: Graph,
    pub weights: Leaves,
    pub x: ValueId,
    pub y: ValueId,
    pub w: Option<ValueId>,
    /// Loss, right predictions, then the metrics.
    pub results: Vec<ValueId>,
}

impl ScoreGraph {
    /// For batches of `n` samples that lie one after another.
    pub fn new(model: &Model, compile: &Compile, n: usize, weight_row: usize) -> Result<ScoreGraph> {
        let mut graph = Graph::new();
        let g = &mut graph;
        let weights = weight_leaves(g, model)?;
        let (shape, target) = (model.input_shape(0), model.output_shape(0));
        let x = leaf(g, &[shape.size(), n])?;
        let y = leaf(g, &[target.size(), n])?;
        let w = if weight_row > 0 { Some(leaf(g, &[weight_row, n])?) } else { None };
        let batch = shaped(g, x, shape, n)?;
        let labels = shaped(g, y, target, n)?;
        let row_weights = match w {
            Some(w) => Some(spread(g, w, target, n)?),
            None => None,
        };
        let mode = Mode { n, training: false, logits: false };
        let head = forward(g, model, &[batch], &weights, mode)?[0];
        let mut results =
            vec![compile.loss.lower(g, &head, labels, row_weights)?, g.op(Correct {}, &[head.value, labels])?];
        results.extend(compile.metrics.lower(g, head.value, labels)?);
        Ok(ScoreGraph { graph, weights, x, y, w, results })
    }
}

/// One predicted batch.
#[derive(Debug)]
pub(crate) struct PredictGraph {
    pub graph: Graph,
    pub weights: Leaves,
    pub x: ValueId,
    pub outputs: Vec<ValueId>,
}

impl PredictGraph {
    /// For batches of `n` samples.
    pub fn new(model: &Model, n: usize) -> Result<PredictGraph> {
        let mut graph = Graph::new();
        let g = &mut graph;
        let weights = weight_leaves(g, model)?;
        let shape = model.input_shape(0);
        let x = leaf(g, &[shape.size(), n])?;
        let batch = shaped(g, x, shape, n)?;
        let heads = forward(g, model, &[batch], &weights, Mode { n, training: false, logits: false })?;
        let outputs: Vec<ValueId> = heads.iter().map(|h| h.value).collect();
        outputs.iter().for_each(|v| g.keep(*v));
        Ok(PredictGraph { graph, weights, x, outputs })
    }
}
