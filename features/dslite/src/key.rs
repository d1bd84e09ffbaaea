// SPDX-License-Identifier: Apache-2.0
//! Keys of sessions.

use nat::key::End;
use nat::ports::PortKey;
use std::net::{Ipv4Addr, Ipv6Addr};
use tables::{Mixer, SessionKey};
use wire::IpProtocol;

/// The key of a session: of packets of a user behind its B4, or of packets to what the world sees
/// of the user. Users of different B4s may have the same address (RFC 6333 6.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// The B4; zero in keys of the world's packets.
    b4: u128,
    addr: u32,
    port: u16,
    protocol: u8,
}

impl Key {
    /// The key of a user's packets.
    #[inline(always)]
    pub const fn inside(b4: Ipv6Addr, end: End, protocol: IpProtocol) -> Self {
        let (addr, port) = (end.addr.to_bits(), end.port);
        Self { b4: b4.to_bits(), addr, port, protocol: protocol.0 }
    }

    /// The key of packets to what the world sees of a user.
    #[inline(always)]
    pub const fn outside(end: End, protocol: IpProtocol) -> Self {
        Self::inside(Ipv6Addr::UNSPECIFIED, end, protocol)
    }

    /// The B4 of a key of a user's packets.
    #[inline(always)]
    pub const fn b4(&self) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.b4)
    }

    /// The end: the user's, or what the world sees of it.
    #[inline(always)]
    pub const fn end(&self) -> End {
        End::new(Ipv4Addr::from_bits(self.addr), self.port)
    }

    /// The upper layer's protocol.
    #[inline(always)]
    pub const fn protocol(&self) -> IpProtocol {
        IpProtocol(self.protocol)
    }
}

impl PortKey for Key {
    fn port(&self) -> u16 {
        self.port
    }

    fn without_port(&self) -> Self {
        Self { port: 0, ..*self }
    }
}

impl SessionKey for Key {
    #[inline(always)]
    fn mix(&self, mixer: Mixer) -> Mixer {
        let rest = u64::from(self.port) << 8 | u64::from(self.protocol);
        mixer.add((self.b4 >> 64) as u64).add(self.b4 as u64).add(u64::from(self.addr) << 32 | rest)
    }
}

/// The key of a B4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct B4Key(pub Ipv6Addr);

impl SessionKey for B4Key {
    fn mix(&self, mixer: Mixer) -> Mixer {
        mixer.add_bytes(&self.0.octets())
    }
}

/// The key of a datagram of a user that comes in fragments (RFC 791 3.2), behind its B4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatagramKey {
    /// The B4.
    pub b4: Ipv6Addr,
    /// Source and destination.
    pub ends: (Ipv4Addr, Ipv4Addr),
    /// The identification.
    pub id: u16,
    /// The protocol.
    pub protocol: u8,
}

impl SessionKey for DatagramKey {
    fn mix(&self, mixer: Mixer) -> Mixer {
        let ends = u64::from(self.ends.0.to_bits()) << 32 | u64::from(self.ends.1.to_bits());
        let rest = u64::from(self.id) << 8 | u64::from(self.protocol);
        mixer.add_bytes(&self.b4.octets()).add(ends).add(rest)
    }
}
