//! What the engine adds to the kernels.

use super::{Job, Unit};
use crate::Fallible;
use ggmlr_core::{Binding, BufferRef, Cancel, Class, DType, Desc, Device, OpRef, Params};
use ggmlr_cpu::CpuDevice;
use ggmlr_graph::{Graph, Instance, Program, Run, ValueId};
use std::sync::Arc;

/// A graph on its way to a program, with memory for its leaves.
pub struct Model {
    pub graph: Graph,
    device: Arc<dyn Device>,
    leaves: Vec<(ValueId, BufferRef)>,
}

impl Model {
    pub fn new() -> Model {
        Model { graph: Graph::new(), device: CpuDevice::shared(), leaves: Vec::new() }
    }

    /// A leaf with the given numbers, recycled.
    pub fn leaf(&mut self, dtype: DType, ne: &[usize], numbers: &[f32]) -> Fallible<ValueId> {
        let desc = Desc::new(dtype, ne)?;
        let buffer = self.device.alloc(desc.span(), Class::Inputs)?;
        if dtype == DType::F32 && !numbers.is_empty() {
            let bytes: Vec<u8> = numbers.iter().cycle().take(desc.len()).flat_map(|x| x.to_le_bytes()).collect();
            buffer.write(0, &bytes)?;
        }
        let v = self.graph.leaf(desc);
        self.leaves.push((v, buffer));
        Ok(v)
    }

    /// Adds an operator of the table.
    pub fn op(&mut self, name: &str, params: &Params, src: &[ValueId]) -> Fallible<ValueId> {
        let x: Vec<Desc> = src.iter().map(|v| self.graph.value(*v).desc).collect();
        let op: OpRef = ggmlr_ops::make(name, params, &x)?;
        Ok(self.graph.add(op, src, None)?[0])
    }

    pub fn compile(&self) -> Fallible<Program> {
        Ok(Program::compile(&self.graph, std::slice::from_ref(&self.device))?)
    }

    /// A program with memory.
    pub fn instance(&self) -> Fallible<Instance> {
        let mut i = Instance::new(Arc::new(self.compile()?))?;
        for (v, b) in &self.leaves {
            i.bind(*v, Binding { buffer: b.clone(), offset: 0 })?;
        }
        Ok(i)
    }

    /// A measurement of runs of the graph.
    pub fn job(&self, name: impl Into<String>, threads: usize, unit: Unit) -> Fallible<Job> {
        let mut i = self.instance()?;
        let cancel = Cancel::new();
        Ok(Job::new(name, threads, unit, move || Ok(i.run(&Run { cancel: &cancel, threads })?)))
    }
}

/// Promised in the architecture: nanoseconds per node and per submit.
const PER_NODE: f64 = 1000.0;
const PER_SUBMIT: f64 = 5000.0;

const NODES: usize = 1000;

/// A chain of additions of four numbers.
fn chain(nodes: usize) -> Fallible<Model> {
    let mut m = Model::new();
    let (mut x, y) = (m.leaf(DType::F32, &[4], &[1.0])?, m.leaf(DType::F32, &[4], &[1e-3])?);
    for _ in 0..nodes {
        x = m.op("add", &Params::new(), &[x, y])?;
    }
    m.graph.keep(x);
    Ok(m)
}

pub fn jobs() -> Fallible<Vec<Job>> {
    let long = chain(NODES)?;
    let short = chain(1)?;
    let (model, key_of) = (chain(NODES)?, chain(NODES)?);
    let mut key = ggmlr_core::Key::new();
    Ok(vec![
        long.job("engine: run, per node of 1000 tiny adds", 1, Unit::NsPer(NODES as f64))?.budget(PER_NODE),
        short.job("engine: submit of one tiny add", 1, Unit::NsPer(1.0))?.budget(PER_SUBMIT),
        Job::new("engine: compile, per node", 1, Unit::NsPer(NODES as f64), move || model.compile().map(drop)),
        Job::new("engine: key, per node", 1, Unit::NsPer(NODES as f64), move || {
            key.clear();
            key_of.graph.key(&mut key);
            Ok(())
        }),
    ])
}
