//! R's matrices and arrays, samples on the first dimension and columns in memory, as rows of f32 in tensor order.

use crate::runtime::Runtime;
use crate::shape::{self, Shape};
use crate::spec::Model;
use ggmlr_core::{BufferRef, Class, Error, Result};
use std::borrow::Cow;
use std::ops::Range;

/// Numbers of an R vector; logicals are integers.
#[derive(Clone, Debug)]
pub enum Numbers<'a> {
    Real(&'a [f64]),
    Int(Cow<'a, [i32]>),
}

impl Numbers<'_> {
    fn len(&self) -> usize {
        match self {
            Numbers::Real(v) => v.len(),
            Numbers::Int(v) => v.len(),
        }
    }
}

/// An R array `[N, ...]` in column-major order; a plain vector is one column.
#[derive(Clone, Debug)]
pub struct RArray<'a> {
    pub values: Numbers<'a>,
    pub dim: Vec<usize>,
}

/// What a model is trained on or judged by.
#[derive(Clone, Debug, Default)]
pub struct Data<'a> {
    pub x: Vec<RArray<'a>>,
    pub y: Vec<RArray<'a>>,
    /// One number per sample, or one per sample and output.
    pub weights: Option<RArray<'a>>,
}

/// R's missing integer.
const NA_INTEGER: i32 = i32::MIN;

fn real(x: f64) -> f32 {
    x as f32
}

fn int(x: i32) -> f32 {
    if x == NA_INTEGER { f32::NAN } else { x as f32 }
}

/// An array with its samples as rows.
#[derive(Debug)]
pub struct Rows<'a> {
    array: &'a RArray<'a>,
    name: &'a str,
    n: usize,
    /// For each element of a row the column of the array.
    columns: Vec<usize>,
}

