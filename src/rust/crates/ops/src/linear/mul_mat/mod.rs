//! Matrix product as ggml defines it: rows of `a` times rows of `b`, `y[i, j] = sum_k a[k, i] b[k, j]`.

use super::out_prod::OutProd;
use super::product::{self, Product};
use super::{check_batch, sum_groups};
use crate::shape::{Reshape, Transpose, contiguous};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, Layout, MAX_DIMS, Op, OpRef, Result, Val};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [k, n, B2, ...], b: [k, m, b2, ...] -> y: [n, m, b2, ...]
    pub struct MulMat {}
}

impl Op for MulMat {
    fn name(&self) -> &'static str {
        "mul_mat"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        check::float("a", a)?;
        check::same_dtype("a", a, "b", b)?;
        if a.ne[0] != b.ne[0] {
            return Err(Error::shape(format!(
                "a {} and b {} must agree in ne0: {} is not {}",
                a.show(),
                b.show(),
                a.ne[0],
                b.ne[0]
            ))
            .arg("b")
            .expected(format!("ne0 = {}", a.ne[0]))
            .got(b.show()));
        }
        check_batch(a, b)?;
        let mut ne = b.ne;
        (ne[0], ne[1]) = (a.ne[1], b.ne[1]);
        Ok(smallvec![Desc::new(b.dtype, &ne[..b.rank.max(2).into()])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (a, b) = (x[0], x[1]);
        for at in y[0].indices() {
            let (mut ia, mut ib) = (at, at);
            ia[1] = at[0];
            for d in 2..MAX_DIMS {
                ia[d] = at[d] / (b.ne[d] / a.ne[d]);
            }
            let mut sum = 0.0;
            for k in 0..a.ne[0] {
                (ia[0], ib[0]) = (k, k);
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
        product::run(&Product::mul_mat(call.x(0), call.x(1))?, call)
    }

    fn cost(&self, x: &[Desc], y: &[Desc]) -> f64 {
        product::cost(y[0].dtype, y[0].ne[0], y[0].rows(), x[0].ne[0])
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (a, b, dy) = (g.x(0), g.x(1), g.dy()?);
        if g.wants(0) {
            // da[k, i] = sum_j b[k, j] dy[i, j], over each group of batch entries that shares a matrix.
            let da = a_grad(g, a, b, dy)?;
            g.push(0, da);
        }
        if g.wants(1) {
            // db[k, j] = sum_i a[k, i] dy[i, j]
            let rows = g.op(Transpose {}, &[dy])?;
            let db = g.op(OutProd {}, &[a, rows])?;
            g.push(1, db);
        }
        Ok(())
    }
}

fn a_grad(g: &mut Grad<'_>, a: Val, b: Val, dy: Val) -> Result<Val> {
    let (da, db) = (g.desc(a)?, g.desc(b)?);
    if da.rows() == da.ne[1] && db.rows() > db.ne[1] {
        // One matrix for the whole batch: the sum over the batch is a sum over more columns.
        let (b, dy) = (columns(g, b)?, columns(g, dy)?);
        let sum = g.op(OutProd {}, &[b, dy])?;
        return if da.rank <= 2 { Ok(sum) } else { g.op(Reshape::to(&da), &[sum]) };
    }
    let each = g.op(OutProd {}, &[b, dy])?;
    sum_groups(g, each, a)
}

/// `x` with all dimensions from 1 on as one.
fn columns(g: &mut Grad<'_>, x: Val) -> Result<Val> {
    let d = g.desc(x)?;
    let x = contiguous(g, x)?;
    g.op(Reshape { ne: vec![d.ne[0], d.rows()] }, &[x])
}

/// ggml refuses a transposed first operand in R; the engine itself takes any strides.
fn make(c: &Call<'_>) -> Result<OpRef> {
    if let Some(a) = c.x.first().filter(|a| a.nb[0] > a.nb[1]) {
        return Err(Error::shape(format!("a {} must not be transposed", a.show()))
            .arg("a")
            .hint("Make a contiguous copy first: ggml_cont(ctx, a)."));
    }
    Ok(Arc::new(MulMat::from_params(c.params)?))
}

/// The entry of the table.
pub fn entry() -> Entry {
    Entry {
        name: "mul_mat".into(),
        r: vec!["ggml_mul_mat(ctx, a, b)".into()],
        inputs: &["a", "b"],
        title: "Matrix product".into(),
        details: "`y[i, j] = sum_k a[k, i] b[k, j]`, which is `t(a) %*% b` for R matrices. `a`: `[k, n, B2, B3]`, \
                  `b`: `[k, m, b2, b3]`, the result: `[n, m, b2, b3]`, f32. In the dimensions from 2 on, `a` serves \
                  groups of consecutive entries of `b`: each extent of `b` must be a multiple of that of `a`. `a` \
                  must not be transposed; use [ggml_cont()] first."
            .into(),
        topic: "products",
        example: "ctx <- ggml_init()\n\
                  a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3)\n\
                  b <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 1)\n\
                  ggml_set_f32(a, 1:6)\n\
                  ggml_set_f32(b, c(10, 1))\n\
                  y <- ggml_mul_mat(ctx, a, b)\n\
                  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                  ggml_get_f32(y)\n\
                  ggml_free(ctx)"
            .into(),
        make,
        cases,
    }
}

fn case(a: &[usize], b: &[usize]) -> Case {
    Case::new(MulMat {}).f32(a).f32(b).tol(Tol::Reduce(a[0]))
}

fn cases() -> Vec<Case> {
    let f64s = Values::Uniform(-2.0, 2.0);
    vec![
        case(&[5, 3], &[5, 4]).grad(),
        case(&[1, 1], &[1, 1]).grad(),
        case(&[64, 33], &[64, 17]),
        case(&[7, 5, 2, 3], &[7, 4, 2, 3]).grad().note("batch"),
        case(&[3, 2, 2], &[3, 4, 6, 2]).grad().note("groups of a batch"),
        case(&[3, 2, 1, 2], &[3, 4, 2, 6]).grad().note("groups in two dimensions"),
        case(&[3, 2], &[3, 4, 2, 2]).grad().note("one matrix for a batch"),
        case(&[3, 2, 1], &[3, 1, 5]).grad().note("one matrix for a batch of columns"),
        case(&[3, 2, 1, 1, 2], &[3, 4, 2, 1, 4]).grad().note("five dimensions"),
        case(&[129, 40], &[129]).note("vector"),
        case(&[257, 700, 2], &[257, 1, 4]).note("vectors, several blocks of rows"),
        case(&[512, 1024], &[512, 16]).note("tall, several blocks of rows"),
        case(&[256, 70], &[256, 600]).note("wide, several blocks of columns"),
        case(&[96, 80, 3], &[96, 150, 9]).note("blocks of batch entries"),
        case(&[256, 80, 3], &[256, 200, 3]).note("blocks across batch entries"),
        case(&[0, 3], &[0, 2]).note("no terms"),
        case(&[3, 0], &[3, 2]).note("no rows"),
        case(&[3, 2], &[3, 0]).note("no columns"),
        case(&[3, 2, 0], &[3, 2, 0]).note("no batch entries"),
        Case::new(MulMat {})
            .input(DType::F64, &[31, 6, 2], f64s.clone(), true)
            .input(DType::F64, &[31, 4, 4], f64s, true)
            .tol(Tol::Reduce(31))
            .note("f64"),
        case(&[4, 3], &[5, 2]).fails(Kind::Shape),
        case(&[4, 3, 2], &[4, 2, 3]).fails(Kind::Shape).note("batch does not divide"),
        case(&[4, 3, 0], &[4, 2, 3]).fails(Kind::Shape).note("no matrix for a batch"),
        Case::new(MulMat {}).i32(&[4, 3], 0, 3).f32(&[4, 2]).fails(Kind::DType),
        Case::new(MulMat {}).f32(&[4, 3]).i32(&[4, 2], 0, 3).fails(Kind::DType),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::Params;

    #[test]
    fn a_mismatch_shows_both_shapes() {
        let d = |ne: &[usize]| Desc::new(DType::F32, ne).unwrap();
        let e = MulMat {}.infer(&[d(&[4, 3]), d(&[5, 2])]).unwrap_err();
        assert!(e.message().contains("ne=[4,3,1,1]") && e.message().contains("ne=[5,2,1,1]"), "{e}");
        assert_eq!(e.arg_name(), Some("b"));
    }

    #[test]
    fn r_may_not_give_a_transposed_matrix() {
        let mut a = Desc::new(DType::F32, &[3, 4]).unwrap();
        a.ne.swap(0, 1);
        a.nb.swap(0, 1);
        let params = Params::new();
        let b = Desc::new(DType::F32, &[4, 2]).unwrap();
        let call = |x: &[Desc]| make(&Call { function: "ggml_mul_mat", params: &params, x }).map(|_| ());
        assert_eq!(call(&[a, b]).unwrap_err().kind(), Kind::Shape);
        assert!(call(&[b, a]).is_ok());
    }

    #[test]
    fn values_by_hand() {
        // t(matrix(1:6, 2)) %*% c(10, 1) in R.
        let a = Array::from(&[2, 3], (1..=6).map(f64::from).collect());
        let b = Array::from(&[2, 1], vec![10.0, 1.0]);
        let mut y = [Array::from(&[3, 1], vec![0.0; 3])];
        MulMat {}.oracle(&[&a, &b], &mut y).unwrap();
        assert_eq!(y[0].data, [12.0, 34.0, 56.0]);
    }
}
