//! Models: what the R/nn-*.R files call. R describes layers and keeps weights; everything between is the engine's.

use crate::bindings::bindings;
use crate::decode::{self, Vector};
use crate::outcome::named;
use crate::run;
use extendr_api::{Attributes, CanBeNA, ExternalPtr, List, Raw, Rinternals, Robj, Rtype, Types};
use ggmlr_core::{Cancel, Device, Error, Kind, Params, Result};
use ggmlr_cpu::CpuDevice;
use ggmlr_nn::{
    Compile, Data, Evaluation, Init, LayerSpec, Loss, Metrics, Model, ModelSpec, Numbers, Optimizer, Predictor, RArray,
    Runtime, Scores, Status, Tensor, Trainer, WeightSpec, Weights,
};
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Class of the handle of a training. It tells such a handle from other external pointers before its address is used.
const FIT: &str = "ggmlr_fit";

/// A training behind its handle; empty once it was ended.
type Slot = RefCell<Option<Trainer>>;

/// The CPU, always the same object: programs are cached by device.
fn cpu() -> Runtime {
    static CPU: OnceLock<Arc<dyn Device>> = OnceLock::new();
    Runtime::new(vec![CPU.get_or_init(CpuDevice::shared).clone()])
}

fn runtime(backend: &Robj) -> Result<Runtime> {
    match decode::text(backend, "backend")?.as_str() {
        "auto" | "cpu" => Ok(cpu()),
        "gpu" | "vulkan" => {
            Err(Error::new(Kind::Backend, "no Vulkan device is available in this build").arg("backend"))
        }
        other => Err(Error::argument("backend", format!("unknown backend \"{other}\""))
            .expected("one of \"auto\", \"cpu\", \"vulkan\", \"gpu\"")
            .got(format!("\"{other}\""))),
    }
}

/// A list by the names of its elements.
struct Fields {
    arg: String,
    list: Vec<(String, Robj)>,
}

impl Fields {
    fn new(x: &Robj, arg: &str) -> Result<Fields> {
        Ok(Fields { arg: arg.to_owned(), list: decode::list(x, arg)? })
    }

    /// The element, unless it is absent or NULL.
    fn find(&self, name: &str) -> Option<&Robj> {
        self.list.iter().find(|(n, v)| n == name && v.rtype() != Rtype::Null).map(|(_, v)| v)
    }

    fn get(&self, name: &str) -> Result<&Robj> {
        self.find(name).ok_or_else(|| Error::argument(&self.arg, format!("{} has no element '{name}'", self.arg)))
    }

    fn text(&self, name: &str) -> Result<String> {
        decode::text(self.get(name)?, name)
    }
}

fn counts(x: &Robj, arg: &str) -> Result<Vec<usize>> {
    let wrong = || Error::argument(arg, format!("{arg} must hold whole numbers, zero or more"));
    match decode::vector(x, arg)? {
        Vector::Int(v) => v.iter().map(|&i| usize::try_from(i).map_err(|_| wrong())).collect(),
        Vector::Real(v) => {
            v.iter().map(|&d| if d >= 0.0 && d.fract() == 0.0 { Ok(d as usize) } else { Err(wrong()) }).collect()
        }
    }
}

fn layer(x: &Robj) -> Result<LayerSpec> {
    let f = Fields::new(x, "layers")?;
    Ok(LayerSpec {
        kind: f.text("type")?,
        name: f.text("name")?,
        inputs: counts(f.get("inputs")?, "inputs")?,
        config: f.find("config").map_or_else(|| Ok(Params::new()), |c| decode::params(c, "config"))?,
        trainable: f.find("trainable").map_or(Ok(true), |t| decode::flag(t, "trainable"))?,
    })
}

fn model(x: &Robj) -> Result<ModelSpec> {
    let f = Fields::new(x, "spec")?;
    let layers = decode::list(f.get("layers")?, "layers")?;
    Ok(ModelSpec {
        layers: layers.iter().map(|(_, l)| layer(l)).collect::<Result<_>>()?,
        outputs: counts(f.get("outputs")?, "outputs")?,
    })
}

/// R's weights, which stay where they are: the tensors point into R's raw vectors.
struct Kept(Vec<Vec<(String, Fields)>>);

