//! R values as typed arguments. Every error names the argument.

use crate::handles::{self, Thing};
use crate::outcome::names_of;
use extendr_api::scalar::Rbool;
use extendr_api::{CanBeNA, Conversions, Length, List, Robj, Rtype, Types};
use ggmlr_core::{DType, Error, Param, Params, Result};
use ggmlr_session::{Key, Numbers};
use std::borrow::Cow;

/// Largest whole number that R's numbers hold exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A noun with its article.
pub fn a(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// What an R value is, in the words of its users.
pub fn describe(x: &Robj) -> String {
    let word = match x.rtype() {
        Rtype::Null => "NULL",
        Rtype::Logicals => "logical",
        Rtype::Integers if extendr_api::Attributes::inherits(x, "factor") => "factor",
        Rtype::Integers => "integer",
        Rtype::Doubles => "numeric",
        Rtype::Complexes => "complex",
        Rtype::Strings => "character",
        Rtype::List if extendr_api::Attributes::inherits(x, "data.frame") => "data frame",
        Rtype::List | Rtype::Pairlist => "list",
        Rtype::Function | Rtype::Builtin | Rtype::Special => "function",
        Rtype::Environment => "environment",
        Rtype::Raw => "raw",
        Rtype::ExternalPtr => "external pointer",
        Rtype::Symbol | Rtype::Language | Rtype::Expressions => "language object",
        _ => "other object",
    };
    word.to_owned()
}

fn wrong(arg: &str, expected: &str, got: String) -> Error {
    Error::argument(arg, format!("{arg} must be {expected}, got {got}")).expected(expected).got(got)
}

/// What was given instead, with its value where that is short.
fn shown(x: &Robj) -> String {
    if x.len() != 1 {
        return match x.rtype() {
            Rtype::Null => "NULL".to_owned(),
            Rtype::Function => "a function".to_owned(),
            _ => format!("{} of length {}", describe(x), x.len()),
        };
    }
    if let Some([v]) = x.as_real_slice() {
        return if v.is_na() { "NA".to_owned() } else { v.to_string() };
    }
    if let Some([v]) = x.as_integer_slice() {
        return if v.is_na() { "NA".to_owned() } else { v.to_string() };
    }
    if let Some([v]) = x.as_logical_slice() {
        return if v.is_na() {
            "NA"
        } else if v.is_true() {
            "TRUE"
        } else {
            "FALSE"
        }
        .to_owned();
    }
    match x.as_str() {
        Some(s) if !s.is_na() => format!("\"{}\"", s.chars().take(60).collect::<String>()),
        Some(_) => "NA".to_owned(),
        None => a(&describe(x)),
    }
}

fn missing(arg: &str) -> Error {
    Error::argument(arg, format!("{arg} must not be missing")).got("NA")
}

/// `None` for NULL.
pub fn given(x: &Robj) -> Option<&Robj> {
    (x.rtype() != Rtype::Null).then_some(x)
}

/// One number: double or integer, not NA. TRUE is no number: it is nearly always an argument in the wrong place.
pub fn number(x: &Robj, arg: &str) -> Result<f64> {
    let expected = "one number";
    // Classed numbers mean something else than their value: factors, dates, times.
    if x.rtype() != Rtype::Logicals && extendr_api::Attributes::class(x).is_some() {
        return Err(wrong(arg, expected, describe(x)));
    }
    let value = if let Some([v]) = x.as_real_slice() {
        *v
    } else if let Some([v]) = x.as_integer_slice() {
        if v.is_na() { f64::NAN } else { f64::from(*v) }
    } else if let Some([v]) = x.as_logical_slice() {
        if !v.is_na() {
            return Err(wrong(arg, expected, shown(x)));
        }
        f64::NAN
    } else {
        return Err(wrong(arg, expected, shown(x)));
    };
    if value.is_nan() {
        return Err(missing(arg));
    }
    Ok(value)
}

/// One number that may also be NaN or NA (which is then NaN): a value, not a size.
pub fn value(x: &Robj, arg: &str) -> Result<f64> {
    match number(x, arg) {
        Err(_) if x.len() == 1 && matches!(x.rtype(), Rtype::Doubles | Rtype::Integers | Rtype::Logicals) => {
            Ok(f64::NAN)
        }
        other => other,
    }
}

/// One whole number.
pub fn whole(x: &Robj, arg: &str) -> Result<i64> {
    let v = number(x, arg)?;
    if v.fract() != 0.0 || v.abs() > EXACT {
        return Err(wrong(arg, "a whole number", v.to_string()));
    }
    Ok(v as i64)
}

/// One whole number, zero or more.
pub fn count(x: &Robj, arg: &str) -> Result<usize> {
    let v = number(x, arg)?;
    if v.fract() != 0.0 || !(0.0..=EXACT).contains(&v) {
        return Err(wrong(arg, "a whole number, zero or more", v.to_string()));
    }
    Ok(v as usize)
}

/// One number within limits, both included.
pub fn within(x: &Robj, arg: &str, lo: usize, hi: usize) -> Result<usize> {
    match count(x, arg) {
        Ok(v) if (lo..=hi).contains(&v) => Ok(v),
        Err(e) if e.got_text() == Some("NA") => Err(e),
        _ => Err(wrong(arg, &format!("a whole number from {lo} to {hi}"), shown(x))),
    }
}

/// Bytes: one whole positive number.
pub fn size(x: &Robj, arg: &str) -> Result<usize> {
    let v = number(x, arg)?;
    if v <= 0.0 {
        return Err(wrong(arg, "positive", v.to_string()).expected("a number of bytes"));
    }
    if v.fract() != 0.0 || v > EXACT {
        return Err(wrong(arg, "a whole number of bytes, at most 2^53", v.to_string()));
    }
    Ok(v as usize)
}

/// TRUE or FALSE.
pub fn flag(x: &Robj, arg: &str) -> Result<bool> {
    match x.as_logical_slice() {
        Some([v]) if !v.is_na() => return Ok(v.is_true()),
        Some([_]) => return Err(missing(arg)),
        _ => {}
    }
    match number(x, arg) {
        Ok(v) if v == 0.0 || v == 1.0 => Ok(v == 1.0),
        _ => Err(wrong(arg, "TRUE or FALSE", shown(x))),
    }
}

/// One string.
pub fn text(x: &Robj, arg: &str) -> Result<String> {
    let s = match x.rtype() {
        Rtype::Strings => x.as_str(),
        _ => None,
    };
    let Some(s) = s else { return Err(wrong(arg, "one string", shown(x))) };
    if s.is_na() {
        return Err(missing(arg));
    }
    // The bytes come unchecked from R, in whatever encoding the string has.
    match std::str::from_utf8(s.as_bytes()) {
        Ok(s) => Ok(s.to_owned()),
        Err(_) => Err(wrong(arg, "text in UTF-8", "another encoding".to_owned()).hint("Use enc2utf8().")),
    }
}

/// Numbers of a vector, of whatever numeric type.
#[derive(Debug)]
pub enum Vector<'a> {
    Real(&'a [f64]),
    Int(Cow<'a, [i32]>),
}

impl Vector<'_> {
    /// As the session takes them.
    pub fn numbers(&self) -> Numbers<'_> {
        match self {
            Vector::Real(x) => Numbers::Real(x),
            Vector::Int(x) => Numbers::Int(x),
        }
    }
}

