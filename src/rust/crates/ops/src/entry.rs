//! The table of operators: what R calls, how parameters become an operator, and the cases that test it.

use crate::case::Case;
use ggmlr_core::{Desc, OpRef, Params, Result};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

/// Text, mostly literal; families generate theirs.
pub type Text = Cow<'static, str>;

/// A call from R on its way to becoming a node.
#[derive(Debug)]
pub struct Call<'a> {
    /// R function, without a trailing `_inplace`.
    pub function: &'a str,
    pub params: &'a Params,
    /// The tensor arguments that were given.
    pub x: &'a [Desc],
}

/// One operator of the table.
#[derive(Clone)]
pub struct Entry {
    /// Table name, the operator's `Op::name()`.
    pub name: Text,
    /// R signatures, written as R writes them: `"ggml_rms_norm(ctx, a, eps = 1e-5)"`. A function that ends in
    /// `_inplace` computes into the memory of its first tensor. Empty for operators that only gradients use.
    pub r: Vec<Text>,
    /// Names of the tensor arguments in source order; a trailing `?` marks an optional one.
    pub inputs: &'static [&'static str],
    /// Title of the help page entry: one line.
    pub title: Text,
    /// Formula, shapes in ggml order, defaults and errors, in roxygen markdown.
    pub details: Text,
    /// Help page that the function is described on: `"unary"`, `"normalisation"`.
    pub topic: &'static str,
    /// A runnable R example, or empty where the topic's other entries show it.
    pub example: Text,
    /// Builds the operator.
    pub make: fn(&Call<'_>) -> Result<OpRef>,
    /// Test cases.
    pub cases: fn() -> Vec<Case>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).field("r", &self.r).finish_non_exhaustive()
    }
}

/// Name of the function in a signature.
pub fn function_of(signature: &str) -> &str {
    signature.split('(').next().unwrap_or(signature)
}

/// All operators, found by R function or by name.
#[derive(Debug)]
pub struct Registry {
    entries: Vec<Entry>,
    by_function: HashMap<String, usize>,
}

impl Registry {
    fn new(entries: Vec<Entry>) -> Registry {
        let mut by_function = HashMap::new();
        for (i, e) in entries.iter().enumerate() {
            for r in &e.r {
                by_function.insert(function_of(r).to_owned(), i);
            }
        }
        Registry { entries, by_function }
    }

    /// Every entry, families in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry behind an R function and whether the function computes in place.
    pub fn function(&self, name: &str) -> Option<(&Entry, bool)> {
        let i = *self.by_function.get(name)?;
        Some((&self.entries[i], name.ends_with("_inplace")))
    }

    /// The entry with this table name.
    pub fn named(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }
}

/// The table. An explicit list: entries registered by the linker are lost when R links the static library.
pub fn registry() -> &'static Registry {
    static TABLE: OnceLock<Registry> = OnceLock::new();
    TABLE.get_or_init(|| Registry::new(crate::families().concat()))
}

/// Builds an operator of the table by its table name.
pub fn make(name: &str, params: &Params, x: &[Desc]) -> Result<OpRef> {
    let entry = registry()
        .named(name)
        .ok_or_else(|| ggmlr_core::Error::internal(format!("operator '{name}' is not in the table")))?;
    (entry.make)(&Call { function: entry.r.first().map_or(name, |r| function_of(r)), params, x })
}
