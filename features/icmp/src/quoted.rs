// SPDX-License-Identifier: Apache-2.0
//! `ip4-icmp-quoted`, `ip6-icmp-quoted`: dispatch an error about a packet that we sent to the node
//! registered for the protocol that it quotes (RFC 1122 3.2.2, RFC 4443 2.4 (d)).

use crate::state::State;
use crate::version::Icmp;
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, World};
use ip::IpTrace;
use std::sync::Arc;
use wire::{Header, IcmpHeader, IpHeader, IpProtocol, UpperLayer};

pub struct Quoted<F> {
    state: Arc<State<F>>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    #[dynamic]
    Node(NodeIndex),
    /// error about a protocol that nothing here speaks
    #[punt]
    UnknownProtocol,
    /// error about a packet that we didn't send
    #[drop]
    NotOurs,
    /// quoted packet is too short or malformed
    #[drop]
    TooShort,
}

impl<F: Icmp> Build for Quoted<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { state: world.get() }
    }
}

/// The packet that an ICMP error quotes.
pub struct Quote<'a, F: Icmp> {
    /// Its IP header.
    pub ip: &'a F::Header,
    /// Upper-layer protocol of the packet.
    pub protocol: IpProtocol,
    /// The first 8 bytes of the upper layer.
    pub inner: &'a [u8; 8],
    /// All bytes of the upper layer that are quoted.
    pub all: &'a [u8],
}

/// Returns the quoted packet of an ICMP error that starts at its IP header. `None` if the quoted
/// headers, or 8 bytes behind them, are missing.
pub fn quoted<F: Icmp>(packet: &[u8]) -> Option<Quote<'_, F>> {
    let at = UpperLayer::of::<F>(packet).ok()?.offset + IcmpHeader::LEN;
    let quoted = packet.get(at..)?;
    let ip = F::Header::view(quoted)?;
    let upper = UpperLayer::of::<F>(quoted).ok()?;
    let all = quoted.get(upper.offset..)?;
    Some(Quote { ip, protocol: upper.protocol, inner: all.first_chunk()?, all })
}

impl<F: Icmp> Node for Quoted<F> {
    const NAME: &'static str = "{ip}-icmp-quoted";
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
        let Some(outer) = F::Header::view(b.data()) else { return To::TooShort };
        let Some(Quote { ip, protocol, .. }) = quoted::<F>(b.data()) else { return To::TooShort };
        // The error comes back to the address that the quoted packet was sent from.
        if ip.src() != outer.dst() || ip.version() != F::VERSION {
            return To::NotOurs;
        }
        match self.state.quoted(protocol, cx.turn) {
            Some(node) => To::Node(node),
            None => To::UnknownProtocol,
        }
    }
}
