// SPDX-License-Identifier: Apache-2.0
//! Numbers that name things of an instance; never bare integers.

use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes};

macro_rules! id {
    ($(#[$meta:meta])* $name:ident($int:ty)) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
        #[derive(FromBytes, IntoBytes, Immutable)]
        #[repr(transparent)]
        pub struct $name(pub $int);
        impl $name {
            /// As an index of a table.
            #[inline(always)]
            pub const fn at(self) -> usize {
                self.0 as usize
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A node of the graph; below [`MAX_NODES`](crate::MAX_NODES).
    NodeIndex(u32)
}
id! {
    /// A thread that runs the graph: 0 is the main one, workers count from 1.
    ThreadIndex(u16)
}
id! {
    /// A software interface; 0 is `local0`.
    SwIfIndex(u32)
}
id! {
    /// A feature arc.
    ArcIndex(u16)
}
id! {
    /// A reason in the instance's error table; 0 is none.
    ErrorIndex(u32)
}

impl SwIfIndex {
    /// No interface, as the binary API writes it.
    pub const NONE: Self = Self(u32::MAX);
}
