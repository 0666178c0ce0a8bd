//! Everything that needs R's C interface beyond extendr: handles and the look at the interrupt flag. The only file
//! with unsafe code.
//!
//! A handle is an external pointer whose address is a key of the session: a number, never dereferenced. So an old
//! handle is an error and no crash, two handles are identical only if they stand for the same thing, and after
//! `readRDS()` the address is nil, which tells that the handle comes from another session.

use crate::decode::{a, describe};
use extendr_api::robj::GetSexp;
use extendr_api::{Robj, Rtype, Types};
use extendr_ffi::{
    MARK_NOT_MUTABLE, R_ClassSymbol, R_ClearExternalPtr, R_ExternalPtrAddr, R_ExternalPtrProtected, R_ExternalPtrTag,
    R_MakeExternalPtr, R_NilValue, R_PreserveObject, R_RegisterCFinalizerEx, Rboolean, Rf_install, Rf_protect,
    Rf_setAttrib, Rf_unprotect, SEXP,
};
use ggmlr_core::{Error, Kind, Result};
use ggmlr_session::{Key, Session};
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

const _: () = assert!(size_of::<usize>() == 8, "keys need 64-bit addresses");

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    Tensor,
    Context,
    Graph,
    Backend,
    Buffer,
}

const THINGS: [Thing; 5] = [Thing::Tensor, Thing::Context, Thing::Graph, Thing::Backend, Thing::Buffer];

impl Thing {
    /// Word for messages.
    fn noun(self) -> &'static str {
        match self {
            Thing::Tensor => "tensor",
            Thing::Context => "context",
            Thing::Graph => "graph",
            Thing::Backend => "backend",
            Thing::Buffer => "buffer",
        }
    }

    fn tag_name(self) -> &'static CStr {
        match self {
            Thing::Tensor => c"ggmlr_tensor",
            Thing::Context => c"ggmlr_context",
            Thing::Graph => c"ggmlr_graph",
            Thing::Backend => c"ggmlr_backend",
            Thing::Buffer => c"ggmlr_buffer",
        }
    }

    /// R's symbol for the kind. Symbols are never collected.
    fn tag(self) -> SEXP {
        // SAFETY: a C string; called on R's thread, as every binding is.
        unsafe { Rf_install(self.tag_name().as_ptr()) }
    }

    /// Tensors are many and live with their context. Everything else tells when R has dropped it.
    fn is_counted(self) -> bool {
        self != Thing::Tensor
    }

    /// The class attribute, one shared vector per kind: making one for each handle would double its cost.
    fn class(self) -> SEXP {
        static CLASSES: OnceLock<[usize; THINGS.len()]> = OnceLock::new();
        let all = CLASSES.get_or_init(|| {
            THINGS.map(|t| {
                let class: Robj = vec![format!("ggml_{}", t.noun()), "externalptr".to_owned()].into();
                // SAFETY: a live R object, which is kept for good and not changed any more.
                unsafe {
                    let x = class.get();
                    R_PreserveObject(x);
                    MARK_NOT_MUTABLE(x);
                    x as usize
                }
            })
        });
        all[self as usize] as SEXP
    }
}

/// Keys whose handles R has collected. Finalizers run at any allocation, also in the middle of a binding, so they only
/// write here.
static COLLECTED: Mutex<Vec<(Thing, u64)>> = Mutex::new(Vec::new());

/// Called by R's collector on a handle that nobody can reach any more.
unsafe extern "C" fn collected(x: SEXP) {
    // SAFETY: R calls this with the external pointer that it was registered for.
    let (address, tag) = unsafe { (R_ExternalPtrAddr(x) as u64, R_ExternalPtrTag(x)) };
    if let Some(thing) = THINGS.into_iter().find(|t| t.tag() == tag) {
        COLLECTED.lock().unwrap_or_else(PoisonError::into_inner).push((thing, address));
    }
    // SAFETY: as above. A handle that another finalizer brings back is nil from now on.
    unsafe { R_ClearExternalPtr(x) };
}

