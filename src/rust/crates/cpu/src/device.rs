//! The CPU as a device.

use crate::buffer::HostBuffer;
use crate::exec::CpuPlan;
use crate::pool::RunPool;
use ggmlr_core::{
    Answer, BufferRef, Class, Desc, Device, DeviceKind, Error, Event, Op, Part, Plan, Result, Stream, Submit,
};
use std::sync::Arc;
use std::time::Duration;

/// Name of the device.
pub const NAME: &str = "CPU";

/// The processor and its memory.
#[derive(Debug, Default)]
pub struct CpuDevice;

impl CpuDevice {
    /// The device as the engine takes it.
    pub fn shared() -> Arc<dyn Device> {
        Arc::new(CpuDevice)
    }
}

/// Value in kilobytes of a line of the kernel's memory report.
fn meminfo(field: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The processor's name as the operating system tells it.
fn brand() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("model name"))?;
    line.split(':').nth(1).map(|s| s.trim().to_owned())
}

impl Device for CpuDevice {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> String {
        brand().unwrap_or_else(|| NAME.to_owned())
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Cpu
    }

    fn memory(&self) -> (u64, u64) {
        let kb = |f| meminfo(f).unwrap_or(0) * 1024;
        (kb("MemAvailable"), kb("MemTotal"))
    }

    fn alloc(&self, bytes: usize, _class: Class) -> Result<BufferRef> {
        Ok(HostBuffer::zeroed(bytes)?)
    }

    fn supports(&self, op: &dyn Op, x: &[Desc], _y: &[Desc]) -> Answer {
        match x.first() {
            Some(a) if !op.cpu_types().contains(&a.dtype) => {
                Answer::No(format!("no CPU kernel of '{}' for {}", op.name(), a.dtype))
            }
            _ => Answer::Yes,
        }
    }

    fn compile(&self, part: Part) -> Result<Arc<dyn Plan>> {
        Ok(Arc::new(CpuPlan::new(part)))
    }

    fn open(self: Arc<Self>) -> Result<Box<dyn Stream>> {
        Ok(Box::new(CpuStream { device: self, done: 0, scratch: Vec::new() }))
    }
}

/// Runs plans at once on the calling thread and the pool.
#[derive(Debug)]
struct CpuStream {
    device: Arc<dyn Device>,
    done: u64,
    /// Packed operands; 8-byte words keep every element type aligned.
    scratch: Vec<u64>,
}

impl Stream for CpuStream {
    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    fn submit(&mut self, plan: &dyn Plan, run: &Submit<'_>) -> Result<Event> {
        let plan: &CpuPlan =
            plan.as_any().downcast_ref().ok_or_else(|| Error::internal("this plan was made by another device"))?;
        let pool = RunPool::new(run.threads, run.cancel);
        plan.run(run, &pool, &mut self.scratch)?;
        self.done += 1;
        Ok(Event(self.done))
    }

    fn wait(&mut self, event: Event, _timeout: Duration) -> Result<bool> {
        Ok(event.0 <= self.done)
    }
}
