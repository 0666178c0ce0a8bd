//! Slots addressed by keys that notice when their object is gone.

use std::num::NonZeroU64;

/// Names an object of a table: slot in the lower half, generation in the upper one. Never 0, so that R's nil address
/// can never look like a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(NonZeroU64);

impl Key {
    fn new(slot: u32, generation: u32) -> Option<Key> {
        NonZeroU64::new(u64::from(generation) << 32 | u64::from(slot)).map(Key)
    }

    /// The key with these bits; `None` for 0.
    pub fn from_bits(bits: u64) -> Option<Key> {
        NonZeroU64::new(bits).map(Key)
    }

    /// The key as a number.
    pub fn bits(self) -> u64 {
        self.0.get()
    }

    fn slot(self) -> usize {
        self.bits() as u32 as usize
    }

    fn generation(self) -> u32 {
        (self.bits() >> 32) as u32
    }
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Objects of one kind.
#[derive(Debug)]
pub(crate) struct Table<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Table<T> {
    pub fn new() -> Table<T> {
        Table { slots: Vec::new(), free: Vec::new() }
    }

    /// Stores an object. `None` when all 2^32 slots are in use.
    pub fn insert(&mut self, value: T) -> Option<Key> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(Slot { generation: 1, value: None });
                u32::try_from(self.slots.len() - 1).ok()?
            }
        };
        let s = &mut self.slots[slot as usize];
        s.value = Some(value);
        Key::new(slot, s.generation)
    }

    pub fn get(&self, key: Key) -> Option<&T> {
        self.slots.get(key.slot()).filter(|s| s.generation == key.generation())?.value.as_ref()
    }

    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.slots.get_mut(key.slot()).filter(|s| s.generation == key.generation())?.value.as_mut()
    }

    pub fn contains(&self, key: Key) -> bool {
        self.get(key).is_some()
    }

    /// Takes an object out; its key is stale from now on.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let s = self.slots.get_mut(key.slot()).filter(|s| s.generation == key.generation())?;
        let value = s.value.take()?;
        // A slot whose generations are used up stays empty for good rather than let an old key match again.
        if let Some(next) = s.generation.checked_add(1) {
            s.generation = next;
            self.free.push(key.slot() as u32);
        }
        Some(value)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|s| s.value.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_keys_find_nothing() {
        let mut t = Table::new();
        let a = t.insert('a').unwrap();
        assert_eq!(t.remove(a), Some('a'));
        assert_eq!(t.remove(a), None);
        let b = t.insert('b').unwrap();
        assert_eq!(b.slot(), a.slot());
        assert!(t.get(a).is_none() && t.get_mut(a).is_none());
        assert_eq!(t.get(b), Some(&'b'));
        assert_eq!(Key::from_bits(b.bits()), Some(b));
        assert_eq!(Key::from_bits(0), None);
        assert!(t.get(Key::from_bits(u64::MAX).unwrap()).is_none());
    }

    #[test]
    fn a_slot_retires_when_its_generations_are_used_up() {
        let mut t = Table::new();
        let a = t.insert(1).unwrap();
        t.slots[0].generation = u32::MAX;
        let last = Key::new(0, u32::MAX).unwrap();
        assert_eq!(t.remove(last), Some(1));
        let next = t.insert(2).unwrap();
        assert_ne!(next.slot(), a.slot());
        assert!(t.get(last).is_none());
    }
}
