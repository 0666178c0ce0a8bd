//! Keras-style models: layers, losses, optimisers, training programs.
//!
//! A model is lowered to a graph once per batch size and purpose, compiled, and run. Nothing here computes: forward,
//! loss, gradient and optimiser step are operators of one graph, and the loops only feed it.
#![forbid(unsafe_code)]

mod activation;
mod data;
mod evaluate;
mod layers;
mod losses;
mod optim;
mod predict;
mod program;
mod runtime;
mod shape;
mod spec;
mod train;
mod weights;

pub use activation::Activation;
pub use data::{Data, Numbers, RArray};
pub use evaluate::{Evaluation, Scores};
pub use layers::{Init, Layer, Lower, WeightSpec};
pub use losses::{Compile, Loss, Metrics};
pub use optim::Optimizer;
pub use predict::{Prediction, Predictor};
pub use runtime::{Runtime, compiled_programs};
pub use shape::Shape;
pub use spec::{LayerPlan, LayerSpec, Model, ModelSpec};
pub use train::{Status, Steps, Trainer};
pub use weights::{Tensor, Weights};
