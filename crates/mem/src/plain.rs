// SPDX-License-Identifier: Apache-2.0
//! Values that are kept as bytes.

use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// Plain data: a value that may be kept as bytes beside values of other types, and copied with
/// them.
///
/// It is implemented for every `Copy + Default` type that derives [`TryFromBytes`], [`IntoBytes`]
/// and [`Immutable`] of `zerocopy`: integers, `bool`, `#[repr(u8)]` enums, and `#[repr(C)]` structs
/// of these without padding.
///
/// ```
/// use mem::Plain;
/// use zerocopy::{Immutable, IntoBytes, TryFromBytes};
///
/// #[derive(Clone, Copy, Default, PartialEq, Debug, TryFromBytes, IntoBytes, Immutable)]
/// #[repr(C)]
/// struct Mark { class: u16, is_final: bool, level: u8 }
///
/// let (mark, mut bytes) = (Mark { class: 7, is_final: true, level: 2 }, [0; 6]);
/// mark.store(&mut bytes);
/// assert_eq!(Mark::load(&bytes), mark);
/// bytes[2] = 9;
/// assert_eq!(Mark::load(&bytes), Mark::default(), "9 is no bool");
/// ```
///
/// References are not plain, so that no value outlives what it refers to:
///
/// ```compile_fail,E0277
/// fn keep<T: mem::Plain>(_: T) {}
/// keep("text");
/// ```
pub trait Plain:
    Copy + Default + TryFromBytes + IntoBytes + Immutable + Send + Sync + 'static
{
    /// The value that the first bytes are, or the default value if they are no value of this type,
    /// or too few.
    #[inline(always)]
    fn load(bytes: &[u8]) -> Self {
        Self::try_read_from_prefix(bytes).map_or_else(|_| Self::default(), |(value, _)| value)
    }

    /// Writes the value to the first bytes.
    ///
    /// # Panics
    /// If there are too few.
    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        bytes[..size_of::<Self>()].copy_from_slice(self.as_bytes());
    }
}

impl<T: Copy + Default + TryFromBytes + IntoBytes + Immutable + Send + Sync + 'static> Plain for T {}
