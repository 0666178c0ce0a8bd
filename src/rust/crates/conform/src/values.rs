//! Inputs of a case: the same numbers on every machine, rounded to their type before anybody sees them.

use ggmlr_core::{Array, DType, Desc, Error, Result, rng};
use ggmlr_ops::Values;
use ggmlr_ops::case::Input;
use half::{bf16, f16};

/// The values of an input, as the oracle and as a device see them.
#[derive(Clone, Debug)]
pub struct Data {
    /// Contiguous.
    pub desc: Desc,
    /// What the bytes mean, exactly.
    pub array: Array,
    pub bytes: Vec<u8>,
}

/// Number that tells the draws of one case from those of others.
pub fn seed(op: &str, case: usize) -> u64 {
    // FNV-1a over the name, so that a new operator leaves the inputs of all others as they are.
    let name = op.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    name ^ (case as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A stream of random numbers that depends on a seed and a stream number only.
#[derive(Clone, Debug)]
pub struct Draw {
    seed: u64,
    stream: u32,
    next: u64,
}

impl Draw {
    /// Stream `stream` of `seed`, from its start.
    pub fn new(seed: u64, stream: usize) -> Draw {
        Draw { seed, stream: stream as u32, next: 0 }
    }

    fn word(&mut self) -> u32 {
        self.next += 1;
        rng::word(self.seed, self.next - 1, self.stream, 0)
    }

    /// Uniform in [0, 1), with all bits of an `f64`.
    pub fn unit(&mut self) -> f64 {
        let (hi, lo) = (u64::from(self.word()), u64::from(self.word()));
        ((hi << 32 | lo) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform between two numbers.
    pub fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }

    /// One of 0 .. n.
    pub fn index(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n.saturating_sub(1))
    }
}

/// Draws the values of input number `index` of the case with this seed, in type `dtype` instead of its own.
pub fn draw(input: &Input, dtype: DType, seed: u64, index: usize) -> Result<Data> {
    let desc = Desc::new(dtype, &input.ne)?;
    let numbers = numbers(input, desc.len(), &mut Draw::new(seed, index))?;
    let bytes = encode(dtype, &numbers)?;
    let array = Array { ne: desc.ne, data: decode(dtype, &bytes)? };
    Ok(Data { desc, array, bytes })
}

fn numbers(input: &Input, n: usize, draw: &mut Draw) -> Result<Vec<f64>> {
    Ok(match &input.values {
        Values::Uniform(lo, hi) => (0..n).map(|_| draw.between(*lo, *hi)).collect(),
        Values::Away { lo, hi, points, gap } => {
            (0..n).map(|_| away(draw, *lo, *hi, points, *gap)).collect::<Result<_>>()?
        }
        Values::Ints(lo, hi) => {
            (0..n).map(|_| lo + draw.index((hi - lo + 1) as usize) as i64).map(|i| i as f64).collect()
        }
        Values::Probabilities => probabilities(n, input.ne[0], draw),
        Values::Distinct => distinct(n, input.dtype.is_float(), draw),
        Values::Given(list) if list.is_empty() && n > 0 => {
            return Err(Error::internal("a case gives an empty list of values"));
        }
        Values::Given(list) => list.iter().copied().cycle().take(n).collect(),
    })
}

/// Draws until a number is far enough from every point. A range without room for one is a mistake in the case.
fn away(draw: &mut Draw, lo: f64, hi: f64, points: &[f64], gap: f64) -> Result<f64> {
    const ATTEMPTS: usize = 10_000;
    (0..ATTEMPTS)
        .map(|_| draw.between(lo, hi))
        .find(|x| points.iter().all(|p| (x - p).abs() >= gap))
        .ok_or_else(|| Error::internal(format!("no number between {lo} and {hi} is {gap} away from {points:?}")))
}

fn probabilities(n: usize, row: usize, draw: &mut Draw) -> Vec<f64> {
    let mut out: Vec<f64> = (0..n).map(|_| draw.between(0.05, 1.0)).collect();
    for r in out.chunks_mut(row.max(1)) {
        let sum: f64 = r.iter().sum();
        r.iter_mut().for_each(|p| *p /= sum);
    }
    out
}

/// A permutation of 0 .. n around zero; floats get a fraction, so that rounding to whole numbers shows.
fn distinct(n: usize, float: bool, draw: &mut Draw) -> Vec<f64> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, draw.index(i + 1));
    }
    let shift = (n / 2) as f64;
    order.into_iter().map(|i| i as f64 - shift + if float { draw.between(0.125, 0.875) } else { 0.0 }).collect()
}

fn no_type(dtype: DType) -> Error {
    Error::internal(format!("the checks can make no values of type {dtype}"))
}

