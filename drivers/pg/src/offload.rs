// SPDX-License-Identifier: Apache-2.0
//! Offloads of `pgN` interfaces: work that packets of streams leave to the transmitting device, and
//! work that an interface takes over.

use buffer::Buffer;
use wire::offload::{Csum, Gso, GsoKind, Offload};
use wire::{Ethernet, Header, IpProtocol, Ipv4Header, TcpFlags, TcpHeader, UpperLayer, l4};

/// Offloads of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offloads {
    /// Partial checksums pass as they are, in both directions.
    pub csum: bool,
    /// Super-packets pass as they are, and so do partial checksums: payload of a segment of
    /// super-packets that come in; 0 if none do.
    pub gso: Option<u16>,
    /// TCP segments of a flow that are sent one after the other are put together.
    pub coalesce: bool,
}

impl Offloads {
    /// The work that packets which come in leave undone.
    pub fn marks(self) -> StreamOffloads {
        let csum = self.csum || self.gso.is_some();
        StreamOffloads { ip: false, tcp: csum, udp: csum, gso_size: self.gso.unwrap_or(0) }
    }

    /// The words of the command that makes an interface, and of tables.
    pub fn words(self) -> String {
        let mut words = Vec::new();
        if let Some(size) = self.gso {
            words.push(format!("gso-enabled gso-size {size}"));
        }
        if self.coalesce {
            words.push("coalesce-enabled".into());
        }
        if self.csum {
            words.push("csum-offload-enabled".into());
        }
        words.join(" ")
    }
}

/// The work that packets of a stream leave pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamOffloads {
    /// IPv4's header checksum: the generator does it, whatever the packets hold.
    pub ip: bool,
    /// The checksum of TCP.
    pub tcp: bool,
    /// The checksum of UDP.
    pub udp: bool,
    /// TCP payload beyond so many bytes is to be cut into segments; 0 for none.
    pub gso_size: u16,
}

impl StreamOffloads {
    /// Returns true if any work is left.
    #[inline(always)]
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// Notes it in a packet, which begins with an IP header (`ip`) or an Ethernet header. A packet
    /// that it doesn't fit stays as it is.
    pub fn note(self, b: &mut Buffer, ip: bool) {
        let Some(l3) = l3_of(b.data(), ip) else { return };
        let len = b.packet_len();
        let packet = b.data_mut().get_mut(l3..).unwrap_or_default();
        let v4 = packet.first().is_some_and(|first| first >> 4 == 4);
        if self.ip && v4 && packet.len() >= Ipv4Header::LEN {
            Ipv4Header::set_checksum_at(packet);
        }
        let Some((upper, offset)) =
            UpperLayer::find(packet).ok().and_then(|upper| match upper.protocol {
                IpProtocol::TCP if self.tcp => Some((upper, TcpHeader::CHECKSUM_OFFSET)),
                IpProtocol::UDP if self.udp => Some((upper, wire::UdpHeader::CHECKSUM_OFFSET)),
                _ => None,
            })
        else {
            return;
        };
        let csum = Csum::Partial { start: (l3 + upper.offset) as u16, offset: offset as u16 };
        let tcp =
            TcpHeader::view_at(packet, upper.offset).filter(|_| upper.protocol == IpProtocol::TCP);
        let gso = tcp.filter(|_| self.gso_size > 0).and_then(|tcp| {
            let headers = upper.offset + tcp.header_len();
            (upper.end.saturating_sub(headers) > usize::from(self.gso_size)).then(|| Gso {
                kind: if v4 { GsoKind::TcpV4 } else { GsoKind::TcpV6 },
                ecn: tcp.flags.contains(TcpFlags::CWR),
                size: self.gso_size,
                hdr_len: (l3 + headers) as u16,
            })
        });
        let offload = Offload { csum, gso };
        if offload.check(b.data(), len, ip).is_ok()
            && l4::set_partial(&mut b.data_mut()[l3..]).is_ok()
        {
            driver::note(b, offload);
        }
    }
}

/// Offset of the IP header.
pub fn l3_of(frame: &[u8], ip: bool) -> Option<usize> {
    if ip { Some(0) } else { Some(Ethernet::l3_at(frame)?.0) }
}
