// SPDX-License-Identifier: Apache-2.0
//! The parameters of a GRE tunnel.

use tunnel::{HeaderMarking, TunnelEndpoints};

/// The kind of payload of a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// IP packets.
    Ip,
    /// Ethernet frames.
    Ethernet,
    /// Mirrored Ethernet frames of a session, numbered.
    Erspan {
        /// The number of the session, 10 bits.
        session: u16,
    },
}

/// Numbers of sessions are at most this.
pub const MAX_SESSION: u16 = 1023;

/// A GRE tunnel.
#[derive(Clone, PartialEq, Debug)]
pub struct Gre {
    /// The ends; the other one is unspecified for a tunnel with several.
    pub ends: TunnelEndpoints,
    /// The settings of outer headers.
    pub marks: HeaderMarking,
    /// The kind of its payload.
    pub payload: Payload,
    /// The key in its headers; 0 for none.
    pub key: u32,
    /// Several other ends.
    pub multipoint: bool,
}

/// [`Key::other`](tunnel::Key) of tunnels of IP packets.
pub const IP: u32 = 0;
/// [`Key::other`](tunnel::Key) of tunnels of Ethernet frames.
pub const ETHERNET: u32 = 1;
/// [`Key::other`](tunnel::Key) of sessions is this and their number: no received packet has it.
pub const ERSPAN: u32 = 1 << 16;
