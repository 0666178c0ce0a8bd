//! Memory plan: lifetimes in, offsets in one arena out.

use std::collections::BTreeMap;

/// Offsets are multiples of this, so that every device's alignment rules hold.
pub const SLOT: usize = 256;

/// A block that is needed from position `first` to position `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    pub bytes: usize,
    pub first: usize,
    pub last: usize,
}

/// Holes of the arena by offset.
#[derive(Default)]
struct Holes(BTreeMap<usize, usize>);

impl Holes {
    /// Takes the smallest hole that fits.
    fn take(&mut self, bytes: usize) -> Option<usize> {
        let (&offset, &len) = self.0.iter().filter(|(_, len)| **len >= bytes).min_by_key(|(_, len)| **len)?;
        self.0.remove(&offset);
        if len > bytes {
            self.0.insert(offset + bytes, len - bytes);
        }
        Some(offset)
    }

    /// Gives a block back and joins it with its neighbours.
    fn give(&mut self, mut offset: usize, mut len: usize) {
        if let Some((&before, &n)) = self.0.range(..offset).next_back()
            && before + n == offset
        {
            self.0.remove(&before);
            offset = before;
            len += n;
        }
        if let Some(n) = self.0.remove(&(offset + len)) {
            len += n;
        }
        self.0.insert(offset, len);
    }

    /// Takes back a hole that ends at `end`, to be extended.
    fn take_last(&mut self, end: usize) -> Option<usize> {
        let (&offset, &len) = self.0.iter().next_back()?;
        (offset + len == end).then(|| {
            self.0.remove(&offset);
            offset
        })
    }
}

/// Offsets of the blocks and the size of the arena: best fit in the order of first use.
pub fn place(blocks: &[Lifetime]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|&i| (blocks[i].first, std::cmp::Reverse(blocks[i].bytes)));
    let mut offsets = vec![0; blocks.len()];
    // Blocks in use, by the position after which they are free.
    let mut busy: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut holes = Holes::default();
    let mut end = 0;
    for i in order {
        let b = blocks[i];
        let bytes = b.bytes.next_multiple_of(SLOT);
        let still = busy.split_off(&b.first);
        for j in std::mem::replace(&mut busy, still).into_values().flatten() {
            holes.give(offsets[j], blocks[j].bytes.next_multiple_of(SLOT));
        }
        if bytes == 0 {
            continue;
        }
        offsets[i] = holes.take(bytes).unwrap_or_else(|| {
            let start = holes.take_last(end).unwrap_or(end);
            end = start + bytes;
            start
        });
        busy.entry(b.last).or_default().push(i);
    }
    (offsets, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::rng::word;

    fn overlap(a: &Lifetime, ao: usize, b: &Lifetime, bo: usize) -> bool {
        let time = a.first <= b.last && b.first <= a.last;
        time && ao < bo + b.bytes && bo < ao + a.bytes
    }

    #[test]
    fn live_blocks_never_overlap_and_the_peak_stays_below_the_sum() {
        for case in 0..200_u32 {
            let r = |i: u64| word(7, i, case, 0) as usize;
            let n = 1 + r(0) % 40;
            let blocks: Vec<Lifetime> = (0..n as u64)
                .map(|i| {
                    let first = r(3 * i + 1) % 30;
                    Lifetime { bytes: r(3 * i + 2) % 5000, first, last: first + r(3 * i + 3) % 10 }
                })
                .collect();
            let (at, total) = place(&blocks);
            for i in 0..n {
                assert_eq!(at[i] % SLOT, 0);
                assert!(at[i] + blocks[i].bytes <= total);
                for j in 0..i {
                    assert!(!overlap(&blocks[i], at[i], &blocks[j], at[j]), "case {case}: {i} and {j}");
                }
            }
            assert!(total <= blocks.iter().map(|b| b.bytes.next_multiple_of(SLOT)).sum());
        }
    }

    #[test]
    fn a_chain_needs_two_blocks() {
        let blocks: Vec<Lifetime> = (0..50).map(|i| Lifetime { bytes: 1000, first: i, last: i + 1 }).collect();
        assert_eq!(place(&blocks).1, 2 * 1024);
    }
}
