//! Errors are values that travel up to R, where they become classed conditions.
//!
//! Every failure names the operator and the argument, says what was expected and what was given, and tells what to
//! do. The text of [`Error`] is `"<op>: <message>"`; the fields stay separate so that R can show them as bullets.

use std::fmt;

/// What went wrong; becomes the R class `ggmlr_error_<kind>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that the argument does not take.
    Argument,
    /// Shapes that do not fit together.
    Shape,
    /// An element type that is not accepted here.
    DType,
    /// A budget or the machine's memory is exhausted.
    Memory,
    /// The handle's object was freed, or comes from another session.
    Freed,
    /// Valid, but not available on this device or in this version.
    Unsupported,
    /// A gradient was asked for where none exists.
    NoGradient,
    /// A backend failed.
    Backend,
    /// The device stopped working.
    DeviceLost,
    /// Reading or writing a file failed.
    Io,
    /// A file's content is not what it should be.
    Format,
    /// The user interrupted the work.
    Interrupted,
    /// A defect of this package.
    Internal,
}

impl Kind {
    /// Suffix of the R condition class.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Argument => "argument",
            Kind::Shape => "shape",
            Kind::DType => "dtype",
            Kind::Memory => "memory",
            Kind::Freed => "freed",
            Kind::Unsupported => "unsupported",
            Kind::NoGradient => "no_gradient",
            Kind::Backend => "backend",
            Kind::DeviceLost => "device_lost",
            Kind::Io => "io",
            Kind::Format => "format",
            Kind::Interrupted => "interrupted",
            Kind::Internal => "internal",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Parts {
    kind: Kind,
    op: Option<String>,
    arg: Option<String>,
    message: String,
    expected: Option<String>,
    got: Option<String>,
    hint: Option<String>,
}

/// A failure on its way to R. Boxed, so that `Result` stays one word wide.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Error(Box<Parts>);

/// Result with the error of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A failure of the given kind; `message` is one sentence without operator name.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error(Box::new(Parts {
            kind,
            op: None,
            arg: None,
            message: message.into(),
            expected: None,
            got: None,
            hint: None,
        }))
    }

    /// Wrong value of argument `arg`.
    pub fn argument(arg: &str, message: impl Into<String>) -> Self {
        Error::new(Kind::Argument, message).arg(arg)
    }

    /// Shapes that do not fit.
    pub fn shape(message: impl Into<String>) -> Self {
        Error::new(Kind::Shape, message)
    }

    /// Wrong element type.
    pub fn dtype(message: impl Into<String>) -> Self {
        Error::new(Kind::DType, message)
    }

    /// A defect of this package.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(Kind::Internal, message)
            .hint("This is a defect of ggmlR: please report it with the code that led here.")
    }

    /// Names the operator or R function, unless an inner layer has done so.
    pub fn op(mut self, op: impl Into<String>) -> Self {
        if self.0.op.is_none() {
            self.0.op = Some(op.into());
        }
        self
    }

    /// Names the argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.0.arg = Some(arg.into());
        self
    }

    /// Says what was expected.
    pub fn expected(mut self, text: impl Into<String>) -> Self {
        self.0.expected = Some(text.into());
        self
    }

    /// Says what was given.
    pub fn got(mut self, text: impl Into<String>) -> Self {
        self.0.got = Some(text.into());
        self
    }

    /// Says what to do.
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.0.hint = Some(text.into());
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Operator or R function.
    pub fn op_name(&self) -> Option<&str> {
        self.0.op.as_deref()
    }

    /// Argument at fault.
    pub fn arg_name(&self) -> Option<&str> {
        self.0.arg.as_deref()
    }

    /// The sentence without operator name.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What was expected.
    pub fn expected_text(&self) -> Option<&str> {
        self.0.expected.as_deref()
    }

    /// What was given.
    pub fn got_text(&self) -> Option<&str> {
        self.0.got.as_deref()
    }

    /// What to do.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.op {
            Some(op) => write!(f, "{op}: {}", self.0.message),
            None => f.write_str(&self.0.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_operator_name_wins() {
        let e = Error::shape("a and b differ").op("ggml_add").op("ggml_graph_compute");
        assert_eq!(e.to_string(), "ggml_add: a and b differ");
        assert_eq!(e.kind().name(), "shape");
    }

    #[test]
    fn result_of_unit_is_one_word() {
        assert_eq!(std::mem::size_of::<Result<()>>(), std::mem::size_of::<usize>());
    }
}
