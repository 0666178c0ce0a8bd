//! Session table behind R handles: contexts, tensors, graphs, backends and buffers.
//!
//! R holds keys, never addresses. Everything that R can name lives in the tables of a [`Session`]; a key that has
//! outlived its object is an ordinary error.
#![forbid(unsafe_code)]

mod backend;
mod compute;
mod context;
mod convert;
mod data;
mod gradient;
mod graph;
mod names;
mod node;
mod order;
mod show;
mod storage;
mod table;
mod tensor;

pub use backend::{Backend, Buffer, Usage};
pub use compute::Job;
pub use context::{Context, GRAPH_SIZE, MemoryUsage, TENSOR_OVERHEAD, graph_overhead};
pub use data::Numbers;
pub use graph::TensorGraph;
pub use names::{OP_NAMES, UNARY_NAMES, can_inplace, op_symbol, operator_code, operator_label, unary_code};
pub use node::Recorder;
pub use table::Key;
pub use tensor::{Flag, MAX_NAME, MAX_RANK, Made, OP_PARAMS, Tensor};

use ggmlr_core::Device;
use ggmlr_graph::ProgramCache;
use std::sync::Arc;
use table::Table;

/// Everything that handles of one R process stand for.
#[derive(Debug)]
pub struct Session {
    /// The device whose memory tensors get when nobody says otherwise.
    host: Arc<dyn Device>,
    contexts: Table<Context>,
    tensors: Table<Tensor>,
    graphs: Table<TensorGraph>,
    backends: Table<Backend>,
    buffers: Table<Buffer>,
    programs: ProgramCache,
    /// Moves when tensors or their memory go away: whatever was made ready before must be made again.
    epoch: u64,
    /// Number of tensors made so far; tells which of two tensors is older.
    made: u64,
}

impl Session {
    /// An empty session; tensors live in the memory of `host` by default.
    pub fn new(host: Arc<dyn Device>) -> Session {
        Session {
            host,
            contexts: Table::new(),
            tensors: Table::new(),
            graphs: Table::new(),
            backends: Table::new(),
            buffers: Table::new(),
            programs: ProgramCache::new(),
            epoch: 0,
            made: 0,
        }
    }

    /// Graphs compiled so far, for tests of the program cache.
    pub fn programs_compiled(&self) -> u64 {
        self.programs.compiled()
    }
}