/// Drops what R has no handle to any more.
pub fn drop_collected(session: &mut Session) {
    let gone = std::mem::take(&mut *COLLECTED.lock().unwrap_or_else(PoisonError::into_inner));
    for (thing, bits) in gone {
        let Some(key) = Key::from_bits(bits) else { continue };
        match thing {
            Thing::Tensor => {}
            Thing::Context => session.release_context(key),
            Thing::Graph => session.release_graph(key),
            Thing::Backend => session.free_backend(key),
            Thing::Buffer => session.release_buffer(key),
        }
    }
}

/// A new handle. `keep` is an R object that stays alive as long as the handle: the context of a tensor or graph.
pub fn make(thing: Thing, key: Key, keep: Option<&Robj>) -> Robj {
    // SAFETY: on R's thread; every object is protected before the next allocation; the address is only a number.
    unsafe {
        let kept = keep.map_or(R_NilValue, |k| k.get());
        let class = thing.class();
        let x = Rf_protect(R_MakeExternalPtr(key.bits() as usize as *mut c_void, thing.tag(), kept));
        Rf_setAttrib(x, R_ClassSymbol, class);
        if thing.is_counted() {
            R_RegisterCFinalizerEx(x, Some(collected), Rboolean::FALSE);
        }
        let robj = Robj::from_sexp(x);
        Rf_unprotect(1);
        robj
    }
}

/// What a handle keeps alive, to be kept alive by handles made from it.
pub fn kept_by(handle: &Robj) -> Option<Robj> {
    if handle.rtype() != Rtype::ExternalPtr {
        return None;
    }
    // SAFETY: an external pointer, as just checked.
    let kept = unsafe { Robj::from_sexp(R_ExternalPtrProtected(handle.get())) };
    (kept.rtype() == Rtype::ExternalPtr).then_some(kept)
}

/// The key behind a handle of the wanted kind.
pub fn key(x: &Robj, wanted: Thing, arg: &str) -> Result<Key> {
    let expected = a(wanted.noun());
    let wrong = |got: String| {
        Error::argument(arg, format!("argument '{arg}': expected {expected}, got {got}")).expected(&expected).got(got)
    };
    if x.rtype() != Rtype::ExternalPtr {
        return Err(wrong(describe(x)));
    }
    // SAFETY: an external pointer, as just checked.
    let (address, tag) = unsafe { (R_ExternalPtrAddr(x.get()) as u64, R_ExternalPtrTag(x.get())) };
    match THINGS.into_iter().find(|t| t.tag() == tag) {
        Some(t) if t == wanted => {}
        Some(t) => return Err(wrong(a(t.noun()))),
        None => return Err(wrong("an external pointer of another package".to_owned())),
    }
    Key::from_bits(address).ok_or_else(|| {
        Error::new(
            Kind::Freed,
            format!("argument '{arg}': the handle is no longer valid: it comes from another R session"),
        )
        .arg(arg)
        .hint("Handles cannot be saved. Save the values and make the object again.")
    })
}

unsafe extern "C" {
    fn R_ToplevelExec(f: Option<unsafe extern "C" fn(*mut c_void)>, data: *mut c_void) -> c_int;
    fn R_CheckUserInterrupt();
}

/// Whether the user has asked to stop since the last look.
pub fn interrupted() -> bool {
    unsafe extern "C" fn look(_: *mut c_void) {
        // SAFETY: on R's thread. It leaves by a jump when there is an interrupt; this frame has nothing to clean up.
        unsafe { R_CheckUserInterrupt() }
    }
    // SAFETY: on R's thread; the jump ends inside R_ToplevelExec, which then returns FALSE.
    unsafe { R_ToplevelExec(Some(look), std::ptr::null_mut()) == 0 }
}
