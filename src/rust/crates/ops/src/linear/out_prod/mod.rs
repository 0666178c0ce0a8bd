//! Sum of outer products: columns of `a` times columns of `b`, `y[i, j] = sum_k a[i, k] b[j, k]`.

use super::mul_mat::MulMat;
use super::product::{self, Product};
use super::{check_batch, sum_groups};
use crate::shape::{Transpose, contiguous};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, Layout, MAX_DIMS, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [m, k, B2, ...], b: [n, k, b2, ...] -> y: [m, n, b2, ...]
    pub struct OutProd {}
}

impl Op for OutProd {
    fn name(&self) -> &'static str {
        "out_prod"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        check::float("a", a)?;
        check::same_dtype("a", a, "b", b)?;
        if a.ne[1] != b.ne[1] {
            return Err(Error::shape(format!(
                "a {} and b {} must agree in ne1: {} is not {}",
                a.show(),
                b.show(),
                a.ne[1],
                b.ne[1]
            ))
            .arg("b")
            .expected(format!("ne1 = {}", a.ne[1]))
            .got(b.show()));
        }
        check_batch(a, b)?;
        let mut ne = b.ne;
        (ne[0], ne[1]) = (a.ne[0], b.ne[0]);
        Ok(smallvec![Desc::new(b.dtype, &ne[..b.rank.max(2).into()])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (a, b) = (x[0], x[1]);
        for at in y[0].indices() {
            let (mut ia, mut ib) = (at, at);
            ib[0] = at[1];
            for d in 2..MAX_DIMS {
                ia[d] = at[d] / (b.ne[d] / a.ne[d]);
            }
            let mut sum = 0.0;
            for k in 0..a.ne[1] {
                (ia[1], ib[1]) = (k, k);
                sum += a.data[a.at(&ia)] * b.data[b.at(&ib)];
            }
            let p = y[0].at(&at);
            y[0].data[p] = sum;
        }
        Ok(())
    }

    op_fields!();

    fn layout(&self, _i: usize) -> Layout {
        Layout::Any
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn flush_denormals(&self) -> bool {
        true
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        product::run(&Product::out_prod(call.x(0), call.x(1))?, call)
    }

    fn cost(&self, x: &[Desc], y: &[Desc]) -> f64 {
        product::cost(y[0].dtype, y[0].ne[0], y[0].rows(), x[0].ne[1])
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (a, b, dy) = (g.x(0), g.x(1), g.dy()?);
        let (da, db) = (g.desc(a)?, g.desc(b)?);
        if g.wants(0) {
            // da[i, k] = sum_j dy[i, j] b[j, k], over each group of batch entries that shares a matrix.
            let columns = g.op(Transpose {}, &[b])?;
            let each = g.op(OutProd {}, &[dy, columns])?;
            let sum = sum_groups(g, each, a)?;
            g.push(0, sum);
        }
        if g.wants(1) {
            // db[j, k] = sum_i dy[i, j] a[i, k]; the operand that serves groups has to come first.
            let sum = if da.ne[2..] == db.ne[2..] {
                g.op(MulMat {}, &[dy, a])?
            } else {
                let turned = g.op(MulMat {}, &[a, dy])?;
                let sum = g.op(Transpose {}, &[turned])?;
                contiguous(g, sum)?
            };
            g.push(1, sum);
        }
        Ok(())
    }
}

/// The entry of the table.
pub fn entry() -> Entry {
    Entry {
        name: "out_prod".into(),
        r: vec!["ggml_out_prod(ctx, a, b)".into()],
        inputs: &["a", "b"],
        title: "Sum of outer products".into(),
        details: "`y[i, j] = sum_k a[i, k] b[j, k]`, which is `a %*% t(b)` for R matrices. `a`: `[m, k, B2, B3]`, \
                  `b`: `[n, k, b2, b3]`, the result: `[m, n, b2, b3]`, f32. In the dimensions from 2 on, `a` serves \
                  groups of consecutive entries of `b`: each extent of `b` must be a multiple of that of `a`."
            .into(),
        topic: "products",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(OutProd::from_params(c.params)?) as OpRef),
        cases,
    }
}

fn case(a: &[usize], b: &[usize]) -> Case {
    Case::new(OutProd {}).f32(a).f32(b).tol(Tol::Reduce(a.get(1).copied().unwrap_or(1)))
}

fn cases() -> Vec<Case> {
    let f64s = Values::Uniform(-2.0, 2.0);
    vec![
        case(&[3, 5], &[4, 5]).grad(),
        case(&[3], &[4]).grad().note("vectors"),
        case(&[33, 64], &[17, 64]),
        case(&[5, 7, 2, 3], &[4, 7, 2, 3]).grad().note("batch"),
        case(&[2, 3, 2], &[4, 3, 6, 2]).grad().note("groups of a batch"),
        case(&[2, 3], &[4, 3, 2, 2]).grad().note("one matrix for a batch"),
        case(&[2, 3, 1, 1, 2], &[4, 3, 2, 1, 4]).grad().note("five dimensions"),
        case(&[1024, 128], &[24, 128]).note("tall, several blocks of rows"),
        case(&[70, 256], &[600, 256]).note("wide, several blocks of columns"),
        case(&[3, 0], &[4, 0]).note("no terms"),
        case(&[0, 3], &[4, 3]).note("no rows"),
        Case::new(OutProd {})
            .input(DType::F64, &[6, 31, 2], f64s.clone(), true)
            .input(DType::F64, &[4, 31, 4], f64s, true)
            .tol(Tol::Reduce(31))
            .note("f64"),
        case(&[3, 4], &[2, 5]).fails(Kind::Shape),
        case(&[3, 4, 2], &[2, 4, 3]).fails(Kind::Shape).note("batch does not divide"),
        Case::new(OutProd {}).i32(&[3, 4], 0, 3).f32(&[2, 4]).fails(Kind::DType),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_give_their_outer_product() {
        let a = Array::from(&[2, 1], vec![2.0, 3.0]);
        let b = Array::from(&[3, 1], vec![1.0, 10.0, 100.0]);
        let mut y = [Array::from(&[2, 3], vec![0.0; 6])];
        OutProd {}.oracle(&[&a, &b], &mut y).unwrap();
        assert_eq!(y[0].data, [2.0, 3.0, 20.0, 30.0, 200.0, 300.0]);
    }

    #[test]
    fn a_mismatch_shows_both_shapes() {
        let d = |ne: &[usize]| Desc::new(DType::F32, ne).unwrap();
        let e = OutProd {}.infer(&[d(&[3, 4]), d(&[2, 5])]).unwrap_err();
        assert!(e.message().contains("ne=[3,4,1,1]") && e.message().contains("ne=[2,5,1,1]"), "{e}");
    }
}
