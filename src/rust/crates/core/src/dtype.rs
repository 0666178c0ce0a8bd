//! Element types: ggml's own, plus the few that ONNX needs and ggml lacks.

use std::fmt;

macro_rules! dtypes {
    ($( $variant:ident $name:literal $id:literal $block:literal $bytes:literal $class:ident ),* $(,)?) => {
        /// Element type of a tensor. Block types store `block()` elements in `bytes()` bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types)]
        pub enum DType { $( $variant ),* }

        impl DType {
            /// Every type, in the order of the table.
            pub const ALL: &'static [DType] = &[$( DType::$variant ),*];

            /// Lower-case name as ggml writes it, `"f32"`, `"q4_K"`.
            pub const fn name(self) -> &'static str { match self { $( DType::$variant => $name ),* } }

            /// ggml's number for the type; `None` for types that ggml does not have.
            pub const fn id(self) -> Option<i32> {
                let id: i32 = match self { $( DType::$variant => $id ),* };
                if id < 0 { None } else { Some(id) }
            }

            /// Elements in one block (1 for plain types).
            pub const fn block(self) -> usize { match self { $( DType::$variant => $block ),* } }

            /// Bytes of one block.
            pub const fn bytes(self) -> usize { match self { $( DType::$variant => $bytes ),* } }

            /// What kind of number the type holds.
            pub const fn class(self) -> TypeClass { match self { $( DType::$variant => TypeClass::$class ),* } }
        }
    };
}

/// Kinds of element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeClass {
    Float,
    Int,
    Quant,
}

// variant, name, ggml id (-1: none), block length, bytes per block, class
dtypes! {
    F32 "f32" 0 1 4 Float, F16 "f16" 1 1 2 Float,
    Q4_0 "q4_0" 2 32 18 Quant, Q4_1 "q4_1" 3 32 20 Quant,
    Q5_0 "q5_0" 6 32 22 Quant, Q5_1 "q5_1" 7 32 24 Quant,
    Q8_0 "q8_0" 8 32 34 Quant, Q8_1 "q8_1" 9 32 36 Quant,
    Q2_K "q2_K" 10 256 84 Quant, Q3_K "q3_K" 11 256 110 Quant, Q4_K "q4_K" 12 256 144 Quant,
    Q5_K "q5_K" 13 256 176 Quant, Q6_K "q6_K" 14 256 210 Quant, Q8_K "q8_K" 15 256 292 Quant,
    IQ2_XXS "iq2_xxs" 16 256 66 Quant, IQ2_XS "iq2_xs" 17 256 74 Quant, IQ3_XXS "iq3_xxs" 18 256 98 Quant,
    IQ1_S "iq1_s" 19 256 50 Quant, IQ4_NL "iq4_nl" 20 32 18 Quant, IQ3_S "iq3_s" 21 256 110 Quant,
    IQ2_S "iq2_s" 22 256 82 Quant, IQ4_XS "iq4_xs" 23 256 136 Quant,
    I8 "i8" 24 1 1 Int, I16 "i16" 25 1 2 Int, I32 "i32" 26 1 4 Int, I64 "i64" 27 1 8 Int,
    F64 "f64" 28 1 8 Float, IQ1_M "iq1_m" 29 256 56 Quant, BF16 "bf16" 30 1 2 Float,
    TQ1_0 "tq1_0" 34 256 54 Quant, TQ2_0 "tq2_0" 35 256 66 Quant,
    MXFP4 "mxfp4" 39 32 17 Quant, NVFP4 "nvfp4" 40 64 36 Quant, Q1_0 "q1_0" 41 128 18 Quant,
    Bool "bool" -1 1 1 Int, U8 "u8" -1 1 1 Int, U16 "u16" -1 1 2 Int, U32 "u32" -1 1 4 Int, U64 "u64" -1 1 8 Int,
}

impl DType {
    /// The type with this ggml number.
    pub fn from_id(id: i32) -> Option<DType> {
        DType::ALL.iter().copied().find(|t| t.id() == Some(id))
    }

    /// The type with this name, upper or lower case.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|t| t.name().eq_ignore_ascii_case(name))
    }

    /// Whether elements are stored in blocks that share a scale.
    pub const fn is_quantized(self) -> bool {
        matches!(self.class(), TypeClass::Quant)
    }

    /// Whether elements are floating point numbers stored one by one.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), TypeClass::Float)
    }

    /// Bytes of a row of `n` elements, `None` when `n` is no multiple of the block or the size overflows.
    pub fn row_bytes(self, n: usize) -> Option<usize> {
        if !n.is_multiple_of(self.block()) {
            return None;
        }
        (n / self.block()).checked_mul(self.bytes())
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_round_trip() {
        for &t in DType::ALL {
            if let Some(id) = t.id() {
                assert_eq!(DType::from_id(id), Some(t));
            }
            assert_eq!(DType::from_name(&t.name().to_uppercase()), Some(t));
        }
        assert_eq!(DType::from_id(9999), None);
        assert_eq!(DType::from_id(-1), None);
    }

    #[test]
    fn rows_of_block_types_need_whole_blocks() {
        assert_eq!(DType::Q4_0.row_bytes(64), Some(36));
        assert_eq!(DType::Q4_0.row_bytes(31), None);
        assert_eq!(DType::F64.row_bytes(usize::MAX / 4), None);
    }
}