/// A numeric, integer or logical vector or array.
pub fn vector<'a>(x: &'a Robj, arg: &str) -> Result<Vector<'a>> {
    let refuse = || Err(Error::argument(arg, format!("{arg} must be numeric, got {}", describe(x))).got(describe(x)));
    if extendr_api::Attributes::inherits(x, "factor") {
        return refuse();
    }
    match x.rtype() {
        Rtype::Doubles => Ok(Vector::Real(x.as_real_slice().unwrap_or_default())),
        Rtype::Integers => Ok(Vector::Int(Cow::Borrowed(x.as_integer_slice().unwrap_or_default()))),
        Rtype::Logicals => {
            let bools: &[Rbool] = x.as_logical_slice().unwrap_or_default();
            Ok(Vector::Int(bools.iter().map(|b| b.0).collect()))
        }
        _ => refuse(),
    }
}

/// A raw vector.
pub fn raw<'a>(x: &'a Robj, arg: &str) -> Result<&'a [u8]> {
    match x.rtype() {
        Rtype::Raw => Ok(x.as_raw_slice().unwrap_or_default()),
        _ => Err(wrong(arg, "a raw vector", shown(x))),
    }
}

/// Extents: whole positive numbers, reported as `<arg>0`, `<arg>1`, ...
pub fn extents(x: &Robj, arg: &str) -> Result<Vec<usize>> {
    let v = vector(x, arg)?;
    let all: Vec<f64> = match &v {
        Vector::Real(x) => x.to_vec(),
        Vector::Int(x) => x.iter().map(|i| if i.is_na() { f64::NAN } else { f64::from(*i) }).collect(),
    };
    let one = |(i, n): (usize, f64)| {
        let name = format!("{arg}{i}");
        if n.is_nan() {
            return Err(missing(&name));
        }
        if n <= 0.0 {
            return Err(
                Error::argument(&name, format!("dimensions must be positive, got {name} = {n}")).got(n.to_string())
            );
        }
        if n.fract() != 0.0 || n > EXACT {
            return Err(wrong(&name, "a whole number", n.to_string()));
        }
        Ok(n as usize)
    };
    all.into_iter().enumerate().map(one).collect()
}

