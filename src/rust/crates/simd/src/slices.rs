//! What kernels over several slices share.

/// Kernels over several slices panic if their lengths differ, as `copy_from_slice` does.
#[track_caller]
pub(crate) fn check_lengths<const N: usize>(lengths: [usize; N]) {
    assert!(lengths.iter().all(|length| *length == lengths[0]), "slices of different lengths: {lengths:?}");
}

/// Length of the copies that in-place forms work from: they stay in the first-level cache, and the loops exist once.
const PIECE: usize = 1024;

/// Calls `f(start, old, piece)` for each piece of `y`, where `old` is a copy of the piece.
pub(crate) fn in_pieces(y: &mut [f32], mut f: impl FnMut(usize, &[f32], &mut [f32])) {
    let mut old = [0.0; PIECE];
    for (i, piece) in y.chunks_mut(PIECE).enumerate() {
        let old = &mut old[..piece.len()];
        old.copy_from_slice(piece);
        f(i * PIECE, old, piece);
    }
}
