//! Running a graph: a snapshot for the engine, memory for every value, then work without the session.
//!
//! A run is split in three, so that the session is free while the work goes on: [`Session::prepare`] gives a [`Job`],
//! the job runs on whatever thread, [`Session::finish`] keeps it for the next time.

use crate::Session;
use crate::table::Key;
use crate::tensor::Made;
use ggmlr_core::{Binding, Cancel, Desc, Device, Error, Result};
use ggmlr_graph::{Graph, Instance, Run, ValueId};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// A compiled graph with its memory.
#[derive(Debug)]
pub(crate) struct Ready {
    instance: Instance,
    /// Devices it was made for.
    devices: Vec<String>,
}

/// A graph on its way through the devices.
#[derive(Debug)]
pub struct Job {
    graph: Key,
    epoch: u64,
    ready: Ready,
}

impl Job {
    /// Estimated nanoseconds.
    pub fn cost(&self) -> f64 {
        self.ready.instance.program().cost()
    }

    /// Runs on at most `threads` threads (0: as many as the user allows) and waits.
    pub fn run(&mut self, cancel: &Cancel, threads: usize) -> Result<()> {
        self.ready.instance.run(&Run { cancel, threads })
    }
}

/// A graph for the engine, with the tensors whose memory it needs.
struct Snapshot {
    graph: Graph,
    values: HashMap<Key, ValueId>,
    external: Vec<(ValueId, Key)>,
}

impl Snapshot {
    /// The value of a tensor that no node of the graph makes.
    fn outside(&mut self, key: Key, desc: Desc, made: &Made, name: Option<&str>) -> ValueId {
        let v = match made {
            Made::Constant(value) => self.graph.filled(desc, *value),
            _ => {
                let v = self.graph.leaf(desc);
                self.external.push((v, key));
                v
            }
        };
        if let Some(name) = name {
            self.graph.set_name(v, name);
        }
        self.values.insert(key, v);
        v
    }
}

impl Session {
    fn snapshot(&self, nodes: &[Key]) -> Result<Snapshot> {
        let mut snap = Snapshot { graph: Graph::new(), values: HashMap::new(), external: Vec::new() };
        for key in nodes {
            let t = self.tensor(*key)?;
            let Made::Node { op, src, into, more } = &t.made else {
                if !snap.values.contains_key(key) {
                    snap.outside(*key, t.desc, &t.made, t.name());
                }
                continue;
            };
            let mut args: SmallVec<[ValueId; 4]> = SmallVec::new();
            for s in src {
                let v = match snap.values.get(s) {
                    Some(v) => *v,
                    None => {
                        let x = self.tensor(*s)?;
                        snap.outside(*s, x.desc, &x.made, x.name())
                    }
                };
                args.push(v);
            }
            let results: SmallVec<[Key; 1]> = std::iter::once(*key).chain(more.iter().copied()).collect();
            let descs: SmallVec<[Desc; 1]> =
                results.iter().map(|k| Ok(self.tensor(*k)?.desc)).collect::<Result<_>>()?;
            let out = snap.graph.add_inferred(op.clone(), &args, &descs, *into)?;
            for (k, v) in results.iter().zip(&out) {
                let t = self.tensor(*k)?;
                if t.root == *k {
                    snap.graph.make_external(*v);
                    snap.external.push((*v, *k));
                }
                if let Some(name) = t.name() {
                    snap.graph.set_name(*v, name);
                }
                snap.values.insert(*k, *v);
            }
        }
        Ok(snap)
    }

    fn make_ready(&mut self, nodes: &[Key], devices: &[Arc<dyn Device>]) -> Result<Instance> {
        let snap = self.snapshot(nodes)?;
        if let Some((_, k)) = snap.external.iter().find(|(_, k)| !self.has_storage(*k)) {
            // Finds out why, and whether it is the tensor itself or what it is a view of.
            if let Err(e) = self.locate(*k) {
                return Err(match e.kind() {
                    ggmlr_core::Kind::Memory => Error::new(e.kind(), "tensors are not allocated")
                        .got(format!("'{}' has no storage", self.tensor(*k)?.label()))
                        .hint(e.hint_text().unwrap_or_default()),
                    _ => e,
                });
            }
        }
        let program = self.programs.get(&snap.graph, devices)?;
        let mut instance = Instance::new(program)?;
        instance.set_scalars(snap.graph.scalars())?;
        for (v, k) in snap.external {
            let (buffer, offset) = self.locate(k)?;
            instance.bind(v, Binding { buffer, offset })?;
        }
        Ok(instance)
    }

    /// Makes a graph ready to run on devices in order of preference; the host is added behind them.
    pub fn prepare(&mut self, graph: Key, devices: &[Arc<dyn Device>]) -> Result<Job> {
        let mut all = devices.to_vec();
        if !all.iter().any(|d| d.name() == self.host.name()) {
            all.push(self.host.clone());
        }
        let names: Vec<String> = all.iter().map(|d| d.name().to_owned()).collect();
        let kept = self.graph_mut(graph)?.ready.take().filter(|r| r.devices == names);
        let ready = match kept {
            Some(ready) => ready,
            None => {
                let nodes = self.graph(graph)?.nodes.clone();
                Ready { instance: self.make_ready(&nodes, &all)?, devices: names }
            }
        };
        Ok(Job { graph, epoch: self.epoch, ready })
    }

