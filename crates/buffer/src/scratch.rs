// SPDX-License-Identifier: Apache-2.0
//! Values that a node leaves in a buffer for the next node.

/// Words of a buffer's scratch.
pub const SCRATCH_WORDS: usize = 6;

/// A type that may live in a buffer's scratch of 24 bytes: it belongs to the edge the packet is on.
///
/// Implement it by [`scratch!`](crate::scratch!), which checks the size.
pub trait Scratch: Copy + Default + 'static {
    /// Tells scratch types apart in debug builds; made from the type's name.
    const TAG: u32;
    /// Words in use; those behind are not written.
    const WORDS: usize;
    /// The type's value as words.
    fn to_words(self) -> [u32; SCRATCH_WORDS];
    /// The value of these words; any words give a valid value.
    fn from_words(words: [u32; SCRATCH_WORDS]) -> Self;
}

/// Declares a scratch type: a `Copy + Default` struct of up to six `u32` fields.
///
/// ```
/// buffer::scratch! {
///     /// What ip4-lookup tells ip4-rewrite.
///     pub struct IpMeta { pub adjacency: u32, pub fib: u32 }
/// }
/// ```
#[macro_export]
macro_rules! scratch {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$fmeta:meta])* $fvis:vis $field:ident : u32),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
        $vis struct $name { $($(#[$fmeta])* $fvis $field: u32),* }

        impl $crate::Scratch for $name {
            const TAG: u32 = $crate::tag(concat!(module_path!(), "::", stringify!($name)));
            const WORDS: usize = [$(stringify!($field)),*].len();
            #[inline(always)]
            fn to_words(self) -> [u32; $crate::SCRATCH_WORDS] {
                let mut words = [0; $crate::SCRATCH_WORDS];
                let fields = [$(self.$field),*];
                const { assert!([$(stringify!($field)),*].len() <= $crate::SCRATCH_WORDS, "scratch holds six words") };
                words[..fields.len()].copy_from_slice(&fields);
                words
            }
            #[inline(always)]
            fn from_words(words: [u32; $crate::SCRATCH_WORDS]) -> Self {
                let mut next = words.into_iter();
                Self { $($field: next.next().unwrap_or(0)),* }
            }
        }
    };
}
