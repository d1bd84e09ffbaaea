// SPDX-License-Identifier: Apache-2.0
//! Keys of bindings and sessions.

pub use nat::key::{End, has_ports};
use nat::ports::PortKey;
use std::net::{Ipv4Addr, Ipv6Addr};
use tables::{Mixer, SessionKey};
use wire::IpProtocol;

/// A user's address with a port, in a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct User {
    /// Index of the user's table.
    pub fib: u32,
    /// The address.
    pub addr: Ipv6Addr,
    /// The port.
    pub port: u16,
}

/// The key of a binding or a session: the user's end or the end that the world sees of it, and for
/// sessions the other host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// The user's address; the one that the world sees, in the last bits.
    own: u128,
    remote: u32,
    own_port: u16,
    remote_port: u16,
    /// Index of the user's table; [`Self::WORLD`] for the end that the world sees.
    fib: u32,
    protocol: u8,
}

impl Key {
    /// No table: the world's keys.
    const WORLD: u32 = u32::MAX;

    /// The key of a user's packets; without a remote host, that of the user's binding.
    #[inline(always)]
    pub const fn inside(user: User, remote: End, protocol: IpProtocol) -> Self {
        Self {
            own: user.addr.to_bits(),
            remote: remote.addr.to_bits(),
            own_port: user.port,
            remote_port: remote.port,
            fib: user.fib,
            protocol: protocol.0,
        }
    }

    /// The key of the world's packets to an end; without a remote host, that of its binding.
    #[inline(always)]
    pub const fn outside(end: End, remote: End, protocol: IpProtocol) -> Self {
        Self {
            own: end.addr.to_bits() as u128,
            remote: remote.addr.to_bits(),
            own_port: end.port,
            remote_port: remote.port,
            fib: Self::WORLD,
            protocol: protocol.0,
        }
    }

    /// The user of a key of users' packets.
    #[inline(always)]
    pub const fn user(&self) -> User {
        User { fib: self.fib, addr: Ipv6Addr::from_bits(self.own), port: self.own_port }
    }

    /// The end that the world sees, of a key of its packets.
    #[inline(always)]
    pub const fn end(&self) -> End {
        End::new(Ipv4Addr::from_bits(self.own as u32), self.own_port)
    }

    /// The other host.
    #[inline(always)]
    pub const fn remote(&self) -> End {
        End::new(Ipv4Addr::from_bits(self.remote), self.remote_port)
    }

    /// The upper layer's protocol; ICMP for ICMPv6 too.
    #[inline(always)]
    pub const fn protocol(&self) -> IpProtocol {
        IpProtocol(self.protocol)
    }

    /// The key of the binding that a session belongs to.
    #[inline(always)]
    pub const fn binding(&self) -> Self {
        Self { remote: 0, remote_port: 0, ..*self }
    }
}

impl PortKey for Key {
    fn port(&self) -> u16 {
        self.own_port
    }

    fn without_port(&self) -> Self {
        Self { own_port: 0, ..*self }
    }
}

impl SessionKey for Key {
    #[inline(always)]
    fn mix(&self, mixer: Mixer) -> Mixer {
        let ports = u64::from(self.own_port) << 16 | u64::from(self.remote_port);
        mixer
            .add((self.own >> 64) as u64)
            .add(self.own as u64)
            .add(u64::from(self.remote) << 32 | u64::from(self.fib))
            .add(ports << 8 | u64::from(self.protocol))
    }
}

/// The address of a user, in a table: what bindings of one user have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Host {
    /// Index of the table.
    pub fib: u32,
    /// The address.
    pub addr: Ipv6Addr,
}

impl SessionKey for Host {
    fn mix(&self, mixer: Mixer) -> Mixer {
        mixer.add_bytes(&self.addr.octets()).add(self.fib.into())
    }
}

/// The name of a protocol.
pub fn protocol_name(protocol: IpProtocol) -> String {
    match protocol {
        IpProtocol::TCP => "TCP".into(),
        IpProtocol::UDP => "UDP".into(),
        IpProtocol::ICMP => "ICMP".into(),
        IpProtocol(number) => number.to_string(),
    }
}

/// The polynomial of CRC-32C, its bits in reverse order.
const CRC32C: u32 = 0x82f6_3b78;

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut crc, mut bit) = (at as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ CRC32C } else { crc >> 1 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};

/// The hash of a user's address that VPP spreads users over workers by: CRC-32C from zero on,
/// without the final complement.
#[inline(always)]
pub fn spread_of(addr: Ipv6Addr) -> u32 {
    let step =
        |crc: u32, byte: &u8| CRC_TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ crc >> 8;
    addr.octets().iter().fold(0, step)
}