/// Whole numbers, zero or more, one for each name.
pub fn indices<const N: usize>(x: &Robj, names: [&str; N]) -> Result<[usize; N]> {
    let list = x.as_list().ok_or_else(|| Error::internal("indices come as a list"))?;
    let mut out = [0; N];
    for ((slot, name), v) in out.iter_mut().zip(names).zip(list.values()) {
        *slot = count(&v, name)?;
    }
    Ok(out)
}

/// An element type, by ggml's number or by name.
pub fn dtype(x: &Robj, arg: &str) -> Result<DType> {
    if x.rtype() == Rtype::Strings {
        let name = text(x, arg)?;
        return DType::from_name(&name).ok_or_else(|| Error::argument(arg, format!("unknown type \"{name}\"")));
    }
    let id = whole(x, arg)?;
    let known = i32::try_from(id).ok().and_then(DType::from_id);
    known.ok_or_else(|| {
        Error::argument(arg, format!("unknown type {id}"))
            .expected("one of the GGML_TYPE_ constants")
            .got(id.to_string())
    })
}

/// The key of a tensor, and likewise below.
pub fn tensor(x: &Robj, arg: &str) -> Result<Key> {
    handles::key(x, Thing::Tensor, arg)
}

pub fn context(x: &Robj, arg: &str) -> Result<Key> {
    handles::key(x, Thing::Context, arg)
}

pub fn graph(x: &Robj, arg: &str) -> Result<Key> {
    handles::key(x, Thing::Graph, arg)
}

pub fn backend(x: &Robj, arg: &str) -> Result<Key> {
    handles::key(x, Thing::Backend, arg)
}

pub fn buffer(x: &Robj, arg: &str) -> Result<Key> {
    handles::key(x, Thing::Buffer, arg)
}

/// A list and its names.
pub fn list(x: &Robj, arg: &str) -> Result<Vec<(String, Robj)>> {
    if x.rtype() == Rtype::Null {
        return Ok(Vec::new());
    }
    let list: List = x.as_list().ok_or_else(|| wrong(arg, "a list", shown(x)))?;
    let names = names_of(&list);
    Ok(names.into_iter().zip(list.values()).collect())
}

fn param(x: &Robj, name: &str) -> Result<Param> {
    match x.rtype() {
        Rtype::Null => Ok(Param::Null),
        Rtype::Strings => text(x, name).map(Param::Text),
        Rtype::Logicals if x.len() == 1 => flag(x, name).map(Param::Flag),
        _ => {
            let numbers: Vec<f64> = match vector(x, name)? {
                Vector::Real(v) => v.to_vec(),
                Vector::Int(v) => v.iter().map(|i| if i.is_na() { f64::NAN } else { f64::from(*i) }).collect(),
            };
            if numbers.iter().any(|n| n.is_nan()) {
                return Err(missing(name));
            }
            Ok(Param::Numbers(numbers))
        }
    }
}

/// Parameters of an operator: a named list.
pub fn params(x: &Robj, arg: &str) -> Result<Params> {
    let mut out = Params::new();
    for (name, value) in list(x, arg)? {
        out.set(name.clone(), param(&value, &name)?);
    }
    Ok(out)
}

/// Tensors of an operator in the order of `names`; NULL and absent ones are `None`.
pub fn inputs(x: &Robj, arg: &str, names: &[&str]) -> Result<Vec<Option<Key>>> {
    let given = list(x, arg)?;
    let one = |(i, name): (usize, &&str)| {
        let name = name.trim_end_matches('?');
        let named = given.iter().find(|(n, _)| n == name);
        let value = named.or_else(|| given.get(i).filter(|(n, _)| n.is_empty())).map(|(_, v)| v);
        match value {
            Some(v) if v.rtype() != Rtype::Null => tensor(v, name).map(Some),
            _ => Ok(None),
        }
    };
    names.iter().enumerate().map(one).collect()
}
