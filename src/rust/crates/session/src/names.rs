//! ggml's numbers and names of operators: part of the interface that scripts rely on.

/// Operators by code.
pub const OP_NAMES: [&str; 99] = [
    "NONE",
    "DUP",
    "ADD",
    "ADD_ID",
    "ADD1",
    "ACC",
    "SUB",
    "MUL",
    "DIV",
    "SQR",
    "SQRT",
    "LOG",
    "SIN",
    "COS",
    "SUM",
    "SUM_ROWS",
    "CUMSUM",
    "MEAN",
    "ARGMAX",
    "COUNT_EQUAL",
    "REPEAT",
    "REPEAT_BACK",
    "CONCAT",
    "SILU_BACK",
    "NORM",
    "RMS_NORM",
    "RMS_NORM_BACK",
    "GROUP_NORM",
    "L2_NORM",
    "MUL_MAT",
    "MUL_MAT_ID",
    "OUT_PROD",
    "SCALE",
    "SET",
    "CPY",
    "CONT",
    "RESHAPE",
    "VIEW",
    "PERMUTE",
    "TRANSPOSE",
    "GET_ROWS",
    "GET_ROWS_BACK",
    "SET_ROWS",
    "DIAG",
    "DIAG_MASK_INF",
    "DIAG_MASK_ZERO",
    "SOFT_MAX",
    "SOFT_MAX_BACK",
    "ROPE",
    "ROPE_BACK",
    "CLAMP",
    "CONV_TRANSPOSE_1D",
    "IM2COL",
    "IM2COL_BACK",
    "IM2COL_3D",
    "CONV_2D",
    "CONV_3D",
    "CONV_2D_DW",
    "CONV_TRANSPOSE_2D",
    "POOL_1D",
    "POOL_2D",
    "POOL_2D_BACK",
    "UPSCALE",
    "PAD",
    "PAD_REFLECT_1D",
    "ROLL",
    "ARANGE",
    "TIMESTEP_EMBEDDING",
    "ARGSORT",
    "TOP_K",
    "LEAKY_RELU",
    "TRI",
    "FILL",
    "FLASH_ATTN_EXT",
    "FLASH_ATTN_BACK",
    "SSM_CONV",
    "SSM_SCAN",
    "WIN_PART",
    "WIN_UNPART",
    "GET_REL_POS",
    "ADD_REL_POS",
    "RWKV_WKV6",
    "GATED_LINEAR_ATTN",
    "RWKV_WKV7",
    "SOLVE_TRI",
    "REL_POS_BIAS",
    "CAST_NUMERIC",
    "UNARY",
    "MAP_CUSTOM1",
    "MAP_CUSTOM2",
    "MAP_CUSTOM3",
    "CUSTOM",
    "CROSS_ENTROPY_LOSS",
    "CROSS_ENTROPY_LOSS_BACK",
    "OPT_STEP_ADAMW",
    "OPT_STEP_SGD",
    "GLU",
    "SCATTER_ELEMENTS",
    "GATED_DELTA_NET",
];

/// Element-wise functions by their own code; all of them have the operator code of `UNARY`.
pub const UNARY_NAMES: [&str; 22] = [
    "ABS",
    "SGN",
    "NEG",
    "STEP",
    "TANH",
    "ELU",
    "RELU",
    "SIGMOID",
    "GELU",
    "GELU_QUICK",
    "SILU",
    "HARDSWISH",
    "HARDSIGMOID",
    "EXP",
    "EXPM1",
    "SOFTPLUS",
    "GELU_ERF",
    "XIELU",
    "FLOOR",
    "CEIL",
    "ROUND",
    "TRUNC",
];

/// Operators that ggml's allocators let write over their first source.
const IN_PLACE: [&str; 19] = [
    "ADD",
    "ADD_ID",
    "ADD1",
    "SUB",
    "MUL",
    "DIV",
    "SQR",
    "SQRT",
    "LOG",
    "SILU_BACK",
    "RMS_NORM",
    "RMS_NORM_BACK",
    "SCALE",
    "DIAG_MASK_INF",
    "DIAG_MASK_ZERO",
    "SOFT_MAX",
    "SOFT_MAX_BACK",
    "ROPE",
    "ROPE_BACK",
];

fn position(list: &[&str], name: &str) -> Option<usize> {
    list.iter().position(|n| n.eq_ignore_ascii_case(name))
}

/// Code of a unary function by its table name.
pub fn unary_code(table_name: &str) -> Option<usize> {
    position(&UNARY_NAMES, table_name)
}

/// Code of an operator by its table name; `None` for operators that ggml does not number.
pub fn operator_code(table_name: &str) -> Option<usize> {
    let plain = match table_name {
        "glu" | "glu_split" => "GLU",
        "view_tensor" => "VIEW",
        "cast" => "CPY",
        "soft_max_ext" => "SOFT_MAX",
        name if unary_code(name).is_some() => "UNARY",
        name => name,
    };
    position(&OP_NAMES, plain)
}

/// Name of an operator as graphs print it.
pub fn operator_label(table_name: &str) -> String {
    operator_code(table_name).map_or_else(|| table_name.to_uppercase(), |i| OP_NAMES[i].to_owned())
}

/// Formula of an operator, for drawings of graphs.
pub fn op_symbol(code: usize) -> Option<String> {
    let name = *OP_NAMES.get(code)?;
    Some(match name {
        "NONE" => "none".to_owned(),
        "DUP" | "CONT" => "x".to_owned(),
        "ADD" | "ADD1" => "x+y".to_owned(),
        "SUB" => "x-y".to_owned(),
        "MUL" => "x*y".to_owned(),
        "DIV" => "x/y".to_owned(),
        "SQR" => "x^2".to_owned(),
        "SUM" => "sum(x)".to_owned(),
        "MUL_MAT" => "X*Y".to_owned(),
        "SCALE" => "x*v".to_owned(),
        "CPY" => "x->y".to_owned(),
        other => format!("{}(x)", other.to_lowercase()),
    })
}

/// Whether ggml's allocators let the operator write over its first source.
pub fn can_inplace(code: usize) -> bool {
    OP_NAMES.get(code).is_some_and(|n| IN_PLACE.contains(n) || matches!(*n, "FILL" | "UNARY"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_contract() {
        for (code, name) in
            [(0, "NONE"), (5, "ACC"), (29, "MUL_MAT"), (46, "SOFT_MAX"), (87, "UNARY"), (98, "GATED_DELTA_NET")]
        {
            assert_eq!(OP_NAMES[code], name);
        }
        assert_eq!((UNARY_NAMES[10], UNARY_NAMES[21]), ("SILU", "TRUNC"));
        assert_eq!(operator_code("mul_mat"), Some(29));
        assert_eq!(operator_code("relu"), Some(87));
        assert_eq!(operator_code("sqr"), Some(9));
        assert_eq!(operator_label("relu"), "UNARY");
        assert_eq!(operator_label("norm_back"), "NORM_BACK");
        assert!(can_inplace(2) && can_inplace(87) && !can_inplace(29) && !can_inplace(500));
        assert_eq!(op_symbol(2).as_deref(), Some("x+y"));
        assert_eq!(op_symbol(99), None);
    }
}
