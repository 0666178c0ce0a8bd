//! Optimisers by their R names, and the nodes they become.

use ggmlr_core::{Error, Result};
use ggmlr_graph::{Graph, ValueId};
use ggmlr_ops::optim::adamw::OptStepAdamw;
use ggmlr_ops::optim::sgd::OptStepSgd;
use std::sync::Arc;

/// How weights follow their gradients. The rate comes with each step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimizer {
    AdamW { beta1: f64, beta2: f64, eps: f64, decay: f64 },
    Sgd { decay: f64 },
}

/// A weight with what its optimiser keeps for it, as values of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Trained {
    pub weight: ValueId,
    pub moments: Vec<ValueId>,
}

impl Optimizer {
    /// The optimiser with an R name. Adam is AdamW without decay, which is the default.
    pub fn parse(name: &str) -> Result<Optimizer> {
        match name {
            "adam" | "adamw" => Ok(Optimizer::AdamW { beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.0 }),
            "sgd" => Ok(Optimizer::Sgd { decay: 0.0 }),
            _ => {
                let known = "\"adam\", \"adamw\", \"sgd\"";
                Err(Error::argument("optimizer", format!("unknown optimizer \"{name}\": use one of {known}"))
                    .expected(format!("one of {known}"))
                    .got(format!("\"{name}\"")))
            }
        }
    }

    /// Refuses settings that no training can mean.
    pub fn check(self) -> Result<Optimizer> {
        let (betas, eps, decay) = match self {
            Optimizer::AdamW { beta1, beta2, eps, decay } => (vec![("beta1", beta1), ("beta2", beta2)], eps, decay),
            Optimizer::Sgd { decay } => (Vec::new(), 0.0, decay),
        };
        let wrong = |name: &str, what: &str, x: f64| {
            Err(Error::argument(name, format!("{name} must be {what}, got {x}")).expected(what).got(x.to_string()))
        };
        if let Some((name, x)) = betas.into_iter().find(|(_, x)| !(0.0..1.0).contains(x)) {
            return wrong(name, "at least 0 and below 1", x);
        }
        if !(eps >= 0.0 && eps.is_finite()) {
            return wrong("eps", "zero or more", eps);
        }
        if !(0.0..=1.0).contains(&decay) {
            return wrong("weight_decay", "from 0 to 1", decay);
        }
        Ok(self)
    }

    /// Tensors of a weight's shape that it keeps from step to step.
    pub(crate) fn moments(&self) -> usize {
        match self {
            Optimizer::AdamW { .. } => 2,
            Optimizer::Sgd { .. } => 0,
        }
    }

    /// The numbers that its nodes read at step `t`, counted from 1, with rate `lr`.
    pub(crate) fn settings(&self, lr: f64, t: u64) -> Vec<f32> {
        match *self {
            Optimizer::AdamW { beta1, beta2, eps, decay } => {
                // Far steps make the power zero and the factor one, whatever the exponent.
                let t = t.min(i32::MAX as u64) as i32;
                let factor = |beta: f64| 1.0 / (1.0 - beta.powi(t));
                [lr, beta1, beta2, eps, decay, factor(beta1), factor(beta2)].map(|x| x as f32).to_vec()
            }
            Optimizer::Sgd { decay } => vec![lr as f32, decay as f32],
        }
    }

    /// Adds the step of one weight, which happens when the gate is open.
    pub(crate) fn lower(
        &self,
        graph: &mut Graph,
        p: &Trained,
        grad: ValueId,
        settings: ValueId,
        gate: ValueId,
    ) -> Result<()> {
        match (self, p.moments.as_slice()) {
            (Optimizer::AdamW { .. }, [m, v]) => {
                graph.add(Arc::new(OptStepAdamw {}), &[p.weight, grad, *m, *v, settings, gate], None)?;
            }
            (Optimizer::Sgd { .. }, _) => {
                graph.op(OptStepSgd {}, &[p.weight, grad, settings, gate])?;
            }
            _ => return Err(Error::internal("AdamW keeps two moments")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_first_steps() {
        let adam = Optimizer::parse("adam").unwrap();
        let p = adam.settings(0.01, 1);
        assert_eq!(p[..5], [0.01, 0.9, 0.999, 1e-8, 0.0]);
        // 1 / (1 - 0.9) and 1 / (1 - 0.999)
        assert!((p[5] - 10.0).abs() < 1e-5 && (p[6] - 1000.0).abs() < 1e-3, "{p:?}");
        assert_eq!(adam.settings(0.01, u64::MAX)[5..], [1.0, 1.0]);
        assert_eq!(Optimizer::parse("sgd").unwrap().settings(0.5, 9), [0.5, 0.0]);
        assert!(adam.check().is_ok());
        let e = Optimizer::Sgd { decay: -1.0 }.check().unwrap_err();
        assert_eq!(e.arg_name(), Some("weight_decay"));
        assert!(Optimizer::AdamW { beta1: 0.9, beta2: 1.0, eps: 1e-8, decay: 0.0 }.check().is_err());
        let e = Optimizer::parse("no_such_optimizer").unwrap_err();
        assert!(e.message().contains("\"adamw\""), "{e}");
    }
}
