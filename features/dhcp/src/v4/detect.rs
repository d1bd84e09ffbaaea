// SPDX-License-Identifier: Apache-2.0
//! `ip4-dhcp-client-detect`: takes the datagrams to the client's port out of the packets that an
//! interface receives, whatever their destination: the client has no address yet, or the server
//! sends to the one that it offers (RFC 2131 4.1).

use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, ThreadIndex, Trace, World};
use std::fmt;
use wire::l4::{self, Verdict};
use wire::{Header, Ip4, IpProtocol, Ipv4Header, UdpHeader, UpperLayer};

use super::message::CLIENT_PORT;

/// `ip4-dhcp-client-detect`.
pub struct Detect;

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Continue,
    /// Extract
    #[next("ip4-udp-lookup", count)]
    Extract,
}

#[derive(Clone, Copy)]
pub struct DetectTrace(bool);

impl Trace for DetectTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dhcp-client-detect: {}", if self.0 { "extracted" } else { "passed" })
    }
}

impl Build for Detect {
    fn build(_: &World, _: ThreadIndex) -> Self {
        Self
    }
}

/// True for a whole datagram to the client's port, whose checksum is right if it has one.
#[inline(always)]
fn is_for_client(b: &Buffer) -> bool {
    let Some(ip) = Ipv4Header::view(b.data()) else { return false };
    if ip.protocol != IpProtocol::UDP || ip.is_fragment() {
        return false;
    }
    let Ok(UpperLayer { offset, .. }) = UpperLayer::of::<Ip4>(b.data()) else { return false };
    let udp = UdpHeader::view_at(b.data(), offset);
    if udp.is_none_or(|udp| udp.dst_port.get() != CLIENT_PORT) {
        return false;
    }
    if b.flags.intersects(Flags::L4_CSUM_OK | Flags::CSUM_PARTIAL) {
        return true;
    }
    let verdict = l4::verify_parts(b.data(), b.segments().skip(1));
    matches!(verdict, Ok(Verdict::Valid | Verdict::Absent))
}

impl Node for Detect {
    const NAME: &'static str = "ip4-dhcp-client-detect";
    type Next = To;
    type Trace = DetectTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let is_for_client = is_for_client(b);
        cx.trace(b, DetectTrace(is_for_client));
        if is_for_client { To::Extract } else { To::Continue }
    }
}
