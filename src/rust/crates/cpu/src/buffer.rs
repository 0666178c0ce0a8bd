//! Host memory behind tensors: owned and zeroed, or borrowed from a caller.
//!
//! This is the only module of the crate with unsafe code. A buffer's bytes are reached only while its lock is held;
//! a plan locks every buffer it works on for the length of a submit and then hands disjoint ranges to kernels.

use ggmlr_core::{Buffer, Error, Kind, Result};
use smallvec::SmallVec;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Cache line and widest vector register.
const ALIGN: usize = 64;

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Bytes in owned buffers that are alive; R's collector does not see them, so R asks here.
pub fn live_bytes() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// Where the bytes come from.
enum Owner {
    Alloc(Layout),
    /// Somebody else's memory, kept alive by this value.
    Caller {
        _keep: Box<dyn Any + Send + Sync>,
    },
}

/// A block of host memory.
pub struct HostBuffer {
    ptr: *mut u8,
    len: usize,
    owner: Owner,
    lock: Mutex<()>,
}

// SAFETY: the pointer is dereferenced only while `lock` is held (see `LockedBuffer`), or in `drop`, when no other
// reference exists. The memory is not tied to a thread.
unsafe impl Send for HostBuffer {}
// SAFETY: as above; shared access goes through the lock.
unsafe impl Sync for HostBuffer {}

impl HostBuffer {
    /// Zeroed memory. The operating system hands out zero pages lazily, so a large buffer costs nothing until used.
    pub fn zeroed(len: usize) -> Result<Arc<HostBuffer>> {
        let too_large = || {
            Error::new(Kind::Memory, format!("cannot allocate {len} bytes of host memory")).hint("Use smaller tensors.")
        };
        let layout = Layout::from_size_align(len.max(1), ALIGN).map_err(|_| too_large())?;
        // SAFETY: the layout's size is not zero.
        let ptr = unsafe { alloc_zeroed(layout) };
        if ptr.is_null() {
            return Err(too_large());
        }
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        Ok(Arc::new(HostBuffer { ptr, len, owner: Owner::Alloc(layout), lock: Mutex::new(()) }))
    }

    /// Memory that a caller owns: computed on in place, never copied.
    ///
    /// # Safety
    /// `ptr .. ptr + len` must be valid for reads and writes for as long as `keep` lives, and nobody may touch it
    /// while a graph over it runs.
    pub unsafe fn external(ptr: *mut u8, len: usize, keep: Box<dyn Any + Send + Sync>) -> Arc<HostBuffer> {
        Arc::new(HostBuffer { ptr, len, owner: Owner::Caller { _keep: keep }, lock: Mutex::new(()) })
    }

    /// Address of the first byte, for tests of aliasing.
    pub fn address(&self) -> usize {
        self.ptr as usize
    }

    fn lock(&self) -> LockedBuffer<'_> {
        // A kernel that panicked leaves plain bytes behind, which are as valid as any others.
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        LockedBuffer { ptr: self.ptr, len: self.len, _guard: guard }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        if let Owner::Alloc(layout) = self.owner {
            LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
            // SAFETY: allocated in `zeroed` with this layout, and nobody else holds a reference any more.
            unsafe { dealloc(self.ptr, layout) };
        }
    }
}

impl fmt::Debug for HostBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostBuffer({} bytes)", self.len)
    }
}

impl Buffer for HostBuffer {
    fn size(&self) -> usize {
        self.len
    }
    fn device(&self) -> &str {
        crate::device::NAME
    }
    fn is_host(&self) -> bool {
        true
    }
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<()> {
        let mut locked = self.lock();
        out.copy_from_slice(locked.range(offset, out.len())?);
        Ok(())
    }
    fn write(&self, offset: usize, data: &[u8]) -> Result<()> {
        self.lock().range(offset, data.len())?.copy_from_slice(data);
        Ok(())
    }
    fn fill(&self, offset: usize, len: usize, value: u8) -> Result<()> {
        self.lock().range(offset, len)?.fill(value);
        Ok(())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A buffer whose lock is held.
struct LockedBuffer<'a> {
    ptr: *mut u8,
    len: usize,
    _guard: MutexGuard<'a, ()>,
}

impl LockedBuffer<'_> {
    fn range(&mut self, offset: usize, len: usize) -> Result<&mut [u8]> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(Error::internal(format!("{len} bytes at {offset} lie outside a buffer of {}", self.len)));
        }
        // SAFETY: inside the allocation, as just checked; the lock is held and `self` is borrowed mutably, so this
        // is the only reference into the memory.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.ptr.add(offset), len) })
    }
}

/// The buffers of a submit, all locked, addressed by slot.
pub(crate) struct Locked<'a> {
    /// Start and length of each slot.
    slots: SmallVec<[(*mut u8, usize); 16]>,
    _guards: SmallVec<[LockedBuffer<'a>; 16]>,
}

