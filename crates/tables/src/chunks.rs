// SPDX-License-Identifier: Apache-2.0
//! An array that grows without moving its elements.

/// Elements of the first chunk; each further chunk has twice as many as the one before.
const FIRST: u32 = 64;
/// Chunks for more than 2^32 elements.
const CHUNKS: usize = 27;

/// Elements in chunks that are allocated as a whole when the first of their elements is added, and
/// stay where they are. The memory of an element is touched only when it is added, so the longest
/// addition costs one allocation.
pub struct Chunks<T> {
    chunks: [Vec<T>; CHUNKS],
    len: u32,
}

/// The chunk and the offset in it of an element.
#[inline(always)]
fn place(i: u32) -> (usize, usize) {
    let n = u64::from(i) + u64::from(FIRST);
    let chunk = n.ilog2() - FIRST.ilog2();
    (chunk as usize, (n - (u64::from(FIRST) << chunk)) as usize)
}

impl<T> Chunks<T> {
    pub const fn new() -> Self {
        Self { chunks: [const { Vec::new() }; CHUNKS], len: 0 }
    }

    /// Returns the number of elements.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub fn get(&self, i: u32) -> Option<&T> {
        let (chunk, at) = place(i);
        self.chunks.get(chunk)?.get(at)
    }

    #[inline(always)]
    pub fn get_mut(&mut self, i: u32) -> Option<&mut T> {
        let (chunk, at) = place(i);
        self.chunks.get_mut(chunk)?.get_mut(at)
    }

    /// Adds an element at the end; returns its number.
    pub fn push(&mut self, element: T) -> u32 {
        let number = self.len;
        let (chunk, at) = place(number);
        let chunk_len = (FIRST as usize) << chunk;
        let chunk = &mut self.chunks[chunk];
        debug_assert!(chunk.len() == at);
        if at == 0 {
            chunk.reserve_exact(chunk_len);
        }
        chunk.push(element);
        self.len += 1;
        number
    }
}

impl<T> std::ops::Index<u32> for Chunks<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, i: u32) -> &T {
        let (chunk, at) = place(i);
        &self.chunks[chunk][at]
    }
}

impl<T> std::ops::IndexMut<u32> for Chunks<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: u32) -> &mut T {
        let (chunk, at) = place(i);
        &mut self.chunks[chunk][at]
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn elements_stay_where_they_are() {
        let mut chunks = Chunks::new();
        let mut places = Vec::new();
        for i in 0..5000_u32 {
            assert_eq!((chunks.len(), chunks.get(i)), (i, None));
            assert_eq!(chunks.push(i), i);
            places.push(&raw const chunks[i]);
        }
        for (i, place) in (0..).zip(places) {
            chunks[i] += 1;
            assert_eq!((chunks.get(i), &raw const chunks[i]), (Some(&(i + 1)), place));
        }
        assert_eq!(place(u32::MAX).0, CHUNKS - 1);
    }
}
