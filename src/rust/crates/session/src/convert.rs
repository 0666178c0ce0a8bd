//! Numbers of R as elements of a tensor, and back.

use ggmlr_core::{DType, Error, Result};
use half::{bf16, f16};

/// Calls `$f!(type, to f64, from f64)` for the element type `$dtype`, or `$other` for types without single elements.
macro_rules! by_type {
    ($dtype:expr, $f:ident, $other:expr) => {
        match $dtype {
            DType::F32 => $f!(f32, f64::from, |x: f64| x as f32),
            DType::F64 => $f!(f64, |x: f64| x, |x: f64| x),
            DType::F16 => $f!(f16, f16::to_f64, f16::from_f64),
            DType::BF16 => $f!(bf16, bf16::to_f64, bf16::from_f64),
            DType::I8 => $f!(i8, f64::from, |x: f64| x as i8),
            DType::I16 => $f!(i16, f64::from, |x: f64| x as i16),
            DType::I32 => $f!(i32, f64::from, |x: f64| x as i32),
            DType::I64 => $f!(i64, |x: i64| x as f64, |x: f64| x as i64),
            DType::U8 | DType::Bool => $f!(u8, f64::from, |x: f64| x as u8),
            DType::U16 => $f!(u16, f64::from, |x: f64| x as u16),
            DType::U32 => $f!(u32, f64::from, |x: f64| x as u32),
            DType::U64 => $f!(u64, |x: u64| x as f64, |x: f64| x as u64),
            _ => $other,
        }
    };
}

fn blocks(dtype: DType) -> Error {
    Error::dtype(format!("type {dtype} stores whole blocks, not single numbers"))
        .expected("a type such as f32, f16 or i32")
        .got(dtype.name())
}

/// One element as bytes.
pub(crate) fn encode(dtype: DType, x: f64) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(8);
    encode_all(dtype, std::iter::once(x), &mut out)?;
    Ok(out)
}

/// Appends elements as little-endian bytes. Numbers that the type cannot hold end as its nearest one; whoever cares
/// checks with [`check_whole`] before.
pub(crate) fn encode_all(dtype: DType, x: impl Iterator<Item = f64>, out: &mut Vec<u8>) -> Result<()> {
    macro_rules! write {
        ($t:ty, $to:expr, $from:expr) => {{
            out.extend(x.flat_map(|v| $from(v).to_le_bytes()));
            Ok(())
        }};
    }
    by_type!(dtype, write, Err(blocks(dtype)))
}

/// Contiguous elements as numbers.
pub(crate) fn decode_all(dtype: DType, bytes: &[u8], out: &mut [f64]) -> Result<()> {
    macro_rules! read {
        ($t:ty, $to:expr, $from:expr) => {{
            const N: usize = size_of::<$t>();
            for (o, c) in out.iter_mut().zip(bytes.chunks_exact(N)) {
                let mut element = [0; N];
                element.copy_from_slice(c);
                *o = $to(<$t>::from_le_bytes(element));
            }
            Ok(())
        }};
    }
    by_type!(dtype, read, Err(blocks(dtype)))
}

/// Smallest and largest number that an integer type holds exactly as R's numbers.
fn limits(dtype: DType) -> Option<(f64, f64)> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let limits = match dtype {
        DType::I8 => (-128.0, 127.0),
        DType::I16 => (-32_768.0, 32_767.0),
        DType::I32 => (-2_147_483_648.0, 2_147_483_647.0),
        DType::I64 => (-EXACT, EXACT),
        DType::Bool => (0.0, 1.0),
        DType::U8 => (0.0, 255.0),
        DType::U16 => (0.0, 65_535.0),
        DType::U32 => (0.0, 4_294_967_295.0),
        DType::U64 => (0.0, EXACT),
        _ => return None,
    };
    Some(limits)
}

/// Numbers for an integer type must be whole and within its range.
pub(crate) fn check_whole(dtype: DType, arg: &str, x: impl Iterator<Item = f64>) -> Result<()> {
    let Some((lo, hi)) = limits(dtype) else { return Ok(()) };
    for (i, v) in x.enumerate() {
        if v.is_nan() {
            return Err(Error::argument(arg, format!("{arg} must not be missing in a tensor of type {dtype}"))
                .got(format!("NA at position {}", i + 1)));
        }
        if v.fract() != 0.0 || v < lo || v > hi {
            let expected = format!("whole numbers from {lo} to {hi}");
            return Err(Error::argument(arg, format!("{arg} must hold {expected} for type {dtype}"))
                .expected(expected)
                .got(format!("{v} at position {}", i + 1)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plain_type_takes_numbers_and_gives_them_back() {
        for &t in DType::ALL {
            let mut bytes = Vec::new();
            let x = [0.0, 1.0, 1.0];
            if t.is_quantized() {
                assert!(encode_all(t, x.into_iter(), &mut bytes).is_err(), "{t}");
                continue;
            }
            encode_all(t, x.into_iter(), &mut bytes).unwrap();
            assert_eq!(bytes.len(), 3 * t.bytes(), "{t}");
            let mut back = [9.0; 3];
            decode_all(t, &bytes, &mut back).unwrap();
            assert_eq!(back, x, "{t}");
        }
    }

    #[test]
    fn integers_are_checked() {
        let check = |t, x: f64| check_whole(t, "data", std::iter::once(x));
        assert!(check(DType::I32, 2_147_483_647.0).is_ok());
        assert!(check(DType::I32, 2_147_483_648.0).is_err());
        assert!(check(DType::I32, 1.5).is_err());
        assert!(check(DType::U8, -1.0).is_err());
        assert!(check(DType::I32, f64::NAN).unwrap_err().got_text().unwrap().contains("NA"));
        assert!(check(DType::F32, 1.5).is_ok());
    }
}
