//! How a small operand repeats into a large one, reduced to the few dimensions that matter.

use ggmlr_core::{Desc, MAX_DIMS};
use smallvec::SmallVec;

/// A run of dimensions of the large operand, merged into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub len: usize,
    /// Whether the small operand has its own element at each position; otherwise it repeats.
    pub own: bool,
}

/// Runs from the innermost out. Neighbours differ in `own`, no run has length 1.
pub type Runs = SmallVec<[Run; 8]>;

/// The runs of `small` in `big`; `small` must repeat into `big`.
///
/// An extent of `small` that is neither 1 nor that of `big` repeats as a tile, which is the same as two dimensions:
/// the tile, then its copies.
pub fn runs(small: &Desc, big: &Desc) -> Runs {
    let mut out = Runs::new();
    for d in 0..MAX_DIMS {
        if small.ne[d] != 0 {
            push(&mut out, Run { len: small.ne[d], own: true });
            push(&mut out, Run { len: big.ne[d] / small.ne[d], own: false });
        }
    }
    out
}

fn push(out: &mut Runs, run: Run) {
    match out.last_mut() {
        _ if run.len == 1 => {}
        Some(last) if last.own == run.own => last.len *= run.len,
        _ => out.push(run),
    }
}

/// Position in the small operand of row `row` of the large one; a row is the innermost run.
pub fn offset(runs: &[Run], row: usize) -> usize {
    let (mut at, mut left, mut stride) = (0, row, 1);
    for (i, run) in runs.iter().enumerate() {
        let index = if i == 0 { 0 } else { left % run.len };
        if i > 0 {
            left /= run.len;
        }
        if run.own {
            at += index * stride;
            stride *= run.len;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::DType;

    fn of(small: &[usize], big: &[usize]) -> Vec<(usize, bool)> {
        let (s, b) = (Desc::new(DType::F32, small).unwrap(), Desc::new(DType::F32, big).unwrap());
        runs(&s, &b).iter().map(|r| (r.len, r.own)).collect()
    }

    #[test]
    fn dimensions_merge() {
        assert_eq!(of(&[3, 4], &[3, 4]), [(12, true)]);
        assert_eq!(of(&[3], &[3, 4, 5]), [(3, true), (20, false)]);
        assert_eq!(of(&[1, 4], &[3, 4]), [(3, false), (4, true)]);
        assert_eq!(of(&[1], &[3, 4]), [(12, false)]);
        assert_eq!(of(&[2, 4], &[6, 4]), [(2, true), (3, false), (4, true)]);
        assert_eq!(of(&[1, 1, 5], &[3, 4, 5, 2]), [(12, false), (5, true), (2, false)]);
        assert_eq!(of(&[1], &[1]), []);
    }

    #[test]
    fn offsets_follow_the_rows() {
        let s = Desc::new(DType::F32, &[2, 1, 3]).unwrap();
        let b = Desc::new(DType::F32, &[2, 4, 6]).unwrap();
        let r = runs(&s, &b);
        // Runs: 2 own, 4 repeated, 3 own, 2 repeated.
        assert_eq!(offset(&r, 0), 0);
        assert_eq!(offset(&r, 3), 0);
        assert_eq!(offset(&r, 4), 2);
        assert_eq!(offset(&r, 11), 4);
        assert_eq!(offset(&r, 12), 0);
    }
}
