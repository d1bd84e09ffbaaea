// SPDX-License-Identifier: Apache-2.0
//! Packet bytes that tables compare: vectors of 16 bytes behind a mask.

use buffer::{Buffer, HEADROOM};

/// Bytes of a vector.
pub const VECTOR: usize = 16;
/// Vectors that a table compares at most.
pub const MAX_VECTORS: usize = 5;
/// Bytes that a table compares at most.
pub const MAX_BYTES: usize = VECTOR * MAX_VECTORS;

/// The vectors that a table compares, each in memory order; vectors behind the last one are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Key(pub [u128; MAX_VECTORS]);

impl Key {
    /// The key of these bytes; missing bytes are zero, bytes behind [`MAX_BYTES`] are left out.
    pub fn of(bytes: &[u8]) -> Self {
        let mut all = [0; MAX_BYTES];
        let n = bytes.len().min(MAX_BYTES);
        all[..n].copy_from_slice(&bytes[..n]);
        Self::from_array(&all)
    }

    #[inline(always)]
    fn from_array(bytes: &[u8; MAX_BYTES]) -> Self {
        let mut key = Self::default();
        for (word, vector) in key.0.iter_mut().zip(bytes.as_chunks::<VECTOR>().0) {
            *word = u128::from_ne_bytes(*vector);
        }
        key
    }

    /// The bytes of the first vectors.
    pub fn bytes(&self, vectors: usize) -> Vec<u8> {
        self.0.iter().take(vectors).flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// The bits that both have.
    #[inline(always)]
    pub fn and(&self, mask: &Self) -> Self {
        let mut key = *self;
        for (word, mask) in key.0.iter_mut().zip(&mask.0) {
            *word &= mask;
        }
        key
    }

    /// The bytes that aren't zero, a bit for each.
    pub fn used(&self) -> u128 {
        let bytes = self.0.iter().flat_map(|word| word.to_ne_bytes());
        bytes.enumerate().fold(0, |used, (i, byte)| used | u128::from(byte != 0) << i)
    }

    /// Number of set bits.
    pub fn ones(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// `vectors` vectors of a packet from an offset on. Bytes behind its end are zero.
#[inline(always)]
pub fn read(b: &Buffer, from: usize, vectors: usize) -> Key {
    let mut bytes = [0; MAX_BYTES];
    fill(b, from, &mut bytes[..(vectors * VECTOR).min(MAX_BYTES)]);
    Key::from_array(&bytes)
}

/// Like [`read`], from an offset that may be in front of the packet's first byte: removed headers
/// are still in the buffer. Bytes in front of the headers are zero.
#[inline(always)]
pub fn read_around(b: &mut Buffer, from: i64, vectors: usize) -> Key {
    if let Ok(from) = usize::try_from(from) {
        return read(b, from, vectors);
    }
    read_in_front(b, from, vectors)
}

fn read_in_front(b: &mut Buffer, from: i64, vectors: usize) -> Key {
    let wanted = usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX);
    // Where a driver puts packets, or the layer-2 header if that begins further in front.
    let there = b.headroom().saturating_sub(HEADROOM).max(b.l2_len()).min(wanted);
    let mut bytes = [0; MAX_BYTES];
    let out = &mut bytes[..(vectors * VECTOR).min(MAX_BYTES)];
    let zeros = (wanted - there).min(out.len());
    if b.rewind(there) {
        fill(b, 0, &mut out[zeros..]);
        let restored = b.pull(there);
        debug_assert!(restored, "it was just uncovered");
    }
    Key::from_array(&bytes)
}

#[inline(always)]
fn fill(b: &Buffer, from: usize, out: &mut [u8]) {
    match b.data().get(from..).and_then(|data| data.get(..out.len())) {
        Some(bytes) => out.copy_from_slice(bytes),
        // Bytes behind the packet's end stay zero.
        None => _ = b.copy_out(from, out),
    }
}
