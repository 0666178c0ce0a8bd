//! Values of the f64 reference: contiguous, in ggml order.

use crate::desc::MAX_DIMS;

/// A dense array of `f64`; `ne[0]` is innermost. Integers are carried as whole numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub ne: [usize; MAX_DIMS],
    pub data: Vec<f64>,
}

impl Array {
    /// Zeros of the given extents.
    pub fn zeros(ne: [usize; MAX_DIMS]) -> Array {
        Array { ne, data: vec![0.0; ne.iter().product()] }
    }

    /// Extents shorter than [`MAX_DIMS`], filled up with ones.
    pub fn from(ne: &[usize], data: Vec<f64>) -> Array {
        let mut full = [1; MAX_DIMS];
        full[..ne.len()].copy_from_slice(ne);
        Array { ne: full, data }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Position of an index in `data`.
    pub fn at(&self, i: &[usize; MAX_DIMS]) -> usize {
        (0..MAX_DIMS).rev().fold(0, |p, d| p * self.ne[d] + i[d])
    }

    /// Element at an index that is taken modulo the extents: broadcasting as ggml defines it.
    pub fn wrap(&self, i: &[usize; MAX_DIMS]) -> f64 {
        let mut j = *i;
        for d in 0..MAX_DIMS {
            j[d] %= self.ne[d];
        }
        self.data[self.at(&j)]
    }

    /// Every index in ggml order.
    pub fn indices(&self) -> Indices {
        Indices { ne: self.ne, next: [0; MAX_DIMS], left: self.data.len() }
    }
}

/// Iterator over the indices of an array.
#[derive(Clone, Debug)]
pub struct Indices {
    ne: [usize; MAX_DIMS],
    next: [usize; MAX_DIMS],
    left: usize,
}

impl Iterator for Indices {
    type Item = [usize; MAX_DIMS];

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let out = self.next;
        for d in 0..MAX_DIMS {
            self.next[d] += 1;
            if self.next[d] < self.ne[d] {
                break;
            }
            self.next[d] = 0;
        }
        Some(out)
    }
}
