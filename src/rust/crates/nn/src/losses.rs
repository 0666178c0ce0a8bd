//! Losses and metrics by their R names, and the nodes they become.

use crate::optim::Optimizer;
use ggmlr_core::{Error, Result};
use ggmlr_graph::{Graph, ValueId};
use ggmlr_ops::loss::cross_entropy::CrossEntropyLoss;
use ggmlr_ops::loss::pointwise::{Loss as Pointwise, PointwiseLoss};

/// What training makes small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    CategoricalCrossentropy,
    Mse,
    Mae,
    Huber,
    BinaryCrossentropy,
}

/// Names as R gives them; the first of each loss is the one that messages list.
const LOSSES: &[(&str, Loss)] = &[
    ("categorical_crossentropy", Loss::CategoricalCrossentropy),
    ("mse", Loss::Mse),
    ("mae", Loss::Mae),
    ("huber", Loss::Huber),
    ("binary_crossentropy", Loss::BinaryCrossentropy),
    ("crossentropy", Loss::CategoricalCrossentropy),
    ("cross_entropy", Loss::CategoricalCrossentropy),
    ("mean_squared_error", Loss::Mse),
    ("mean_absolute_error", Loss::Mae),
    ("huber_loss", Loss::Huber),
    ("binary_cross_entropy", Loss::BinaryCrossentropy),
];

/// The first `listed` names are the ones to show.
fn find<T: Copy>(table: &[(&str, T)], listed: usize, arg: &str, name: &str) -> Result<T> {
    table.iter().find(|(n, _)| *n == name).map(|(_, t)| *t).ok_or_else(|| {
        let known: Vec<String> = table[..listed].iter().map(|(n, _)| format!("\"{n}\"")).collect();
        let known = known.join(", ");
        Error::argument(arg, format!("unknown {arg} \"{name}\": use one of {known}"))
            .expected(format!("one of {known}"))
            .got(format!("\"{name}\""))
    })
}

impl Loss {
    /// The loss with an R name.
    pub fn parse(name: &str) -> Result<Loss> {
        find(LOSSES, 5, "loss", name)
    }

    /// Whether it can be computed from the values before a softmax.
    pub(crate) fn takes_logits(self) -> bool {
        self == Loss::CategoricalCrossentropy
    }

    /// Whether weights may differ between the outputs of a sample.
    pub(crate) fn takes_mask(self) -> bool {
        self == Loss::Mse
    }

    fn pointwise(self) -> PointwiseLoss {
        let loss = match self {
            Loss::CategoricalCrossentropy => Pointwise::CategoricalCrossEntropy,
            Loss::Mse => Pointwise::Mse,
            Loss::Mae => Pointwise::Mae,
            Loss::Huber => Pointwise::Huber,
            Loss::BinaryCrossentropy => Pointwise::BinaryCrossEntropy,
        };
        PointwiseLoss { loss }
    }

    /// Adds the loss of a head: one number.
    pub(crate) fn lower(self, graph: &mut Graph, p: &Head, t: ValueId, w: Option<ValueId>) -> Result<ValueId> {
        let mut src = vec![p.value, t];
        src.extend(w);
        if p.logits { graph.op(CrossEntropyLoss {}, &src) } else { graph.op(self.pointwise(), &src) }
    }
}

/// A model's output on its way to the loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub value: ValueId,
    /// The softmax that belongs to it was left out.
    pub logits: bool,
}

/// Numbers that R asked for besides loss and accuracy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    pub mae: bool,
    /// Also serves the root of it.
    pub mse: bool,
}

#[derive(Clone, Copy)]
enum Metric {
    Accuracy,
    Mae,
    Mse,
}

const METRICS: &[(&str, Metric)] = &[
    ("accuracy", Metric::Accuracy),
    ("mae", Metric::Mae),
    ("mse", Metric::Mse),
    ("rmse", Metric::Mse),
    ("acc", Metric::Accuracy),
    ("mean_absolute_error", Metric::Mae),
    ("mean_squared_error", Metric::Mse),
    ("root_mean_squared_error", Metric::Mse),
];

impl Metrics {
    /// The metrics with R names. Accuracy is always there.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Metrics> {
        let mut out = Metrics::default();
        for name in names {
            match find(METRICS, 4, "metrics", name)? {
                Metric::Accuracy => {}
                Metric::Mae => out.mae = true,
                Metric::Mse => out.mse = true,
            }
        }
        Ok(out)
    }

    /// Adds the metrics of a head, without weights: one number each.
    pub(crate) fn lower(self, graph: &mut Graph, p: ValueId, t: ValueId) -> Result<Vec<ValueId>> {
        let wanted = [(self.mae, Loss::Mae), (self.mse, Loss::Mse)];
        wanted.iter().filter(|(on, _)| *on).map(|(_, loss)| graph.op(loss.pointwise(), &[p, t])).collect()
    }
}

/// How a model is trained and judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compile {
    pub loss: Loss,
    pub optimizer: Optimizer,
    pub metrics: Metrics,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_list_the_known_ones() {
        assert_eq!(Loss::parse("mean_squared_error").unwrap(), Loss::Mse);
        let e = Loss::parse("hinge").unwrap_err();
        assert!(e.message().contains("\"hinge\"") && e.message().contains("\"huber\""), "{e}");
        assert_eq!(e.arg_name(), Some("loss"));
        assert_eq!(Metrics::parse(["acc", "rmse"]).unwrap(), Metrics { mae: false, mse: true });
        assert!(Metrics::parse(["f1"]).unwrap_err().message().contains("\"accuracy\""));
    }
}
