// SPDX-License-Identifier: Apache-2.0
//! The vhost-user protocol (QEMU's docs/interop/vhost-user.rst), as a back-end: messages over a
//! local stream socket, with the descriptors of memory and events.

mod channel;
mod check;
mod features;
mod message;
mod session;

pub use channel::{Channel, Received};
pub use check::check_messages;
pub use features::{Features, Protocol};
#[cfg(feature = "tests")]
pub use message::Kind;
pub use message::{Message, Reply, Request};
pub use session::{Session, Step};

/// Pairs of rings at most.
pub const MAX_PAIRS: u16 = 128;

/// Why a connection ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End(pub String);

impl End {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
