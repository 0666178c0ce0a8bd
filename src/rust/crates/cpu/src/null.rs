//! A device that computes nothing: it records what it is asked to do, so that planning and scheduling can be tested
//! on any machine.

use ggmlr_core::{
    Answer, Buffer, BufferRef, Class, Desc, Device, DeviceKind, Event, Op, Part, Plan, Result, Stream, Submit,
};
use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What the device was asked to do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Alloc(usize),
    Compile(Vec<&'static str>),
    Submit(Vec<&'static str>),
}

/// The recording device. It accepts the operators of a list only, so that a graph can be made to need another device.
#[derive(Debug)]
pub struct NullDevice {
    name: String,
    refuses: Vec<&'static str>,
    log: Arc<Mutex<Vec<Record>>>,
    /// Bytes read from and written to its buffers.
    moved: Arc<AtomicUsize>,
}

impl NullDevice {
    /// A device that accepts every operator except the named ones.
    pub fn new(name: &str, refuses: &[&'static str]) -> Arc<NullDevice> {
        Arc::new(NullDevice {
            name: name.to_owned(),
            refuses: refuses.to_vec(),
            log: Arc::default(),
            moved: Arc::default(),
        })
    }

    /// What happened so far.
    pub fn records(&self) -> Vec<Record> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes copied to and from the device.
    pub fn moved(&self) -> usize {
        self.moved.load(Ordering::Relaxed)
    }

    fn note(&self, r: Record) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(r);
    }
}

#[derive(Debug)]
struct NullBuffer {
    size: usize,
    device: String,
    moved: Arc<AtomicUsize>,
}

impl Buffer for NullBuffer {
    fn size(&self) -> usize {
        self.size
    }
    fn device(&self) -> &str {
        &self.device
    }
    fn is_host(&self) -> bool {
        false
    }
    fn read(&self, _offset: usize, out: &mut [u8]) -> Result<()> {
        self.moved.fetch_add(out.len(), Ordering::Relaxed);
        out.fill(0);
        Ok(())
    }
    fn write(&self, _offset: usize, data: &[u8]) -> Result<()> {
        self.moved.fetch_add(data.len(), Ordering::Relaxed);
        Ok(())
    }
    fn fill(&self, _offset: usize, _len: usize, _value: u8) -> Result<()> {
        Ok(())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct NullPlan(Vec<&'static str>);

impl Plan for NullPlan {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Device for NullDevice {
    fn name(&self) -> &str {
        &self.name
    }
    fn description(&self) -> String {
        "records, computes nothing".to_owned()
    }
    fn kind(&self) -> DeviceKind {
        DeviceKind::Accelerator
    }
    fn memory(&self) -> (u64, u64) {
        (0, 0)
    }
    fn alloc(&self, bytes: usize, _class: Class) -> Result<BufferRef> {
        self.note(Record::Alloc(bytes));
        Ok(Arc::new(NullBuffer { size: bytes, device: self.name.clone(), moved: self.moved.clone() }))
    }
    fn supports(&self, op: &dyn Op, _x: &[Desc], _y: &[Desc]) -> Answer {
        if self.refuses.contains(&op.name()) {
            return Answer::No(format!("'{}' is on the list of refused operators", op.name()));
        }
        Answer::Yes
    }
    fn compile(&self, part: Part) -> Result<Arc<dyn Plan>> {
        let names: Vec<_> = part.steps.iter().map(|s| s.op.name()).collect();
        self.note(Record::Compile(names.clone()));
        Ok(Arc::new(NullPlan(names)))
    }
    fn open(self: Arc<Self>) -> Result<Box<dyn Stream>> {
        Ok(Box::new(NullStream { device: self.clone(), null: self, done: 0 }))
    }
}

#[derive(Debug)]
struct NullStream {
    device: Arc<dyn Device>,
    null: Arc<NullDevice>,
    done: u64,
}

impl Stream for NullStream {
    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }
    fn submit(&mut self, plan: &dyn Plan, _run: &Submit<'_>) -> Result<Event> {
        if let Some(p) = plan.as_any().downcast_ref::<NullPlan>() {
            self.null.note(Record::Submit(p.0.clone()));
        }
        self.done += 1;
        Ok(Event(self.done))
    }
    fn wait(&mut self, event: Event, _timeout: Duration) -> Result<bool> {
        Ok(event.0 <= self.done)
    }
}
