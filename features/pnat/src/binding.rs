// SPDX-License-Identifier: Apache-2.0
//! Bindings: what packets match, and how they are rewritten.

use nat::key::End;
use nat::packet::{Packet, change};
use std::fmt;
use std::net::Ipv4Addr;
use wire::checksum::{Sum, update, update_udp};
use wire::{Header, IpHeader, IpProtocol, Ipv4Header};

/// Bits of masks, with VPP's numbers.
pub mod mask {
    /// Source address.
    pub const SOURCE: u32 = 1;
    /// Destination address.
    pub const DESTINATION: u32 = 2;
    /// Source port.
    pub const SOURCE_PORT: u32 = 4;
    /// Destination port.
    pub const DESTINATION_PORT: u32 = 8;
    /// Both.
    pub const PORTS: u32 = SOURCE_PORT | DESTINATION_PORT;
    /// A byte is copied.
    pub const COPY: u32 = 16;
    /// A byte becomes zero.
    pub const CLEAR: u32 = 32;
    /// The upper layer's protocol.
    pub const PROTOCOL: u32 = 64;
}

/// The fields of packets that are compared, as far as `mask` says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Match {
    /// Bits of [`mask`].
    pub mask: u32,
    /// Source.
    pub from: End,
    /// Destination.
    pub to: End,
    /// The upper layer's protocol.
    pub protocol: IpProtocol,
}

impl Match {
    /// The fields of a packet, of which these bits count. Ports are those of TCP and UDP.
    #[inline(always)]
    pub fn of(p: &Packet, mask: u32) -> Self {
        let has_ports = matches!(p.protocol, IpProtocol::TCP | IpProtocol::UDP);
        let port = |port: u16| if has_ports { port } else { 0 };
        let from = End::new(p.from.addr, port(p.from.port));
        let to = End::new(p.to.addr, port(p.to.port));
        Self { mask, from, to, protocol: p.protocol }.only(mask)
    }

    /// These fields with another mask; those that it doesn't have are zero.
    #[inline(always)]
    pub fn only(mut self, mask: u32) -> Self {
        self.mask = mask;
        if mask & mask::SOURCE == 0 {
            self.from.addr = Ipv4Addr::UNSPECIFIED;
        }
        if mask & mask::DESTINATION == 0 {
            self.to.addr = Ipv4Addr::UNSPECIFIED;
        }
        if mask & mask::SOURCE_PORT == 0 {
            self.from.port = 0;
        }
        if mask & mask::DESTINATION_PORT == 0 {
            self.to.port = 0;
        }
        if mask & mask::PROTOCOL == 0 {
            self.protocol = IpProtocol(0);
        }
        self
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("match")?;
        ends(f, self.mask, self.from, self.to)?;
        if self.mask & mask::PROTOCOL != 0 {
            write!(f, " proto {}", self.protocol.0)?;
        }
        Ok(())
    }
}

fn ends(f: &mut fmt::Formatter<'_>, bits: u32, from: End, to: End) -> fmt::Result {
    if bits & mask::SOURCE != 0 {
        write!(f, " src {}", from.addr)?;
    }
    if bits & mask::DESTINATION != 0 {
        write!(f, " dst {}", to.addr)?;
    }
    if bits & mask::SOURCE_PORT != 0 {
        write!(f, " sport {}", from.port)?;
    }
    if bits & mask::DESTINATION_PORT != 0 {
        write!(f, " dport {}", to.port)?;
    }
    Ok(())
}

/// The fields of packets that are rewritten, as far as `mask` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rewrite {
    /// Bits of [`mask`].
    pub mask: u32,
    /// Source.
    pub from: End,
    /// Destination.
    pub to: End,
    /// Offset in the packet of a byte that is copied, once addresses and ports are rewritten.
    pub copy_from: u8,
    /// Offset in the packet of its copy.
    pub copy_to: u8,
    /// Offset in the packet of a byte that becomes zero in the end.
    pub clear: u8,
}

impl fmt::Display for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rewrite")?;
        ends(f, self.mask, self.from, self.to)?;
        if self.mask & mask::COPY != 0 {
            write!(f, " copy {} to {}", self.copy_from, self.copy_to)?;
        }
        if self.mask & mask::CLEAR != 0 {
            write!(f, " clear {}", self.clear)?;
        }
        Ok(())
    }
}

/// A binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binding {
    /// See [`Match`].
    pub what: Match,
    /// See [`Rewrite`].
    pub rewrite: Rewrite,
}

