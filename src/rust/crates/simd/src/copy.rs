//! Strided copies and conversions between element types.

use half::{bf16, f16};

/// Dimensions a copy may have.
const MAX_DIMS: usize = 8;

/// Side of a tile of a transposing copy: two tiles of 8-byte elements fit into the first-level cache.
const TILE: usize = 32;

/// Why a copy cannot be done: the description does not fit the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyError(&'static str);

impl std::fmt::Display for CopyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for CopyError {}

/// One dimension of a copy: extent, source stride, destination stride in bytes.
type Dim = (usize, usize, usize);

fn fits(elem: usize, dims: impl Iterator<Item = (usize, usize)>, len: usize) -> bool {
    let mut end = elem;
    for (n, stride) in dims {
        let Some(e) = (n - 1).checked_mul(stride).and_then(|s| end.checked_add(s)) else { return false };
        end = e;
    }
    end <= len
}

/// Copies elements of `elem_size` bytes between two strided layouts of the same extents; strides are in bytes.
pub fn copy_strided(
    elem_size: usize,
    ne: &[usize],
    src: &[u8],
    src_nb: &[usize],
    dst: &mut [u8],
    dst_nb: &[usize],
) -> Result<(), CopyError> {
    if ne.len() > MAX_DIMS || src_nb.len() < ne.len() || dst_nb.len() < ne.len() {
        return Err(CopyError("extents and strides do not match"));
    }
    if !matches!(elem_size, 1 | 2 | 4 | 8) {
        return Err(CopyError("elements must have 1, 2, 4 or 8 bytes"));
    }
    if ne.contains(&0) {
        return Ok(());
    }
    let strides = |nb: &[usize]| ne.iter().copied().zip(nb.iter().copied()).collect::<Vec<_>>();
    if !fits(elem_size, strides(src_nb).into_iter(), src.len()) {
        return Err(CopyError("the source layout exceeds its memory"));
    }
    if !fits(elem_size, strides(dst_nb).into_iter(), dst.len()) {
        return Err(CopyError("the destination layout exceeds its memory"));
    }
    let mut dims: [Dim; MAX_DIMS] = [(1, 0, 0); MAX_DIMS];
    let mut rank = 0;
    let mut run = elem_size;
    for d in 0..ne.len() {
        let (n, s, t) = (ne[d], src_nb[d], dst_nb[d]);
        if n == 1 {
            continue;
        }
        if rank == 0 && s == run && t == run {
            // Contiguous on both sides: one longer run.
            run *= n;
        } else if rank > 0 && dims[rank - 1].0 * dims[rank - 1].1 == s && dims[rank - 1].0 * dims[rank - 1].2 == t {
            dims[rank - 1].0 *= n;
        } else {
            dims[rank] = (n, s, t);
            rank += 1;
        }
    }
    walk(&dims[..rank], run, elem_size, src, dst);
    Ok(())
}

fn walk(dims: &[Dim], run: usize, elem: usize, src: &[u8], dst: &mut [u8]) {
    match dims {
        [] => dst[..run].copy_from_slice(&src[..run]),
        [inner, outer, rest @ ..] if run == elem && inner.1 > outer.1 => {
            // Neighbours of the destination are far apart in the source: go through both in tiles.
            each(rest, |s, t| tiles(*inner, *outer, elem, &src[s..], &mut dst[t..]));
        }
        [inner, rest @ ..] => each(rest, |s, t| line(*inner, run, &src[s..], &mut dst[t..])),
    }
}

/// Calls `f` with source and destination offset for every index of `dims`.
fn each(dims: &[Dim], mut f: impl FnMut(usize, usize)) {
    let mut index = [0; MAX_DIMS];
    let (mut s, mut t) = (0, 0);
    loop {
        f(s, t);
        let mut d = 0;
        loop {
            let Some(&(n, sn, tn)) = dims.get(d) else { return };
            index[d] += 1;
            s += sn;
            t += tn;
            if index[d] < n {
                break;
            }
            s -= n * sn;
            t -= n * tn;
            index[d] = 0;
            d += 1;
        }
    }
}

fn line((n, s, t): Dim, run: usize, src: &[u8], dst: &mut [u8]) {
    match run {
        4 => line_of::<4>(n, s, t, src, dst),
        8 => line_of::<8>(n, s, t, src, dst),
        2 => line_of::<2>(n, s, t, src, dst),
        1 => line_of::<1>(n, s, t, src, dst),
        _ => {
            for i in 0..n {
                dst[i * t..i * t + run].copy_from_slice(&src[i * s..i * s + run]);
            }
        }
    }
}

fn line_of<const N: usize>(n: usize, s: usize, t: usize, src: &[u8], dst: &mut [u8]) {
    for i in 0..n {
        dst[i * t..i * t + N].copy_from_slice(&src[i * s..i * s + N]);
    }
}

fn tiles(inner: Dim, outer: Dim, elem: usize, src: &[u8], dst: &mut [u8]) {
    for j in (0..outer.0).step_by(TILE) {
        for i in (0..inner.0).step_by(TILE) {
            let cols = TILE.min(inner.0 - i);
            for r in j..(j + TILE).min(outer.0) {
                let (s, t) = (i * inner.1 + r * outer.1, i * inner.2 + r * outer.2);
                line((cols, inner.1, inner.2), elem, &src[s..], &mut dst[t..]);
            }
        }
    }
}

