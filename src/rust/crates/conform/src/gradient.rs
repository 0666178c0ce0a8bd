//! Gradients: differences of the definition, in f64, against the definition of the backward graph.
//!
//! Nothing here depends on a device: it proves the rule. That the kernels of the backward operators compute their own
//! definitions is shown by their own cases.

use crate::interpret::Values;
use crate::values::{Data, Draw, draw};
use ggmlr_core::{Array, Build, Error, Grad, MAX_DIMS, Op, Result, Val};
use ggmlr_graph::{Graph, ValueId, backward};
use ggmlr_ops::Case;
use smallvec::SmallVec;

/// Allowed difference, relative to the gradient or 1.
pub const LIMIT: f64 = 1e-7;

/// A difference that no other step needs to improve.
const GOOD: f64 = 1e-9;

/// Steps to try: the first is best for smooth formulas, the others for steep ones. A wrong rule fits none of them.
const STEPS: [f64; 3] = [1e-3, 1e-4, 1e-5];

/// Elements of an input that are moved one by one; all move together along the random directions.
const POINTS: usize = 8;
const DIRECTIONS: usize = 2;

/// What the check of one case found.
#[derive(Clone, Debug)]
pub struct Gradient {
    /// Largest difference, relative to the gradient or 1.
    pub err: f64,
    /// Where it was found.
    pub place: String,
    /// Operators of the backward graph.
    pub ops: Vec<&'static str>,
}

/// Checks the gradient rule of a case.
pub fn check(case: &Case, seed: u64) -> Result<Gradient> {
    let op = case.op.as_ref();
    let data: Vec<Data> =
        case.inputs.iter().enumerate().map(|(i, x)| draw(x, x.dtype, seed, i)).collect::<Result<_>>()?;
    let wanted: Vec<usize> =
        (0..data.len()).filter(|&i| case.inputs[i].grad && data[i].desc.dtype.is_float()).collect();
    if wanted.is_empty() {
        return Err(Error::internal("the case checks a gradient, but none of its inputs takes part"));
    }
    if let Some(i) = wanted.iter().find(|&&i| !op.differentiable(i)) {
        return Err(Error::internal(format!(
            "input {i} takes part in the gradient check, but the operator says that no gradient flows there"
        )));
    }
    let rule = Rule::new(case, &data, &wanted, seed)?;
    let x: Vec<Array> = data.into_iter().map(|d| d.array).collect();
    let forward = Forward { op, x: &x, shapes: rule.shapes, weights: rule.weights };
    let mut out = Gradient { err: 0.0, place: String::new(), ops: rule.ops };
    for (k, &i) in wanted.iter().enumerate() {
        let g = &rule.gradients[k];
        let mut draw = Draw::new(seed, 1000 + i);
        for (place, direction) in directions(&x[i], &mut draw) {
            let terms = || direction.iter().map(|&(j, v)| g.data[j] * v);
            let analytic: f64 = terms().sum();
            let scale = terms().map(|t| t * t).sum::<f64>().sqrt().max(analytic.abs()).max(1.0);
            let mut err = f64::INFINITY;
            for h in STEPS {
                let numeric = forward.derivative(i, &direction, h)?;
                let e = (numeric - analytic).abs() / scale;
                // A NaN stays an infinite error.
                if e < err {
                    err = e;
                }
                if err <= GOOD {
                    break;
                }
            }
            if err > out.err {
                out.err = err;
                out.place = format!("input {i}, {place}");
            }
        }
    }
    Ok(out)
}

/// The rule at work: gradients of the weighted sum of all results.
struct Rule {
    shapes: Vec<[usize; MAX_DIMS]>,
    weights: Vec<Option<Array>>,
    /// Gradient of each wanted input.
    gradients: Vec<Array>,
    ops: Vec<&'static str>,
}

impl Rule {
    fn new(case: &Case, data: &[Data], wanted: &[usize], seed: u64) -> Result<Rule> {
        let mut graph = Graph::new();
        let mut values = Values::new();
        let leaves: Vec<ValueId> = data
            .iter()
            .map(|d| {
                let v = graph.leaf(d.desc);
                values.set(v, d.array.clone());
                v
            })
            .collect();
        let results = graph.add(case.op.clone(), &leaves, None)?;
        let mut weights = Vec::new();
        let mut seeds: Vec<Option<Val>> = Vec::new();
        for (o, y) in results.iter().enumerate() {
            let desc = graph.value(*y).desc.contiguous();
            if !desc.dtype.is_float() {
                weights.push(None);
                seeds.push(None);
                continue;
            }
            let mut draw = Draw::new(seed, 2000 + o);
            let w = Array { ne: desc.ne, data: (0..desc.len()).map(|_| draw.between(-1.0, 1.0)).collect() };
            let leaf = graph.leaf(desc);
            values.set(leaf, w.clone());
            weights.push(Some(w));
            seeds.push(Some(leaf.into()));
        }
        let first = graph.nodes().len();
        let found = walk_back(&mut graph, case.op.as_ref(), &leaves, &results, &seeds, wanted)?;
        values.run(&graph)?;
        let mut gradients = Vec::new();
        for (&i, found) in wanted.iter().zip(found) {
            let x = data[i].desc;
            gradients.push(match found {
                None => Array::zeros(x.ne),
                Some(v) => {
                    let d = graph.desc(v)?;
                    if !d.same_shape(&x) || d.dtype != x.dtype {
                        return Err(Error::internal(format!("input {i} is {x:?}, its gradient {d:?}")));
                    }
                    values.get(v.into())?.clone()
                }
            });
        }
        let ops = graph.nodes()[first..].iter().filter(|n| !n.is_leaf()).map(|n| n.op.name()).collect();
        let shapes = results.iter().map(|y| graph.value(*y).desc.ne).collect();
        Ok(Rule { shapes, weights, gradients, ops })
    }
}

