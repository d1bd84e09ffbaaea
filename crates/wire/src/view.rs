// SPDX-License-Identifier: Apache-2.0
//! Byte slices seen as headers.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use zerocopy::byteorder::network_endian::{U16, U32, U64};

/// A header of fixed size that any bytes are a valid value of. Implemented for every type with the
/// five zerocopy derives, so a feature can declare its own.
pub trait Header: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned + Sized {
    /// Bytes on the wire.
    const LEN: usize = size_of::<Self>();

    /// The header at the front of `bytes`, or `None` if they are too few.
    #[inline(always)]
    fn view(bytes: &[u8]) -> Option<&Self> {
        match Self::ref_from_prefix(bytes) {
            Ok((header, _)) => Some(header),
            Err(_) => None,
        }
    }

    /// As [`Header::view`], for writing.
    #[inline(always)]
    fn view_mut(bytes: &mut [u8]) -> Option<&mut Self> {
        match Self::mut_from_prefix(bytes) {
            Ok((header, _)) => Some(header),
            Err(_) => None,
        }
    }

    /// The header at the front of `bytes` and what follows it.
    #[inline(always)]
    fn split(bytes: &[u8]) -> Option<(&Self, &[u8])> {
        Self::ref_from_prefix(bytes).ok()
    }

    /// As [`Header::split`], for writing.
    #[inline(always)]
    fn split_mut(bytes: &mut [u8]) -> Option<(&mut Self, &mut [u8])> {
        Self::mut_from_prefix(bytes).ok()
    }

    /// The header `offset` bytes into `bytes`.
    #[inline(always)]
    fn view_at(bytes: &[u8], offset: usize) -> Option<&Self> {
        Self::view(bytes.get(offset..)?)
    }

    /// As [`Header::view_at`], for writing.
    #[inline(always)]
    fn view_at_mut(bytes: &mut [u8], offset: usize) -> Option<&mut Self> {
        Self::view_mut(bytes.get_mut(offset..)?)
    }
}

impl<T: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned> Header for T {}
