// SPDX-License-Identifier: Apache-2.0
//! Ordinary packets of one tunnel, one behind the other. Whatever is the same for all of them is
//! decided once, and no byte that is written to a packet is read again, which would wait for the
//! write.

use crate::end::End;
use crate::header::Template;
use crate::inner::Inner;
use crate::model::Flags;
use crate::wrapper::{Codec, EVERYWHERE, MAX_NESTED, UNFRAGMENTED, Wrapper, mark, write_udp};
use buffer::{Buffer, Flags as Marked};
use graph::{Cx, NodeIndex};
use ip::Way;
use net::Flow;
use wire::checksum::Sum;
use wire::{Address, Header, IpHeader, IpProtocol, Ipv4Header, Ipv6Header};
use zerocopy::IntoBytes;

/// Flags by which outer headers depend on the inner packet.
const VARIABLE: Flags = Flags::COPY_DF
    .union(Flags::COPY_DSCP)
    .union(Flags::COPY_ECN)
    .union(Flags::INNER_HASH)
    .union(Flags::COPY_HOP_LIMIT)
    .union(Flags::COPY_FLOW_LABEL);

/// Where the fields of an IPv4 header stand.
const IP4_LENGTH: usize = 2;
const IP4_PROTOCOL: usize = 9;
const IP4_CHECKSUM: usize = 10;
/// The same of IPv6.
const IP6_LENGTH: usize = 4;
const IP6_PROTOCOL: usize = 6;

/// Headers in front of packets, with a layer-2 header.
struct Front {
    bytes: [u8; Self::MOST],
    len: usize,
}

impl Front {
    const MOST: usize = 96;

    /// The layer-2 header of a way in front of those of a tunnel.
    #[inline(always)]
    fn of(way: &Way, template: &Template) -> Option<Self> {
        let ([first, last], layer2) = (way.ends(), way.header_len());
        let mut bytes = [0; Self::MOST];
        *bytes.first_chunk_mut()? = first;
        *bytes.get_mut(layer2.checked_sub(last.len())?..)?.first_chunk_mut()? = last;
        *bytes.get_mut(layer2..)?.first_chunk_mut()? = *template.padded();
        Some(Self { bytes, len: layer2 + template.bytes().len() })
    }

    /// Puts them in front of a packet; false without room.
    #[inline(always)]
    fn put(&self, b: &mut Buffer) -> bool {
        // Copies of a length that the compiler knows, of the first and the last bytes.
        match self.len {
            ..=32 => self.put_ends::<16>(b),
            33..=64 => self.put_ends::<32>(b),
            _ => self.put_ends::<48>(b),
        }
    }

    #[inline(always)]
    fn put_ends<const N: usize>(&self, b: &mut Buffer) -> bool {
        let len = self.len.clamp(N, 2 * N);
        let last = self.bytes[..len].last_chunk::<N>();
        let (Some(first), Some(last)) = (self.bytes.first_chunk::<N>(), last) else {
            return false;
        };
        b.push_ends(first, last, len)
    }
}

/// State for the packets of a tunnel within one frame.
pub(crate) struct Run<'t> {
    end: &'t End,
    way: Way,
    /// The headers as they leave, with the layer-2 header, but for lengths and checksums.
    front: Front,
    /// Bytes of the layer-2 header, and of the others.
    layer2: usize,
    headers: usize,
    /// The protocol of outer IPv4 packets, if the inner one doesn't decide about it.
    protocol: u8,
    /// Of an IPv4 header without length, identification and protocol.
    sum: Sum,
    /// Bytes of the longest packet that is ordinary.
    most: usize,
    flow: Flow,
    /// Packets that were sent, and their bytes with the tunnel's headers.
    sent: (u64, u64),
}