impl Kept {
    fn new(x: &Robj) -> Result<Kept> {
        let layers = decode::list(x, "weights")?;
        let one = |(name, w): (String, Robj)| Ok((name, Fields::new(&w, "weights")?));
        layers
            .into_iter()
            .map(|(_, l)| decode::list(&l, "weights")?.into_iter().map(one).collect())
            .collect::<Result<_>>()
            .map(Kept)
    }

    fn tensors(&self) -> Result<Weights<'_>> {
        self.0.iter().map(|l| l.iter().map(|(name, f)| tensor(name, f)).collect()).collect()
    }
}

fn tensor<'a>(name: &str, f: &'a Fields) -> Result<Tensor<'a>> {
    Ok(Tensor {
        name: name.to_owned(),
        dtype: decode::dtype(f.get("dtype")?, "dtype")?,
        ne: counts(f.get("ne")?, "ne")?,
        data: decode::raw(f.get("data")?, "data")?.into(),
    })
}

fn array<'a>(x: &'a Robj, arg: &str) -> Result<RArray<'a>> {
    let values = match decode::vector(x, arg)? {
        Vector::Real(v) => Numbers::Real(v),
        Vector::Int(v) => Numbers::Int(v),
    };
    let len = match &values {
        Numbers::Real(v) => v.len(),
        Numbers::Int(v) => v.len(),
    };
    let dim = match x.get_attrib(extendr_api::wrapper::symbol::dim_symbol()) {
        Some(d) if d.rtype() != Rtype::Null => counts(&d, arg)?,
        _ => vec![len],
    };
    Ok(RArray { values, dim })
}

/// R's arrays of a data set.
struct Arrays {
    x: Vec<(String, Robj)>,
    y: Vec<(String, Robj)>,
    weights: Option<Robj>,
}

impl Arrays {
    fn new(x: &Robj, arg: &str) -> Result<Arrays> {
        let f = Fields::new(x, arg)?;
        Ok(Arrays {
            x: decode::list(f.get("x")?, "x")?,
            y: decode::list(f.get("y")?, "y")?,
            weights: f.find("weights").cloned(),
        })
    }

    fn data(&self) -> Result<Data<'_>> {
        Ok(Data {
            x: self.x.iter().map(|(_, x)| array(x, "x")).collect::<Result<_>>()?,
            y: self.y.iter().map(|(_, y)| array(y, "y")).collect::<Result<_>>()?,
            weights: self.weights.as_ref().map(|w| array(w, "sample_weight")).transpose()?,
        })
    }
}

/// An optimiser by name, or a list with its name and settings.
fn optimizer(x: &Robj) -> Result<Optimizer> {
    if x.rtype() != Rtype::List {
        return Optimizer::parse(&decode::text(x, "optimizer")?);
    }
    let f = Fields::new(x, "optimizer")?;
    let mut out = Optimizer::parse(&f.text("name")?)?;
    let set = |name: &str, value: &mut f64| match f.find(name) {
        Some(v) => decode::number(v, name).map(|v| *value = v),
        None => Ok(()),
    };
    match &mut out {
        Optimizer::AdamW { beta1, beta2, eps, decay } => {
            set("beta1", beta1)?;
            set("beta2", beta2)?;
            set("eps", eps)?;
            set("weight_decay", decay)?;
        }
        Optimizer::Sgd { decay } => set("weight_decay", decay)?,
    }
    out.check()
}

fn compiled(x: &Robj) -> Result<Compile> {
    let f = Fields::new(x, "compile")?;
    let metrics = match f.find("metrics") {
        Some(m) => m.as_string_vector().ok_or_else(|| Error::argument("metrics", "metrics must be strings"))?,
        None => Vec::new(),
    };
    Ok(Compile {
        loss: Loss::parse(&f.text("loss")?)?,
        optimizer: optimizer(f.get("optimizer")?)?,
        metrics: Metrics::parse(metrics.iter().map(String::as_str))?,
    })
}

/// Two of R's uniform numbers as one key.
fn key(x: &Robj) -> Result<u64> {
    match decode::vector(x, "key")? {
        Vector::Real(&[a, b]) if [a, b].iter().all(|u| (0.0..1.0).contains(u)) => {
            let half = |u: f64| (u * 4_294_967_296.0) as u64;
            Ok(half(a) << 32 | half(b))
        }
        _ => Err(Error::argument("key", "key must be two numbers in [0, 1)")),
    }
}

