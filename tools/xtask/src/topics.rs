//! Help pages of operators: one per topic.

/// A help page.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// The topic as entries write it.
    pub name: &'static str,
    pub title: &'static str,
    /// First paragraph.
    pub description: &'static str,
}

/// Every page, in the order of the generated file.
pub const TOPICS: &[Topic] = &[
    Topic {
        name: "unary",
        title: "Formulas of one tensor",
        description: "Activations, rounding, powers and scaling: each element by itself.",
    },
    Topic {
        name: "binary",
        title: "Arithmetic of two tensors",
        description: "Element by element; the second tensor repeats into the first.",
    },
    Topic {
        name: "glu",
        title: "Gated linear units",
        description: "One half of the values, or one tensor, goes through an activation and multiplies the other.",
    },
    Topic { name: "reduction", title: "Sums, means and extrema", description: "Fewer numbers out than in." },
    Topic { name: "normalisation", title: "Normalisation and softmax", description: "Rows brought to a common scale." },
    Topic { name: "products", title: "Products of matrices", description: "Matrix products and outer products." },
    Topic {
        name: "shape",
        title: "Views, shapes and copies",
        description: "Other descriptions of the same numbers, and copies of them.",
    },
    Topic {
        name: "assembly",
        title: "Joining, padding and placing",
        description: "Tensors put together, given borders, or written into parts of others.",
    },
    Topic {
        name: "matrix",
        title: "Diagonals, masks and sequences",
        description: "Matrices with a special structure, and numbers in a row.",
    },
    Topic {
        name: "ordering",
        title: "Orders and running sums",
        description: "Positions of elements in order, the largest ones, sums so far.",
    },
    Topic { name: "rows", title: "Rows by index", description: "Reads and writes rows by their numbers." },
    Topic { name: "random", title: "Random numbers", description: "Numbers drawn when the graph runs." },
    Topic { name: "losses", title: "Losses", description: "How far predictions are from targets: one number." },
    Topic {
        name: "optimiser steps",
        title: "Optimiser steps",
        description: "Updates of parameters from their gradients, in place.",
    },
];

/// The `@rdname` of a topic.
pub fn page(topic: &str) -> String {
    format!("ggml_ops_{}", topic.replace([' ', '-'], "_"))
}
