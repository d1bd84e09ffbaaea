// SPDX-License-Identifier: Apache-2.0
//! The format of the segment, version 2 of VPP's. Everything is in native byte order; a pointer is
//! the base's value plus the offset in the segment. A vector's length, a u32, lies 8 bytes before
//! its data.

/// Byte offsets of the header's words.
pub mod header {
    /// Version of the format.
    pub const VERSION: u64 = 0;
    /// The base that pointers are relative to.
    pub const BASE: u64 = 8;
    /// Counts changes of the directory.
    pub const EPOCH: u64 = 16;
    /// Not 0 while the directory changes.
    pub const IN_PROGRESS: u64 = 24;
    /// Pointer to the directory, a vector of entries.
    pub const DIRECTORY: u64 = 32;
}

/// Byte offsets in a ring, and in the state of each of its threads. The fields are u32, but for the
/// sequence.
pub mod ring {
    /// Bytes of an entry; behind it the number of entries of a thread.
    pub const ENTRY_SIZE: usize = 0;
    /// Threads; behind it the bytes of the schema.
    pub const THREADS: usize = 8;
    /// The schema's version; behind it the offset of the first thread's state.
    pub const SCHEMA_VERSION: usize = 16;
    /// Offset of the first thread's entries. The other threads' entries follow.
    pub const DATA: usize = 24;
    /// Bytes of the header, and of a thread's state.
    pub const STATE: usize = 64;
    /// Offset in a thread's state: next entry to write, then the schema version.
    pub const HEAD: usize = 0;
    /// Offset in a thread's state: u64, total entries written.
    pub const SEQUENCE: usize = 8;
    /// Offset in a thread's state: offset of the schema, then its length.
    pub const SCHEMA: usize = 16;
    /// Offset in a thread's state: u64, entries whose writing has begun; sequence + 1 while an
    /// entry is written. VPP has padding here, so a sequence beyond this number comes from a
    /// writer that doesn't keep it.
    pub const BEGUN: usize = 24;
}

/// The version that this is.
pub const VERSION: u64 = 2;

/// Bytes of a directory entry: `u32 type, u32 0, u64 value, char name[128]`.
pub const ENTRY: usize = 144;
/// Bytes of a name, with its NUL.
pub const NAME: usize = 128;

/// The type of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// The value itself, a count or a time.
    Scalar = 1,
    /// A vector of pointers, one for each thread, to vectors of u64.
    Simple = 2,
    /// The same to vectors of `{ u64 packets, u64 bytes }`.
    Combined = 3,
    /// A vector of pointers to vectors of bytes that end in NUL.
    Names = 4,
    /// Free.
    Empty = 5,
    /// `{ u32 entry, u32 column }`: one column of another entry.
    Symlink = 6,
    /// As [`Kind::Simple`]: the lowest exponent, then a count for each power of two.
    Histogram = 7,
    /// A pointer to what [`ring`] describes.
    Ring = 8,
    /// The value itself, which goes up and down.
    Gauge = 9,
}

impl Kind {
    /// The kind of this number.
    pub fn of(number: u32) -> Option<Kind> {
        use Kind::*;
        let all = [Scalar, Simple, Combined, Names, Empty, Symlink, Histogram, Ring, Gauge];
        all.into_iter().find(|kind| *kind as u32 == number)
    }

    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Scalar => "scalar",
            Kind::Simple => "simple",
            Kind::Combined => "combined",
            Kind::Names => "names",
            Kind::Empty => "empty",
            Kind::Symlink => "symlink",
            Kind::Histogram => "histogram",
            Kind::Ring => "ring",
            Kind::Gauge => "gauge",
        }
    }
}

/// The objects that the cells of a counter belong to. Counters of interfaces, nodes and errors have
/// a cell for each of these. A counter without a declared space
/// ([`Registry::declare`](crate::Registry::declare)) is [`Space::Own`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Software interfaces.
    Interface,
    /// Nodes of the graph.
    Node,
    /// Next edges of nodes that are counted.
    Error,
    /// Routes of all tables; each counter has a length of its own.
    Route,
    /// Other objects; each counter has a length of its own.
    Own,
}

impl Space {
    /// Cells that there is room for; what is beyond isn't counted.
    pub const fn capacity(self) -> usize {
        match self {
            Space::Interface => 1 << 17,
            // A driver's interface has nine or so.
            Space::Error => 1 << 21,
            // An interface has two, and the plugins have some hundreds.
            Space::Node => 2 * Space::Interface.capacity() + (1 << 12),
            Space::Route => 1 << 24,
            Space::Own => 1 << 22,
        }
    }
}
