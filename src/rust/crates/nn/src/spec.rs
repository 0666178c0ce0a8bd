//! The description of a model as it comes from R, and its checked form.

use crate::layers::{self, Init, Layer, WeightSpec};
use crate::shape::Shape;
use ggmlr_core::{Error, Kind, Param, Params, Result};

/// One layer: what it is, where its inputs come from.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSpec {
    pub kind: String,
    pub name: String,
    /// Positions of earlier layers in the list.
    pub inputs: Vec<usize>,
    pub config: Params,
    pub trainable: bool,
}

/// A model: layers in topological order, and those whose values are its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSpec {
    pub layers: Vec<LayerSpec>,
    pub outputs: Vec<usize>,
}

/// What a layer needs and gives, for R.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerPlan {
    pub shape: Vec<usize>,
    pub weights: Vec<WeightSpec>,
}

/// A layer that fits where it stands.
#[derive(Debug)]
pub(crate) struct Placed {
    pub name: String,
    pub inputs: Vec<usize>,
    pub trainable: bool,
    pub shape: Shape,
    pub weights: Vec<WeightSpec>,
    pub layer: Box<dyn Layer>,
}

/// A checked model.
#[derive(Debug)]
pub struct Model {
    pub(crate) layers: Vec<Placed>,
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
}

/// A text of a layer's configuration, `None` when it is absent or `NULL`.
pub(crate) fn text<'a>(config: &'a Params, name: &str) -> Result<Option<&'a str>> {
    match config.find(name) {
        None | Some(Param::Null) => Ok(None),
        Some(Param::Text(s)) => Ok(Some(s)),
        Some(_) => Err(Error::argument(name, format!("{name} must be one string"))),
    }
}

/// A flag of a layer's configuration.
pub(crate) fn flag(config: &Params, name: &str, default: bool) -> Result<bool> {
    if config.find(name).is_some() { config.get(name) } else { Ok(default) }
}

/// A number of a layer's configuration.
pub(crate) fn number(config: &Params, name: &str, default: f64) -> Result<f64> {
    if config.find(name).is_some() { config.get(name) } else { Ok(default) }
}

/// A whole number of at least 1, at most what R's `integer` holds.
pub(crate) fn positive(config: &Params, name: &str) -> Result<usize> {
    let wrong = |got: String| {
        Error::argument(name, format!("{name} must be a positive whole number, got {got}"))
            .expected("a positive whole number")
            .got(got)
    };
    match config.find(name) {
        Some(Param::Numbers(v)) if v.len() == 1 => {
            let x = v[0];
            if x >= 1.0 && x.fract() == 0.0 && x <= f64::from(i32::MAX) {
                Ok(x as usize)
            } else {
                Err(wrong(x.to_string()))
            }
        }
        Some(Param::Numbers(v)) => Err(wrong(format!("{} numbers", v.len()))),
        Some(Param::Text(s)) => Err(wrong(format!("\"{s}\""))),
        Some(Param::Flag(b)) => Err(wrong(if *b { "TRUE".into() } else { "FALSE".into() })),
        Some(Param::Null) | None => Err(wrong("nothing".into())),
    }
}

/// The error with the layer's name in front.
pub(crate) fn in_layer(name: &str, e: Error) -> Error {
    let mut out = Error::new(e.kind(), format!("layer '{name}': {}", e.message()));
    if let Some(arg) = e.arg_name() {
        out = out.arg(arg);
    }
    if let Some(text) = e.expected_text() {
        out = out.expected(text);
    }
    if let Some(text) = e.got_text() {
        out = out.got(text);
    }
    if let Some(text) = e.hint_text() {
        out = out.hint(text);
    }
    out
}

