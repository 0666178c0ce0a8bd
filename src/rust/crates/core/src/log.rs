//! Messages for the user: a bounded queue that R drains on its own thread.

use std::collections::VecDeque;
use std::sync::Mutex;

/// Severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

const CAPACITY: usize = 1000;

static QUEUE: Mutex<VecDeque<(Level, String)>> = Mutex::new(VecDeque::new());

/// Adds a message; the oldest one goes when the queue is full.
pub fn push(level: Level, text: impl Into<String>) {
    if let Ok(mut q) = QUEUE.lock() {
        if q.len() == CAPACITY {
            q.pop_front();
        }
        q.push_back((level, text.into()));
    }
}

/// Takes every waiting message.
pub fn drain() -> Vec<(Level, String)> {
    QUEUE.lock().map(|mut q| q.drain(..).collect()).unwrap_or_default()
}