impl<'t> Run<'t> {
    /// `None` if packets of this tunnel need a closer look.
    pub fn of<C: Codec>(end: &'t End, wrapper: &mut Wrapper, cx: &Cx<'_, false>) -> Option<Self> {
        let route = end.route?;
        if end.flags.intersects(VARIABLE) || C::UDP && end.outer_v6 {
            return None;
        }
        let way = if end.outer_v6 {
            wrapper.onward6.way(route.adj, cx)
        } else {
            wrapper.onward4.way(route.adj, cx)
        }?;
        let set_df = !end.outer_v6 && end.flags.contains(Flags::SET_DF);
        let (mut template, mut sum) = (end.template, Sum::default());
        let headers = template.bytes().len();
        if end.outer_v6 {
            let ip = Ipv6Header::view_mut(template.bytes_mut())?;
            // Such packets stay on their link, which the graph sees to (RFC 4291 2.5.6).
            if ip.src().link_local() {
                return None;
            }
            ip.hop_limit = leaves_with(ip.hop_limit)?;
        } else {
            let ip = Ipv4Header::view_mut(template.bytes_mut())?;
            ip.ttl = leaves_with(ip.ttl)?;
            if set_df {
                ip.flags_fragment.set(Ipv4Header::DF);
            }
            let protocol = std::mem::replace(&mut ip.protocol, IpProtocol(0));
            for field in [&mut ip.total_len, &mut ip.id, &mut ip.checksum] {
                field.set(0);
            }
            sum = Sum::of(ip.as_bytes());
            ip.protocol = protocol;
        }
        let most = way.most().min(if set_df { UNFRAGMENTED } else { EVERYWHERE });
        let most = most.checked_sub(headers)?;
        let flow = wrapper.flow(end, cx.turn);
        let (front, layer2) = (Front::of(&way, &template)?, way.header_len());
        let protocol = template.bytes().get(IP4_PROTOCOL).copied()?;
        let sent = (0, 0);
        Some(Self { end, way, front, layer2, headers, protocol, sum, most, flow, sent })
    }

    /// Sends a packet; `None`, and nothing changed, if it needs a closer look.
    #[inline(always)]
    pub fn send<C: Codec>(&mut self, b: &mut Buffer, wrapper: &mut Wrapper) -> Option<NodeIndex> {
        let (len, headers) = (b.packet_len(), self.headers);
        if len > self.most
            || b.flags.intersects(Marked::GSO | Marked::CSUM_PARTIAL)
            || b.nesting >= MAX_NESTED
        {
            return None;
        }
        let inner = if self.end.frames { Inner::of_frame(b) } else { Inner::of_packet(b) };
        let flow = if C::UDP { inner.flow(b, self.flow) } else { 0 };
        let v6 = self.end.outer_v6;
        let (ip, counted) = if v6 { (40, headers + len - 40) } else { (20, headers + len) };
        if !self.front.put(b) {
            return None;
        }
        let all = b.data_mut().get_mut(self.layer2..)?.get_mut(..headers)?;
        let (outer, own) = all.split_at_mut_checked(ip)?;
        let protocol = C::fill(own, self.end, &inner, len);
        if C::UDP {
            write_udp(own, flow, (headers + len - ip) as u16);
        }
        if v6 {
            outer[IP6_LENGTH..][..2].copy_from_slice(&(counted as u16).to_be_bytes());
            if let Some(protocol) = protocol {
                outer[IP6_PROTOCOL] = protocol;
            }
        } else {
            let word = (counted as u32) << 16 | u32::from(wrapper.next_id());
            outer[IP4_LENGTH..][..4].copy_from_slice(&word.to_be_bytes());
            let protocol = protocol.unwrap_or(self.protocol);
            outer[IP4_PROTOCOL] = protocol;
            let sum = self.sum.with_u32(word).with_u16(protocol.into()).finish();
            outer[IP4_CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
        }
        mark(b, wrapper.l4);
        b.flags.remove(Marked::LOCAL);
        b.rx_if = self.end.sw_if;
        self.sent.0 += 1;
        self.sent.1 += (headers + len) as u64;
        Some(self.way.send(b))
    }

    /// Counts the packets; returns their number.
    pub fn settle(&self, wrapper: &mut Wrapper, cx: &Cx<'_, false>) -> u64 {
        let (packets, sent) = (self.sent.0, self.sent);
        if self.end.outer_v6 {
            wrapper.onward6.count(&self.way, sent, cx);
        } else {
            wrapper.onward4.count(&self.way, sent, cx);
        }
        let headers = packets * self.headers as u64;
        wrapper.lanes.tx.unicast(self.end.sw_if as usize, 0, headers);
        packets
    }
}

/// The hop limit that a forwarded packet leaves with, of a tunnel with this one: see
/// [`Wrapper::wrap`]. `None` if it would expire.
fn leaves_with(hop_limit: u8) -> Option<u8> {
    hop_limit.saturating_add(1).checked_sub(1).filter(|left| *left > 0)
}
