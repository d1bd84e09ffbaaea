// SPDX-License-Identifier: Apache-2.0
//! `ip4-tunnel-error`, `ip6-tunnel-error`: ICMP errors about outer packets of tunnels.

use crate::tracked::{Reported, TrackedMtus};
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, ThreadIndex, World};
use icmp::{Icmp, Quote};
use ip::IpTrace;
use std::marker::PhantomData;
use std::sync::Arc;
use tunnel::Quoted;
use wire::{Header, IcmpHeader, IpHeader, IpProtocol, Ipv6Header, UpperLayer};

/// The node of a version.
pub struct TunnelError<F> {
    tracked: Arc<TrackedMtus>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The error was noted.
    #[free]
    Noted,
    /// errors with a path MTU noted
    #[count]
    Good,
    /// error about a packet that no tunnel here has sent with its MTU tracked
    #[punt]
    Unknown,
    /// errors come faster than they are noted
    #[drop]
    Full,
}

impl<F: Icmp> Build for TunnelError<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { tracked: world.get(), version: PhantomData }
    }
}

/// Reads the error, if it reports a path MTU.
fn reported<F: Icmp>(packet: &[u8]) -> Option<Reported> {
    let error = IcmpHeader::view_at(packet, UpperLayer::of::<F>(packet).ok()?.offset)?;
    if (error.kind, error.code) != F::ERRORS.too_big {
        return None;
    }
    let Quote { ip, protocol, inner, all } = icmp::quoted::<F>(packet)?;
    let [_, _, high, low, ..] = *inner;
    let upper = ip.header_len();
    // An IP packet inside has nothing that names its tunnel, but it fills the outer packet.
    let inside = match (protocol, inner[0] >> 4) {
        (IpProtocol::IP4, 4) => Some(usize::from(u16::from_be_bytes([high, low]))),
        (IpProtocol::IP6, 6) => {
            Some(Ipv6Header::LEN + usize::from(u16::from_be_bytes([inner[4], inner[5]])))
        }
        (IpProtocol::IP4 | IpProtocol::IP6, _) => return None,
        _ => None,
    };
    if inside.is_some_and(|len| upper + len != ip.packet_len()) {
        return None;
    }
    Some(Reported {
        local: ip.src().into(),
        remote: ip.dst().into(),
        protocol,
        port: if protocol == IpProtocol::UDP { u16::from_be_bytes([high, low]) } else { 0 },
        header: Quoted::of(all),
        len: ip.packet_len(),
        // RFC 1191 4, RFC 4443 3.2.
        mtu: if F::IS_V6 { error.rest() } else { error.rest() & 0xffff },
    })
}

impl<F: Icmp> Node for TunnelError<F> {
    const NAME: &'static str = "{ip}-tunnel-error";
    const DROP: &'static str = "{ip}-drop";
    const PUNT: &'static str = "{ip}-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = IpTrace<F>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, IpTrace::<F>::of(b));
        }
        let Some(reported) = reported::<F>(b.data()) else { return To::Unknown };
        match self.tracked.report(reported) {
            Some(true) => {
                cx.count(To::Good, 1);
                To::Noted
            }
            Some(false) => To::Full,
            None => To::Unknown,
        }
    }
}