/// Numbers as elements of a type. Whole-number types round to nearest and saturate.
pub fn encode(dtype: DType, numbers: &[f64]) -> Result<Vec<u8>> {
    macro_rules! bytes {
        ($to:expr) => {
            numbers.iter().flat_map(|x| $to(*x).to_le_bytes()).collect()
        };
    }
    Ok(match dtype {
        DType::F32 => bytes!(|x| x as f32),
        DType::F64 => bytes!(|x: f64| x),
        DType::F16 => bytes!(f16::from_f64),
        DType::BF16 => bytes!(bf16::from_f64),
        DType::I8 => bytes!(|x: f64| x.round() as i8),
        DType::I16 => bytes!(|x: f64| x.round() as i16),
        DType::I32 => bytes!(|x: f64| x.round() as i32),
        DType::I64 => bytes!(|x: f64| x.round() as i64),
        DType::U8 => bytes!(|x: f64| x.round() as u8),
        DType::U16 => bytes!(|x: f64| x.round() as u16),
        DType::U32 => bytes!(|x: f64| x.round() as u32),
        DType::U64 => bytes!(|x: f64| x.round() as u64),
        DType::Bool => bytes!(|x: f64| u8::from(x != 0.0)),
        other => return Err(no_type(other)),
    })
}

/// Elements of a type as numbers. 64-bit integers beyond 2^53 lose bits, which the tables stay clear of.
pub fn decode(dtype: DType, bytes: &[u8]) -> Result<Vec<f64>> {
    macro_rules! numbers {
        ($t:ty, $to:expr) => {
            bytes
                .chunks_exact(size_of::<$t>())
                .map(|c| {
                    let mut b = [0; size_of::<$t>()];
                    b.copy_from_slice(c);
                    $to(<$t>::from_le_bytes(b))
                })
                .collect()
        };
    }
    Ok(match dtype {
        DType::F32 => numbers!(f32, f64::from),
        DType::F64 => numbers!(f64, |x| x),
        DType::F16 => numbers!(f16, f64::from),
        DType::BF16 => numbers!(bf16, f64::from),
        DType::I8 => numbers!(i8, f64::from),
        DType::I16 => numbers!(i16, f64::from),
        DType::I32 => numbers!(i32, f64::from),
        DType::I64 => numbers!(i64, |x| x as f64),
        DType::U8 | DType::Bool => numbers!(u8, f64::from),
        DType::U16 => numbers!(u16, f64::from),
        DType::U32 => numbers!(u32, f64::from),
        DType::U64 => numbers!(u64, |x| x as f64),
        other => return Err(no_type(other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(values: Values, ne: &[usize]) -> Input {
        Input { dtype: DType::F32, ne: ne.to_vec(), values, grad: true, any_layout: true }
    }

    fn drawn(values: Values, ne: &[usize]) -> Vec<f64> {
        draw(&input(values, ne), DType::F32, seed("op", 3), 1).unwrap().array.data
    }

    #[test]
    fn the_oracle_sees_what_the_device_sees() {
        let d = draw(&input(Values::Uniform(-2.0, 2.0), &[100]), DType::F32, 1, 0).unwrap();
        assert!(d.array.data.iter().all(|x| f64::from(*x as f32) == *x));
        assert_eq!(decode(DType::F32, &d.bytes).unwrap(), d.array.data);
        let same = draw(&input(Values::Uniform(-2.0, 2.0), &[100]), DType::F32, 1, 0).unwrap();
        assert_eq!(same.bytes, d.bytes);
        let other = draw(&input(Values::Uniform(-2.0, 2.0), &[100]), DType::F32, 1, 1).unwrap();
        assert_ne!(other.bytes, d.bytes);
    }

    #[test]
    fn every_kind_keeps_its_promise() {
        let away = drawn(Values::Away { lo: -1.0, hi: 1.0, points: &[0.0], gap: 0.25 }, &[200]);
        assert!(away.iter().all(|x| x.abs() >= 0.24 && x.abs() <= 1.0));
        let ints = drawn(Values::Ints(-1, 2), &[200]);
        assert!((-1..=2).all(|i| ints.contains(&f64::from(i))));
        assert!(ints.iter().all(|x| x.fract() == 0.0 && (-1.0..=2.0).contains(x)));
        let p = drawn(Values::Probabilities, &[5, 3]);
        assert!(p.chunks(5).all(|r| (r.iter().sum::<f64>() - 1.0).abs() < 1e-6 && r.iter().all(|x| *x > 0.0)));
        let mut d = drawn(Values::Distinct, &[300]);
        d.sort_by(f64::total_cmp);
        assert!(d.windows(2).all(|w| w[1] - w[0] > 0.2));
        assert_eq!(drawn(Values::Given(&[1.0, 2.0]), &[3]), [1.0, 2.0, 1.0]);
        assert!(
            draw(&input(Values::Away { lo: 0.0, hi: 0.1, points: &[0.0], gap: 1.0 }, &[1]), DType::F32, 0, 0).is_err()
        );
    }

    #[test]
    fn types_round_trip() {
        for t in
            [DType::F16, DType::BF16, DType::I8, DType::I16, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64]
        {
            let x = [0.0, 1.0, 7.0, 100.0];
            assert_eq!(decode(t, &encode(t, &x).unwrap()).unwrap(), x, "{t}");
        }
        assert_eq!(decode(DType::Bool, &encode(DType::Bool, &[3.0, 0.0]).unwrap()).unwrap(), [1.0, 0.0]);
        assert!(encode(DType::Q4_0, &[0.0; 32]).is_err());
    }
}
