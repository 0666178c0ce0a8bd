//! A region of a contiguous tensor: strides and an offset, counted in elements.

use super::plain;
use crate::check;
use crate::entry::Call;
use ggmlr_core::{Desc, Error, MAX_DIMS, Result};

/// Strides of an operand of extents `ne` in the tensor that it is written into. Those of dimensions with one element
/// do not matter, those beyond `nb` follow without a gap.
pub fn strides(nb: &[usize], ne: &[usize; MAX_DIMS]) -> [usize; MAX_DIMS] {
    let mut s = [1; MAX_DIMS];
    for d in 1..MAX_DIMS {
        s[d] = match nb.get(d - 1) {
            Some(&given) if ne[d] > 1 => given,
            _ => s[d - 1].saturating_mul(ne[d - 1]),
        };
    }
    s
}

/// Element of the region at an index.
pub fn place(s: &[usize; MAX_DIMS], offset: usize, at: &[usize; MAX_DIMS]) -> usize {
    offset + s.iter().zip(at).map(|(s, i)| s * i).sum::<usize>()
}

/// Elements that an operand of extents `ne` reaches over, `offset` included; `None` where no number holds them.
pub fn end(s: &[usize; MAX_DIMS], ne: &[usize; MAX_DIMS], offset: usize) -> Option<usize> {
    if ne.contains(&0) {
        return Some(0);
    }
    (0..MAX_DIMS).try_fold(offset.checked_add(1)?, |sum, d| sum.checked_add((ne[d] - 1).checked_mul(s[d])?))
}

/// `b` must fit into `a` at `offset`, with every element in a place of its own.
pub fn check_region(a: &Desc, b: &Desc, nb: &[usize], offset: usize) -> Result<()> {
    plain("a", a)?;
    check::same_dtype("a", a, "b", b)?;
    if b.is_empty() {
        return Ok(());
    }
    let s = strides(nb, &b.ne);
    let needed = end(&s, &b.ne, offset);
    if needed.is_none_or(|e| e > a.len()) {
        // What would fit at the start is misplaced, anything else is too large.
        let culprit = if end(&s, &b.ne, 0).is_some_and(|e| e <= a.len()) { "offset" } else { "b" };
        let needs = needed.map_or("more than there can be".to_owned(), |e| e.to_string());
        return Err(Error::shape(format!(
            "b {} at byte offset {} does not fit into a {}: it needs {needs} elements, a has {}",
            b.show(),
            offset.saturating_mul(a.dtype.bytes()),
            a.show(),
            a.len()
        ))
        .arg(culprit)
        .expected(format!("at most {} elements", a.len()))
        .got(needs));
    }
    let mut dims: Vec<usize> = (0..MAX_DIMS).filter(|&d| b.ne[d] > 1).collect();
    dims.sort_by_key(|&d| s[d]);
    let mut width = 1;
    for d in dims {
        if s[d] < width {
            let bytes = a.dtype.bytes();
            let name = format!("nb{d}");
            return Err(Error::argument(
                &name,
                format!(
                    "elements of b {} would lie on each other: {name} is {} bytes, what it steps over {}",
                    b.show(),
                    s[d] * bytes,
                    width * bytes
                ),
            )
            .expected(format!("at least {} bytes", width * bytes))
            .got(format!("{} bytes", s[d] * bytes)));
        }
        width += s[d] * (b.ne[d] - 1);
    }
    Ok(())
}

/// Strides and offset in elements from R's, which are bytes: `ggml_set_1d(offset)`, `ggml_set_2d(nb1, offset)`,
/// `ggml_set(nb1, nb2, nb3, offset)`. Strides that the function does not take are those of `a`.
pub fn from_call(c: &Call<'_>) -> Result<(Vec<usize>, usize)> {
    let a = c.x.first().ok_or_else(|| Error::internal("a region of nothing"))?.contiguous();
    let given = match c.function.rsplit('_').next() {
        Some("1d") => 0,
        Some("2d") => 1,
        _ => 3,
    };
    let elements = |name: &str, bytes: usize| {
        let size = a.dtype.bytes();
        if bytes.is_multiple_of(size) {
            return Ok(bytes / size);
        }
        let text = format!("{name} must be a multiple of {size} bytes, the size of {}, got {bytes}", a.dtype);
        Err(Error::argument(name, text))
    };
    let mut nb = Vec::new();
    for i in 1..=3 {
        let name = format!("nb{i}");
        let used = c.x.get(1).is_none_or(|b| b.ne[i] > 1);
        nb.push(match given {
            g if i > g => a.nb[i] / a.dtype.bytes(),
            // A stride over one element is never taken, so it may be anything.
            _ if !used => c.params.get::<usize>(&name)? / a.dtype.bytes(),
            _ => elements(&name, c.params.get(&name)?)?,
        });
    }
    Ok((nb, elements("offset", c.params.get("offset")?)?))
}
