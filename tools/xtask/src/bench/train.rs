//! A training step of a small network: 784 inputs, 128 hidden units, 10 classes, AdamW.

use super::engine::Model;
use super::{Job, Unit};
use crate::Fallible;
use ggmlr_core::{Build, DType, Desc, Params, Val};
use ggmlr_graph::{ValueId, backward};

const INPUTS: usize = 784;
const HIDDEN: usize = 128;
const CLASSES: usize = 10;

pub fn jobs(all: usize) -> Fallible<Vec<Job>> {
    let mut counts = vec![1, all];
    counts.dedup();
    let mut out = Vec::new();
    for batch in [32, 128] {
        for &threads in &counts {
            out.push(step(batch)?.job(format!("training step, 784-128-10, batch {batch}"), threads, Unit::Ms)?);
        }
    }
    Ok(out)
}

/// Forward, loss, backward and the update of all four parameters.
fn step(batch: usize) -> Fallible<Model> {
    let mut m = Model::new();
    let none = Params::new();
    let f32 = |m: &mut Model, ne: &[usize], scale: f32| -> Fallible<ValueId> {
        let numbers: Vec<f32> = (0..97).map(|i| scale * ((i * 37 % 97) as f32 / 48.0 - 1.0)).collect();
        m.leaf(DType::F32, ne, &numbers)
    };
    let x = f32(&mut m, &[INPUTS, batch], 1.0)?;
    let target = m.leaf(DType::F32, &[CLASSES, batch], &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
    let shapes: [&[usize]; 4] = [&[INPUTS, HIDDEN], &[HIDDEN], &[HIDDEN, CLASSES], &[CLASSES]];
    let mut weights = Vec::new();
    for ne in shapes {
        weights.push(f32(&mut m, ne, 0.05)?);
    }
    let mut order = Vec::new();
    let mut op = |m: &mut Model, name: &str, src: &[ValueId]| -> Fallible<ValueId> {
        let v = m.op(name, &none, src)?;
        order.push(Val::from(v));
        Ok(v)
    };
    let h = op(&mut m, "mul_mat", &[weights[0], x])?;
    let h = op(&mut m, "add", &[h, weights[1]])?;
    let h = op(&mut m, "relu", &[h])?;
    let y = op(&mut m, "mul_mat", &[weights[2], h])?;
    let y = op(&mut m, "add", &[y, weights[3]])?;
    let loss = op(&mut m, "cross_entropy_loss", &[y, target])?;
    m.graph.keep(loss);
    let seed = m.graph.fill(Desc::new(DType::F32, &[1])?, 1.0)?;
    let wanted: Vec<Val> = weights.iter().map(|w| Val::from(*w)).collect();
    let grads = backward(&mut m.graph, &order, loss.into(), seed, &wanted)?;
    let rates = m.leaf(DType::F32, &[7], &[1e-3, 0.9, 0.999, 1e-8, 0.0, 10.0, 1000.0])?;
    for (w, ne) in weights.into_iter().zip(shapes) {
        let g = *grads.get(&w.into()).ok_or("a parameter has no gradient")?;
        let (m1, m2) = (m.leaf(DType::F32, ne, &[0.0])?, m.leaf(DType::F32, ne, &[0.0])?);
        m.op("opt_step_adamw", &none, &[w, g.into(), m1, m2, rates])?;
    }
    Ok(m)
}
