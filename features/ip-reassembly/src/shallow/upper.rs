// SPDX-License-Identifier: Apache-2.0
//! Upper-layer fields of a packet, read from its own bytes.

use net::L4;
use wire::{
    Header, Icmp4Type, Icmp6Type, IcmpHeader, IpProtocol, TcpHeader, UdpHeader, UpperLayer,
};

/// Number of bytes of TCP that are read: ports, numbers, flags.
const TCP: usize = 16;

/// Reads the fields of the packet at `head[0]`, whole or a first fragment; `None` if the upper
/// layer's header is missing.
#[inline(always)]
pub fn read(head: &[u8]) -> Option<L4> {
    let upper = UpperLayer::find(head).ok()?;
    if upper.protocol.is_ip6_extension() && head[0] >> 4 == 6 {
        return None;
    }
    let body = head.get(upper.offset..upper.end.min(head.len()))?;
    let mut l4 = L4 { protocol: upper.protocol.0, offset: upper.offset as u16, ..L4::default() };
    match upper.protocol {
        IpProtocol::TCP => {
            let mut bytes = [0; size_of::<TcpHeader>()];
            bytes[..TCP].copy_from_slice(body.get(..TCP)?);
            let tcp = TcpHeader::view(&bytes)?;
            (l4.src_port, l4.dst_port) = (tcp.src_port.get(), tcp.dst_port.get());
            (l4.seq, l4.ack, l4.kind) = (tcp.seq.get(), tcp.ack.get(), bytes[13]);
        }
        IpProtocol::UDP | IpProtocol::UDP_LITE | IpProtocol::SCTP => {
            let udp = UdpHeader::view(body)?;
            (l4.src_port, l4.dst_port) = (udp.src_port.get(), udp.dst_port.get());
        }
        IpProtocol::ICMP | IpProtocol::ICMP6 => {
            let icmp = IcmpHeader::view(body)?;
            l4.kind = icmp.kind;
            if is_query(upper.protocol, icmp.kind) {
                (l4.src_port, l4.dst_port) = (icmp.id.get(), icmp.id.get());
            }
        }
        _ => {}
    }
    Some(l4)
}

/// Returns true for a protocol with ports, or with messages that stand in for them.
pub fn has_ports(l4: L4) -> bool {
    use IpProtocol as P;
    let with = [P::TCP, P::UDP, P::UDP_LITE, P::SCTP, P::ICMP, P::ICMP6];
    with.iter().any(|protocol| protocol.0 == l4.protocol)
}

/// Returns true if the message has an identifier.
#[inline(always)]
fn is_query(protocol: IpProtocol, kind: u8) -> bool {
    if protocol == IpProtocol::ICMP6 {
        return kind == Icmp6Type::ECHO_REQUEST.0 || kind == Icmp6Type::ECHO_REPLY.0;
    }
    // Echo, time stamp, information, address mask.
    kind == Icmp4Type::ECHO_REPLY.0
        || kind == Icmp4Type::ECHO_REQUEST.0
        || (13..=18).contains(&kind)
}
