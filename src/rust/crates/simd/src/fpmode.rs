//! Treating denormal f32 as zero, for kernels where they are only slow.

/// While it lives, arithmetic on this thread flushes denormal results and operands to zero. Not for conversions, copies,
/// integer or f64 kernels.
///
/// A thread started meanwhile inherits the mode and keeps it: start threads before.
///
/// Rust's documentation reserves the control register to its default state, because the compiler may calculate constants
/// under the assumption of it. What can differ here is whether a denormal intermediate counts as zero, which is what
/// a user of the guard has asked for.
#[derive(Debug)]
pub struct FlushDenormals {
    former: register::Control,
    /// The state belongs to a thread, so the guard must not move to another.
    _thread: std::marker::PhantomData<*const ()>,
}

impl FlushDenormals {
    pub fn new() -> FlushDenormals {
        let former = register::read();
        register::write(former | register::FLUSH);
        FlushDenormals { former, _thread: std::marker::PhantomData }
    }
}

impl Default for FlushDenormals {
    fn default() -> Self {
        FlushDenormals::new()
    }
}

impl Drop for FlushDenormals {
    fn drop(&mut self) {
        // Only our bits: exception flags raised meanwhile stay.
        register::write((register::read() & !register::FLUSH) | (self.former & register::FLUSH));
    }
}

/// MXCSR.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod register {
    pub(super) type Control = u32;

    /// Flush to zero and denormals are zero.
    pub(super) const FLUSH: Control = (1 << 15) | (1 << 6);

    pub(super) fn read() -> Control {
        let mut control: Control = 0;
        // SAFETY: stores the register to a local variable.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut control, options(nostack, preserves_flags)) };
        control
    }

    pub(super) fn write(control: Control) {
        // SAFETY: `control` came from `read` but for the two flush bits, which every x86-64 processor has.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &control, options(nostack, preserves_flags)) };
    }
}

/// FPCR.
#[cfg(all(target_arch = "aarch64", not(miri)))]
mod register {
    pub(super) type Control = u64;

    /// Flush to zero, operands and results.
    pub(super) const FLUSH: Control = 1 << 24;

    pub(super) fn read() -> Control {
        let control: Control;
        // SAFETY: reads a register that user code may read.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
        control
    }

    pub(super) fn write(control: Control) {
        // SAFETY: `control` came from `read` but for the flush bit.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) control, options(nostack, preserves_flags)) };
    }
}

/// Other machines keep their denormals.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod register {
    pub(super) type Control = u32;

    pub(super) const FLUSH: Control = 0;

    pub(super) fn read() -> Control {
        0
    }

    pub(super) fn write(_: Control) {}
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::sync::mpsc;

    fn halved_smallest() -> f32 {
        black_box(f32::MIN_POSITIVE) * black_box(0.5)
    }

    #[test]
    fn flushes_and_restores() {
        let before = register::read();
        assert!(halved_smallest() > 0.0);
        {
            let _outer = FlushDenormals::new();
            assert_eq!(halved_smallest(), 0.0);
            {
                let _inner = FlushDenormals::new();
                assert_eq!(halved_smallest(), 0.0);
            }
            assert_eq!(halved_smallest(), 0.0);
        }
        assert!(halved_smallest() > 0.0);
        assert_eq!(register::read() & register::FLUSH, before & register::FLUSH);
    }

    #[test]
    fn another_thread_is_untouched() {
        let (go, wait) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            let _ = wait.recv();
            // Compared over there: under the guard a denormal equals zero.
            halved_smallest() > 0.0
        });
        let _guard = FlushDenormals::new();
        drop(go);
        assert!(other.join().is_ok_and(|keeps_denormals| keeps_denormals));
    }
}
