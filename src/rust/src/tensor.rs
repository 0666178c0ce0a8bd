//! Tensors: what R/ggml-tensor.R and R/ggml-tensor-data.R call.

use crate::bindings::bindings;
use crate::decode;
use crate::handles::{self, Thing};
use crate::outcome::named;
use crate::state;
use extendr_api::{Doubles, Robj, Rtype, Types};
use ggmlr_core::{DType, Error, Kind, Result};
use ggmlr_cpu::HostBuffer;
use ggmlr_session::{Flag, Key, Session};

/// Names of the index arguments.
const INDEX: [&str; 4] = ["i0", "i1", "i2", "i3"];

/// Which element types a getter or setter of R takes.
#[derive(Clone, Copy)]
enum Family {
    Float,
    Int,
    Any,
}

impl Family {
    fn from(x: &Robj) -> Result<Family> {
        Ok(match decode::text(x, "family")?.as_str() {
            "f32" => Family::Float,
            "i32" => Family::Int,
            _ => Family::Any,
        })
    }

    fn check(self, t: DType) -> Result<()> {
        let (takes, name) = match self {
            Family::Float => {
                (matches!(t, DType::F32 | DType::F16 | DType::BF16 | DType::F64), "F32 (or F16, BF16, F64)")
            }
            Family::Int => (matches!(t, DType::I8 | DType::I16 | DType::I32 | DType::I64), "I32 (or I8, I16, I64)"),
            Family::Any => (true, ""),
        };
        if takes {
            return Ok(());
        }
        Err(Error::dtype(format!("Tensor type must be {name}, got {t}")).arg("tensor").expected(name).got(t.name()))
    }
}

/// Every element as R numbers.
fn numbers(key: Key, family: Family) -> Result<Vec<f64>> {
    state::with(|s| {
        let d = s.tensor(key)?.desc;
        family.check(d.dtype)?;
        let mut out = vec![0.0; d.len()];
        s.read_numbers(key, &mut out)?;
        Ok(out)
    })
}

/// Whole numbers as R integers; R has none beyond 32 bits, and the smallest one means NA.
fn integers(values: &[f64]) -> Result<Vec<i32>> {
    values
        .iter()
        .map(|v| {
            let fits = v.abs() <= f64::from(i32::MAX);
            fits.then_some(*v as i32).ok_or_else(|| {
                Error::new(Kind::Unsupported, format!("{v} does not fit into an R integer"))
                    .hint("Read the tensor with ggml_get_f32_nd() or ggml_backend_tensor_get_data().")
            })
        })
        .collect()
}

/// Numbers as an R vector.
fn doubles(values: &[f64]) -> Robj {
    let mut out: Robj = Doubles::new(values.len()).into();
    if let Some(to) = out.as_real_slice_mut() {
        to.copy_from_slice(values);
    }
    out
}

fn needs_backend_buffer(s: &Session, key: Key) -> Result<()> {
    if s.in_backend_buffer(key) {
        return Ok(());
    }
    let label = s.tensor(key)?.name().unwrap_or("").to_owned();
    Err(Error::new(Kind::Memory, format!("Tensor '{label}' has no backend buffer"))
        .arg("tensor")
        .hint("Allocate it with ggml_backend_alloc_ctx_tensors(), or use ggml_set_f32() and ggml_get_f32()."))
}

fn handle(key: Key, ctx: &Robj) -> Robj {
    handles::make(Thing::Tensor, key, Some(ctx))
}