impl<'a> Rows<'a> {
    /// Checks that each sample of `array`, which messages call `name`, has the shape.
    pub fn new(array: &'a RArray<'a>, shape: &Shape, name: &'a str) -> Result<Rows<'a>> {
        let (&n, rest) = array.dim.split_first().ok_or_else(|| {
            Error::argument(name, format!("{name} must be a matrix or an array with samples in rows"))
        })?;
        let per_sample = if rest.is_empty() { &[1][..] } else { rest };
        if per_sample != shape.dims() {
            return Err(mismatch(name, per_sample, shape));
        }
        if n.checked_mul(shape.size()) != Some(array.values.len()) {
            return Err(Error::argument(
                name,
                format!("{name} has {} values, its dimensions say otherwise", array.values.len()),
            ));
        }
        if n > i32::MAX as usize {
            return Err(Error::argument(name, format!("{name} has {n} rows, at most {} are possible", i32::MAX)));
        }
        Ok(Rows { array, name, n, columns: shape.r_positions() })
    }

    /// Samples.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Elements of a sample.
    pub fn row(&self) -> usize {
        self.columns.len()
    }

    /// Converts samples. Missing values become NaN, what f32 cannot hold infinite.
    fn convert(&self, rows: Range<usize>, out: &mut [f32]) {
        match &self.array.values {
            Numbers::Real(v) => transpose(v, self.n, &self.columns, rows, real, out),
            Numbers::Int(v) => transpose(v, self.n, &self.columns, rows, int, out),
        }
    }

    /// Refuses infinite values among converted samples, the first of which is `first`.
    fn check(&self, first: usize, converted: &[f32]) -> Result<()> {
        // Without an early exit the loop is vector code.
        if !converted.iter().fold(false, |any, v| any | v.is_infinite()) {
            return Ok(());
        }
        let at = converted.iter().position(|v| v.is_infinite()).unwrap_or(0);
        Err(self.infinite(first + at / self.row(), self.columns[at % self.row()]))
    }

    fn infinite(&self, row: usize, column: usize) -> Error {
        let mut at = vec![row + 1];
        let mut rest = column;
        for d in self.array.dim.iter().skip(1) {
            at.push(rest % d + 1);
            rest /= d;
        }
        let place = match at.as_slice() {
            [r] => format!("position {r}"),
            [r, c] => format!("row {r}, column {c}"),
            many => format!("[{}]", many.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        let value = match &self.array.values {
            Numbers::Real(v) => v.get(row + self.n * column).copied().unwrap_or(f64::INFINITY),
            Numbers::Int(_) => f64::INFINITY,
        };
        let name = self.name;
        let message = if value.is_finite() {
            format!("{name} holds {value:e} at {place}, too large for 32-bit floating point")
        } else {
            format!("{name} holds {} at {place}", if value > 0.0 { "Inf" } else { "-Inf" })
        };
        Error::argument(name, message).expected("finite numbers")
    }
}

fn mismatch(name: &str, got: &[usize], shape: &Shape) -> Error {
    let (want, have) = match (shape.dims(), got) {
        ([want], [have]) => (format!("{want} columns"), format!("{have}")),
        (want, have) => (format!("samples of shape {}", shape::show(want)), shape::show(have)),
    };
    Error::shape(format!("{name}: expected {want}, got {have}")).arg(name).expected(want).got(have)
}

/// Blocks of the transposition: sixteen floats of a row are one cache line, and a run down a column is long enough
/// for the processor to fetch ahead.
const TILE_ROWS: usize = 128;
const TILE: usize = 16;

/// `out[i, j] = src[rows.start + i, columns[j]]`, `src` in columns of `n`, `out` in rows.
fn transpose<T: Copy>(
    src: &[T],
    n: usize,
    columns: &[usize],
    rows: Range<usize>,
    convert: impl Fn(T) -> f32,
    out: &mut [f32],
) {
    let width = columns.len();
    let mut tile = [[0.0_f32; TILE]; TILE_ROWS];
    for (block, band) in out.chunks_mut(TILE_ROWS * width).enumerate() {
        let first = rows.start + block * TILE_ROWS;
        let height = band.len() / width;
        for (t, cols) in columns.chunks(TILE).enumerate() {
            for (j, &c) in cols.iter().enumerate() {
                let column = &src[c * n + first..c * n + first + height];
                for (i, v) in column.iter().enumerate() {
                    tile[i][j] = convert(*v);
                }
            }
            for (i, line) in tile[..height].iter().enumerate() {
                let at = i * width + t * TILE;
                band[at..at + cols.len()].copy_from_slice(&line[..cols.len()]);
            }
        }
    }
}

/// Floats converted before they are written: they stay in the second-level cache.
const CHUNK: usize = 1 << 17;

/// Rows on the device.
#[derive(Debug)]
pub(crate) struct Table {
    pub buffer: BufferRef,
    pub row: usize,
    pub n: usize,
}

impl Table {
    /// Converts all rows and keeps them on the device; infinite values are an error.
    pub fn new(rt: &Runtime, rows: &Rows<'_>) -> Result<Table> {
        Table::watched(rt, rows, |first, part| rows.check(first, part))
    }

    /// Converts all rows and keeps them on the device; `look` sees them on their way, with the number of the first one.
    pub fn watched(rt: &Runtime, rows: &Rows<'_>, mut look: impl FnMut(usize, &[f32]) -> Result<()>) -> Result<Table> {
        let (row, n) = (rows.row(), rows.n());
        let table = Table { buffer: rt.alloc(row * n * size_of::<f32>(), Class::Inputs)?, row, n };
        let step = (CHUNK / row).max(1).next_multiple_of(TILE);
        let mut chunk = vec![0.0_f32; step.min(n) * row];
        for first in (0..n).step_by(step) {
            let part = &mut chunk[..step.min(n - first) * row];
            rows.convert(first..first + part.len() / row, part);
            look(first, part)?;
            table.buffer.write(table.offset(first), bytemuck::cast_slice(part))?;
        }
        Ok(table)
    }

    /// Byte at which a row begins.
    pub fn offset(&self, row: usize) -> usize {
        row * self.row * size_of::<f32>()
    }
}

/// Samples, targets and weights on the device.
#[derive(Debug)]
pub(crate) struct Resident {
    pub x: Table,
    pub y: Table,
    pub w: Option<Table>,
}

impl Resident {
    /// Checks and converts; the model has one input and one output.
    pub fn new(rt: &Runtime, model: &Model, data: &Data<'_>, takes_mask: bool) -> Result<Resident> {
        let x = one(&data.x, "x", "inputs")?;
        let y = one(&data.y, "y", "outputs")?;
        let rows = Rows::new(x, model.input_shape(0), "x")?;
        let targets = Rows::new(y, model.output_shape(0), "y")?;
        if rows.n() != targets.n() {
            return Err(Error::argument("y", format!("x and y differ in rows ({}, {})", rows.n(), targets.n()))
                .expected(format!("{} rows", rows.n()))
                .got(format!("{} rows", targets.n())));
        }
        if rows.n() == 0 {
            return Err(Error::argument("x", "No samples provided."));
        }
        let w = match &data.weights {
            Some(w) => Some(weights(rt, w, model.output_shape(0), rows.n(), takes_mask)?),
            None => None,
        };
        Ok(Resident { x: Table::new(rt, &rows)?, y: Table::new(rt, &targets)?, w })
    }

    /// Samples.
    pub fn n(&self) -> usize {
        self.x.n
    }

    /// Weights of a sample; 0 without weights.
    pub fn weight_row(&self) -> usize {
        self.w.as_ref().map_or(0, |w| w.row)
    }
}

/// The only array of a list.
pub(crate) fn one<'a, 'b>(list: &'a [RArray<'b>], name: &str, what: &str) -> Result<&'a RArray<'b>> {
    match list {
        [one] => Ok(one),
        _ => Err(Error::argument(name, format!("{name} holds {} arrays, the model has 1 of {what}", list.len()))),
    }
}

fn weights(rt: &Runtime, w: &RArray<'_>, y: &Shape, n: usize, takes_mask: bool) -> Result<Table> {
    const NAME: &str = "sample_weight";
    if w.dim.first() != Some(&n) {
        let got = w.dim.first().copied().unwrap_or(0);
        return Err(Error::argument(NAME, format!("{NAME} must have length {n}, one for each sample, got {got}"))
            .expected(format!("length {n}"))
            .got(got.to_string()));
    }
    let mask = w.dim.len() > 1;
    if mask && !takes_mask {
        return Err(Error::argument(NAME, format!("{NAME} may be a matrix only with loss \"mse\""))
            .expected("a vector with one number for each sample"));
    }
    let shape = if mask { y.clone() } else { Shape::flat(1)? };
    Table::new(rt, &Rows::new(w, &shape, NAME)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(values: &[f64], dim: &[usize]) -> Result<Vec<f32>> {
        let array = RArray { values: Numbers::Real(values), dim: dim.to_vec() };
        let shape = Shape::new(dim[1..].to_vec())?;
        let rows = Rows::new(&array, &shape, "x")?;
        let mut out = vec![0.0; values.len()];
        rows.convert(0..dim[0], &mut out);
        rows.check(0, &out)?;
        Ok(out)
    }

    #[test]
    fn matrices_and_arrays_become_rows() {
        let v: Vec<f64> = (0..6).map(f64::from).collect();
        assert_eq!(rows_of(&v, &[2, 3]).unwrap(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
        // array(0:11, c(2, 3, 2)): sample 0 is 0, 2, 4 and 6, 8, 10 by feature; the tensor walks features first.
        let v: Vec<f64> = (0..12).map(f64::from).collect();
        assert_eq!(rows_of(&v, &[2, 3, 2]).unwrap()[..6], [0.0, 6.0, 2.0, 8.0, 4.0, 10.0]);
    }

    #[test]
    fn blocks_agree_with_the_plain_loop() {
        let (n, f) = (37, 53);
        let v: Vec<f64> = (0..n * f).map(|i| i as f64).collect();
        let array = RArray { values: Numbers::Real(&v), dim: vec![n, f] };
        let rows = Rows::new(&array, &Shape::flat(f).unwrap(), "x").unwrap();
        let mut out = vec![0.0; 30 * f];
        rows.convert(5..35, &mut out);
        for i in 0..30 {
            for j in 0..f {
                assert_eq!(out[i * f + j], v[(5 + i) + n * j] as f32);
            }
        }
        let ints: Vec<i32> = vec![1, NA_INTEGER];
        let array = RArray { values: Numbers::Int(Cow::Borrowed(&ints)), dim: vec![2] };
        let mut out = [0.0; 2];
        Rows::new(&array, &Shape::flat(1).unwrap(), "x").unwrap().convert(0..2, &mut out);
        assert!(out[0] == 1.0 && out[1].is_nan());
    }

    #[test]
    fn infinities_are_named_with_their_place() {
        let e = rows_of(&[0.0, 1.0, f64::INFINITY, 3.0], &[2, 2]).unwrap_err();
        assert_eq!(e.message(), "x holds Inf at row 1, column 2");
        let e = rows_of(&[0.0, -1e300, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &[2, 2, 2]).unwrap_err();
        assert_eq!(e.message(), "x holds -1e300 at [2, 1, 1], too large for 32-bit floating point");
        assert!(rows_of(&[f64::NAN], &[1, 1]).unwrap()[0].is_nan());
    }

    #[test]
    fn wrong_widths_show_both() {
        let array = RArray { values: Numbers::Real(&[0.0; 12]), dim: vec![2, 6] };
        let e = Rows::new(&array, &Shape::flat(4).unwrap(), "x").unwrap_err();
        assert_eq!(e.message(), "x: expected 4 columns, got 6");
        let e = Rows::new(&array, &Shape::new(vec![3, 2]).unwrap(), "x").unwrap_err();
        assert!(e.message().contains("c(3, 2)") && e.message().contains("c(6)"), "{e}");
    }
}
