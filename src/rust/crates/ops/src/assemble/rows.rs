//! Where the rows of a tensor lie.

use ggmlr_core::{Desc, MAX_DIMS};
use smallvec::SmallVec;

/// Start of each row of a tensor, with dimensions merged where they follow each other without a gap.
#[derive(Clone, Debug)]
pub struct RowStarts {
    /// Extent and byte stride, dimension 1 first.
    dims: SmallVec<[(usize, usize); MAX_DIMS]>,
}

impl RowStarts {
    pub fn new(d: &Desc) -> RowStarts {
        let mut dims: SmallVec<[(usize, usize); MAX_DIMS]> = SmallVec::new();
        for i in 1..MAX_DIMS {
            match dims.last_mut() {
                _ if d.ne[i] == 1 => {}
                Some((n, nb)) if *n * *nb == d.nb[i] => *n *= d.ne[i],
                _ => dims.push((d.ne[i], d.nb[i])),
            }
        }
        RowStarts { dims }
    }

    /// Byte at which row `r` starts.
    pub fn at(&self, mut r: usize) -> usize {
        let mut at = 0;
        for &(n, nb) in &self.dims {
            at += r % n * nb;
            r /= n;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::DType;

    #[test]
    fn starts_follow_the_strides() {
        let mut d = Desc::new(DType::F32, &[3, 4, 5, 2]).unwrap();
        let plain = RowStarts::new(&d);
        assert_eq!(plain.dims.len(), 1);
        assert_eq!(plain.at(37), 37 * 12);
        d.ne.swap(1, 3);
        d.nb.swap(1, 3);
        let swapped = RowStarts::new(&d);
        for r in 0..40 {
            assert_eq!(swapped.at(r), r % 2 * d.nb[1] + r / 2 % 5 * d.nb[2] + r / 10 * d.nb[3]);
        }
    }
}
