//! Copies between two layouts of the same extents.

/// Dimensions a copy may have.
const MAX_DIMS: usize = 8;

/// Why a copy cannot be done: the description does not fit the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyError(&'static str);

impl std::fmt::Display for CopyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for CopyError {}

/// One dimension: extent and distance of neighbours in bytes.
#[derive(Clone, Copy, Debug)]
struct Dim {
    n: usize,
    src: usize,
    dst: usize,
}

/// Copies elements of `elem_size` bytes (1, 2, 4 or 8) between two strided layouts of the extents `ne`; strides are in bytes.
/// Where elements of the destination coincide, one of theirs is left there. Nothing is written if there is an error.
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
    if !fits(elem_size, ne, src_nb, src.len()) {
        return Err(CopyError("the source layout exceeds its memory"));
    }
    if !fits(elem_size, ne, dst_nb, dst.len()) {
        return Err(CopyError("the destination layout exceeds its memory"));
    }
    let mut dims = [Dim { n: 1, src: 0, dst: 0 }; MAX_DIMS];
    for (dim, d) in dims.iter_mut().zip(0..ne.len()) {
        *dim = Dim { n: ne[d], src: src_nb[d], dst: dst_nb[d] };
    }
    let rank = simplify(&mut dims);
    let mut dims = &mut dims[..rank];
    let mut run = elem_size;
    if let Some(first) = dims.first().filter(|dim| dim.src == elem_size && dim.dst == elem_size) {
        run = first.n * elem_size;
        dims = &mut dims[1..];
    }
    match elem_size {
        1 => walk::<1, 64>(dims, run, src, dst),
        2 => walk::<2, 32>(dims, run, src, dst),
        4 => walk::<4, 16>(dims, run, src, dst),
        _ => walk::<8, 8>(dims, run, src, dst),
    }
    Ok(())
}

fn fits(elem_size: usize, ne: &[usize], nb: &[usize], length: usize) -> bool {
    let mut end = elem_size;
    for (n, stride) in ne.iter().zip(nb) {
        match (n - 1).checked_mul(*stride).and_then(|last| end.checked_add(last)) {
            Some(further) => end = further,
            None => return false,
        }
    }
    end <= length
}

/// Drops dimensions of extent 1, sorts the others so that writing goes forward, and merges neighbours that continue each
/// other on both sides. Returns how many are left.
fn simplify(dims: &mut [Dim; MAX_DIMS]) -> usize {
    // The first part of the key sends extents of 1 to the end.
    dims.sort_by_key(|dim| (dim.n == 1, dim.dst, dim.src));
    let used = dims.iter().filter(|dim| dim.n > 1).count();
    let mut rank = 0;
    for i in 0..used {
        let dim = dims[i];
        match dims[..rank].last_mut() {
            Some(last) if last.n * last.src == dim.src && last.n * last.dst == dim.dst => {
                last.n *= dim.n;
            }
            _ => {
                dims[rank] = dim;
                rank += 1;
            }
        }
    }
    rank
}

/// Copies runs of `run` bytes at every index of `dims`, in tiles of `SIDE` x `SIDE` if neighbours of the destination are far
/// apart in the source. `N` is the size of an element, `N * SIDE` that of a cache line.
fn walk<const N: usize, const SIDE: usize>(dims: &mut [Dim], run: usize, src: &[u8], dst: &mut [u8]) {
    let Some((first, others)) = dims.split_first_mut() else {
        dst[..run].copy_from_slice(&src[..run]);
        return;
    };
    let first = *first;
    if run == N
        && first.dst == N
        && let Some(d) = others.iter().position(|dim| dim.src == N)
    {
        others.swap(0, d);
        for_each_index(&others[1..], |s, t| transpose::<N, SIDE>(first, others[0], &src[s..], &mut dst[t..]));
        return;
    }
    for_each_index(others, |s, t| line(first, run, &src[s..], &mut dst[t..]));
}

/// Calls `f` with the offsets in source and destination of every index of `dims`.
fn for_each_index(dims: &[Dim], mut f: impl FnMut(usize, usize)) {
    let mut index = [0; MAX_DIMS];
    let (mut src, mut dst) = (0, 0);
    loop {
        f(src, dst);
        let mut d = 0;
        loop {
            let Some(dim) = dims.get(d) else { return };
            index[d] += 1;
            src += dim.src;
            dst += dim.dst;
            if index[d] < dim.n {
                break;
            }
            src -= dim.n * dim.src;
            dst -= dim.n * dim.dst;
            index[d] = 0;
            d += 1;
        }
    }
}

/// Copies `dim.n` runs. Short ones with their length known to the compiler: a call of `memcpy` takes longer than they do.
fn line(dim: Dim, run: usize, src: &[u8], dst: &mut [u8]) {
    match run {
        1 => line_of::<1>(dim, src, dst),
        2 => line_of::<2>(dim, src, dst),
        4 => line_of::<4>(dim, src, dst),
        8 => line_of::<8>(dim, src, dst),
        12 => line_of::<12>(dim, src, dst),
        16 => line_of::<16>(dim, src, dst),
        _ => {
            for i in 0..dim.n {
                dst[i * dim.dst..][..run].copy_from_slice(&src[i * dim.src..][..run]);
            }
        }
    }
}

