// SPDX-License-Identifier: Apache-2.0
//! Objects at indices that stay.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// No further free slot.
const END: u32 = u32::MAX;

enum Slot<T> {
    Used(T),
    /// The next free slot, or `END`.
    Free(u32),
}

/// Objects under indices that the pool hands out and that don't change until the object is removed;
/// the index freed last is the next one used. `I` is the index as the owner names it: a newtype
/// around `u32`.
pub struct Pool<T, I = u32> {
    slots: Vec<Slot<T>>,
    free: u32,
    used: usize,
    index: PhantomData<fn() -> I>,
}

impl<T, I: Copy + From<u32> + Into<u32>> Pool<T, I> {
    /// An empty pool.
    pub const fn new() -> Self {
        Self { slots: Vec::new(), free: END, used: 0, index: PhantomData }
    }

    /// The index that the next [`Self::insert`] uses.
    pub fn next_index(&self) -> I {
        I::from(if self.free == END { self.end() } else { self.free })
    }

    /// Puts `value` into a free slot.
    ///
    /// # Panics
    /// With 2^32 - 1 objects in the pool.
    pub fn insert(&mut self, value: T) -> I {
        let index = self.next_index();
        let i: u32 = index.into();
        match self.slots.get_mut(i as usize) {
            Some(slot) => {
                if let Slot::Free(next) = *slot {
                    self.free = next;
                }
                *slot = Slot::Used(value);
            }
            None => {
                assert!(i != END, "pool is full");
                self.slots.push(Slot::Used(value));
            }
        }
        self.used += 1;
        index
    }

    /// Takes the object out and frees its index.
    pub fn remove(&mut self, index: I) -> Option<T> {
        let i: u32 = index.into();
        let slot = self.slots.get_mut(i as usize).filter(|slot| matches!(slot, Slot::Used(_)))?;
        let Slot::Used(value) = std::mem::replace(slot, Slot::Free(self.free)) else { return None };
        self.free = i;
        self.used -= 1;
        Some(value)
    }

    /// The object at `index`.
    #[inline(always)]
    pub fn get(&self, index: I) -> Option<&T> {
        match self.slots.get(index.into() as usize) {
            Some(Slot::Used(value)) => Some(value),
            _ => None,
        }
    }

    /// The object at `index`, to change.
    #[inline(always)]
    pub fn get_mut(&mut self, index: I) -> Option<&mut T> {
        match self.slots.get_mut(index.into() as usize) {
            Some(Slot::Used(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns true if there is an object at `index`.
    pub fn contains(&self, index: I) -> bool {
        self.get(index).is_some()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Returns true if there are no objects.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// All indices ever handed out are below this: the length of an array parallel to the pool.
    pub fn end(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Indices and objects, in order of index.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.slots.iter().enumerate().filter_map(|(i, slot)| match slot {
            Slot::Used(value) => Some((I::from(i as u32), value)),
            Slot::Free(_) => None,
        })
    }

    /// Indices and objects to change, in order of index.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (I, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(i, slot)| match slot {
            Slot::Used(value) => Some((I::from(i as u32), value)),
            Slot::Free(_) => None,
        })
    }

    /// The indices in use, in order.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = I> {
        self.iter().map(|(i, _)| i)
    }

    /// The objects, in order of index.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.iter().map(|(_, value)| value)
    }

    /// Removes the objects for which `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(I, &mut T) -> bool) {
        for i in 0..self.end() {
            let index = I::from(i);
            if self.get_mut(index).is_some_and(|value| !keep(index, value)) {
                self.remove(index);
            }
        }
    }

    /// Removes everything; indices begin at 0 again.
    pub fn clear(&mut self) {
        *self = Self::new();
    }
}

impl<T, I: Copy + From<u32> + Into<u32>> Default for Pool<T, I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, I: Copy + From<u32> + Into<u32> + fmt::Debug> Index<I> for Pool<T, I> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: I) -> &T {
        match self.get(index) {
            Some(value) => value,
            None => vacant(index),
        }
    }
}

impl<T, I: Copy + From<u32> + Into<u32> + fmt::Debug> IndexMut<I> for Pool<T, I> {
    #[inline(always)]
    fn index_mut(&mut self, index: I) -> &mut T {
        match self.get_mut(index) {
            Some(value) => value,
            None => vacant(index),
        }
    }
}

#[cold]
#[inline(never)]
fn vacant(index: impl fmt::Debug) -> ! {
    panic!("nothing at index {index:?}");
}

impl<T: fmt::Debug, I: Copy + From<u32> + Into<u32> + fmt::Debug> fmt::Debug for Pool<T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[suite::test]
    fn indices_are_typed_and_reused_last_freed_first() {
        #[derive(Debug, Clone, Copy, PartialEq)]
        struct Id(u32);
        impl From<u32> for Id {
            fn from(i: u32) -> Self {
                Self(i)
            }
        }
        impl From<Id> for u32 {
            fn from(id: Id) -> Self {
                id.0
            }
        }
        let mut pool = Pool::<_, Id>::new();
        for name in ["a", "b", "c"] {
            pool.insert(name);
        }
        assert_eq!(
            (pool.remove(Id(0)), pool.remove(Id(2)), pool.remove(Id(2))),
            (Some("a"), Some("c"), None)
        );
        assert_eq!((pool.next_index(), pool.insert("d"), pool.insert("e")), (Id(2), Id(2), Id(0)));
        assert_eq!(pool.iter().collect::<Vec<_>>(), [(Id(0), &"e"), (Id(1), &"b"), (Id(2), &"d")]);
        pool.retain(|id, _| id == Id(1));
        assert_eq!((pool.len(), pool.end(), pool[Id(1)]), (1, 3, "b"));
    }

    #[suite::test]
    #[should_panic(expected = "nothing at index 7")]
    fn a_vacant_index_panics() {
        let pool = Pool::<u8>::new();
        let _ = pool[7];
    }

    proptest! {
        #[suite::test]
        fn a_pool_is_a_map(ops in prop::collection::vec((any::<bool>(), 0u32..40, any::<u8>()), 0..200)) {
            let mut pool = Pool::<u8>::new();
            let mut oracle = BTreeMap::new();
            for (insert, index, value) in ops {
                if insert {
                    let next = pool.next_index();
                    prop_assert_eq!(pool.insert(value), next);
                    prop_assert_eq!(oracle.insert(next, value), None, "not in use");
                } else {
                    prop_assert_eq!(pool.remove(index), oracle.remove(&index));
                }
                prop_assert_eq!(pool.len(), oracle.len());
            }
            prop_assert!(pool.iter().eq(oracle.iter().map(|(i, v)| (*i, v))));
            for i in 0..pool.end() + 2 {
                prop_assert_eq!(pool.get(i), oracle.get(&i));
            }
        }
    }
}