/// Ranges to read and ranges to write, in the order in which they were asked for.
pub(crate) type Ranges<'s> = (SmallVec<[&'s [u8]; 4]>, SmallVec<[&'s mut [u8]; 2]>);

/// A range of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub slot: u32,
    pub offset: usize,
    pub len: usize,
}

impl<'a> Locked<'a> {
    /// Locks each buffer once, whichever slots it stands behind. Buffers are locked in the order of their addresses,
    /// so that two submits can never wait for each other.
    pub fn new(bindings: impl Iterator<Item = (&'a HostBuffer, usize)> + Clone) -> Result<Locked<'a>> {
        let mut unique: SmallVec<[&'a HostBuffer; 16]> = bindings.clone().map(|(b, _)| b).collect();
        unique.sort_unstable_by_key(|b| std::ptr::from_ref(*b) as usize);
        unique.dedup_by_key(|b| std::ptr::from_ref(*b) as usize);
        let guards = unique.iter().map(|b| b.lock()).collect();
        let mut slots = SmallVec::new();
        for (b, offset) in bindings {
            if offset > b.len {
                return Err(Error::internal("a binding starts behind its buffer"));
            }
            // SAFETY: inside the allocation, as just checked.
            slots.push((unsafe { b.ptr.add(offset) }, b.len - offset));
        }
        Ok(Locked { slots, _guards: guards })
    }

    /// Address range of an extent, checked against its slot.
    pub fn address(&self, e: Extent) -> Result<Range<usize>> {
        let (ptr, len) = *self.slots.get(e.slot as usize).ok_or_else(|| Error::internal("no binding for a slot"))?;
        match e.offset.checked_add(e.len) {
            Some(end) if end <= len => {
                let start = ptr as usize + e.offset;
                Ok(start..start + e.len)
            }
            _ => Err(Error::internal(format!("{} bytes at {} lie outside a slot of {len}", e.len, e.offset))),
        }
    }

    /// References to several ranges at once. Fails when a written range overlaps any other.
    pub fn operands<'s>(&'s mut self, reads: &[Extent], writes: &[Extent]) -> Result<Ranges<'s>> {
        let mut r: SmallVec<[Range<usize>; 4]> = SmallVec::new();
        let mut w: SmallVec<[Range<usize>; 2]> = SmallVec::new();
        for e in reads {
            r.push(self.address(*e)?);
        }
        for e in writes {
            w.push(self.address(*e)?);
        }
        for (i, a) in w.iter().enumerate() {
            if r.iter().chain(&w[..i]).any(|b| overlap(a, b)) {
                return Err(Error::internal("an operand overlaps a result"));
            }
        }
        let read = reads
            .iter()
            .map(|e| {
                // SAFETY: inside the slot (checked by `address`); no written range overlaps it; all locks are held.
                unsafe { std::slice::from_raw_parts(self.slots[e.slot as usize].0.add(e.offset), e.len) }
            })
            .collect();
        let write = writes
            .iter()
            .map(|e| {
                // SAFETY: inside the slot (checked by `address`); overlaps no other range handed out here; all locks
                // are held, and `self` stays mutably borrowed while the references live.
                unsafe { std::slice::from_raw_parts_mut(self.slots[e.slot as usize].0.add(e.offset), e.len) }
            })
            .collect();
        Ok((read, write))
    }
}

/// Whether two address ranges share a byte.
pub(crate) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_live_bytes_and_checks_ranges() {
        let b = HostBuffer::zeroed(1 << 20).unwrap();
        assert!(live_bytes() >= 1 << 20);
        b.write(10, &[1, 2, 3]).unwrap();
        let mut out = [0; 4];
        b.read(9, &mut out).unwrap();
        assert_eq!(out, [0, 1, 2, 3]);
        assert!(b.write((1 << 20) - 1, &[1, 2]).is_err());
        assert!(b.read(usize::MAX, &mut out).is_err());
    }

    #[test]
    fn overlapping_writes_are_refused() {
        let b = HostBuffer::zeroed(64).unwrap();
        let mut l = Locked::new([(&*b, 0), (&*b, 16)].into_iter()).unwrap();
        let e = |slot, offset, len| Extent { slot, offset, len };
        assert!(l.operands(&[e(0, 0, 16)], &[e(1, 0, 16)]).is_ok());
        assert!(l.operands(&[e(0, 0, 17)], &[e(1, 0, 16)]).is_err());
        assert!(l.operands(&[e(0, 0, 16), e(0, 0, 16)], &[]).is_ok());
        assert!(l.operands(&[], &[e(0, 20, 8), e(1, 0, 8)]).is_err());
        assert!(l.operands(&[e(1, 40, 16)], &[]).is_err());
    }
}
