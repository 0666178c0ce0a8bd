//! The session of this R process.

use crate::handles;
use ggmlr_core::{Error, Result};
use ggmlr_cpu::CpuDevice;
use ggmlr_session::Session;
use std::sync::{Mutex, OnceLock, TryLockError};

fn session() -> &'static Mutex<Session> {
    static SESSION: OnceLock<Mutex<Session>> = OnceLock::new();
    SESSION.get_or_init(|| Mutex::new(Session::new(CpuDevice::shared())))
}

/// Works on the session. Nothing inside may call R: a collection could run a finalizer, and R code another binding.
pub fn with<T>(work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
    let mut session = match session().try_lock() {
        Ok(s) => s,
        // The tables are consistent between statements: a panic in the middle leaves at most an unused entry.
        Err(TryLockError::Poisoned(p)) => p.into_inner(),
        Err(TryLockError::WouldBlock) => return Err(Error::internal("the session is in use")),
    };
    handles::drop_collected(&mut session);
    work(&mut session)
}
