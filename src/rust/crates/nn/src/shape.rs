//! Shapes of samples: R's order outside, ggml's order inside.
//!
//! | R, per sample | tensor of N samples |
//! |---|---|
//! | `c(f)` | `[f, N]` |
//! | `c(seq, feat)` | `[feat, seq, N]` |
//! | `c(H, W, C)` | `[W, H, C, N]` |

use ggmlr_core::{Error, Result};
use std::fmt;

/// Extents of one sample in R's order: one to three, none of them zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape(Vec<usize>);

impl Shape {
    /// Checks the extents.
    pub fn new(dims: Vec<usize>) -> Result<Shape> {
        if dims.is_empty() || dims.len() > 3 {
            return Err(Error::shape(format!("a sample has 1 to 3 dimensions, got {}", dims.len())).arg("shape"));
        }
        if dims.contains(&0) {
            return Err(Error::shape(format!("every dimension must be at least 1, got {}", show(&dims))).arg("shape"));
        }
        let size = dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d)).filter(|n| *n <= isize::MAX as usize / 8);
        if size.is_none() {
            return Err(Error::shape(format!("a sample of shape {} is too large", show(&dims))).arg("shape"));
        }
        Ok(Shape(dims))
    }

    /// A vector of `n` features.
    pub fn flat(n: usize) -> Result<Shape> {
        Shape::new(vec![n])
    }

    /// Extents in R's order.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// Elements of one sample.
    pub fn size(&self) -> usize {
        self.0.iter().product()
    }

    /// Whether a sample is a plain vector.
    pub fn is_flat(&self) -> bool {
        self.0.len() == 1
    }

    /// Features or channels of one position: the last extent in R's order.
    pub fn features(&self) -> usize {
        self.0[self.0.len() - 1]
    }

    /// Extents of the tensor that holds `n` samples.
    pub fn ne(&self, n: usize) -> Vec<usize> {
        match *self.0.as_slice() {
            [seq, feat] => vec![feat, seq, n],
            [h, w, c] => vec![w, h, c, n],
            _ => vec![self.size(), n],
        }
    }

    /// For each element of a sample in tensor order, its position in R's column-major order.
    pub fn r_positions(&self) -> Vec<usize> {
        match *self.0.as_slice() {
            [seq, feat] => (0..seq).flat_map(|l| (0..feat).map(move |c| l + seq * c)).collect(),
            [h, w, c] => {
                (0..c).flat_map(|k| (0..h).flat_map(move |i| (0..w).map(move |j| i + h * (j + w * k)))).collect()
            }
            _ => (0..self.size()).collect(),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show(&self.0))
    }
}

/// Extents as R writes them: `c(28, 28, 1)`.
pub fn show(dims: &[usize]) -> String {
    let list: Vec<String> = dims.iter().map(usize::to_string).collect();
    format!("c({})", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_order_becomes_tensor_order() {
        let s = Shape::new(vec![2, 3]).unwrap();
        assert_eq!(s.ne(5), [3, 2, 5]);
        // R's matrix(1:6, 2): element [l, c] is at l + 2 c; the tensor walks the three features of a position first.
        assert_eq!(s.r_positions(), [0, 2, 4, 1, 3, 5]);
        let s = Shape::new(vec![2, 3, 2]).unwrap();
        assert_eq!(s.ne(1), [3, 2, 2, 1]);
        assert_eq!(s.r_positions(), [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]);
        assert_eq!((s.size(), s.features()), (12, 2));
        assert_eq!(s.to_string(), "c(2, 3, 2)");
    }

    #[test]
    fn impossible_shapes_are_refused() {
        assert!(Shape::new(vec![]).is_err());
        assert!(Shape::new(vec![3, 0]).is_err());
        assert!(Shape::new(vec![1 << 40, 1 << 40]).is_err());
        assert!(Shape::new(vec![1, 2, 3, 4]).is_err());
    }
}
