//! Values in and out of tensors, in logical order whatever the strides are.

use crate::Session;
use crate::convert::{check_whole, decode_all, encode, encode_all};
use crate::table::Key;
use ggmlr_core::{DType, Desc, Error, Result};
use ggmlr_simd::copy::copy_strided;

/// Numbers as R holds them. A missing integer counts as NaN.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    Real(&'a [f64]),
    Int(&'a [i32]),
}

/// R's missing integer.
const NA_INT: i32 = i32::MIN;

impl Numbers<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Numbers::Real(x) => x.len(),
            Numbers::Int(x) => x.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn check(&self, dtype: DType, arg: &str) -> Result<()> {
        match self {
            Numbers::Real(x) => check_whole(dtype, arg, x.iter().copied()),
            Numbers::Int(x) => check_whole(dtype, arg, x.iter().map(|v| real(*v))),
        }
    }

    fn encode(&self, dtype: DType) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(self.len().saturating_mul(dtype.bytes()));
        match self {
            Numbers::Real(x) => encode_all(dtype, x.iter().copied(), &mut out)?,
            Numbers::Int(x) => encode_all(dtype, x.iter().map(|v| real(*v)), &mut out)?,
        }
        Ok(out)
    }
}

fn real(v: i32) -> f64 {
    if v == NA_INT { f64::NAN } else { f64::from(v) }
}

/// Copies between layouts of one shape, whole blocks at a time.
fn relayout(d: &Desc, src: &[u8], from: &Desc, dst: &mut [u8], to: &Desc) -> Result<()> {
    let mut units = d.ne;
    units[0] /= d.dtype.block();
    copy_strided(d.dtype.bytes(), &units, src, &from.nb, dst, &to.nb)
        .map_err(|e| Error::internal(format!("copying a view: {e}")))
}

impl Session {
    /// Reads the elements one after another as bytes.
    pub fn read_bytes(&mut self, key: Key) -> Result<Vec<u8>> {
        let d = self.tensor(key)?.desc;
        let (buffer, at) = self.locate(key)?;
        let mut raw = vec![0; d.span()];
        buffer.read(at, &mut raw)?;
        if d.is_contiguous() {
            return Ok(raw);
        }
        let mut packed = vec![0; d.bytes()];
        relayout(&d, &raw, &d, &mut packed, &d.contiguous())?;
        Ok(packed)
    }

    /// Writes the elements from bytes that hold them one after another.
    pub fn write_bytes(&mut self, key: Key, bytes: &[u8]) -> Result<()> {
        let d = self.tensor(key)?.desc;
        if bytes.len() != d.bytes() {
            return Err(Error::shape(format!("{} bytes for a tensor of {}", bytes.len(), d.bytes())).arg("data"));
        }
        let (buffer, at) = self.locate(key)?;
        if d.is_contiguous() {
            return buffer.write(at, bytes);
        }
        let mut raw = vec![0; d.span()];
        buffer.read(at, &mut raw)?;
        relayout(&d, bytes, &d.contiguous(), &mut raw, &d)?;
        buffer.write(at, &raw)
    }

    /// Reads every element into `out`, which must have room for exactly all.
    pub fn read_numbers(&mut self, key: Key, out: &mut [f64]) -> Result<()> {
        let d = self.tensor(key)?.desc;
        if out.len() != d.len() {
            return Err(Error::internal(format!("room for {} numbers, the tensor has {}", out.len(), d.len())));
        }
        let bytes = self.read_bytes(key)?;
        decode_all(d.dtype, &bytes, out)
    }

    /// Writes every element; there must be exactly as many numbers.
    pub fn write_numbers(&mut self, key: Key, data: Numbers<'_>) -> Result<()> {
        let d = self.tensor(key)?.desc;
        if data.len() != d.len() {
            return Err(Error::shape(format!("Data length ({}) does not match tensor size ({})", data.len(), d.len()))
                .arg("data")
                .expected(format!("{} numbers for {}", d.len(), d.show()))
                .got(format!("{} numbers", data.len())));
        }
        data.check(d.dtype, "data")?;
        let bytes = data.encode(d.dtype)?;
        self.write_bytes(key, &bytes)
    }