fn numbers(v: &[usize]) -> Robj {
    v.iter().map(|&n| n as f64).collect::<Vec<f64>>().into()
}

fn optional(v: Option<f64>) -> Robj {
    // R's missing number; NaN would say that a computation failed.
    Robj::from(v.unwrap_or_else(f64::na))
}

fn list(values: Vec<Robj>) -> Robj {
    List::from_values(values).into()
}

fn planned(w: &WeightSpec) -> Robj {
    let (init, what, value) = match w.init {
        Init::Uniform(limit) => ("uniform", "limit", limit),
        Init::Constant(value) => ("constant", "value", value),
    };
    named(vec![("name", w.name.into()), ("ne", numbers(&w.ne)), ("init", init.into()), (what, value.into())])
}

fn weights_list(weights: &Weights<'_>) -> Robj {
    let one = |t: &Tensor<'_>| {
        named(vec![("dtype", t.dtype.name().into()), ("ne", numbers(&t.ne)), ("data", Raw::from_bytes(&t.data).into())])
    };
    let layer = |l: &Vec<Tensor<'_>>| match l.as_slice() {
        [] => list(Vec::new()),
        many => named(many.iter().map(|t| (t.name.as_str(), one(t))).collect()),
    };
    list(weights.iter().map(layer).collect())
}

fn scores(s: &Scores) -> Robj {
    named(vec![
        ("loss", s.loss.into()),
        ("accuracy", optional(s.accuracy)),
        ("n_samples", (s.n as f64).into()),
        ("mae", optional(s.mae)),
        ("mse", optional(s.mse)),
    ])
}

fn gone(why: &str) -> Error {
    Error::new(Kind::Freed, format!("handle: the training {why}")).arg("handle")
}

fn slot(handle: &Robj) -> Result<&Slot> {
    if handle.rtype() != Rtype::ExternalPtr || !handle.inherits(FIT) {
        let got = decode::describe(handle);
        return Err(Error::argument("handle", format!("handle must be a training, got {got}")).got(got));
    }
    let pointer: std::result::Result<&ExternalPtr<Slot>, _> = handle.try_into();
    pointer.map(|p| &**p).map_err(|_| gone("comes from another R session"))
}

