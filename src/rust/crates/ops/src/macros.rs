//! The declaration of an operator's attributes.

/// Declares an operator's struct. Each field becomes part of the program key, or of the scalar block when its type
/// is `Scalar<_>`; `from_params` builds the struct from R's parameters of the same names.
#[macro_export]
macro_rules! op_struct {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $( $(#[$fmeta:meta])* $field:ident : $ty:ty ),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $( $(#[$fmeta])* pub $field: $ty ),* }

        impl $name {
            /// Builds the operator from parameters with the names of its fields.
            #[allow(dead_code)]
            pub fn from_params(_p: &ggmlr_core::Params) -> ggmlr_core::Result<Self> {
                Ok($name { $( $field: _p.get(stringify!($field))? ),* })
            }
            fn key_fields(&self, _k: &mut ggmlr_core::Key) {
                $( ggmlr_core::Field::key(&self.$field, _k); )*
            }
            fn scalar_fields(&self, _out: &mut Vec<u64>) {
                $( ggmlr_core::Field::scalars(&self.$field, _out); )*
            }
        }
    };
}

/// The two methods of `Op` that follow from the struct's fields.
#[macro_export]
macro_rules! op_fields {
    () => {
        fn key(&self, k: &mut ggmlr_core::Key) {
            self.key_fields(k);
        }
        fn scalars(&self, out: &mut Vec<u64>) {
            self.scalar_fields(out);
        }
    };
}