impl Model {
    /// Checks a description: every layer is known, its inputs fit it, and its weights fit into `memory` bytes (`None`:
    /// not known).
    pub fn new(spec: &ModelSpec, memory: Option<u64>) -> Result<Model> {
        let mut layers: Vec<Placed> = Vec::with_capacity(spec.layers.len());
        for (at, s) in spec.layers.iter().enumerate() {
            let placed = place(at, s, &layers).map_err(|e| in_layer(&s.name, e))?;
            check_memory(&placed, memory)?;
            layers.push(placed);
        }
        let inputs: Vec<usize> = (0..layers.len()).filter(|&i| spec.layers[i].inputs.is_empty()).collect();
        if layers.len() <= inputs.len() {
            return Err(
                Error::argument("model", "the model has no layers").hint("Add one, for example ggml_layer_dense().")
            );
        }
        if let Some(bad) = spec.outputs.iter().find(|&&o| o >= layers.len()) {
            return Err(Error::internal(format!("output {bad} of {} layers", layers.len())));
        }
        if spec.outputs.is_empty() {
            return Err(Error::argument("model", "the model has no output"));
        }
        Ok(Model { layers, inputs, outputs: spec.outputs.clone() })
    }

    /// Shape of input `i`.
    pub fn input_shape(&self, i: usize) -> &Shape {
        &self.layers[self.inputs[i]].shape
    }

    /// Shape of output `i`.
    pub fn output_shape(&self, i: usize) -> &Shape {
        &self.layers[self.outputs[i]].shape
    }

    /// Refuses what the loops over batches do not serve.
    pub(crate) fn one_in_one_out(&self) -> Result<()> {
        if self.inputs.len() == 1 && self.outputs.len() == 1 {
            return Ok(());
        }
        Err(Error::new(
            Kind::Unsupported,
            format!(
                "models with {} inputs and {} outputs are not supported yet, only one of each",
                self.inputs.len(),
                self.outputs.len()
            ),
        ))
    }

    /// What each layer needs and gives.
    pub fn plan(&self) -> Vec<LayerPlan> {
        self.layers.iter().map(|l| LayerPlan { shape: l.shape.dims().to_vec(), weights: l.weights.clone() }).collect()
    }
}

fn place(at: usize, s: &LayerSpec, before: &[Placed]) -> Result<Placed> {
    let mut shapes = Vec::with_capacity(s.inputs.len());
    for &i in &s.inputs {
        let source: &Placed = before
            .get(i)
            .ok_or_else(|| Error::internal(format!("layer {at} reads layer {i}, which does not come before it")))?;
        shapes.push(source.shape.clone());
    }
    let layer = layers::make(&s.kind, &s.config)?;
    if shapes.len() != layer.n_inputs() {
        return Err(Error::argument("inputs", format!("takes {} inputs, got {}", layer.n_inputs(), shapes.len())));
    }
    let weights = layer.weights(&shapes)?;
    let shape = layer.infer(&shapes)?;
    Ok(Placed { name: s.name.clone(), inputs: s.inputs.clone(), trainable: s.trainable, shape, weights, layer })
}

/// A weight's element count fits the 32-bit indices of kernels and of R's integer.
const MAX_ELEMENTS: f64 = i32::MAX as f64;

fn check_memory(layer: &Placed, memory: Option<u64>) -> Result<()> {
    let elements = |w: &WeightSpec| w.ne.iter().map(|&n| n as f64).product::<f64>();
    let bytes: f64 = layer.weights.iter().map(elements).sum::<f64>() * 4.0;
    // Training holds every weight four times: value, gradient and two moments.
    let fits = memory.is_none_or(|m| bytes * 4.0 <= m as f64);
    if fits && layer.weights.iter().all(|w| elements(w) <= MAX_ELEMENTS) {
        return Ok(());
    }
    let gb =
        |bytes: f64| if bytes < 10e9 { format!("{:.1} GB", bytes / 1e9) } else { format!("{:.0} GB", bytes / 1e9) };
    let need = gb(bytes);
    let mut e = Error::new(Kind::Memory, format!("layer '{}' needs {need} for its weights", layer.name))
        .hint("Training takes four times as much. Make the layer or its input smaller.");
    if let Some(m) = memory {
        e = e.got(format!("{} of memory", gb(m as f64)));
    }
    Err(e)
}

impl Init {
    /// Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010, eq. 16.
    pub fn glorot(fan_in: usize, fan_out: usize) -> Init {
        Init::Uniform((6.0 / (fan_in as f64 + fan_out as f64)).sqrt())
    }
}
