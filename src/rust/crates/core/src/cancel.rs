//! The flag that stops long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared flag, read between nodes and between chunks of a node.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Asks the work to stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work was asked to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes the flag ready for another run.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
