//! What every entry of the table must have, and the operators without a gradient.

use crate::report::{Row, Status};
use ggmlr_core::{DType, Key};
use ggmlr_ops::entry::function_of;
use ggmlr_ops::{Case, Entry};
use std::collections::HashMap;

/// Operators whose results depend on floating point numbers and that have no gradient rule, and why.
pub const NO_GRADIENT: &[(&str, &str)] = &[];

/// Why an operator has no gradient: the reason on the list, or that there is nothing to differentiate.
pub fn no_gradient(entry: &Entry) -> Option<&'static str> {
    if let Some((_, reason)) = NO_GRADIENT.iter().find(|(name, _)| entry.name == *name) {
        return Some(reason);
    }
    if entry.name.ends_with("_back") {
        return Some("is a gradient itself; there are no second derivatives");
    }
    let cases = (entry.cases)();
    let accepted = || cases.iter().filter(|c| c.fails.is_none());
    if accepted().all(|c| c.inputs.is_empty()) {
        return Some("makes values from its parameters");
    }
    if accepted().all(|c| !c.op.effects().writes.is_empty()) {
        return Some("updates its tensors in place");
    }
    let floats = |c: &Case| (0..c.inputs.len()).filter(|&i| c.inputs[i].dtype.is_float()).collect::<Vec<_>>();
    if accepted().all(|c| floats(c).is_empty()) {
        return Some("takes no floating point numbers");
    }
    if accepted().all(|c| floats(c).into_iter().all(|i| !c.op.differentiable(i))) {
        return Some("no gradient flows through it");
    }
    None
}

/// Whether a case checks the operator's gradient.
pub fn has_gradient(entry: &Entry) -> bool {
    (entry.cases)().iter().any(|c| c.grad && c.fails.is_none())
}

/// Everything that is missing or double in a list of entries.
pub fn problems(entries: &[Entry]) -> Vec<String> {
    let mut out = Vec::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut functions: HashMap<&str, &str> = HashMap::new();
    let mut digests: HashMap<Vec<u64>, &str> = HashMap::new();
    for e in entries {
        *names.entry(&e.name).or_default() += 1;
        for r in &e.r {
            if let Some(other) = functions.insert(function_of(r), &e.name) {
                out.push(format!("{}: the R function {} belongs to {other} already", e.name, function_of(r)));
            }
        }
        let mut k = Key::new();
        k.name(&e.name);
        match digests.insert(k.words().to_vec(), &e.name) {
            Some(other) if e.name != other => out.push(format!("{}: the key's digest is that of {other}", e.name)),
            _ => {}
        }
        entry(e, &mut out);
    }
    out.extend(names.iter().filter(|(_, n)| **n > 1).map(|(name, n)| format!("{name}: {n} entries of this name")));
    for (name, _) in NO_GRADIENT {
        match entries.iter().find(|e| e.name == *name) {
            None => out.push(format!("{name}: on the list of operators without gradient, but not in the table")),
            Some(e) if has_gradient(e) => {
                out.push(format!("{name}: on the list of operators without gradient, but a case checks one"));
            }
            Some(_) => {}
        }
    }
    out
}

fn entry(e: &Entry, out: &mut Vec<String>) {
    let mut missing = |what: &str| out.push(format!("{}: {what}", e.name));
    for (text, what) in [(e.title.as_ref(), "title"), (e.details.as_ref(), "details"), (e.topic, "topic")] {
        if text.trim().is_empty() {
            missing(&format!("no {what}"));
        }
    }
    if e.title.contains('\n') || e.title.ends_with('.') {
        missing("the title is not one line without a full stop");
    }
    let cases = (e.cases)();
    if !cases.iter().any(|c| c.fails.is_none()) {
        missing("no case");
    }
    if !has_gradient(e) && no_gradient(e).is_none() {
        missing("no case checks a gradient, and complete::NO_GRADIENT gives no reason");
    }
    if let Some(c) = cases.iter().find(|c| c.grad && !c.inputs.iter().any(|i| i.grad)) {
        missing(&format!("a case ({}) checks a gradient of no input", c.note));
    }
    for r in &e.r {
        for input in e.inputs {
            let plain = input.trim_end_matches('?');
            let listed = r.trim_end_matches(')').split(['(', ',']).skip(1).any(|arg| {
                let arg = arg.trim();
                arg == plain || arg.strip_prefix(plain).is_some_and(|rest| rest.trim_start().starts_with('='))
            });
            if !listed && !input.ends_with('?') {
                missing(&format!("the signature {r} lacks the tensor '{plain}'"));
            }
        }
    }
}

/// Operators that declare an f64 kernel which no case has run.
pub fn untested_f64(entries: &[Entry], rows: &[Row]) -> Vec<String> {
    let declares = |e: &&Entry| {
        let cases = (e.cases)();
        // A view has no kernel, and a case without inputs cannot be given others.
        let computes = |c: &&Case| {
            c.fails.is_none() && c.op.effects().view_of.is_none() && c.inputs.iter().any(|i| i.dtype.is_float())
        };
        cases.iter().find(computes).is_some_and(|c| c.op.cpu_types().contains(&DType::F64))
    };
    let ran = |e: &Entry| rows.iter().any(|r| r.op == e.name && r.dtype == DType::F64 && r.status != Status::Error);
    entries
        .iter()
        .filter(declares)
        .filter(|e| !ran(e))
        .map(|e| format!("{}: has an f64 kernel that no case reaches", e.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_ops::registry;

    #[test]
    fn what_is_missing_is_named() {
        let good = registry().entries().first().unwrap().clone();
        let mut bad = good.clone();
        bad.title = "Ends with a full stop.".into();
        bad.details = " ".into();
        bad.cases = Vec::new;
        let found = problems(&[good, bad]).join("\n");
        for text in ["no details", "full stop", "no case", "2 entries", "belongs to"] {
            assert!(found.contains(text), "'{text}' not in:\n{found}");
        }
    }
}