    /// Takes a job back after its run, to run it again without preparation.
    pub fn finish(&mut self, job: Job) {
        if job.epoch == self.epoch
            && let Some(g) = self.graphs.get_mut(job.graph)
        {
            g.ready = Some(job.ready);
        }
    }

    /// Prepares, runs and finishes, on the calling thread.
    pub fn compute(&mut self, graph: Key, cancel: &Cancel, threads: usize) -> Result<()> {
        let mut job = self.prepare(graph, &[])?;
        let done = job.run(cancel, threads);
        self.finish(job);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Numbers;
    use crate::tensor::tests::{context, session};
    use ggmlr_core::{DType, Kind, Params};

    fn values(s: &mut Session, k: Key) -> Vec<f64> {
        let mut out = vec![0.0; s.tensor(k).unwrap().desc.len()];
        s.read_numbers(k, &mut out).unwrap();
        out
    }

    fn filled(s: &mut Session, ctx: Key, x: &[f64]) -> Key {
        let t = s.new_tensor(ctx, DType::F32, &[x.len()]).unwrap();
        s.write_numbers(t, Numbers::Real(x)).unwrap();
        t
    }

    #[test]
    fn computes_again_with_new_values_and_compiles_once() {
        let mut s = session();
        let ctx = context(&mut s);
        let (a, b) = (filled(&mut s, ctx, &[1.0, 2.0]), filled(&mut s, ctx, &[10.0, 20.0]));
        let y = s.call(ctx, "ggml_add", &[Some(a), Some(b)], Params::new()).unwrap();
        let g = s.build_graph(ctx, y, None).unwrap();
        s.compute(g, &Cancel::new(), 1).unwrap();
        assert_eq!(values(&mut s, y), [11.0, 22.0]);
        s.write_numbers(a, Numbers::Real(&[5.0, 5.0])).unwrap();
        s.compute(g, &Cancel::new(), 1).unwrap();
        assert_eq!(values(&mut s, y), [15.0, 25.0]);
        let other = s.build_graph(ctx, y, None).unwrap();
        s.compute(other, &Cancel::new(), 1).unwrap();
        assert_eq!(s.programs_compiled(), 1);
    }

    #[test]
    fn computing_in_place_changes_the_source() {
        let mut s = session();
        let ctx = context(&mut s);
        let a = filled(&mut s, ctx, &[3.0, -4.0]);
        let y = s.call(ctx, "ggml_sqr_inplace", &[Some(a)], Params::new()).unwrap();
        let g = s.build_graph(ctx, y, None).unwrap();
        s.compute(g, &Cancel::new(), 1).unwrap();
        assert_eq!(values(&mut s, a), [9.0, 16.0]);
        assert_eq!(values(&mut s, y), [9.0, 16.0]);
    }

    #[test]
    fn a_part_of_a_graph_reads_what_was_computed_before() {
        let mut s = session();
        let ctx = context(&mut s);
        let a = filled(&mut s, ctx, &[3.0]);
        let b = s.call(ctx, "ggml_sqr", &[Some(a)], Params::new()).unwrap();
        let c = s.call(ctx, "ggml_neg", &[Some(b)], Params::new()).unwrap();
        let g = s.build_graph(ctx, c, None).unwrap();
        let (first, second) = (s.view_graph(g, 0, 1).unwrap(), s.view_graph(g, 1, 2).unwrap());
        s.compute(first, &Cancel::new(), 1).unwrap();
        s.compute(second, &Cancel::new(), 1).unwrap();
        assert_eq!(values(&mut s, c), [-9.0]);
    }

    #[test]
    fn what_is_freed_or_missing_is_an_error_and_the_rest_goes_on() {
        let mut s = session();
        let (ctx, other) = (context(&mut s), context(&mut s));
        let x = filled(&mut s, other, &[1.0]);
        let y = s.call(ctx, "ggml_sqr", &[Some(x)], Params::new()).unwrap();
        let g = s.build_graph(ctx, y, None).unwrap();
        s.compute(g, &Cancel::new(), 1).unwrap();
        s.free_context(other);
        assert_eq!(s.compute(g, &Cancel::new(), 1).unwrap_err().kind(), Kind::Freed);
        assert_eq!(values(&mut s, y), [1.0]);

        let bare = s.new_context(1 << 20, true).unwrap();
        let x = s.new_tensor(bare, DType::F32, &[1]).unwrap();
        let y = s.call(bare, "ggml_sqr", &[Some(x)], Params::new()).unwrap();
        let g = s.build_graph(bare, y, None).unwrap();
        let e = s.compute(g, &Cancel::new(), 1).unwrap_err();
        assert!(e.message().contains("tensors are not allocated"), "{e}");
    }

    #[test]
    fn a_cancelled_run_can_be_repeated() {
        let mut s = session();
        let ctx = context(&mut s);
        let a = filled(&mut s, ctx, &[3.0]);
        let y = s.call(ctx, "ggml_sqr", &[Some(a)], Params::new()).unwrap();
        let g = s.build_graph(ctx, y, None).unwrap();
        let cancel = Cancel::new();
        cancel.set();
        assert_eq!(s.compute(g, &cancel, 1).unwrap_err().kind(), Kind::Interrupted);
        s.compute(g, &Cancel::new(), 1).unwrap();
        assert_eq!(values(&mut s, y), [9.0]);
    }
}
