//! Results on their way to R: plain values, failures included. R raises them, because an error thrown from Rust would
//! skip destructors, be read as a format string and lose its class.

use extendr_api::{AsStrIter, Attributes, List, Robj};
use ggmlr_core::log::{self, Level};
use ggmlr_core::{Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Class of a failure that R raises.
const FAILURE: &str = "ggmlr_failure";
/// Class of a value that comes with messages to print.
const NOTED: &str = "ggmlr_noted";

/// Runs the body of a binding. Whatever happens inside, R gets a value.
pub fn shield(body: impl FnOnce() -> Result<Robj>) -> Robj {
    let value = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => failure(&error),
        Err(panic) => failure(&panicked(panic.as_ref())),
    };
    noted(value)
}

/// A panic as the defect that it is.
pub fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown panic".to_owned());
    Error::internal(format!("internal error: {text}"))
}

/// R strings cannot hold NUL; file contents that end up in messages may.
fn text(s: &str) -> Robj {
    if s.contains('\0') { s.replace('\0', "\\0").into() } else { s.into() }
}

fn optional(s: Option<&str>) -> Robj {
    s.map_or_else(|| ().into(), text)
}

/// A list with names and a class.
fn classed(names: &[&str], values: Vec<Robj>, class: &str) -> Robj {
    let mut list = List::from_values(values);
    // Both attributes are ordinary ones of a fresh list: they cannot be refused.
    let _ = list.set_names(names.iter().copied());
    let _ = list.set_class([class]);
    list.into()
}

fn failure(e: &Error) -> Robj {
    classed(
        &["kind", "op", "arg", "message", "expected", "got", "hint"],
        vec![
            text(e.kind().name()),
            optional(e.op_name()),
            optional(e.arg_name()),
            text(e.message()),
            optional(e.expected_text()),
            optional(e.got_text()),
            optional(e.hint_text()),
        ],
        FAILURE,
    )
}

/// Adds the messages that waited in the log, if there are any.
fn noted(value: Robj) -> Robj {
    let messages = log::drain();
    if messages.is_empty() {
        return value;
    }
    let level = |l: Level| match l {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    };
    let levels: Vec<&str> = messages.iter().map(|(l, _)| level(*l)).collect();
    let texts: Vec<String> = messages.iter().map(|(_, t)| t.replace('\0', "\\0")).collect();
    classed(&["value", "level", "text"], vec![value, levels.into(), texts.into()], NOTED)
}

/// Named list, for bindings that answer with several values.
pub fn named(pairs: Vec<(&str, Robj)>) -> Robj {
    let (names, values): (Vec<&str>, Vec<Robj>) = pairs.into_iter().unzip();
    let mut list = List::from_values(values);
    let _ = list.set_names(names);
    list.into()
}

/// Names of a list; empty where there are none.
pub fn names_of(list: &List) -> Vec<String> {
    let given = list.get_attrib(extendr_api::wrapper::symbol::names_symbol());
    match given.as_ref().and_then(Robj::as_str_iter) {
        Some(names) => names.map(str::to_owned).collect(),
        None => vec![String::new(); extendr_api::Length::len(list)],
    }
}