/// Works on a training, on a thread of its own when one piece of the work takes long: that is told by `cost`.
fn train<T, F>(handle: &Robj, cost: impl Fn(&Trainer) -> f64, work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce(&mut Trainer, &Cancel) -> Result<T> + Send + 'static,
{
    let slot = slot(handle)?;
    let taken = slot.try_borrow_mut().map_err(|_| gone("is in use"))?.take();
    let mut trainer = taken.ok_or_else(|| gone("has been freed"))?;
    let (trainer, done) = run::supervise(cost(&trainer), move |cancel| {
        let done = work(&mut trainer, cancel);
        (trainer, done)
    })?;
    slot.replace(Some(trainer));
    done
}

bindings! {
mod nn;

/// What each layer of a model needs and gives.
fn rs_nn_plan(spec) {
    let plan = Model::new(&model(spec)?, cpu().memory())?.plan();
    let one = |l: &ggmlr_nn::LayerPlan| {
        let weights = list(l.weights.iter().map(planned).collect());
        named(vec![("shape", numbers(&l.shape)), ("weights", weights)])
    };
    Ok(list(plan.iter().map(one).collect()))
}

/// Starts a training.
fn rs_nn_fit_new(spec, weights, compile, train, val, batch_size, key, backend) {
    let rt = runtime(backend)?;
    let (spec, compile) = (model(spec)?, compiled(compile)?);
    let weights = Kept::new(weights)?;
    let train = Arrays::new(train, "train")?;
    let val = if val.is_null() { None } else { Some(Arrays::new(val, "val")?) };
    let (train, val) = (train.data()?, val.as_ref().map(Arrays::data).transpose()?);
    let batch_size = decode::within(batch_size, "batch_size", 1, i32::MAX as usize)?;
    let key = self::key(key)?;
    let trainer = Trainer::new(&spec, &weights.tensors()?, compile, &train, val.as_ref(), batch_size, key, rt)?;
    let mut handle: Robj = ExternalPtr::<Slot>::new(RefCell::new(Some(trainer))).into();
    handle.set_class([FIT, "externalptr"]).map_err(|e| Error::internal(e.to_string()))?;
    Ok(handle)
}

/// Trains on part of an order of samples.
fn rs_nn_fit_steps(handle, order, from, lr, budget_ms) {
    let order: Vec<u32> = match decode::vector(order, "order")? {
        Vector::Int(v) if v.iter().all(|i| *i >= 0) => v.iter().map(|&i| i as u32).collect(),
        _ => return Err(Error::argument("order", "order must be an integer vector without negative or missing values")),
    };
    let from = decode::count(from, "from")?;
    let lr = decode::number(lr, "lr")?;
    let budget = Duration::from_millis(decode::count(budget_ms, "budget_ms")? as u64);
    let (done, batch_size) = train(handle, Trainer::step_cost, move |t, cancel| {
        Ok((t.steps(&order, from, lr, budget, cancel)?, t.batch_size()))
    })?;
    let (status, batch) = match done.status {
        Status::Running => ("running", done.next.div_ceil(batch_size)),
        Status::Done => ("done", done.next.div_ceil(batch_size)),
        Status::Interrupted => ("interrupted", done.next.div_ceil(batch_size)),
        Status::NonFinite { batch } => ("nan", batch + 1),
    };
    Ok(named(vec![
        ("next", (done.next as f64).into()),
        ("loss_sum", done.loss_sum.into()),
        ("correct", optional(done.correct)),
        ("samples", (done.samples as f64).into()),
        ("status", status.into()),
        ("batch", (batch as f64).into()),
    ]))
}

/// Scores the validation data.
fn rs_nn_fit_validate(handle) {
    Ok(scores(&train(handle, Trainer::validation_cost, Trainer::validate)?))
}

/// The weights as they are now.
fn rs_nn_fit_weights(handle) {
    let slot = slot(handle)?;
    let trainer = slot.try_borrow().map_err(|_| gone("is in use"))?;
    let weights = trainer.as_ref().ok_or_else(|| gone("has been freed"))?.weights()?;
    Ok(weights_list(&weights))
}

/// Ends a training; again is harmless.
fn rs_nn_fit_free(handle) {
    slot(handle)?.replace(None);
    Ok(().into())
}

/// Scores a model.
fn rs_nn_eval(spec, weights, compile, data, batch_size, backend) {
    let rt = runtime(backend)?;
    let (spec, compile) = (model(spec)?, compiled(compile)?);
    let weights = Kept::new(weights)?;
    let arrays = Arrays::new(data, "data")?;
    let batch_size = decode::within(batch_size, "batch_size", 1, i32::MAX as usize)?;
    let mut job = Evaluation::new(&spec, &weights.tensors()?, compile, &arrays.data()?, batch_size, rt)?;
    Ok(scores(&run::supervise(job.cost(), move |cancel| job.run(cancel))??))
}

/// Predicts samples.
fn rs_nn_predict(spec, weights, x, batch_size, backend) {
    let rt = runtime(backend)?;
    let spec = model(spec)?;
    let weights = Kept::new(weights)?;
    let x = decode::list(x, "x")?;
    let x = x.iter().map(|(_, x)| array(x, "x")).collect::<Result<Vec<_>>>()?;
    let batch_size = decode::within(batch_size, "batch_size", 1, i32::MAX as usize)?;
    let mut job = Predictor::new(&spec, &weights.tensors()?, &x, batch_size, rt)?;
    let outputs = run::supervise(job.cost(), move |cancel| job.run(cancel))??;
    let one = |p: ggmlr_nn::Prediction| {
        let mut values: Robj = p.data.into();
        values
            .set_attrib(extendr_api::wrapper::symbol::dim_symbol(), p.dim.iter().map(|&d| d as i32).collect::<Vec<i32>>())
            .map_err(|e| Error::internal(e.to_string()))?;
        Ok(values)
    };
    Ok(list(outputs.into_iter().map(one).collect::<Result<_>>()?))
}
}
