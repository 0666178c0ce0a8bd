//! Numbers as whole numbers of the same order, so that sorting compares words: the order of IEEE 754 numbers of one
//! sign is that of their bits.

use bytemuck::Pod;
use std::fmt::Debug;

/// A number with a place in an order.
pub trait Sortable: Pod + Send + Sync {
    /// The number's place and its position in the row, in one word.
    type Key: Ord + Copy + Send + Debug;

    /// Sorts by value, NaN last, then by position.
    fn key(self, position: usize, descending: bool) -> Self::Key;

    /// The position in a key.
    fn position(key: Self::Key) -> i32;
}

/// Bits of a place in the order of a 32-bit number under its position. Rows are shorter than 2^31, as their results
/// are I32.
fn packed(place: u32, position: usize) -> u64 {
    u64::from(place) << 32 | position as u64
}

impl Sortable for f32 {
    type Key = u64;

    fn key(self, position: usize, descending: bool) -> u64 {
        if self.is_nan() {
            return packed(u32::MAX, position);
        }
        // Adding 0 makes the two zeros one, as comparisons see them.
        let bits = (self + 0.0).to_bits();
        let up = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        packed(if descending { !up } else { up }, position)
    }

    fn position(key: u64) -> i32 {
        key as i32
    }
}

impl Sortable for i32 {
    type Key = u64;

    fn key(self, position: usize, descending: bool) -> u64 {
        let up = self as u32 ^ 1 << 31;
        packed(if descending { !up } else { up }, position)
    }

    fn position(key: u64) -> i32 {
        key as i32
    }
}

impl Sortable for f64 {
    type Key = (u64, u32);

    fn key(self, position: usize, descending: bool) -> (u64, u32) {
        if self.is_nan() {
            return (u64::MAX, position as u32);
        }
        let bits = (self + 0.0).to_bits();
        let up = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        (if descending { !up } else { up }, position as u32)
    }

    fn position(key: (u64, u32)) -> i32 {
        key.1 as i32
    }
}

/// Replaces `keys` by those of a row.
pub fn keys<T: Sortable>(row: &[T], descending: bool, keys: &mut Vec<T::Key>) {
    keys.clear();
    keys.extend(row.iter().enumerate().map(|(i, v)| v.key(i, descending)));
}

/// The definition's order: value, NaN last, then position.
pub fn before(a: (f64, usize), b: (f64, usize), descending: bool) -> std::cmp::Ordering {
    let (x, y) = if descending { (b.0, a.0) } else { (a.0, b.0) };
    let values = x.partial_cmp(&y).unwrap_or_else(|| a.0.is_nan().cmp(&b.0.is_nan()));
    values.then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_order_of_the_numbers() {
        let inf = f32::INFINITY;
        let up = [-inf, f32::MIN, -1.0, -1e-40, 0.0, 1e-40, f32::MIN_POSITIVE, 1.0, f32::MAX, inf, f32::NAN];
        for i in 1..up.len() {
            assert!(up[i - 1].key(0, false) < up[i].key(0, false), "{}", up[i]);
            let wide = f64::from(up[i - 1]).key(0, false) < f64::from(up[i]).key(0, false);
            assert!(wide, "{}", up[i]);
            if !up[i].is_nan() {
                assert!(up[i - 1].key(0, true) > up[i].key(0, true), "{}", up[i]);
            }
        }
        assert!(1_f32.key(0, true) < (-f32::NAN).key(0, true), "NaN of either sign comes last in both directions");
        assert_eq!((-0.0_f32).key(3, false), 0.0_f32.key(3, false));
        assert!(i32::MIN.key(0, false) < (-1).key(0, false) && (-1).key(0, false) < i32::MAX.key(0, false));
        assert_eq!(f32::position(7_f32.key(12, true)), 12);
    }
}
