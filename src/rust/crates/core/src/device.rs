//! Devices and streams: what a backend implements, and the plain description of the work it gets.

use crate::buffer::{BufferRef, Class};
use crate::cancel::Cancel;
use crate::desc::Desc;
use crate::error::Result;
use crate::op::{Op, OpRef};
use smallvec::SmallVec;
use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Kind of a device, with ggml's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    Cpu = 0,
    Gpu = 1,
    IntegratedGpu = 2,
    Accelerator = 3,
}

/// Whether a device runs an operator on these operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// Not here, and why: goes into the fallback ledger.
    No(String),
}

/// One operand of a step: where it lies and how.
#[derive(Clone, Debug)]
pub struct Operand {
    pub desc: Desc,
    /// Index into the bindings of the submit.
    pub slot: u32,
    /// Byte offset in the binding.
    pub offset: usize,
    /// Words of the scalar block whose values are added to the offset (offsets of views).
    pub shifts: SmallVec<[u32; 1]>,
}

/// One operator with its operands, in execution order.
#[derive(Clone, Debug)]
pub struct Step {
    pub op: OpRef,
    pub src: SmallVec<[Operand; 4]>,
    pub dst: SmallVec<[Operand; 1]>,
    /// `into[i]` is the source whose memory result `i` shares on purpose.
    pub into: SmallVec<[Option<u8>; 1]>,
    /// Whether it writes into memory that outlives the run.
    pub updates: bool,
    /// The operator's words in the scalar block.
    pub scalars: Range<usize>,
    /// Estimated nanoseconds.
    pub cost: f64,
    /// Node of the graph, for messages and timings.
    pub node: u32,
}

/// The piece of a program that one device runs.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub steps: Vec<Step>,
}

impl Part {
    /// Estimated nanoseconds.
    pub fn cost(&self) -> f64 {
        self.steps.iter().map(|s| s.cost).sum()
    }
}

/// A part made ready by a device.
pub trait Plan: Debug + Send + Sync {
    /// For the device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// Point in a stream's work; larger is later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event(pub u64);

/// Memory that stands behind a slot of a plan.
#[derive(Clone, Debug)]
pub struct Binding {
    pub buffer: BufferRef,
    /// Byte at which the slot starts.
    pub offset: usize,
}

/// What one submit needs besides its plan.
#[derive(Debug)]
pub struct Submit<'a> {
    pub bindings: &'a [Binding],
    pub scalars: &'a [u64],
    pub cancel: &'a Cancel,
    /// Ignore a cancel once the first lasting update has begun: a step of an optimiser happens as a whole or not at
    /// all.
    pub whole_updates: bool,
    /// Upper bound on threads; 0 leaves it to the device.
    pub threads: usize,
}

/// A device of this machine, one object per process.
pub trait Device: Debug + Send + Sync {
    /// Short name: `"CPU"`, `"Vulkan0"`.
    fn name(&self) -> &str;

    /// Name for people.
    fn description(&self) -> String;

    /// What it is.
    fn kind(&self) -> DeviceKind;

    /// Free and total bytes.
    fn memory(&self) -> (u64, u64);

    /// Zeroed memory.
    fn alloc(&self, bytes: usize, class: Class) -> Result<BufferRef>;

    /// Whether it runs the operator on these operands. Answered from what launches it, so the answer cannot lie.
    fn supports(&self, op: &dyn Op, x: &[Desc], y: &[Desc]) -> Answer;

    /// Makes a part ready to be submitted many times.
    fn compile(&self, part: Part) -> Result<Arc<dyn Plan>>;

    /// Opens a queue of work.
    fn open(self: Arc<Self>) -> Result<Box<dyn Stream>>;
}

/// A queue of work on a device: what R calls a backend.
pub trait Stream: Debug + Send {
    /// The device.
    fn device(&self) -> &Arc<dyn Device>;

    /// Starts a plan. Work after the last event of this stream; other streams' events are waited for by the caller.
    fn submit(&mut self, plan: &dyn Plan, run: &Submit<'_>) -> Result<Event>;

    /// Waits for an event, at most `timeout`; whether it was reached.
    fn wait(&mut self, event: Event, timeout: Duration) -> Result<bool>;
}
