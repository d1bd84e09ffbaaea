// SPDX-License-Identifier: Apache-2.0
//! Work on packet headers.

use crate::Isa;

/// The one's complement sum (RFC 1071) of an IPv4 header without options, folded to 16 bits.
///
/// 0xffff if and only if the header's checksum is right (an all-zero header gives 0). Words are
/// taken in memory order, so with the checksum field set to 0 before, `(!sum).to_ne_bytes()` are
/// the bytes to put there.
#[inline(always)]
#[expect(clippy::extra_unused_type_parameters, reason = "all kernels are called alike")]
pub fn ip4_header_sum<I: Isa>(header: &[u8; 20]) -> u16 {
    let (words, last) = header.as_chunks::<8>();
    let [a, b] = [0, 1].map(|i| u64::from_ne_bytes(words[i]));
    let c = u32::from_ne_bytes([last[0], last[1], last[2], last[3]]);
    let (sum, carry_b) = a.overflowing_add(b);
    let (sum, carry_c) = sum.overflowing_add(u64::from(c) + u64::from(carry_b));
    // End-around carry. It can't carry again: after a carry the sum is small.
    let sum = sum.wrapping_add(u64::from(carry_c));
    // Adding a number to itself with its halves swapped leaves the folded sum, carry included, in
    // the upper half.
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}

/// Writes the first `len` bytes of `rewrite` to `dst` so that they end before position `end`, and
/// touches no other byte of `dst`: the new header goes where the old one was, aligned at its end.
///
/// # Panics
/// If `len` exceeds 64 or `end`, or `end` exceeds `N`.
#[inline(always)]
#[expect(clippy::extra_unused_type_parameters, reason = "all kernels are called alike")]
pub fn copy_rewrite<I: Isa, const N: usize>(
    dst: &mut [u8; N],
    end: usize,
    rewrite: &[u8; 64],
    len: usize,
) {
    let dst = &mut dst[..end][end - len..];
    let src = &rewrite[..len];
    // Two blocks that may overlap, of a size known here: no loop, no call.
    match len {
        32..=64 => both_ends::<32>(dst, src),
        16..32 => both_ends::<16>(dst, src),
        8..16 => both_ends::<8>(dst, src),
        4..8 => both_ends::<4>(dst, src),
        _ => {
            for (to, from) in dst.iter_mut().zip(src) {
                *to = *from;
            }
        }
    }
}

#[inline(always)]
fn both_ends<const B: usize>(dst: &mut [u8], src: &[u8]) {
    if let (Some(first), Some(last)) = (src.first_chunk::<B>(), src.last_chunk::<B>()) {
        let (first, last) = (*first, *last);
        if let Some(to) = dst.first_chunk_mut::<B>() {
            *to = first;
        }
        if let Some(to) = dst.last_chunk_mut::<B>() {
            *to = last;
        }
    }
}
