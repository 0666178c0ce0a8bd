//! Parameters of an operator as they come from R: named, loosely typed, checked here so that every message names
//! the argument.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::key::Scalar;

/// A value given for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    Null,
    Numbers(Vec<f64>),
    Flag(bool),
    Text(String),
}

/// The parameters of one call, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    list: Vec<(String, Param)>,
}

impl Params {
    /// No parameters.
    pub fn new() -> Params {
        Params::default()
    }

    /// Adds one.
    pub fn set(&mut self, name: impl Into<String>, value: Param) {
        self.list.push((name.into(), value));
    }

    /// Adds one and returns the whole, for tables of cases.
    pub fn with(mut self, name: &str, value: f64) -> Params {
        self.set(name, Param::Numbers(vec![value]));
        self
    }

    /// The value given for `name`.
    pub fn find(&self, name: &str) -> Option<&Param> {
        self.list.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The value for `name`, converted.
    pub fn get<T: FromParam>(&self, name: &str) -> Result<T> {
        T::from_param(self.find(name).unwrap_or(&Param::Null), name)
    }
}

/// Types that an operator's field may have.
pub trait FromParam: Sized {
    /// Converts, or says what argument `name` must be.
    fn from_param(p: &Param, name: &str) -> Result<Self>;
}

fn wrong(name: &str, expected: &str, p: &Param) -> Error {
    let got = match p {
        Param::Null => "nothing".to_owned(),
        Param::Numbers(v) if v.len() == 1 => format!("{}", v[0]),
        Param::Numbers(v) => format!("{} numbers", v.len()),
        Param::Flag(b) => {
            if *b {
                "TRUE".to_owned()
            } else {
                "FALSE".to_owned()
            }
        }
        Param::Text(s) => format!("\"{s}\""),
    };
    Error::argument(name, format!("{name} must be {expected}, got {got}")).expected(expected).got(got)
}

fn one(p: &Param, name: &str, expected: &str) -> Result<f64> {
    match p {
        Param::Numbers(v) if v.len() == 1 && !v[0].is_nan() => Ok(v[0]),
        _ => Err(wrong(name, expected, p)),
    }
}

impl FromParam for f64 {
    fn from_param(p: &Param, name: &str) -> Result<f64> {
        one(p, name, "one number")
    }
}

impl FromParam for f32 {
    fn from_param(p: &Param, name: &str) -> Result<f32> {
        one(p, name, "one number").map(|x| x as f32)
    }
}

/// Largest whole number that a double holds exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl FromParam for i64 {
    fn from_param(p: &Param, name: &str) -> Result<i64> {
        let x = one(p, name, "one whole number")?;
        if x.fract() != 0.0 || x.abs() > EXACT {
            return Err(wrong(name, "one whole number", p));
        }
        Ok(x as i64)
    }
}

impl FromParam for i32 {
    fn from_param(p: &Param, name: &str) -> Result<i32> {
        let x = i64::from_param(p, name)?;
        i32::try_from(x).map_err(|_| wrong(name, "one whole number of at most 32 bits", p))
    }
}

impl FromParam for usize {
    fn from_param(p: &Param, name: &str) -> Result<usize> {
        let x = one(p, name, "one whole number, zero or more")?;
        if x.fract() != 0.0 || !(0.0..=EXACT).contains(&x) {
            return Err(wrong(name, "one whole number, zero or more", p));
        }
        Ok(x as usize)
    }
}

impl FromParam for bool {
    fn from_param(p: &Param, name: &str) -> Result<bool> {
        match p {
            Param::Flag(b) => Ok(*b),
            Param::Numbers(v) if matches!(v[..], [0.0] | [1.0]) => Ok(v == &[1.0]),
            _ => Err(wrong(name, "TRUE or FALSE", p)),
        }
    }
}

impl FromParam for DType {
    fn from_param(p: &Param, name: &str) -> Result<DType> {
        match p {
            Param::Text(s) => DType::from_name(s).ok_or_else(|| Error::argument(name, format!("unknown type \"{s}\""))),
            _ => {
                let id = i32::from_param(p, name)?;
                DType::from_id(id).ok_or_else(|| Error::argument(name, format!("unknown type {id}")))
            }
        }
    }
}

impl<T: FromParam> FromParam for Scalar<T> {
    fn from_param(p: &Param, name: &str) -> Result<Scalar<T>> {
        T::from_param(p, name).map(Scalar)
    }
}

impl FromParam for Vec<usize> {
    fn from_param(p: &Param, name: &str) -> Result<Vec<usize>> {
        match p {
            Param::Numbers(v) => v.iter().map(|&x| usize::from_param(&Param::Numbers(vec![x]), name)).collect(),
            _ => Err(wrong(name, "whole numbers, zero or more", p)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_argument() {
        let p = Params::new().with("n", 1.5);
        let e = p.get::<usize>("n").unwrap_err();
        assert_eq!(e.arg_name(), Some("n"));
        assert!(e.message().contains("1.5"), "{e}");
        assert!(p.get::<f32>("missing").is_err());
        assert!(Params::new().with("t", 9999.0).get::<DType>("t").unwrap_err().message().contains("unknown type 9999"));
        assert!(Params::new().with("n", f64::NAN).get::<f64>("n").is_err());
    }
}