fn line_of<const RUN: usize>(dim: Dim, src: &[u8], dst: &mut [u8]) {
    for i in 0..dim.n {
        dst[i * dim.dst..][..RUN].copy_from_slice(&src[i * dim.src..][..RUN]);
    }
}

/// Copies a matrix whose destination is contiguous along `inner` and whose source is contiguous along `outer`.
fn transpose<const N: usize, const SIDE: usize>(inner: Dim, outer: Dim, src: &[u8], dst: &mut [u8]) {
    // Every row of a tile may lie in another page. Going through a square of tiles uses the address of a page for several
    // lines, before there have been more pages than the processor remembers addresses of.
    let square = 8 * SIDE;
    for square_j in (0..outer.n).step_by(square) {
        for square_i in (0..inner.n).step_by(square) {
            for j in (square_j..outer.n.min(square_j + square)).step_by(SIDE) {
                for i in (square_i..inner.n.min(square_i + square)).step_by(SIDE) {
                    let (width, height) = (SIDE.min(inner.n - i), SIDE.min(outer.n - j));
                    let src = &src[i * inner.src + j * N..];
                    let dst = &mut dst[i * N + j * outer.dst..];
                    if width == SIDE && height == SIDE {
                        tile::<N, SIDE>(SIDE, SIDE, inner.src, outer.dst, src, dst);
                    } else {
                        tile::<N, SIDE>(width, height, inner.src, outer.dst, src, dst);
                    }
                }
            }
        }
    }
}

/// Turns a tile in a buffer, so that memory is read and written by whole cache lines. Lines a power of two apart compete for
/// the same few places of the cache, and would not stay until each of their elements has had its turn.
#[inline(always)]
fn tile<const N: usize, const SIDE: usize>(
    width: usize,
    height: usize,
    src_stride: usize,
    dst_stride: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    let mut turned = [[[0; N]; SIDE]; SIDE];
    for i in 0..width {
        let (elements, _) = src[i * src_stride..][..height * N].as_chunks::<N>();
        for j in 0..height {
            turned[j][i] = elements[j];
        }
    }
    for j in 0..height {
        dst[j * dst_stride..][..width * N].copy_from_slice(turned[j][..width].as_flattened());
    }
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
            for ne in [[5, 3, 2], [1, 40, 33], [64, 1, 3], [7, 1, 1], [70, 2, 67]] {
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

    /// Extents and strides with gaps in random order, up to 8 dimensions; gaps of the destination stay as they were.
    #[test]
    fn random_layouts() {
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..300 {
            let elem = 1 << random(4);
            let rank = 1 + random(MAX_DIMS);
            let ne: Vec<usize> = (0..rank).map(|_| 1 + random(if rank > 3 { 4 } else { 40 })).collect();
            let mut layout = || {
                let mut order: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|i| order.swap(i, random(i + 1)));
                let mut nb = vec![0; rank];
                let mut stride = elem * (1 + random(2));
                for d in order {
                    nb[d] = stride;
                    stride *= ne[d] + random(2);
                }
                let end = elem + (0..rank).map(|d| (ne[d] - 1) * nb[d]).sum::<usize>();
                (nb, end)
            };
            let ((snb, slen), (dnb, dlen)) = (layout(), layout());
            let src: Vec<u8> = (0..slen).map(|i| (i * 31 % 251) as u8).collect();
            let (mut got, mut want) = (vec![255; dlen], vec![255; dlen]);
            assert_eq!(copy_strided(elem, &ne, &src, &snb, &mut got, &dnb), Ok(()));
            reference(elem, &ne, &src, &snb, &mut want, &dnb);
            assert_eq!(got, want, "{elem} {ne:?} {snb:?} {dnb:?}");
            assert!(copy_strided(elem, &ne, &src[1..], &snb, &mut got, &dnb).is_err());
            assert!(copy_strided(elem, &ne, &src, &snb, &mut got[1..], &dnb).is_err());
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
        assert!(copy_strided(4, &[1; 9], &src, &[4; 9], &mut dst, &[4; 9]).is_err());
        assert!(copy_strided(4, &[2, 2], &src, &[4], &mut dst, &[4, 8]).is_err());
        assert!(copy_strided(4, &[], &src, &[], &mut dst, &[]).is_ok());
    }

    #[test]
    fn one_element_may_go_to_many_places_and_many_to_one() {
        let src = [1_u8, 2, 3, 4];
        let mut dst = [0_u8; 4];
        assert_eq!(copy_strided(1, &[4], &src, &[0], &mut dst, &[1]), Ok(()));
        assert_eq!(dst, [1; 4]);
        assert_eq!(copy_strided(2, &[2], &src, &[2], &mut dst, &[0]), Ok(()));
        assert!(dst[..2] == [1, 2] || dst[..2] == [3, 4]);
    }
}
