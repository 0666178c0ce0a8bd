//! Parts of a tensor as tensors of their own, without a copy.

mod back;
mod table;

pub use back::ViewBack;
pub use table::entries;

use super::no_kernel;
use crate::{check, op_fields, op_struct};
use ggmlr_core::desc::show_ne;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Grad, MAX_DIMS, Op, Result, Scalar};
use smallvec::smallvec;

op_struct! {
    /// a: [...] -> y: [ne0, ne1, ...], element (i0, i1, ...) at byte offset + i0 nb0 + i1 nb1 + ... of a
    pub struct View { ne: Vec<usize>, nb: Vec<usize>, offset: Scalar<usize> }
}

op_struct! {
    /// src: [...] -> y: [...], all of src
    pub struct ViewTensor {}
}

/// Bytes that the view touches beyond its offset; `None` when that is more than a number holds.
fn reach(d: &Desc) -> Option<usize> {
    if d.is_empty() {
        return Some(0);
    }
    let row = d.dtype.row_bytes(d.ne[0])?;
    (1..MAX_DIMS).try_fold(row, |sum, i| sum.checked_add((d.ne[i] - 1).checked_mul(d.nb[i])?))
}

fn check_multiple(name: &str, bytes: usize, t: DType) -> Result<()> {
    if bytes.is_multiple_of(t.bytes()) {
        return Ok(());
    }
    Err(Error::argument(
        name,
        format!("{name} must be a multiple of {} bytes, the size of {t}, got {bytes}", t.bytes()),
    ))
}

impl View {
    /// `outer` are the strides `nb1`, `nb2` ...; dimensions beyond them follow without a gap.
    pub fn new(t: DType, ne: Vec<usize>, outer: &[usize], offset: usize) -> View {
        let mut nb = vec![t.bytes()];
        nb.extend_from_slice(outer);
        for i in nb.len()..ne.len() {
            let step = if i == 1 { t.row_bytes(ne[0]).unwrap_or(0) } else { nb[i - 1].saturating_mul(ne[i - 1]) };
            nb.push(step);
        }
        View { ne, nb, offset: Scalar(offset) }
    }

    fn desc(&self, t: DType) -> Result<Desc> {
        let mut y = Desc::new(t, &self.ne)?;
        if self.nb.first() != Some(&t.bytes()) || self.nb.len() > MAX_DIMS {
            return Err(Error::internal(format!("strides {:?} do not suit {t}", self.nb)));
        }
        for (i, &nb) in self.nb.iter().enumerate() {
            check_multiple(&format!("nb{i}"), nb, t)?;
            y.nb[i] = nb;
        }
        for i in self.nb.len().max(2)..MAX_DIMS {
            y.nb[i] = y.nb[i - 1].saturating_mul(y.ne[i - 1]);
        }
        Ok(y)
    }
}

impl Op for View {
    fn name(&self) -> &'static str {
        "view"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        let y = self.desc(a.dtype)?;
        let Scalar(offset) = self.offset;
        check_multiple("offset", offset, a.dtype)?;
        let fits = reach(&y).and_then(|r| r.checked_add(offset)).is_some_and(|end| end <= a.span());
        if !fits {
            let bytes = reach(&y).map_or("too many".to_owned(), |r| r.to_string());
            return Err(Error::shape(format!("view of {bytes} bytes at {offset}, source has {}", a.span()))
                .arg("a")
                .expected(format!("at most {} bytes", a.span()))
                .got(format!("{} at {offset}", show_ne(&self.ne))));
        }
        Ok(smallvec![y])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (i, at) in y[0].indices().enumerate() {
            let byte = self.offset.0 + self.nb.iter().zip(at).map(|(nb, i)| nb * i).sum::<usize>();
            y[0].data[i] = x[0].data[byte / self.nb[0]];
        }
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::view_of(0)
    }

    fn view_offset(&self) -> usize {
        self.offset.0
    }

    fn cpu_types(&self) -> &'static [DType] {
        DType::ALL
    }

    fn cpu(&self, _call: &mut CpuCall<'_>) -> Result<()> {
        no_kernel()
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let (a, y) = (g.desc(g.x(0))?, g.desc(g.y(0))?);
        let da = g.op(ViewBack::of(&a, &y, self.offset.0), &[dy])?;
        g.push(0, da);
        Ok(())
    }
}

impl Op for ViewTensor {
    fn name(&self) -> &'static str {
        "view_tensor"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        Ok(smallvec![*a])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data.copy_from_slice(&x[0].data);
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::view_of(0)
    }

    fn cpu_types(&self) -> &'static [DType] {
        DType::ALL
    }

    fn cpu(&self, _call: &mut CpuCall<'_>) -> Result<()> {
        no_kernel()
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        g.push(0, dy);
        Ok(())
    }
}
