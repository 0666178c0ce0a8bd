//! Which vector instructions to use, and how a kernel gets compiled for them.
//!
//! A kernel is safe, portable Rust written so that the compiler turns its loops into vector code. `dispatch` inlines it
//! into one function per [`Tier`], each compiled for that tier's instructions. Two rules follow for kernels: everything on
//! the way down is `#[inline(always)]`, and closures, which cannot be, hold no arithmetic.

use std::cell::Cell;
use std::sync::OnceLock;

/// Sets of instructions that kernels are compiled for, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// What every machine of the architecture has, without fused multiply-add.
    Scalar,
    /// 64-bit Arm, whose baseline has 128-bit vectors and fused multiply-add.
    Neon,
    /// x86-64-v3: AVX2, FMA, F16C, BMI.
    Avx2,
    /// x86-64-v4: AVX-512 F, BW, CD, DQ, VL.
    Avx512,
}

impl Tier {
    pub const ALL: [Tier; 4] = [Tier::Scalar, Tier::Neon, Tier::Avx2, Tier::Avx512];

    pub fn name(self) -> &'static str {
        match self {
            Tier::Scalar => "scalar",
            Tier::Neon => "neon",
            Tier::Avx2 => "avx2",
            Tier::Avx512 => "avx512",
        }
    }

    pub fn from_name(name: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.name().eq_ignore_ascii_case(name))
    }

    /// Whether this machine has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            Tier::Scalar => true,
            Tier::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => has_avx2() && has_avx512(),
            #[cfg(not(target_arch = "x86_64"))]
            Tier::Avx2 | Tier::Avx512 => false,
        }
    }

    /// The tiers this machine has, the best last.
    pub fn available() -> impl Iterator<Item = Tier> {
        Tier::ALL.into_iter().filter(|tier| tier.is_available())
    }

    /// The best tier of this machine that is not above `self`.
    fn capped(self) -> Tier {
        Tier::available().filter(|tier| *tier <= self).last().unwrap_or(Tier::Scalar)
    }
}

/// All that [`avx2`] enables.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// What [`avx512`] enables beyond [`avx2`].
#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

/// The best tier of the machine, or the one named by the environment variable `GGMLR_SIMD` if that is lower. A name that
/// is not known changes nothing.
fn process_tier() -> Tier {
    static TIER: OnceLock<Tier> = OnceLock::new();
    *TIER.get_or_init(|| {
        let wish = std::env::var("GGMLR_SIMD").ok().and_then(|name| Tier::from_name(&name));
        wish.unwrap_or(Tier::Avx512).capped()
    })
}

thread_local! {
    static OVERRIDE: Cell<Option<Tier>> = const { Cell::new(None) };
}

/// The tier that kernels called on this thread use.
pub fn tier() -> Tier {
    OVERRIDE.get().unwrap_or_else(process_tier)
}

/// Runs `f` with kernels of this thread held to `tier`, or to the machine's best below it. For tests and measurements.
pub fn with_tier<T>(tier: Tier, f: impl FnOnce() -> T) -> T {
    /// Puts the former state back, also if `f` panics.
    struct Restore(Option<Tier>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OVERRIDE.set(self.0);
        }
    }
    let _restore = Restore(OVERRIDE.replace(Some(tier.capped())));
    f()
}

/// A piece of work to be compiled for each tier.
pub(crate) trait Kernel {
    type Output;

    /// The work, with fused multiply-add or not. Has to be `#[inline(always)]`.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

/// Runs the kernel with the instructions of [`tier`].
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    match tier() {
        #[cfg(target_arch = "aarch64")]
        Tier::Neon => kernel.run::<true>(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `tier` returns only tiers for which `is_available` has seen every enabled feature.
        Tier::Avx2 => unsafe { avx2(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Tier::Avx512 => unsafe { avx512(kernel) },
        _ => kernel.run::<false>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn override_is_capped_and_restored() {
        let before = tier();
        with_tier(Tier::Scalar, || {
            assert_eq!(tier(), Tier::Scalar);
            with_tier(Tier::Avx512, || assert!(tier().is_available()));
            assert_eq!(tier(), Tier::Scalar);
        });
        let panicked = std::panic::catch_unwind(|| with_tier(Tier::Scalar, || panic!("in a kernel")));
        assert!(panicked.is_err());
        assert_eq!(tier(), before);
    }

    #[test]
    fn names_lead_back_to_tiers() {
        for tier in Tier::ALL {
            assert_eq!(Tier::from_name(tier.name()), Some(tier));
        }
        assert_eq!(Tier::from_name("sse9"), None);
    }
}
