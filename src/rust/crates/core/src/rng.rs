//! Counter-based random numbers: Philox4x32 with ten rounds.
//!
//! Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Element `i` of a
//! draw is `philox(key, [i / 4 low, i / 4 high, node, step])[i % 4]`; the layout is part of the package's promise
//! of reproducible results, so changing it changes every seeded run. [`LAYOUT_VERSION`] says which one this is.

/// Version of the counter layout.
pub const LAYOUT_VERSION: u32 = 1;

const M0: u32 = 0xD251_1F53;
const M1: u32 = 0xCD9E_8D57;
const W0: u32 = 0x9E37_79B9;
const W1: u32 = 0xBB67_AE85;

/// Four random words for a counter under a key.
pub fn philox4x32_10(key: u64, counter: [u32; 4]) -> [u32; 4] {
    philox_lanes(key, counter.map(|c| [c])).map(|[c]| c)
}

/// Four random words for each of `N` counters side by side, which the compiler turns into vector code:
/// `philox_lanes(key, c)[w][lane]` is `philox4x32_10(key, [c[0][lane], ..., c[3][lane]])[w]`.
pub fn philox_lanes<const N: usize>(key: u64, mut c: [[u32; N]; 4]) -> [[u32; N]; 4] {
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    for _ in 0..10 {
        let mut next = [[0; N]; 4];
        for i in 0..N {
            let p0 = u64::from(M0) * u64::from(c[0][i]);
            let p1 = u64::from(M1) * u64::from(c[2][i]);
            next[0][i] = (p1 >> 32) as u32 ^ c[1][i] ^ k0;
            next[1][i] = p1 as u32;
            next[2][i] = (p0 >> 32) as u32 ^ c[3][i] ^ k1;
            next[3][i] = p0 as u32;
        }
        c = next;
        k0 = k0.wrapping_add(W0);
        k1 = k1.wrapping_add(W1);
    }
    c
}

/// Word `i` of the draw of a node at a step.
pub fn word(key: u64, i: u64, node: u32, step: u32) -> u32 {
    let q = i / 4;
    philox4x32_10(key, [q as u32, (q >> 32) as u32, node, step])[(i % 4) as usize]
}

/// A word as a number in [0, 1): 24 bits, so that it is exact in `f32`.
pub fn unit_f32(w: u32) -> f32 {
    (w >> 8) as f32 * (1.0 / 16_777_216.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // Vectors of the authors' Random123 distribution (kat_vectors).
        assert_eq!(philox4x32_10(0, [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox4x32_10(u64::MAX, [u32::MAX; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn lanes_are_independent_draws() {
        let c = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]];
        let words = philox_lanes(99, c);
        for lane in 0..3 {
            assert_eq!(words.map(|w| w[lane]), philox4x32_10(99, c.map(|c| c[lane])));
        }
    }

    #[test]
    fn mean_is_a_half() {
        let n = 20_000;
        let s: f64 = (0..n).map(|i| f64::from(unit_f32(word(42, i, 1, 0)))).sum();
        assert!((s / n as f64 - 0.5).abs() < 0.01);
    }
}
