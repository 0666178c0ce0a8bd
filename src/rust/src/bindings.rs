//! The one way to export a function to R.
//!
//! ```text
//! bindings! {
//! mod graph;
//!
//! /// What it does.
//! fn rs_graph_node(graph, i) {
//!     ... -> Result<Robj>
//! }
//! }
//! ```
//!
//! Each function takes R values, whatever they are, and its body is a `Result<Robj>` block. The macro wraps the body so
//! that neither an error nor a panic ever leaves Rust (see `outcome.rs`) and registers the function with R.
//!
//! The form is fixed, because `tools/xtask gen-r` reads it without a Rust parser to write `R/generated-bindings.R`:
//! `mod <area>;` and each `fn rs_<area>_<verb>(<argument>, ...) {` stand alone on a line that starts in the first
//! column, and each function ends with a `}` in the first column. The R function has the same name and arguments:
//!
//! ```text
//! rs_graph_node <- function(graph, i) outcome(.Call(wrap__rs_graph_node, graph, i))
//! ```
//!
//! A body sees its arguments as `&Robj`. R's memory is only touched outside of `state::with`, because a collection may
//! run finalizers.

macro_rules! bindings {
    (root $package:ident; $( use $area:ident; )*) => {
        ::extendr_api::extendr_module! { mod $package; $( use $area; )* }
    };
    (mod $area:ident; $( $(#[$doc:meta])* fn $name:ident($($arg:ident),* $(,)?) $body:block )*) => {
        $(
            $(#[$doc])*
            // R functions take what they need; a struct cannot cross the border.
            #[allow(clippy::too_many_arguments)]
            #[::extendr_api::extendr]
            fn $name($($arg: ::extendr_api::Robj),*) -> ::extendr_api::Robj {
                $( let $arg = &$arg; )*
                $crate::outcome::shield(|| -> ::ggmlr_core::Result<::extendr_api::Robj> { $body })
            }
        )*
        ::extendr_api::extendr_module! { mod $area; $( fn $name; )* }
    };
}
pub(crate) use bindings;