impl Rewrite {
    /// True if a packet of `len` bytes has all bytes that are copied and cleared.
    #[inline(always)]
    pub fn fits(&self, len: usize) -> bool {
        let has = |bit: u32, at: u8| self.mask & bit == 0 || usize::from(at) < len;
        has(mask::COPY, self.copy_from.max(self.copy_to)) && has(mask::CLEAR, self.clear)
    }

    /// The ends that a packet gets.
    #[inline(always)]
    pub fn ends(&self, p: &Packet) -> (End, End) {
        let has_ports = matches!(p.protocol, IpProtocol::TCP | IpProtocol::UDP);
        let mask = if has_ports { self.mask } else { self.mask & !mask::PORTS };
        let pick = |address: u32, port: u32, old: End, new: End| {
            let addr = if mask & address != 0 { new.addr } else { old.addr };
            End::new(addr, if mask & port != 0 { new.port } else { old.port })
        };
        (
            pick(mask::SOURCE, mask::SOURCE_PORT, p.from, self.from),
            pick(mask::DESTINATION, mask::DESTINATION_PORT, p.to, self.to),
        )
    }

    /// Rewrites the packet at `bytes[0]`, in which [`Self::fits`]. With `partial` the upper layer's
    /// checksum covers the pseudo-header only so far.
    #[inline(always)]
    pub fn apply(&self, bytes: &mut [u8], p: &Packet, partial: bool) {
        let header = p.upper - p.at;
        let upper = (!p.later).then_some(header);
        change(bytes, (upper, partial), p.protocol, ((p.from, p.to), self.ends(p)));
        if self.mask & (mask::COPY | mask::CLEAR) != 0 {
            self.set_bytes(bytes, &Layer { header, later: p.later, protocol: p.protocol, partial });
        }
    }

    #[inline(never)]
    fn set_bytes(&self, bytes: &mut [u8], layer: &Layer) {
        if self.mask & mask::COPY != 0
            && let Some(value) = bytes.get(usize::from(self.copy_from)).copied()
        {
            layer.set(bytes, self.copy_to.into(), value);
        }
        if self.mask & mask::CLEAR != 0 {
            layer.set(bytes, self.clear.into(), 0);
        }
    }
}

/// The upper layer of a packet of which a byte is set.
struct Layer {
    /// Bytes of the IP header.
    header: usize,
    /// Its header isn't here.
    later: bool,
    protocol: IpProtocol,
    partial: bool,
}

/// Offset of the checksum of an IP header.
const IP_CHECKSUM: usize = 10;

impl Layer {
    /// Offset of the upper layer's checksum, if it is known and here.
    fn checksum(&self) -> Option<usize> {
        let at = match self.protocol {
            IpProtocol::TCP => 16,
            IpProtocol::UDP => 6,
            IpProtocol::ICMP => 2,
            _ => return None,
        };
        (!self.later).then_some(self.header + at)
    }

    /// Sets a byte, and mends the checksums that cover it. A byte of a checksum itself is only set.
    fn set(&self, bytes: &mut [u8], at: usize, value: u8) {
        let Some(place) = bytes.get_mut(at) else { return };
        let old = std::mem::replace(place, value);
        let sum = |byte: u8| Sum::of(&[byte]).at(at);
        let change = (sum(old), sum(value));
        let upper = self.checksum();
        if at < self.header {
            if at & !1 != IP_CHECKSUM
                && let Some(ip) = Ipv4Header::view_mut(bytes)
            {
                ip.checksum.set(update(ip.checksum.get(), change.0, change.1));
            }
            // Length, protocol and addresses are in the pseudo-header of TCP and UDP.
            let in_pseudo = matches!(at, 2 | 3 | 9 | 12..20) && self.protocol != IpProtocol::ICMP;
            if in_pseudo && let Some(upper) = upper {
                self.mend(bytes, upper, change);
            }
            return;
        }
        if let Some(upper) = upper.filter(|upper| at & !1 != *upper && !self.partial) {
            self.mend(bytes, upper, change);
        }
    }

    fn mend(&self, bytes: &mut [u8], at: usize, (removed, added): (Sum, Sum)) {
        let Some(two) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<2>()) else {
            return;
        };
        let checksum = u16::from_be_bytes(*two);
        let mended = match (self.partial, self.protocol) {
            (true, _) => !update(!checksum, removed, added),
            (_, IpProtocol::UDP) => update_udp(checksum, removed, added),
            _ => update(checksum, removed, added),
        };
        *two = mended.to_be_bytes();
    }
}

/// Bytes of the packet at `bytes[0]` that are here.
#[inline(always)]
pub fn length(bytes: &[u8]) -> usize {
    Ipv4Header::view(bytes).map_or(0, |ip| ip.packet_len().min(bytes.len()))
}