    /// Sets every element to one number.
    pub fn write_all(&mut self, key: Key, value: f64) -> Result<()> {
        let d = self.tensor(key)?.desc;
        check_whole(d.dtype, "value", std::iter::once(value))?;
        let bytes = encode(d.dtype, value)?.repeat(d.len());
        self.write_bytes(key, &bytes)
    }

    /// Sets every byte to zero.
    pub fn write_zero(&mut self, key: Key) -> Result<()> {
        let d = self.tensor(key)?.desc;
        if d.is_contiguous() {
            let (buffer, at) = self.locate(key)?;
            return buffer.fill(at, d.span(), 0);
        }
        self.write_bytes(key, &vec![0; d.bytes()])
    }

    /// Byte at which an element lies in its tensor.
    fn position(d: &Desc, index: &[usize]) -> Result<usize> {
        if d.dtype.block() != 1 {
            return Err(Error::dtype(format!("type {} stores whole blocks, not single numbers", d.dtype)));
        }
        let mut at = 0;
        for (i, &n) in index.iter().enumerate() {
            if n >= d.ne[i] {
                return Err(Error::argument(
                    &format!("i{i}"),
                    format!("index i{i} = {n} is outside 0..{}", d.ne[i] - 1),
                )
                .expected(format!("0..{}", d.ne[i] - 1))
                .got(n.to_string()));
            }
            at += n * d.nb[i];
        }
        Ok(at)
    }

