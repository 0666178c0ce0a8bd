//! Structural keys: what makes two graphs share a compiled program.

use crate::dtype::DType;

/// Sequence of words that identifies an operator's or graph's structure exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key(Vec<u64>);

impl Key {
    /// An empty key.
    pub fn new() -> Key {
        Key::default()
    }

    /// Appends one word.
    pub fn word(&mut self, w: u64) {
        self.0.push(w);
    }

    /// Appends a name.
    pub fn name(&mut self, s: &str) {
        // FNV-1a: names are few and ours, so a 64-bit digest tells them apart; a test over the registry checks it.
        let mut h = 0xcbf2_9ce4_8422_2325_u64;
        for b in s.bytes() {
            h = (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
        }
        self.0.push(h);
    }

    /// Words appended so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// A parameter that changes neither shapes nor kernels: a learning rate, a scale, a random key. It is left out of
/// the program key and read from the run's scalar block, so that changing it compiles nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar<T>(pub T);

/// A field of an operator: either part of its key or part of the scalar block.
pub trait Field {
    /// Adds the field to the structural key.
    fn key(&self, k: &mut Key);
    /// Adds the field to the scalar block, as 64-bit words.
    fn scalars(&self, _out: &mut Vec<u64>) {}
}

macro_rules! key_as_word {
    ($($t:ty),*) => { $( impl Field for $t { fn key(&self, k: &mut Key) { k.word(*self as u64); } } )* };
}
key_as_word!(usize, i32, i64, u64, u32, u8, bool);

impl Field for f32 {
    fn key(&self, k: &mut Key) {
        k.word(u64::from(self.to_bits()));
    }
}

impl Field for f64 {
    fn key(&self, k: &mut Key) {
        k.word(self.to_bits());
    }
}

impl Field for DType {
    fn key(&self, k: &mut Key) {
        k.word(*self as u64);
    }
}

impl<T: Field, const N: usize> Field for [T; N] {
    fn key(&self, k: &mut Key) {
        self.iter().for_each(|x| x.key(k));
    }
}

impl<T: Field> Field for Vec<T> {
    fn key(&self, k: &mut Key) {
        k.word(self.len() as u64);
        self.iter().for_each(|x| x.key(k));
    }
}

impl<T: Field> Field for Option<T> {
    fn key(&self, k: &mut Key) {
        k.word(u64::from(self.is_some()));
        if let Some(x) = self {
            x.key(k);
        }
    }
}

impl Field for Scalar<f32> {
    fn key(&self, _k: &mut Key) {}
    fn scalars(&self, out: &mut Vec<u64>) {
        out.push(f64::from(self.0).to_bits());
    }
}

impl Field for Scalar<f64> {
    fn key(&self, _k: &mut Key) {}
    fn scalars(&self, out: &mut Vec<u64>) {
        out.push(self.0.to_bits());
    }
}

impl Field for Scalar<u64> {
    fn key(&self, _k: &mut Key) {}
    fn scalars(&self, out: &mut Vec<u64>) {
        out.push(self.0);
    }
}

impl Field for Scalar<usize> {
    fn key(&self, _k: &mut Key) {}
    fn scalars(&self, out: &mut Vec<u64>) {
        out.push(self.0 as u64);
    }
}
