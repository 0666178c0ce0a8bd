//! What a CPU kernel sees: its sources, its destinations, its scalars and the thread pool.

use crate::desc::Desc;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::pool::Pool;
use bytemuck::Pod;
use smallvec::SmallVec;
use std::fmt;

/// A source of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Src<'a> {
    /// Bytes from the first to the last element, laid out as `desc` says.
    Data { desc: &'a Desc, bytes: &'a [u8] },
    /// The source's values lie in this result's memory: read them there before writing. Only operators that declare
    /// `may_reuse` or `writes` for the source meet this.
    InPlace { desc: &'a Desc, result: usize },
}

impl<'a> Src<'a> {
    /// Shape, strides and type.
    pub fn desc(&self) -> &'a Desc {
        match self {
            Src::Data { desc, .. } | Src::InPlace { desc, .. } => desc,
        }
    }
}

/// A result of a kernel: contiguous unless the operator declares `strided_out`.
#[derive(Debug)]
pub struct Dst<'a> {
    pub desc: &'a Desc,
    pub bytes: &'a mut [u8],
}

/// One call of a CPU kernel.
pub struct CpuCall<'a> {
    pub src: SmallVec<[Src<'a>; 4]>,
    pub dst: SmallVec<[Dst<'a>; 1]>,
    pub scalars: &'a [u64],
    pub pool: &'a dyn Pool,
}

impl fmt::Debug for CpuCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuCall").field("src", &self.src.len()).field("dst", &self.dst.len()).finish_non_exhaustive()
    }
}

impl<'a> CpuCall<'a> {
    /// Description of source `i`.
    pub fn x(&self, i: usize) -> &'a Desc {
        self.src[i].desc()
    }

    /// Description of result `i`.
    pub fn y(&self, i: usize) -> &'a Desc {
        self.dst[i].desc
    }

    /// Element type of source 0, or of result 0 where there is no source.
    pub fn dtype(&self) -> DType {
        if self.src.is_empty() { self.dst[0].desc.dtype } else { self.src[0].desc().dtype }
    }

    /// Source `i` as numbers; an error when it lies in a result's memory.
    pub fn get<T: Pod>(&self, i: usize) -> Result<&'a [T]> {
        match self.src[i] {
            Src::Data { bytes, .. } => cast(bytes),
            Src::InPlace { .. } => {
                Err(Error::internal(format!("source {i} is in place, the kernel does not expect it")))
            }
        }
    }

    /// Source `i` as numbers, or `None` when it lies in the memory of result 0.
    pub fn get_unless_in_place<T: Pod>(&self, i: usize) -> Result<Option<&'a [T]>> {
        match self.src[i] {
            Src::Data { bytes, .. } => cast(bytes).map(Some),
            Src::InPlace { .. } => Ok(None),
        }
    }

    /// Result `i` as numbers. Can be taken once; a second call gives an empty slice.
    pub fn out<T: Pod>(&mut self, i: usize) -> Result<&'a mut [T]> {
        let bytes = std::mem::take(&mut self.dst[i].bytes);
        bytemuck::try_cast_slice_mut(bytes).map_err(|e| Error::internal(format!("result {i}: {e}")))
    }

    /// Scalar `i` as a number.
    pub fn scalar(&self, i: usize) -> f64 {
        f64::from_bits(self.word(i))
    }

    /// Scalar `i` as a word (random keys, offsets).
    pub fn word(&self, i: usize) -> u64 {
        self.scalars.get(i).copied().unwrap_or(0)
    }
}

/// Bytes as numbers; an error when they are misaligned, which means that an offset was not checked.
pub fn cast<T: Pod>(bytes: &[u8]) -> Result<&[T]> {
    bytemuck::try_cast_slice(bytes).map_err(|e| Error::internal(format!("operand: {e}")))
}
