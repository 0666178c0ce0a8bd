//! The tables read as GLSL.
//!
//! A row's text is already GLSL but for the names of its functions, which get the prefix `fm_`. Variables keep their
//! names (`x`, `y`, `g`, `a`, `b`, `p0`, `p1`): a shader declares them and pastes the text. [`helpers_for`] gives
//! the functions a text calls, and no others, so that a new row leaves every other shader's source as it was.

use crate::{BinaryId, GluId, UnaryId};
use std::collections::BTreeSet;

const PREFIX: &str = "fm_";

/// A formula of one argument as GLSL expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnaryText {
    /// In `x`, `p0`, `p1`.
    pub value: String,
    /// In `x`, `y`, `p0`, `p1`.
    pub slope: String,
}

/// A formula of two arguments as GLSL expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryText {
    /// In `a`, `b`.
    pub value: String,
    /// In `a`, `b`, `y`.
    pub by_a: String,
    /// In `a`, `b`, `y`.
    pub by_b: String,
}

/// A gated linear unit as GLSL expressions in `x` and `g`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GluText {
    pub value: String,
    pub by_x: String,
    pub by_g: String,
}

impl UnaryId {
    pub fn glsl(self) -> UnaryText {
        let [value, slope] = self.texts();
        UnaryText { value: translate(value), slope: translate(slope) }
    }
}

impl BinaryId {
    pub fn glsl(self) -> BinaryText {
        let [value, by_a, by_b] = self.texts();
        BinaryText { value: translate(value), by_a: translate(by_a), by_b: translate(by_b) }
    }
}

impl GluId {
    pub fn glsl(self) -> GluText {
        let [value, by_x, by_g] = self.texts();
        GluText { value: translate(value), by_x: translate(by_x), by_g: translate(by_g) }
    }
}

/// All helper functions, in an order in which each is defined before its use.
pub fn helpers() -> String {
    join(&functions(), |_| true)
}

/// The helper functions that `source` calls, directly or through others. `source` may be one formula or a whole shader.
pub fn helpers_for(source: &str) -> String {
    let functions = functions();
    let mut wanted: BTreeSet<&str> = calls(source).collect();
    // A function calls only earlier ones, so that one pass from the end finds all.
    for function in functions.iter().rev() {
        if wanted.contains(function.name.as_str()) {
            wanted.extend(calls(&function.source));
        }
    }
    join(&functions, |f| wanted.contains(f.name.as_str()))
}

#[derive(Debug)]
struct Function {
    name: String,
    source: String,
}

/// The functions of `prelude.glsl`, then those activations that the GLU table may call and the prelude lacks.
fn functions() -> Vec<Function> {
    let mut functions: Vec<Function> = include_str!("prelude.glsl")
        .split("\n\n")
        .filter_map(|block| {
            let source = block.trim();
            let name = defined_name(source)?;
            Some(Function { name: name.to_string(), source: source.to_string() })
        })
        .collect();
    let mut activations = Vec::new();
    for id in UnaryId::ALL.iter().filter(|id| id.n_params() == 0) {
        let text = id.glsl();
        let name = format!("{PREFIX}{}", id.name());
        if functions.iter().all(|f| f.name != name) {
            let source = format!("float {name}(float x) {{\n    return {};\n}}", text.value);
            activations.push(Function { name, source });
        }
        let name = format!("{PREFIX}d_{}", id.name());
        let source = format!("float {name}(float x, float y) {{\n    return {};\n}}", text.slope);
        activations.push(Function { name, source });
    }
    functions.extend(activations);
    functions
}

/// The name of the function a block defines: the first prefixed word of the line after its comment.
fn defined_name(block: &str) -> Option<&str> {
    let head = block.lines().find(|line| !line.starts_with("//"))?;
    calls(head).next()
}

fn calls(source: &str) -> impl Iterator<Item = &str> {
    source.split(|c: char| !is_word(c)).filter(|word| word.starts_with(PREFIX))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn join(functions: &[Function], keep: impl Fn(&Function) -> bool) -> String {
    let mut text = String::new();
    for function in functions.iter().filter(|f| keep(f)) {
        text.push_str(&function.source);
        text.push_str("\n\n");
    }
    text
}

/// Prefixes the function names, that is, the words before an opening bracket. Without any spaces, so that the source of a
/// shader doesn't depend on how a compiler's version prints a macro argument.
fn translate(rust: &str) -> String {
    let mut glsl = String::new();
    let text = rust.split_whitespace().collect::<String>();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let length = match rest.find(|c| is_word(c) != is_word(first)) {
            Some(length) => length,
            None => rest.len(),
        };
        let (run, tail) = rest.split_at(length);
        let is_name = first.is_ascii_alphabetic();
        if is_name && tail.starts_with('(') {
            glsl.push_str(PREFIX);
        }
        glsl.push_str(run);
        rest = tail;
    }
    glsl
}