    /// Reads one element.
    pub fn read_at(&mut self, key: Key, index: &[usize]) -> Result<f64> {
        let d = self.tensor(key)?.desc;
        let at = Session::position(&d, index)?;
        let (buffer, start) = self.locate(key)?;
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..d.dtype.bytes()];
        buffer.read(start + at, bytes)?;
        let mut out = [0.0];
        decode_all(d.dtype, bytes, &mut out)?;
        Ok(out[0])
    }

    /// Writes one element.
    pub fn write_at(&mut self, key: Key, index: &[usize], value: f64) -> Result<()> {
        let d = self.tensor(key)?.desc;
        let at = Session::position(&d, index)?;
        check_whole(d.dtype, "value", std::iter::once(value))?;
        let bytes = encode(d.dtype, value)?;
        let (buffer, start) = self.locate(key)?;
        buffer.write(start + at, &bytes)
    }

    /// Copies the bytes of one tensor into another of the same size.
    pub fn copy_tensor(&mut self, dst: Key, src: Key) -> Result<()> {
        let (d, s) = (self.tensor(dst)?.desc, self.tensor(src)?.desc);
        if d.bytes() != s.bytes() {
            return Err(Error::shape(format!("Tensor sizes don't match: dst={}, src={}", d.bytes(), s.bytes()))
                .arg("src")
                .expected(format!("{} bytes as {d:?}", d.bytes()))
                .got(format!("{} bytes as {s:?}", s.bytes())));
        }
        let bytes = self.read_bytes(src)?;
        self.write_bytes(dst, &bytes)
    }

    /// A range of a tensor's own bytes, checked.
    fn span_of(&self, key: Key, offset: usize, bytes: usize) -> Result<()> {
        let d = self.tensor(key)?.desc;
        if offset.checked_add(bytes).is_none_or(|end| end > d.span()) {
            return Err(Error::argument(
                "offset",
                format!("{bytes} bytes at {offset} lie outside a tensor of {}", d.span()),
            )
            .expected(format!("at most {} bytes", d.span().saturating_sub(offset)))
            .got(format!("{bytes} bytes")));
        }
        Ok(())
    }

    /// Writes numbers at a byte offset, in memory order.
    pub fn write_part(&mut self, key: Key, offset: usize, data: Numbers<'_>) -> Result<()> {
        let t = self.tensor(key)?.desc.dtype;
        data.check(t, "data")?;
        let bytes = data.encode(t)?;
        self.write_raw(key, offset, &bytes)
    }

    /// Writes bytes at a byte offset, in memory order.
    pub fn write_raw(&mut self, key: Key, offset: usize, bytes: &[u8]) -> Result<()> {
        self.span_of(key, offset, bytes.len())?;
        let (buffer, start) = self.locate(key)?;
        buffer.write(start + offset, bytes)
    }

    /// Reads bytes at a byte offset, in memory order.
    pub fn read_raw(&mut self, key: Key, offset: usize, bytes: usize) -> Result<Vec<u8>> {
        self.span_of(key, offset, bytes)?;
        let (buffer, start) = self.locate(key)?;
        let mut out = vec![0; bytes];
        buffer.read(start + offset, &mut out)?;
        Ok(out)
    }

    /// Reads `n` numbers (`None`: all that follow) at a byte offset, in memory order.
    pub fn read_part(&mut self, key: Key, offset: usize, n: Option<usize>) -> Result<Vec<f64>> {
        let d = self.tensor(key)?.desc;
        let each = d.dtype.bytes();
        let n = n.unwrap_or_else(|| d.span().saturating_sub(offset) / each);
        let bytes = n.checked_mul(each).ok_or_else(|| Error::argument("n_elements", "too many elements"))?;
        let raw = self.read_raw(key, offset, bytes)?;
        let mut out = vec![0.0; n];
        decode_all(d.dtype, &raw, &mut out)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::tests::{context, session};
    use ggmlr_core::{Kind, Params};

    #[test]
    fn values_travel_through_every_float_type() {
        let mut s = session();
        let ctx = context(&mut s);
        for t in [DType::F32, DType::F16, DType::BF16, DType::F64, DType::I64] {
            let x = s.new_tensor(ctx, t, &[3, 2]).unwrap();
            s.write_numbers(x, Numbers::Int(&[1, 2, 3, 4, 5, 6])).unwrap();
            let mut out = [0.0; 6];
            s.read_numbers(x, &mut out).unwrap();
            assert_eq!(out, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{t}");
            s.write_at(x, &[2, 1, 0, 0], 9.0).unwrap();
            assert_eq!(s.read_at(x, &[2, 1, 0, 0]).unwrap(), 9.0);
            assert_eq!(s.read_part(x, t.bytes(), Some(2)).unwrap(), [2.0, 3.0]);
        }
    }

    #[test]
    fn a_transposed_view_is_read_and_written_in_its_own_order() {
        let mut s = session();
        let ctx = context(&mut s);
        let x = s.new_tensor(ctx, DType::F32, &[3, 2]).unwrap();
        s.write_numbers(x, Numbers::Real(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).unwrap();
        let t = s.call(ctx, "ggml_transpose", &[Some(x)], Params::new()).unwrap();
        let mut out = [0.0; 6];
        s.read_numbers(t, &mut out).unwrap();
        assert_eq!(out, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        s.write_numbers(t, Numbers::Real(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).unwrap();
        s.read_numbers(x, &mut out).unwrap();
        assert_eq!(out, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    }

    #[test]
    fn lengths_indices_and_ranges_are_checked() {
        let mut s = session();
        let ctx = context(&mut s);
        let x = s.new_tensor(ctx, DType::F32, &[4]).unwrap();
        let e = s.write_numbers(x, Numbers::Real(&[0.0; 5])).unwrap_err();
        assert_eq!(e.message(), "Data length (5) does not match tensor size (4)");
        let e = s.read_at(x, &[4, 0]).unwrap_err();
        assert!(e.message().contains("outside 0..3"), "{e}");
        assert_eq!(s.write_part(x, 8, Numbers::Real(&[0.0; 3])).unwrap_err().kind(), Kind::Argument);
        assert!(s.read_part(x, usize::MAX, Some(1)).is_err());
        let y = s.new_tensor(ctx, DType::F32, &[5]).unwrap();
        let e = s.copy_tensor(x, y).unwrap_err();
        assert_eq!(e.message(), "Tensor sizes don't match: dst=16, src=20");
    }
}
