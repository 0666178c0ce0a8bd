//! Shape, strides and element type of a value, in ggml order: `ne[0]` is the innermost extent.

use crate::dtype::DType;
use crate::error::{Error, Result};
use std::fmt;

/// Dimensions the engine carries (kernels see fewer after merging).
pub const MAX_DIMS: usize = 8;

/// Shape, byte strides and element type of a value. `rank` is the number of dimensions it was built with; extents
/// beyond it are 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Desc {
    pub dtype: DType,
    pub rank: u8,
    pub ne: [usize; MAX_DIMS],
    pub nb: [usize; MAX_DIMS],
}

impl Desc {
    /// Contiguous value. Fails when the size overflows or a row is no multiple of the type's block.
    pub fn new(dtype: DType, ne: &[usize]) -> Result<Desc> {
        if ne.is_empty() || ne.len() > MAX_DIMS {
            return Err(Error::shape(format!("a tensor has 1 to {MAX_DIMS} dimensions, not {}", ne.len())).arg("ne"));
        }
        if !ne[0].is_multiple_of(dtype.block()) {
            return Err(Error::shape(format!(
                "a row of type {dtype} must be a multiple of {} elements, got {}",
                dtype.block(),
                ne[0]
            ))
            .arg("ne0"));
        }
        let mut d = Desc { dtype, rank: ne.len() as u8, ne: [1; MAX_DIMS], nb: [0; MAX_DIMS] };
        d.ne[..ne.len()].copy_from_slice(ne);
        d.set_contiguous_strides().ok_or_else(|| {
            Error::new(crate::Kind::Memory, format!("shape {} is too large for this machine", show_ne(ne)))
        })?;
        Ok(d)
    }

    /// Contiguous value of the same extents and another type.
    pub fn with_dtype(&self, dtype: DType) -> Result<Desc> {
        Desc::new(dtype, &self.ne[..self.rank as usize])
    }

    /// Contiguous value of the same extents and type.
    pub fn contiguous(&self) -> Desc {
        let mut d = *self;
        // Extents that were valid once stay valid: a contiguous layout is never larger than a `usize` allows here.
        let _ = d.set_contiguous_strides();
        d
    }

    fn set_contiguous_strides(&mut self) -> Option<()> {
        self.nb[0] = self.dtype.bytes();
        self.nb[1] = self.dtype.row_bytes(self.ne[0])?;
        for i in 2..MAX_DIMS {
            self.nb[i] = self.nb[i - 1].checked_mul(self.ne[i - 1])?;
        }
        let total = self.nb[MAX_DIMS - 1].checked_mul(self.ne[MAX_DIMS - 1])?;
        // An empty extent must not hide an overflow of the others from later arithmetic.
        (total <= isize::MAX as usize).then_some(())
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.ne.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.ne.contains(&0)
    }

    /// Rows: everything but the innermost extent.
    pub fn rows(&self) -> usize {
        self.ne[1..].iter().product()
    }

    /// Bytes from the first to one past the last element.
    pub fn span(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        let first = match self.dtype.block() {
            1 => self.dtype.bytes() + (self.ne[0] - 1) * self.nb[0],
            block => self.ne[0] / block * self.nb[0],
        };
        first + (1..MAX_DIMS).map(|i| (self.ne[i] - 1) * self.nb[i]).sum::<usize>()
    }

    /// Bytes of the elements laid out contiguously.
    pub fn bytes(&self) -> usize {
        self.dtype.row_bytes(self.ne[0]).unwrap_or(0) * self.rows()
    }

    /// Whether elements lie one after another in ggml order.
    pub fn is_contiguous(&self) -> bool {
        self.is_contiguous_above(0)
    }

    /// Whether each row is contiguous, whatever the strides between rows.
    pub fn has_contiguous_rows(&self) -> bool {
        self.nb[0] == self.dtype.bytes() || self.ne[0] == 1
    }

    /// Whether dimensions above `n` follow each other without gaps; `n = 0` is full contiguity.
    pub fn is_contiguous_above(&self, n: usize) -> bool {
        if n == 0 && !self.has_contiguous_rows() {
            return false;
        }
        let mut next = if n == 0 { self.dtype.row_bytes(self.ne[0]).unwrap_or(0) } else { self.ne[0] * self.nb[0] };
        for i in 1..MAX_DIMS {
            if self.ne[i] != 1 {
                if i > n {
                    if self.nb[i] != next {
                        return false;
                    }
                    next *= self.ne[i];
                } else {
                    next = self.ne[i] * self.nb[i];
                }
            }
        }
        true
    }

    /// Dimensions without trailing ones, at least 1.
    pub fn n_dims(&self) -> usize {
        (1..MAX_DIMS).rev().find(|&i| self.ne[i] != 1).map_or(1, |i| i + 1)
    }

    /// Extents as built, without those beyond `rank`.
    pub fn extents(&self) -> &[usize] {
        &self.ne[..self.rank as usize]
    }

    /// Same extents in every dimension.
    pub fn same_shape(&self, other: &Desc) -> bool {
        self.ne == other.ne
    }

    /// Whether copies of `self` fill `other` exactly.
    pub fn can_repeat_to(&self, other: &Desc) -> bool {
        (0..MAX_DIMS).all(|i| other.ne[i].is_multiple_of(self.ne[i]))
    }

    /// Text such as `ne=[4,3,1,1]` for messages.
    pub fn show(&self) -> String {
        let n = self.n_dims().max(4);
        show_ne(&self.ne[..n])
    }
}

/// Text such as `ne=[4,3,1,1]`.
pub fn show_ne(ne: &[usize]) -> String {
    let list: Vec<String> = ne.iter().map(usize::to_string).collect();
    format!("ne=[{}]", list.join(","))
}

impl fmt::Debug for Desc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dtype, self.show())?;
        if !self.is_contiguous() {
            write!(f, " nb={:?}", &self.nb[..self.n_dims()])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_and_spans() {
        let d = Desc::new(DType::F32, &[3, 4]).unwrap();
        assert_eq!(&d.nb[..3], &[4, 12, 48]);
        assert_eq!((d.len(), d.rows(), d.span(), d.bytes()), (12, 4, 48, 48));
        assert!(d.is_contiguous());
        let q = Desc::new(DType::Q4_0, &[64, 2]).unwrap();
        assert_eq!((q.span(), q.bytes()), (72, 72));
    }

    #[test]
    fn transposed_is_not_contiguous() {
        let mut d = Desc::new(DType::F32, &[3, 4]).unwrap();
        d.ne.swap(0, 1);
        d.nb.swap(0, 1);
        assert!(!d.is_contiguous());
        assert_eq!(d.span(), 48);
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        assert!(Desc::new(DType::F32, &[1 << 40, 1 << 40]).is_err());
        assert!(Desc::new(DType::Q4_0, &[31]).is_err());
        assert!(Desc::new(DType::F32, &[0, 5]).unwrap().is_empty());
    }
}
