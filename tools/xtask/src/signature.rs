//! R signatures as the operator table and the export list write them.

/// `ggml_rms_norm(ctx, a, eps = 1e-5)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    pub function: String,
    pub args: Vec<Arg>,
}

/// An argument and its default, as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    pub name: String,
    pub default: Option<String>,
}

impl Signature {
    /// Reads a signature; `None` when it is none.
    pub fn parse(text: &str) -> Option<Signature> {
        let (function, rest) = text.trim().split_once('(')?;
        let list = rest.strip_suffix(')')?;
        let args = split(list)?
            .into_iter()
            .map(|arg| match arg.split_once('=') {
                Some((n, d)) => Arg { name: n.trim().to_owned(), default: Some(d.trim().to_owned()) },
                None => Arg { name: arg, default: None },
            })
            .collect();
        Some(Signature { function: function.trim().to_owned(), args })
    }

    /// The arguments as R writes them.
    pub fn formals_list(&self) -> Vec<String> {
        let arg = |a: &Arg| match &a.default {
            Some(d) => format!("{} = {d}", a.name),
            None => a.name.clone(),
        };
        self.args.iter().map(arg).collect()
    }

    /// The argument list as R writes it.
    pub fn formals(&self) -> String {
        self.formals_list().join(", ")
    }

    /// Whether both mean the same: names, order and defaults; numbers by value, `1e-5` is `1e-05`.
    pub fn same(&self, other: &Signature) -> bool {
        self.function == other.function
            && self.args.len() == other.args.len()
            && self.args.iter().zip(&other.args).all(|(a, b)| a.name == b.name && same_default(&a.default, &b.default))
    }
}

fn same_default(a: &Option<String>, b: &Option<String>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a == b };
    let squeeze = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    // An integer stays an integer: R users see the difference in formals().
    let number = |s: &str| s.parse::<f64>().ok();
    match (number(a), number(b)) {
        (Some(x), Some(y)) => x == y,
        _ => squeeze(a) == squeeze(b),
    }
}

/// Splits at commas outside brackets and strings.
fn split(list: &str) -> Option<Vec<String>> {
    let (mut out, mut depth, mut quote, mut now) = (Vec::new(), 0_i32, None, String::new());
    for c in list.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            ('(' | '[', None) => depth += 1,
            (')' | ']', None) => depth -= 1,
            (',', None) if depth == 0 => {
                out.push(std::mem::take(&mut now).trim().to_owned());
                continue;
            }
            _ => {}
        }
        if depth < 0 {
            return None;
        }
        now.push(c);
    }
    if !now.trim().is_empty() {
        out.push(now.trim().to_owned());
    }
    (depth == 0 && quote.is_none() && out.iter().all(|a| !a.is_empty())).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sig(s: &str) -> Signature {
        Signature::parse(s).unwrap()
    }

    #[test]
    fn defaults_of_every_kind() {
        let s = sig("ggml_f(ctx, a, eps = 1e-5, lp = c(0L, 0L), name = \"a, b\")");
        assert_eq!(s.args.len(), 5);
        assert_eq!(s.args[3].default.as_deref(), Some("c(0L, 0L)"));
        assert_eq!(s.formals(), "ctx, a, eps = 1e-5, lp = c(0L, 0L), name = \"a, b\"");
        assert_eq!(sig("f()").args, []);
        assert_eq!(Signature::parse("f(a"), None);
        assert_eq!(Signature::parse("f(a))"), None);
    }

    #[test]
    fn numbers_compare_by_value() {
        assert!(sig("f(eps = 1e-5)").same(&sig("f(eps = 1e-05)")));
        assert!(!sig("f(n = 1)").same(&sig("f(n = 1L)")));
        assert!(!sig("f(a, b)").same(&sig("f(b, a)")));
        assert!(sig("f(x = c(1,2))").same(&sig("f(x = c(1, 2))")));
    }
}
