//! Conversions between element types over slices of the same length.
//!
//! To a narrower floating point type they round to nearest even; to whole numbers they cut off, an overflow gives the nearest
//! number there is, and NaN gives 0.

use crate::isa::{Kernel, dispatch};
use crate::slices::check_lengths;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// A conversion of one element.
trait Convert {
    type From: Copy;
    type To;

    /// Has to be `#[inline(always)]`.
    fn convert(x: Self::From) -> Self::To;
}

struct Loop<'a, C: Convert> {
    x: &'a [C::From],
    y: &'a mut [C::To],
}

impl<C: Convert> Kernel for Loop<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            *y = C::convert(*x);
        }
    }
}

macro_rules! conversion {
    ($name:ident: $From:ident to $To:ident, |$x:ident| $convert:expr) => {
        pub fn $name(x: &[$From], y: &mut [$To]) {
            struct Conversion;
            impl Convert for Conversion {
                type From = $From;
                type To = $To;
                #[inline(always)]
                fn convert($x: $From) -> $To {
                    $convert
                }
            }
            check_lengths([x.len(), y.len()]);
            dispatch(Loop::<Conversion> { x, y });
        }
    };
}

conversion!(f32_to_f64: f32 to f64, |x| f64::from(x));
conversion!(f64_to_f32: f64 to f32, |x| x as f32);
conversion!(f32_to_i32: f32 to i32, |x| x as i32);
conversion!(f64_to_i32: f64 to i32, |x| x as i32);
conversion!(i32_to_f32: i32 to f32, |x| x as f32);
conversion!(i32_to_f64: i32 to f64, |x| f64::from(x));
conversion!(bf16_to_f32: bf16 to f32, |x| f32::from_bits(u32::from(x.to_bits()) << 16));
conversion!(f32_to_bf16: f32 to bf16, |x| {
    let bits = x.to_bits();
    let rounded = (bits.wrapping_add(0x7fff + ((bits >> 16) & 1))) >> 16;
    // Rounding could turn a NaN into infinity; setting its quiet bit can't.
    let nan = (bits >> 16) | 0x40;
    bf16::from_bits(if x.is_nan() { nan } else { rounded } as u16)
});

pub fn f32_to_f16(x: &[f32], y: &mut [f16]) {
    check_lengths([x.len(), y.len()]);
    y.convert_from_f32_slice(x);
}

pub fn f16_to_f32(x: &[f16], y: &mut [f32]) {
    check_lengths([x.len(), y.len()]);
    x.convert_to_f32_slice(y);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Tier, with_tier};

    fn converted<A, B: Clone + Default>(f: fn(&[A], &mut [B]), x: &[A]) -> Vec<B> {
        let mut y = vec![B::default(); x.len()];
        f(x, &mut y);
        y
    }

    /// Bit patterns of all kinds, NaN and denormals among them, at every length up to 67.
    fn samples() -> Vec<f32> {
        (0..4000u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect()
    }

    fn same(a: f32, b: f32) -> bool {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    }

    #[test]
    fn every_tier_agrees_with_the_definition() {
        let x = samples();
        for tier in Tier::available() {
            with_tier(tier, || {
                for (x, y) in x.iter().zip(converted(f32_to_bf16, &x)) {
                    assert!(same(y.to_f32(), bf16::from_f32(*x).to_f32()), "{x:e}");
                }
                for (x, y) in x.iter().zip(converted(f32_to_f16, &x)) {
                    assert!(same(y.to_f32(), f16::from_f32(*x).to_f32()), "{x:e}");
                }
                for (x, y) in x.iter().zip(converted(f32_to_i32, &x)) {
                    assert_eq!(y, *x as i32, "{x:e}");
                }
                let wide = converted(f32_to_f64, &x);
                assert!(converted(f64_to_f32, &wide).iter().zip(&x).all(|(y, x)| same(*y, *x)));
                assert_eq!(converted(f64_to_i32, &wide), converted(f32_to_i32, &x));
            });
        }
    }

    #[test]
    fn every_half_goes_to_f32_and_back() {
        for tier in Tier::available() {
            with_tier(tier, || {
                let x: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
                let wide = converted(bf16_to_f32, &x);
                assert!(wide.iter().zip(&x).all(|(y, x)| same(*y, x.to_f32())));
                assert!(converted(f32_to_bf16, &wide).iter().zip(&x).all(|(y, x)| same(y.to_f32(), x.to_f32())));
                let x: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
                let wide = converted(f16_to_f32, &x);
                assert!(wide.iter().zip(&x).all(|(y, x)| same(*y, x.to_f32())));
                assert!(converted(f32_to_f16, &wide).iter().zip(&x).all(|(y, x)| same(y.to_f32(), x.to_f32())));
            });
        }
    }

    #[test]
    fn whole_numbers() {
        let special = [1.9, -1.9, 0.5, 3e9, -3e9, f32::INFINITY, f32::NAN];
        assert_eq!(converted(f32_to_i32, &special), [1, -1, 0, i32::MAX, i32::MIN, i32::MAX, 0]);
        let whole = [0, -1, 16_777_217, i32::MIN, i32::MAX];
        assert_eq!(converted(i32_to_f32, &whole), whole.map(|i| i as f32));
        assert_eq!(converted(f64_to_i32, &converted(i32_to_f64, &whole)), whole);
    }

    #[test]
    fn lengths_up_to_67() {
        for n in 0..=67 {
            let x = &samples()[..n];
            assert_eq!(converted(f32_to_bf16, x).len(), n);
            assert!(converted(f32_to_i32, x).iter().zip(x).all(|(y, x)| *y == *x as i32));
        }
    }
}
