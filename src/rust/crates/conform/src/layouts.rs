//! Arrangements of an input in memory: the same values, found through other strides and offsets.

use ggmlr_core::{Desc, MAX_DIMS};
use ggmlr_ops::case::Input;

/// How an input lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrangement {
    Contiguous,
    /// The outermost dimension is the innermost in memory, and so on: what `permute` gives.
    Permuted,
    /// Contiguous rows, the rows in permuted order.
    Rows,
    /// A piece of a larger buffer: starts a few elements in, and rows have gaps between them.
    Piece,
}

impl Arrangement {
    /// Word for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Arrangement::Contiguous => "contiguous",
            Arrangement::Permuted => "permuted",
            Arrangement::Rows => "rows",
            Arrangement::Piece => "piece",
        }
    }
}

/// Elements in front of a piece: odd, so that no vector register is aligned.
const LEAD: usize = 3;

/// Elements between the rows of a piece.
const GAP: usize = 2;

/// Description of the arrangement and the bytes that lie before its first element, or `None` where the arrangement
/// would be nothing but another name for a contiguous one.
pub fn arrange(d: &Desc, a: Arrangement) -> Option<(Desc, usize)> {
    if a == Arrangement::Contiguous {
        return Some((d.contiguous(), 0));
    }
    let dims = d.n_dims();
    let wide = |from: usize| (from..dims).filter(|&i| d.ne[i] > 1).count();
    if d.is_empty() {
        return None;
    }
    let (unit, row) = (d.dtype.bytes(), d.bytes() / d.rows());
    let mut out = *d;
    let mut lead = 0;
    let order: Vec<usize> = match a {
        Arrangement::Permuted if d.dtype.block() == 1 && wide(0) > 1 => (0..dims).rev().collect(),
        Arrangement::Rows if wide(1) > 1 => (1..dims).rev().collect(),
        Arrangement::Piece => {
            lead = LEAD * unit;
            (1..dims).collect()
        }
        _ => return None,
    };
    // Bytes from one element of the first dimension in the order to the next.
    let mut next = match a {
        Arrangement::Permuted => unit,
        Arrangement::Piece => row + GAP * unit,
        _ => row,
    };
    for i in order {
        out.nb[i] = next;
        next *= out.ne[i];
    }
    for i in dims..MAX_DIMS {
        out.nb[i] = next;
    }
    Some((out, lead))
}

/// The sets of arrangements that a case's inputs are given in, contiguous first.
pub fn sets(inputs: &[Input], descs: &[Desc]) -> Vec<Vec<Arrangement>> {
    let plain = vec![Arrangement::Contiguous; inputs.len()];
    let fits = |i: usize, a| inputs[i].any_layout && arrange(&descs[i], a).is_some();
    let with = |a: Arrangement, which: &dyn Fn(usize) -> bool| -> Vec<Arrangement> {
        (0..inputs.len()).map(|i| if which(i) && fits(i, a) { a } else { Arrangement::Contiguous }).collect()
    };
    let mut out = vec![plain];
    let mut push = |set: Vec<Arrangement>| {
        if !out.contains(&set) {
            out.push(set);
        }
    };
    for a in [Arrangement::Permuted, Arrangement::Rows, Arrangement::Piece] {
        push(with(a, &|_| true));
    }
    for one in 0..inputs.len() {
        push(with(Arrangement::Permuted, &|i| i == one));
    }
    out
}

/// Bytes of a contiguous value, spread as `d` says; those between elements are set to `filler`.
pub fn spread(bytes: &[u8], d: &Desc, filler: u8) -> Vec<u8> {
    let mut out = vec![filler; d.span()];
    for (from, to, n) in moves(d) {
        out[to..to + n].copy_from_slice(&bytes[from..from + n]);
    }
    out
}

/// The reverse of [`spread`].
pub fn gather(bytes: &[u8], d: &Desc) -> Vec<u8> {
    let mut out = vec![0; d.bytes()];
    for (to, from, n) in moves(d) {
        out[to..to + n].copy_from_slice(&bytes[from..from + n]);
    }
    out
}

/// Bytes of a strided value that belong to none of its elements.
pub fn between(d: &Desc) -> Vec<bool> {
    let mut out = vec![true; d.span()];
    for (_, at, n) in moves(d) {
        out[at..at + n].fill(false);
    }
    out
}

/// Every block of a value: its place in a contiguous one, its place by strides, its length.
fn moves(d: &Desc) -> impl Iterator<Item = (usize, usize, usize)> {
    let (mut ne, nb, unit) = (d.ne, d.nb, d.dtype.bytes());
    ne[0] /= d.dtype.block();
    (0..ne.iter().product()).map(move |i| {
        let (mut left, mut at) = (i, 0);
        for k in 0..MAX_DIMS {
            at += left % ne[k] * nb[k];
            left /= ne[k];
        }
        (i * unit, at, unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::DType;
    use ggmlr_ops::Values;

    #[test]
    fn values_survive_every_arrangement() {
        for ne in [&[3, 4, 2][..], &[5], &[1, 6], &[2, 3, 4, 2]] {
            let d = Desc::new(DType::F32, ne).unwrap();
            let bytes: Vec<u8> = (0..d.bytes()).map(|i| i as u8).collect();
            for a in [Arrangement::Contiguous, Arrangement::Permuted, Arrangement::Rows, Arrangement::Piece] {
                if let Some((s, _)) = arrange(&d, a) {
                    let there = spread(&bytes, &s, 0xff);
                    assert_eq!(gather(&there, &s), bytes, "{ne:?} {a:?}");
                    assert_eq!(between(&s).iter().filter(|b| !**b).count(), bytes.len());
                }
            }
        }
    }

    #[test]
    fn permuted_is_a_transposed_matrix() {
        let d = Desc::new(DType::F32, &[3, 4]).unwrap();
        let (p, lead) = arrange(&d, Arrangement::Permuted).unwrap();
        assert_eq!((p.nb[0], p.nb[1], lead), (16, 4, 0));
        assert!(!p.is_contiguous());
        assert_eq!(p.span(), 48);
    }

    #[test]
    fn blocks_keep_their_rows() {
        let d = Desc::new(DType::Q4_0, &[64, 3, 2]).unwrap();
        assert!(arrange(&d, Arrangement::Permuted).is_none());
        let (r, _) = arrange(&d, Arrangement::Rows).unwrap();
        assert_eq!((r.nb[0], r.nb[1], r.nb[2]), (18, 72, 36));
        assert_eq!(r.span(), d.bytes());
    }

    #[test]
    fn sets_differ_and_respect_the_contract() {
        let input = |any_layout| Input {
            dtype: DType::F32,
            ne: vec![3, 4],
            values: Values::Uniform(0.0, 1.0),
            grad: false,
            any_layout,
        };
        let d = Desc::new(DType::F32, &[3, 4]).unwrap();
        let all = sets(&[input(true), input(false)], &[d, d]);
        assert!(all.iter().all(|s| s[1] == Arrangement::Contiguous));
        assert_eq!(all.len(), 3);
        let empty = Desc::new(DType::F32, &[0, 4]).unwrap();
        assert_eq!(sets(&[input(true)], &[empty]).len(), 1);
    }
}