/// Adds the backward nodes; the gradient of each wanted input, `None` where it is zero.
fn walk_back(
    graph: &mut Graph,
    op: &dyn Op,
    leaves: &[ValueId],
    results: &[ValueId],
    seeds: &[Option<Val>],
    wanted: &[usize],
) -> Result<Vec<Option<Val>>> {
    let x: Vec<Val> = leaves.iter().map(|v| Val::from(*v)).collect();
    let y: Vec<Val> = results.iter().map(|v| Val::from(*v)).collect();
    if let ([y], [Some(seed)]) = (&y[..], seeds) {
        let params: Vec<Val> = wanted.iter().map(|&i| x[i]).collect();
        let grads = backward(graph, &[*y], *y, *seed, &params)?;
        return Ok(params.iter().map(|p| grads.get(p).copied()).collect());
    }
    // Several results: a walk starts at one loss, so the rule is asked directly, with a gradient at every result.
    if seeds.iter().all(Option::is_none) {
        return Err(Error::internal("no result is a floating point number"));
    }
    let wants: Vec<bool> = (0..x.len()).map(|i| wanted.contains(&i)).collect();
    let mut g = Grad::new(graph, &x, &y, seeds, &wants);
    op.grad(&mut g)?;
    let found = g.finish();
    Ok(wanted.iter().map(|&i| found[i]).collect())
}

/// Sparse direction: element and how far it moves for a step of 1.
type Direction = Vec<(usize, f64)>;

fn directions(x: &Array, draw: &mut Draw) -> Vec<(String, Direction)> {
    let n = x.len();
    if n == 0 {
        return Vec::new();
    }
    let points: SmallVec<[usize; POINTS]> = if n <= POINTS {
        (0..n).collect()
    } else {
        [0, n - 1].into_iter().chain((2..POINTS).map(|_| draw.index(n))).collect()
    };
    let mut out: Vec<(String, Direction)> =
        points.into_iter().map(|j| (format!("element {j}"), vec![(j, 1.0)])).collect();
    if n > POINTS {
        out.extend(
            (0..DIRECTIONS).map(|d| (format!("direction {d}"), (0..n).map(|j| (j, draw.between(-1.0, 1.0))).collect())),
        );
    }
    out
}

/// The weighted sum of the definition's results, as a function of the inputs.
struct Forward<'a> {
    op: &'a dyn Op,
    x: &'a [Array],
    /// Extents of the results.
    shapes: Vec<[usize; MAX_DIMS]>,
    /// Weight of each result's elements; `None` for results that are no floating point numbers.
    weights: Vec<Option<Array>>,
}

impl Forward<'_> {
    fn results(&self, x: &[Array]) -> Result<Vec<Array>> {
        let refs: Vec<&Array> = x.iter().collect();
        let mut y: Vec<Array> = self.shapes.iter().map(|ne| Array::zeros(*ne)).collect();
        self.op.oracle(&refs, &mut y)?;
        Ok(y)
    }

    fn moved(&self, i: usize, direction: &Direction, h: f64) -> Vec<Array> {
        let mut out = self.x.to_vec();
        for &(j, v) in direction {
            out[i].data[j] += h * v;
        }
        out
    }

    /// Central difference along a direction of input `i`.
    fn central(&self, i: usize, direction: &Direction, h: f64) -> Result<f64> {
        let up = self.results(&self.moved(i, direction, h))?;
        let down = self.results(&self.moved(i, direction, -h))?;
        let mut sum = 0.0;
        for ((u, d), w) in up.iter().zip(&down).zip(&self.weights) {
            let Some(w) = w else { continue };
            // Element by element, so that those which do not move add nothing, not even a rounding error.
            sum += u.data.iter().zip(&d.data).zip(&w.data).map(|((u, d), w)| w * (u - d)).sum::<f64>();
        }
        Ok(sum / (2.0 * h))
    }

    /// Derivative by Richardson extrapolation of two central differences: an error of order h^4.
    fn derivative(&self, i: usize, direction: &Direction, h: f64) -> Result<f64> {
        Ok((4.0 * self.central(i, direction, h / 2.0)? - self.central(i, direction, h)?) / 3.0)
    }
}
