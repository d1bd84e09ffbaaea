// SPDX-License-Identifier: Apache-2.0
//! `tcp4-reset`, `tcp6-reset`: turns a segment to a port without a listener into its reset, in
//! place.

use buffer::{Buffer, Cache, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use ip::{ErrorLimit, Ip, IpTrace};
use net::{Addresses, IpMeta};
use std::sync::Arc;
use sync::TokenBucket;
use wire::checksum::Sum;
use wire::{Header, IpHeader, IpProtocol, Ipv6Header, TcpFlags, TcpHeader, U16, U32, UpperLayer};

/// Bytes of a reset behind its IP header.
const LEN: u16 = TcpHeader::LEN as u16;
/// Bytes of the longest reset of any version.
const LONGEST: usize = Ipv6Header::LEN + TcpHeader::LEN;

/// Reset that answers a segment (RFC 9293 3.5.2, group 1), whose data, its SYN and FIN counted, has
/// `len` bytes.
#[inline(always)]
fn reset(segment: &TcpHeader, len: u32) -> TcpHeader {
    let mut reset = TcpHeader {
        src_port: segment.dst_port,
        dst_port: segment.src_port,
        data_offset: (TcpHeader::LEN as u8 / 4) << 4,
        flags: TcpFlags::RST,
        ..TcpHeader::default()
    };
    if segment.flags.contains(TcpFlags::ACK) {
        reset.seq = segment.ack;
    } else {
        reset.flags = TcpFlags::RST | TcpFlags::ACK;
        reset.ack = U32::new(segment.seq.get().wrapping_add(len));
    }
    reset
}

pub struct Reset<F: Ip> {
    limit: Arc<ErrorLimit<F>>,
    addresses: Arc<Addresses<F>>,
    bucket: TokenBucket,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// resets sent
    #[next("{ip}-lookup", count)]
    #[counter("rst_sent")]
    Sent,
    /// no reset for a reset
    #[drop]
    IsReset,
    /// no reset for a segment to several hosts (RFC 1122 4.2.3.10)
    #[drop]
    Broadcast,
    /// no reset to a source that is no single host
    #[drop]
    Source,
    /// error rate limit reached
    #[drop]
    RateLimited,
    /// segment shorter than its headers
    #[drop]
    TooShort,
}

impl<F: Ip> Build for Reset<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { limit: world.get(), addresses: world.get(), bucket: TokenBucket::default() }
    }
}

impl<F: Ip> Reset<F> {
    #[inline(always)]
    fn answer<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(&ip) = F::Header::view(b.data()) else { return To::TooShort };
        let Ok(upper) = UpperLayer::of::<F>(b.data()) else { return To::TooShort };
        let Some(&segment) = TcpHeader::view_at(b.data(), upper.offset) else {
            return To::TooShort;
        };
        let header_len = segment.header_len();
        if header_len < TcpHeader::LEN || header_len > upper.payload_len() {
            return To::TooShort;
        }
        if segment.flags.contains(TcpFlags::RST) {
            return To::IsReset;
        }
        let own = self.addresses.of(b.rx_if, cx.turn);
        if F::is_group(ip.dst(), own)
            || b.flags.intersects(Flags::L2_BROADCAST | Flags::L2_MULTICAST)
        {
            return To::Broadcast;
        }
        if !F::is_host(ip.src(), own) {
            return To::Source;
        }
        if !self.bucket.take(cx.now(), self.limit.get(cx.turn)) {
            return To::RateLimited;
        }
        let counted =
            [TcpFlags::SYN, TcpFlags::FIN].iter().filter(|f| segment.flags.contains(**f)).count();
        let len = (upper.payload_len() - header_len + counted) as u32;
        let table = b.flags.contains(Flags::LOCAL).then(|| b.scratch::<IpMeta>().fib);
        put::<F>(
            b,
            F::whole(ip.dst(), ip.src(), IpProtocol::TCP, LEN),
            reset(&segment, len),
            cx.cache(),
        );
        if let Some(table) = table {
            // We asked ourselves: back in the table that the segment went out in.
            b.tx_if = table;
            b.flags.insert(Flags::TABLE);
        }
        To::Sent
    }
}

/// Puts a segment without data in the place of what is in the buffer: a packet that we send.
#[inline(always)]
fn put<F: Ip>(b: &mut Buffer, ip: F::Header, tcp: TcpHeader, cache: &mut Cache) {
    let mut bytes = [0; LONGEST];
    if let Some(slot) = F::Header::view_mut(&mut bytes) {
        *slot = ip;
    }
    if let Some(slot) = TcpHeader::view_at_mut(&mut bytes, F::HEADER_LEN) {
        *slot = tcp;
    }
    let sum = ip.pseudo_sum(IpProtocol::TCP, LEN.into())
        + Sum::of(&bytes[F::HEADER_LEN..][..TcpHeader::LEN]);
    if let Some(slot) = TcpHeader::view_at_mut(&mut bytes, F::HEADER_LEN) {
        slot.checksum = U16::new(sum.finish());
    }
    ip::replace(b, &bytes[..F::HEADER_LEN + TcpHeader::LEN], cache);
}

impl<F: Ip> Node for Reset<F> {
    const NAME: &'static str = "tcp{4|6}-reset";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let to = self.answer(b, cx);
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        to
    }
}
