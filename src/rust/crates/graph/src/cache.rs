//! Compiled programs by structure, least recently used first out.

use crate::ir::Graph;
use crate::program::Program;
use ggmlr_core::{Device, Key, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Nodes kept over all programs; a node's plan takes a few hundred bytes.
const MAX_NODES: usize = 200_000;

#[derive(Debug)]
struct Entry {
    program: Arc<Program>,
    used: u64,
}

/// Cache of programs.
#[derive(Debug, Default)]
pub struct ProgramCache {
    map: HashMap<Key, Entry>,
    clock: u64,
    nodes: usize,
    compiled: u64,
}

impl ProgramCache {
    /// An empty cache.
    pub fn new() -> ProgramCache {
        ProgramCache::default()
    }

    /// The program for a graph on devices, compiled on the first request.
    pub fn get(&mut self, graph: &Graph, devices: &[Arc<dyn Device>]) -> Result<Arc<Program>> {
        let mut key = Key::new();
        devices.iter().for_each(|d| key.word(Arc::as_ptr(d).cast::<()>() as u64));
        graph.key(&mut key);
        self.clock += 1;
        if let Some(e) = self.map.get_mut(&key) {
            e.used = self.clock;
            return Ok(e.program.clone());
        }
        let program = Arc::new(Program::compile(graph, devices)?);
        self.compiled += 1;
        self.nodes += graph.nodes().len();
        self.map.insert(key, Entry { program: program.clone(), used: self.clock });
        while self.nodes > MAX_NODES && self.map.len() > 1 {
            self.drop_oldest();
        }
        Ok(program)
    }

    fn drop_oldest(&mut self) {
        if let Some(key) = self.map.iter().min_by_key(|(_, e)| e.used).map(|(k, _)| k.clone())
            && let Some(e) = self.map.remove(&key)
        {
            self.nodes -= e.program.graph().nodes().len();
        }
    }

    /// How many programs were compiled so far.
    pub fn compiled(&self) -> u64 {
        self.compiled
    }
}