/// Single precision from double.
pub fn f64_to_f32(src: &[f64], dst: &mut [f32]) {
    dst.iter_mut().zip(src).for_each(|(d, s)| *d = *s as f32);
}

/// Double precision from single.
pub fn f32_to_f64(src: &[f32], dst: &mut [f64]) {
    dst.iter_mut().zip(src).for_each(|(d, s)| *d = f64::from(*s));
}

/// Whole numbers, towards zero; out of range saturates, NaN gives 0.
pub fn f32_to_i32(src: &[f32], dst: &mut [i32]) {
    dst.iter_mut().zip(src).for_each(|(d, s)| *d = *s as i32);
}

/// Single precision from whole numbers.
pub fn i32_to_f32(src: &[i32], dst: &mut [f32]) {
    dst.iter_mut().zip(src).for_each(|(d, s)| *d = *s as f32);
}

/// Half precision, rounded to nearest even.
pub fn f32_to_f16(src: &[f32], dst: &mut [f16]) {
    half::slice::HalfFloatSliceExt::convert_from_f32_slice(&mut dst[..src.len()], src);
}

/// Single precision from half.
pub fn f16_to_f32(src: &[f16], dst: &mut [f32]) {
    half::slice::HalfFloatSliceExt::convert_to_f32_slice(src, &mut dst[..src.len()]);
}

/// Brain float, rounded to nearest even.
pub fn f32_to_bf16(src: &[f32], dst: &mut [bf16]) {
    half::slice::HalfFloatSliceExt::convert_from_f32_slice(&mut dst[..src.len()], src);
}

/// Single precision from brain float.
pub fn bf16_to_f32(src: &[bf16], dst: &mut [f32]) {
    half::slice::HalfFloatSliceExt::convert_to_f32_slice(src, &mut dst[..src.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(elem: usize, ne: &[usize], src: &[u8], snb: &[usize], dst: &mut [u8], dnb: &[usize]) {
        let n: usize = ne.iter().product();
        for flat in 0..n {
            let (mut rest, mut s, mut t) = (flat, 0, 0);
            for d in 0..ne.len() {
                s += rest % ne[d] * snb[d];
                t += rest % ne[d] * dnb[d];
                rest /= ne[d];
            }
            dst[t..t + elem].copy_from_slice(&src[s..s + elem]);
        }
    }

    fn contiguous(elem: usize, ne: &[usize]) -> Vec<usize> {
        let mut nb = vec![elem];
        for d in 1..ne.len() {
            nb.push(nb[d - 1] * ne[d - 1]);
        }
        nb
    }

    #[test]
    fn every_permutation_of_every_element_size() {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for elem in [1, 2, 4, 8] {
            for ne in [[5, 3, 2], [1, 40, 33], [64, 1, 3], [7, 1, 1]] {
                let bytes = elem * ne.iter().product::<usize>();
                let src: Vec<u8> = (0..bytes).map(|i| (i * 31 % 251) as u8).collect();
                for order in orders {
                    let base = contiguous(elem, &ne);
                    let (pn, pb) = (order.map(|d| ne[d]), order.map(|d| base[d]));
                    let dnb = contiguous(elem, &pn);
                    let (mut got, mut want) = (vec![0; bytes], vec![0; bytes]);
                    copy_strided(elem, &pn, &src, &pb, &mut got, &dnb).unwrap();
                    reference(elem, &pn, &src, &pb, &mut want, &dnb);
                    assert_eq!(got, want, "{elem} {ne:?} {order:?}");
                    // And back into a strided destination.
                    let mut back = vec![0; bytes];
                    copy_strided(elem, &pn, &got, &dnb, &mut back, &pb).unwrap();
                    assert_eq!(back, src);
                }
            }
        }
    }

    #[test]
    fn layouts_outside_their_memory_are_errors() {
        let src = [0_u8; 16];
        let mut dst = [0_u8; 16];
        assert!(copy_strided(4, &[5], &src, &[4], &mut dst, &[4]).is_err());
        assert!(copy_strided(4, &[2, 2], &src, &[4, usize::MAX / 2], &mut dst, &[4, 8]).is_err());
        assert!(copy_strided(3, &[1], &src, &[3], &mut dst, &[3]).is_err());
        assert!(copy_strided(4, &[0, 9], &src, &[4, 100], &mut dst, &[4, 100]).is_ok());
        // Equal source elements are fine: a broadcast.
        assert!(copy_strided(4, &[4], &src, &[0], &mut dst, &[4]).is_ok());
    }

    #[test]
    fn conversions() {
        let x = [1.5_f32, -2.0, 65504.0, f32::NAN];
        let (mut h, mut back) = ([f16::ZERO; 4], [0.0; 4]);
        f32_to_f16(&x, &mut h);
        f16_to_f32(&h, &mut back);
        assert_eq!(back[..3], x[..3]);
        assert!(back[3].is_nan());
        let mut i = [0; 4];
        f32_to_i32(&[1.9, -1.9, 1e20, f32::NAN], &mut i);
        assert_eq!(i, [1, -1, i32::MAX, 0]);
    }
}
