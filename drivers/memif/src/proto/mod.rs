// SPDX-License-Identifier: Apache-2.0
//! The control protocol, version 2.0: messages of 128 bytes over a local socket that preserves
//! their boundaries.

mod channel;
mod check;
mod client;
mod link;
mod message;
mod server;

pub use channel::{Channel, Received};
pub use check::check_messages;
pub use client::{Client, RequestedParameters, Step};
pub use link::{Link, RingInfo};
pub use message::{Hello, Init, Message, SECRET};
pub use server::{Reply, Server};

/// The version that is spoken.
pub const VERSION: u16 = 0x0200;
/// The highest index of a region that a server takes.
pub const MAX_REGION: u16 = 256;
/// The highest index of a ring, in each direction.
pub const MAX_RING: u16 = 255;
/// The largest ring that a server takes.
pub const MAX_LOG2: u8 = 14;

/// The name of this program in messages.
pub const PROGRAM: &str = concat!("Ferrovia ", env!("CARGO_PKG_VERSION"));

/// Why a connection ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// This end closes it. The text is sent to the peer.
    Refuse(String),
    /// This end closes it without a word.
    Silent(String),
    /// The peer has closed it, with this text.
    Peer(String),
}

impl End {
    pub fn refuse(text: impl Into<String>) -> Self {
        Self::Refuse(text.into())
    }
}
