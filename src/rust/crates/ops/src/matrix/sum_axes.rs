//! Sums over chosen dimensions.

use crate::reduce::RepeatBack;
use crate::shape::{Repeat, Reshape, contiguous};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Dst, Error, Grad, Kind, MAX_DIMS, Op, OpRef, Result, Src};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [n0, n1, ...] -> y: extents of `axes` are 1 with `keepdim`, and left out without
    pub struct SumAxes { axes: Vec<usize>, keepdim: bool }
}

impl SumAxes {
    /// The result as if all dimensions were kept.
    fn kept(&self, a: &Desc) -> Result<Desc> {
        let mut ne = a.ne;
        for (i, &axis) in self.axes.iter().enumerate() {
            if axis >= MAX_DIMS {
                return Err(Error::argument("axes", format!("axes must be below {MAX_DIMS}, got {axis}")));
            }
            if self.axes[..i].contains(&axis) {
                return Err(Error::argument("axes", format!("axes must differ, {axis} comes twice")));
            }
            ne[axis] = 1;
        }
        Desc::new(a.dtype, &ne[..a.rank as usize])
    }
}

impl Op for SumAxes {
    fn name(&self) -> &'static str {
        "sum_axes"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        let kept = self.kept(a)?;
        if self.keepdim {
            return Ok(smallvec![kept]);
        }
        let mut ne: Vec<usize> = (0..a.rank as usize).filter(|d| !self.axes.contains(d)).map(|d| a.ne[d]).collect();
        if ne.is_empty() {
            ne.push(1);
        }
        Ok(smallvec![Desc::new(a.dtype, &ne)?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let mut ne = x[0].ne;
        self.axes.iter().for_each(|&d| ne[d] = 1);
        let mut kept = Array::zeros(ne);
        for (v, mut at) in x[0].data.iter().zip(x[0].indices()) {
            self.axes.iter().for_each(|&d| at[d] = 0);
            let j = kept.at(&at);
            kept.data[j] += v;
        }
        // Leaving out extents of 1 moves no element.
        y[0].data = kept.data;
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        // A sum over dimensions is the sum of the copies that repeating the result along them makes.
        let kept = self.kept(call.x(0))?;
        let bytes = call.out::<u8>(0)?;
        RepeatBack {}.cpu(&mut CpuCall {
            src: smallvec![call.src[0], Src::Data { desc: &kept, bytes: &[] }],
            dst: smallvec![Dst { desc: &kept, bytes }],
            scalars: &[],
            pool: call.pool,
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a) = (g.dy()?, g.x(0));
        let kept = self.kept(&g.desc(a)?)?;
        let dy = if g.desc(dy)?.same_shape(&kept) {
            dy
        } else {
            let dy = contiguous(g, dy)?;
            g.op(Reshape::to(&kept), &[dy])?
        };
        let da = g.op(Repeat {}, &[dy, a])?;
        g.push(0, da);
        Ok(())
    }
}

fn cases() -> Vec<Case> {
    let of = |axes: &[usize], keepdim, ne: &[usize]| {
        let n: usize = axes.iter().filter_map(|&d| ne.get(d)).product();
        Case::new(SumAxes { axes: axes.to_vec(), keepdim }).f32(ne).tol(Tol::Reduce(n.max(1)))
    };
    let mut v = vec![
        of(&[0], true, &[7, 5]).grad(),
        of(&[1], true, &[7, 5]).grad(),
        of(&[1], false, &[7, 5, 3]).grad(),
        of(&[0, 2], false, &[4, 3, 5, 2]).grad(),
        of(&[3, 1], true, &[4, 3, 5, 2]).grad().note("in any order"),
        of(&[0, 1, 2, 3], false, &[4, 3, 5, 2]).grad().note("everything"),
        of(&[0, 4], false, &[2, 3, 1, 2, 3]).grad().note("five dimensions"),
        of(&[], false, &[4, 3]).grad().note("nothing"),
        of(&[5], true, &[4, 3]).grad().note("beyond the rank"),
        of(&[0, 2], true, &[300, 40, 50]).note("several blocks"),
        of(&[0], true, &[0, 3]).note("empty rows"),
        of(&[1], false, &[0, 3]).note("empty"),
        of(&[0, 0], true, &[4]).fails(Kind::Argument),
        of(&[8], true, &[4]).fails(Kind::Argument),
        Case::new(SumAxes { axes: vec![0], keepdim: true }).i32(&[4], 0, 3).fails(Kind::DType),
    ];
    let f64s = Case::new(SumAxes { axes: vec![0, 2], keepdim: false });
    v.push(f64s.input(DType::F64, &[9, 4, 5], Values::Uniform(-2.0, 2.0), true).tol(Tol::Reduce(45)).note("f64"));
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "sum_axes".into(),
        r: Vec::new(),
        inputs: &["a"],
        title: "Sum over chosen dimensions".into(),
        details: "Sums `a`, f32, over the dimensions `axes`, in ggml order. Their extents become 1 with `keepdim` \
                  and are left out without; a result without dimensions is `[1]`."
            .into(),
        topic: "reduction",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(SumAxes::from_params(c.params)?) as OpRef),
        cases,
    }
}