bindings! {
mod tensor;

/// A new tensor.
fn rs_tensor_new(ctx, type_id, ne) {
    let key = decode::context(ctx, "ctx")?;
    let (dtype, ne) = (decode::dtype(type_id, "type")?, decode::extents(ne, "ne")?);
    let key = state::with(|s| s.new_tensor(key, dtype, &ne))?;
    Ok(handle(key, ctx))
}

/// A tensor of the type and shape of another one.
fn rs_tensor_like(ctx, tensor) {
    let (key, like) = (decode::context(ctx, "ctx")?, decode::tensor(tensor, "tensor")?);
    let key = state::with(|s| s.new_like(key, like))?;
    Ok(handle(key, ctx))
}

/// Writes every element.
fn rs_tensor_set(tensor, data, family) {
    let (key, family) = (decode::tensor(tensor, "tensor")?, Family::from(family)?);
    let data = decode::vector(data, "data")?;
    state::with(|s| {
        family.check(s.tensor(key)?.desc.dtype)?;
        s.write_numbers(key, data.numbers())
    })?;
    Ok(().into())
}

/// Reads every element.
fn rs_tensor_get(tensor, family) {
    let (key, family) = (decode::tensor(tensor, "tensor")?, Family::from(family)?);
    let values = numbers(key, family)?;
    match family {
        Family::Int => Ok(integers(&values)?.into()),
        _ => Ok(doubles(&values)),
    }
}

/// Sets every byte to zero.
fn rs_tensor_zero(tensor) {
    let key = decode::tensor(tensor, "tensor")?;
    state::with(|s| s.write_zero(key))?;
    Ok(().into())
}

/// Sets every element to one number.
fn rs_tensor_fill(tensor, value, family) {
    let (key, value, family) =
        (decode::tensor(tensor, "tensor")?, decode::value(value, "value")?, Family::from(family)?);
    state::with(|s| {
        family.check(s.tensor(key)?.desc.dtype)?;
        s.write_all(key, value)
    })?;
    Ok(().into())
}

/// Writes one element.
fn rs_tensor_set_at(tensor, index, value) {
    let (key, index) = (decode::tensor(tensor, "tensor")?, decode::indices(index, INDEX)?);
    let value = decode::value(value, "value")?;
    state::with(|s| s.write_at(key, &index, value))?;
    Ok(().into())
}

/// Reads one element.
fn rs_tensor_get_at(tensor, index, family) {
    let (key, index) = (decode::tensor(tensor, "tensor")?, decode::indices(index, INDEX)?);
    let family = Family::from(family)?;
    let value = state::with(|s| s.read_at(key, &index))?;
    match family {
        Family::Int if value.fract() == 0.0 => Ok(integers(&[value])?.into()),
        _ => Ok(value.into()),
    }
}

/// Copies bytes from one tensor to another.
fn rs_tensor_copy(dst, src) {
    let (dst, src) = (decode::tensor(dst, "dst")?, decode::tensor(src, "src")?);
    state::with(|s| s.copy_tensor(dst, src))?;
    Ok(().into())
}

/// Element by element sum or product of two f32 tensors, at once.
fn rs_tensor_combine(a, b, what) {
    let (a, b, what) = (decode::tensor(a, "a")?, decode::tensor(b, "b")?, decode::text(what, "what")?);
    let values = state::with(|s| {
        let (x, y) = (s.tensor(a)?.desc, s.tensor(b)?.desc);
        for (arg, d) in [("a", x), ("b", y)] {
            if d.dtype != DType::F32 {
                let text = format!("Tensor type must be F32, {arg} is {}", d.dtype);
                return Err(Error::dtype(text).arg(arg).expected("f32").got(d.dtype.name()));
            }
        }
        if x.len() != y.len() {
            let text = format!("a {} and b {} differ in their number of elements", x.show(), y.show());
            return Err(Error::shape(text).arg("b").expected(x.len().to_string()).got(y.len().to_string()));
        }
        let (mut p, mut q) = (vec![0.0; x.len()], vec![0.0; y.len()]);
        s.read_numbers(a, &mut p)?;
        s.read_numbers(b, &mut q)?;
        for (u, v) in p.iter_mut().zip(q) {
            let (l, r) = (*u as f32, v as f32);
            *u = f64::from(if what == "add" { l + r } else { l * r });
        }
        Ok(p)
    })?;
    Ok(doubles(&values))
}

/// What a tensor is.
fn rs_tensor_info(tensor) {
    let key = decode::tensor(tensor, "tensor")?;
    let (t, label, storage) = state::with(|s| Ok((s.tensor(key)?.clone(), s.tensor(key)?.op_desc(), s.has_storage(key))))?;
    let d = t.desc;
    let n = d.n_dims().max(5);
    let list = |v: &[usize]| v.iter().map(|x| *x as f64).collect::<Vec<f64>>();
    Ok(named(vec![
        ("ne", list(&d.ne[..n]).into()),
        ("nb", list(&d.nb[..n]).into()),
        ("type", d.dtype.id().into()),
        ("type_name", d.dtype.name().into()),
        ("block", (d.dtype.block() as f64).into()),
        ("size", (d.dtype.bytes() as f64).into()),
        ("elements", (d.len() as f64).into()),
        ("bytes", (d.span() as f64).into()),
        ("packed_bytes", (d.bytes() as f64).into()),
        ("n_dims", (d.n_dims() as i32).into()),
        ("contiguous", (0..3).map(|i| d.is_contiguous_above(i)).collect::<Vec<bool>>().into()),
        ("contiguous_rows", d.has_contiguous_rows().into()),
        ("name", t.name().map_or_else(|| ().into(), Robj::from)),
        ("op", t.op_name().into()),
        ("op_desc", label.into()),
        ("flags", (t.flags as i32).into()),
        ("view", (!t.is_own(key)).into()),
        ("storage", storage.into()),
    ]))
}

/// How two tensors compare: same shape, same strides, same type, whether a repeats to b.
fn rs_tensor_compare(a, b) {
    let (a, b) = (decode::tensor(a, "a")?, decode::tensor(b, "b")?);
    let (x, y) = state::with(|s| Ok((s.tensor(a)?.desc, s.tensor(b)?.desc)))?;
    Ok(vec![x.same_shape(&y), x.nb == y.nb, x.dtype == y.dtype, x.can_repeat_to(&y)].into())
}

/// Names a tensor.
fn rs_tensor_set_name(tensor, name) {
    let (key, name) = (decode::tensor(tensor, "tensor")?, decode::text(name, "name")?);
    state::with(|s| s.set_name(key, &name))?;
    Ok(().into())
}

/// Marks a tensor.
fn rs_tensor_set_flag(tensor, flag) {
    let key = decode::tensor(tensor, "tensor")?;
    let flag = match decode::text(flag, "flag")?.as_str() {
        "input" => Flag::Input,
        "output" => Flag::Output,
        "param" => Flag::Param,
        _ => Flag::Loss,
    };
    state::with(|s| s.set_flag(key, flag))?;
    Ok(().into())
}

/// The free parameter block.
fn rs_tensor_op_params(tensor) {
    let key = decode::tensor(tensor, "tensor")?;
    Ok(Robj::from(&state::with(|s| s.op_params(key))?[..]))
}

/// Writes bytes into the free parameter block.
fn rs_tensor_set_op_params(tensor, at, params) {
    let (key, at) = (decode::tensor(tensor, "tensor")?, decode::count(at, "at")?);
    let bytes = decode::raw(params, "params")?;
    state::with(|s| s.set_op_params(key, at, bytes))?;
    Ok(().into())
}

/// What an element type is.
fn rs_tensor_type(type_id) {
    let t = decode::dtype(type_id, "type")?;
    Ok(named(vec![
        ("name", Robj::from(t.name())),
        ("block", (t.block() as i32).into()),
        ("size", (t.bytes() as i32).into()),
        ("quantized", t.is_quantized().into()),
    ]))
}

/// Address of the first byte, for tests of aliasing.
fn rs_tensor_address(tensor) {
    let key = decode::tensor(tensor, "tensor")?;
    let (buffer, offset) = state::with(|s| s.locate(key))?;
    let host = buffer.as_any().downcast_ref::<HostBuffer>();
    let base = host.ok_or_else(|| Error::new(Kind::Unsupported, format!("the data lies in memory of {}", buffer.device())))?;
    Ok(((base.address() + offset) as f64).into())
}

/// Writes numbers or bytes at a byte offset.
fn rs_tensor_write(tensor, data, offset) {
    let (key, offset) = (decode::tensor(tensor, "tensor")?, decode::count(offset, "offset")?);
    if data.rtype() == Rtype::Raw {
        let bytes = decode::raw(data, "data")?;
        state::with(|s| {
            needs_backend_buffer(s, key)?;
            s.write_raw(key, offset, bytes)
        })?;
    } else {
        let data = decode::vector(data, "data")?;
        state::with(|s| {
            needs_backend_buffer(s, key)?;
            s.write_part(key, offset, data.numbers())
        })?;
    }
    Ok(().into())
}

/// Reads numbers at a byte offset; bytes from tensors of a block type.
fn rs_tensor_read(tensor, offset, n_elements) {
    let (key, offset) = (decode::tensor(tensor, "tensor")?, decode::count(offset, "offset")?);
    let n = decode::given(n_elements).map(|n| decode::count(n, "n_elements")).transpose()?;
    let d = state::with(|s| {
        needs_backend_buffer(s, key)?;
        Ok(s.tensor(key)?.desc)
    })?;
    if d.dtype.is_quantized() {
        let row = match n {
            None => d.span().saturating_sub(offset),
            Some(n) => d.dtype.row_bytes(n).ok_or_else(|| {
                Error::argument("n_elements", format!("n_elements must be a multiple of {}", d.dtype.block()))
            })?,
        };
        return Ok(Robj::from(&state::with(|s| s.read_raw(key, offset, row))?[..]));
    }
    Ok(doubles(&state::with(|s| s.read_part(key, offset, n))?))
}

/// Reads bytes at a byte offset.
fn rs_tensor_read_raw(tensor, offset, size) {
    let (key, offset) = (decode::tensor(tensor, "tensor")?, decode::count(offset, "offset")?);
    let size = decode::count(size, "size")?;
    let bytes = state::with(|s| {
        needs_backend_buffer(s, key)?;
        s.read_raw(key, offset, size)
    })?;
    Ok(Robj::from(&bytes[..]))
}
}
