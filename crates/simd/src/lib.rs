// SPDX-License-Identifier: Apache-2.0
//! Vector kernels of the packet path, each beside its scalar twin, and the dispatch that gives one
//! generic body three instruction sets.
//!
//! A kernel is an `#[inline(always)]` function generic over [`Isa`]. It turns into vector code only
//! inside of a function that was compiled for that instruction set, and such functions come from
//! [`variants!`] alone:
//!
//! ```
//! use simd::{Isa, variants};
//!
//! #[inline(always)] // or it is compiled for the baseline, without a word
//! fn count<I: Isa, const N: usize>(codes: &[u32; 256], value: u32) -> usize {
//!     simd::mask::count(&simd::equal_mask::<I>(codes, N, value))
//! }
//!
//! variants! {
//!     /// Counts `value` in the first `N` codes.
//!     pub fn count_variants<I: Isa, const N: usize>(codes: &[u32; 256], value: u32) -> usize
//!         = count::<I, N>;
//! }
//!
//! let count_in_ten: fn(&[u32; 256], u32) -> usize = count_variants::<10>().best();
//! assert_eq!(count_in_ten(&[3; 256], 3), 10);
//! ```
//!
//! On other processors than x86-64 everything is there and scalar.
#![warn(missing_docs)]

mod clock;
mod compress;
mod equal;
mod header;
mod isa;
pub mod mask;
mod prefetch;
mod rank;
pub mod scalar;
mod words;

pub use clock::{rdtsc, tsc_hz};
pub use compress::compress_u32;
pub use equal::{all_equal, equal_mask};
pub use header::{copy_rewrite, ip4_header_sum};
#[doc(hidden)]
pub use isa::__isa;
pub use isa::{Isa, Level, ParseLevelError, V1, Variants};
pub use prefetch::{prefetch_once, prefetch_ptr, prefetch_read, prefetch_write};
pub use rank::{Separators, rank, rank_of_eight, rank_of_four, rank_of_sixteen, rank_of_three};
pub use words::equal_words;
