//! Texts of the parameters of operators, for the help pages. A parameter means the same in every operator of a page;
//! what is special about it stands in the operator's details.

/// Name and text. Topics that need another text for a name have it under `topic.name`.
const TEXTS: &[(&str, &str)] = &[
    // Tensors.
    ("ctx", "Context from [ggml_init()] that the result belongs to."),
    ("a", "Tensor: the first operand; shapes and types are in the details."),
    ("b", "Tensor: the second operand."),
    ("c", "Tensor: the third operand; `NULL` for none where that is the default."),
    ("as", "Tensor: the matrices to choose from."),
    ("ids", "Tensor of whole numbers, counted from 0."),
    ("mask", "Tensor that is added before the softmax, or `NULL` for none."),
    ("src", "Tensor to look at."),
    ("tensor", "Tensor."),
    ("sinks", "Tensor: one number for each head."),
    ("timesteps", "Tensor of time steps, `[n]`."),
    ("q", "Tensor: queries."),
    ("k", "Tensor: keys."),
    ("v", "Tensor: values."),
    ("ordering.k", "Number of elements to keep, at most the length of a row."),
    ("optimiser steps.grad", "Tensor: gradient of the loss with respect to `a`."),
    ("optimiser steps.m", "Tensor: running mean of the gradients, updated in place."),
    ("optimiser steps.v", "Tensor: running mean of the squared gradients, updated in place."),
    ("adamw_params", "Tensor of seven numbers, see the details."),
    ("sgd_params", "Tensor of two numbers, see the details."),
    // Numbers of formulas.
    ("s", "Factor, one number."),
    ("unary.b", "Tensor: the forward input; for `ggml_scale_bias()` the number that is added."),
    ("negative_slope", "Slope for negative numbers."),
    ("min_val", "Smallest value of the result."),
    ("max_val", "Largest value of the result."),
    ("eps", "Small number added under the root, zero or more."),
    ("scale", "Factor in front of the first operand."),
    ("max_bias", "Largest slope of the position bias (ALiBi); 0 for none."),
    ("logit_softcap", "Bound that products are bent to by `tanh`; 0 for none."),
    ("inplace", "`TRUE` computes into the memory of `a`."),
    ("glu.op", "One of the constants `GGML_GLU_OP_*`."),
    ("swapped", "`TRUE` takes the gate from the first half."),
    ("n_groups", "Number of groups that the channels are divided into."),
    ("n_past", "Number of columns in front that every row sees."),
    // Shapes and places.
    ("ne0", "Extent of dimension 0, the innermost."),
    ("ne1", "Extent of dimension 1."),
    ("ne2", "Extent of dimension 2."),
    ("ne3", "Extent of dimension 3."),
    ("nb1", "Bytes from one element of dimension 1 to the next."),
    ("nb2", "Bytes from one element of dimension 2 to the next."),
    ("nb3", "Bytes from one element of dimension 3 to the next."),
    ("offset", "Bytes in front of the first element."),
    ("axis0", "Dimension of the result that dimension 0 becomes."),
    ("axis1", "Dimension of the result that dimension 1 becomes."),
    ("axis2", "Dimension of the result that dimension 2 becomes."),
    ("axis3", "Dimension of the result that dimension 3 becomes."),
    ("type", "Element type, one of the constants `GGML_TYPE_*`."),
    ("dim", "Dimension, counted from 0."),
    ("order", "One of the constants `GGML_SORT_ORDER_*`."),
    ("assembly.p0", "Elements added to dimension 0."),
    ("assembly.p1", "Elements added to dimension 1."),
    ("assembly.p2", "Elements added to dimension 2."),
    ("assembly.p3", "Elements added to dimension 3."),
    ("lp", "Elements added in front of each dimension."),
    ("rp", "Elements added behind each dimension."),
    ("shift0", "Positions that dimension 0 moves by; what leaves at one end enters at the other."),
    ("shift1", "As `shift0`, for dimension 1."),
    ("shift2", "As `shift0`, for dimension 2."),
    ("shift3", "As `shift0`, for dimension 3."),
    // Sequences.
    ("start", "First number."),
    ("stop", "The numbers stay below this."),
    ("step", "Distance of neighbours."),
    ("max_period", "Longest period."),
    ("value", "Number to fill with."),
];

/// The text for a parameter on the page of a topic.
pub fn text(topic: &str, name: &str) -> Option<&'static str> {
    let find = |key: &str| TEXTS.iter().find(|(n, _)| *n == key).map(|(_, t)| *t);
    find(&format!("{topic}.{name}")).or_else(|| find(name))
}
