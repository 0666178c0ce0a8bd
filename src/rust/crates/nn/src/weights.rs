//! Weights as R keeps them, and as the device has them.

use crate::runtime::Runtime;
use crate::spec::{Model, in_layer};
use ggmlr_core::desc::show_ne;
use ggmlr_core::{BufferRef, Class, DType, Error, Result};
use std::borrow::Cow;

/// A weight in serialisable form: little endian bytes in ggml order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<'a> {
    pub name: String,
    pub dtype: DType,
    pub ne: Vec<usize>,
    pub data: Cow<'a, [u8]>,
}

/// The weights of each layer.
pub type Weights<'a> = Vec<Vec<Tensor<'a>>>;

/// Memory of each layer's weights, in the order in which the layer names them.
pub(crate) type Buffers = Vec<Vec<BufferRef>>;

const F32_BYTES: usize = 4;

/// Bytes of an f32 tensor.
pub(crate) fn bytes(ne: &[usize]) -> usize {
    ne.iter().product::<usize>() * F32_BYTES
}

/// Memory of every weight of the model.
pub(crate) fn allocate(model: &Model, rt: &Runtime) -> Result<Buffers> {
    model.layers.iter().map(|l| l.weights.iter().map(|w| rt.alloc(bytes(&w.ne), Class::Weights)).collect()).collect()
}

/// Writes weights into their memory. Nothing is written when one of them does not fit.
pub(crate) fn upload(model: &Model, weights: &Weights<'_>, buffers: &Buffers) -> Result<()> {
    if weights.len() != model.layers.len() {
        return Err(Error::argument(
            "weights",
            format!("weights of {} layers given, the model has {}", weights.len(), model.layers.len()),
        ));
    }
    let mut found = Vec::new();
    for ((layer, given), to) in model.layers.iter().zip(weights).zip(buffers) {
        for (w, buffer) in layer.weights.iter().zip(to) {
            let tensor = find(w.name, &w.ne, given).map_err(|e| in_layer(&layer.name, e))?;
            found.push((tensor, buffer));
        }
    }
    found.into_iter().try_for_each(|(t, b)| b.write(0, &t.data))
}

fn find<'t, 'a>(name: &str, ne: &[usize], given: &'t [Tensor<'a>]) -> Result<&'t Tensor<'a>> {
    let wrong = |message: String| Error::argument("weights", message);
    let t = given.iter().find(|t| t.name == name).ok_or_else(|| wrong(format!("weight '{name}' is missing")))?;
    if t.dtype != DType::F32 {
        return Err(wrong(format!("weight '{name}' is {}, only f32 is trained", t.dtype)));
    }
    if t.ne != ne {
        return Err(wrong(format!("weight '{name}' is {}, the layer needs {}", show_ne(&t.ne), show_ne(ne)))
            .expected(show_ne(ne))
            .got(show_ne(&t.ne)));
    }
    if t.data.len() != bytes(ne) {
        return Err(wrong(format!("weight '{name}' has {} bytes, {} needs {}", t.data.len(), show_ne(ne), bytes(ne))));
    }
    Ok(t)
}

/// Reads all weights back.
pub(crate) fn download(model: &Model, buffers: &Buffers) -> Result<Weights<'static>> {
    let mut out = Vec::with_capacity(buffers.len());
    for (layer, from) in model.layers.iter().zip(buffers) {
        let mut list = Vec::with_capacity(from.len());
        for (w, buffer) in layer.weights.iter().zip(from) {
            let mut data = vec![0; bytes(&w.ne)];
            buffer.read(0, &mut data)?;
            list.push(Tensor { name: w.name.to_owned(), dtype: DType::F32, ne: w.ne.clone(), data: Cow::Owned(data) });
        }
        out.push(list);
    }
    Ok(out)
}
