// SPDX-License-Identifier: Apache-2.0
//! `ipip4-input`, `ipip6-input`: decapsulation. The number is the IP version of the outer packet.

use crate::model::IpIp;
use crate::sixrd::{SixRds, Work};
use buffer::Buffer;
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Vector, World};
use ip::Ip;
use net::TableIndex;
use simd::Isa;
use std::marker::PhantomData;
use std::sync::Arc;
use sync::Turn;
use tunnel::{Decap, DecapTrace, Decapsulates, Last, Onto, Outer, Receipt, Receiver};
use wire::{Header, IpHeader, IpProtocol, Ipv4Header, Ipv6Header};

pub struct IpIpInput<F> {
    decap: Decap<IpIp>,
    last: Last<To>,
    sixrds: Arc<SixRds>,
    version: PhantomData<F>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next("ip4-input")]
    Input4,
    #[next("ip6-input")]
    Input6,
    /// The first feature of the tunnel's interface.
    #[dynamic]
    Feature(NodeIndex),
    /// packets decapsulated
    #[count]
    #[counter("packets decapsulated")]
    Decapsulated,
    /// bad protocol
    #[drop]
    #[counter("bad protocol")]
    BadProtocol,
    /// no tunnel
    #[drop]
    #[counter("no tunnel")]
    NoTunnel,
    /// inner source address isn't of the outer one's site (RFC 5969 12)
    #[drop]
    Spoofed,
    /// fragmented outer packet
    #[drop]
    #[counter("fragmented outer packet")]
    Fragment,
    /// tunnel is down
    #[drop]
    Down,
    /// packet shorter than its headers
    #[drop]
    TooShort,
    /// super-packets can't be taken out of tunnels
    #[drop]
    Super,
}

tunnel::from_decap_error!(To, NoTunnel);

impl<F: Ip> Build for IpIpInput<F> {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        let decap = Decap::new(world, thread);
        Self { decap, last: Last::default(), sixrds: world.get(), version: PhantomData }
    }
}

impl<F: Ip> IpIpInput<F> {
    /// The 6RD tunnel of a packet that carries IPv6 to our address. The packet is from the site
    /// that its inner source belongs to, if the tunnel checks that (RFC 5969 12).
    #[inline(always)]
    fn sixrd<'t>(&'t self, b: &Buffer, outer: &Outer, turn: &'t Turn<'_>) -> Result<&'t Work, To> {
        let ip = Ipv4Header::view(b.data()).ok_or(To::TooShort)?;
        let table = TableIndex(outer.key.table);
        let work = self.sixrds.lookup(ip.dst(), table, turn).ok_or(To::NoTunnel)?;
        let inner = Ipv6Header::view_at(b.data(), outer.upper.offset).ok_or(To::TooShort)?;
        let is_from_site =
            !work.config.security_check || work.config.domain.embedded(inner.src()) == ip.src();
        if is_from_site { Ok(work) } else { Err(To::Spoofed) }
    }
}

impl<F: Ip> Decapsulates<F> for IpIpInput<F> {
    const DECAPSULATED: To = To::Decapsulated;

    fn parts(&mut self) -> (&mut Last<To>, &Receiver) {
        (&mut self.last, self.decap.receiver())
    }
}

impl<F: Ip> Node for IpIpInput<F> {
    const NAME: &'static str = if F::IS_V6 { "ipip6-input" } else { "ipip4-input" };
    const DROP: &'static str = "{ip}-drop";
    const V6: Option<bool> = Some(F::IS_V6);
    type Next = To;
    type Trace = DecapTrace<IpIp>;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let turn = cx.turn;
        let Some(outer) = Outer::of::<F>(b) else { return To::TooShort };
        if outer.is_fragment() {
            return To::Fragment;
        }
        let (to, onto) = match outer.upper.protocol {
            IpProtocol::IP4 => (To::Input4, Onto::Ip4),
            IpProtocol::IP6 => (To::Input6, Onto::Ip6),
            _ => return To::BadProtocol,
        };
        let end = self.decap.find(&outer.key, turn);
        if TRACED {
            cx.trace(b, DecapTrace::<IpIp>::of(&outer, b, end));
        }
        let (end, is_own) = match end {
            Some(end) => (end, true),
            None if !F::IS_V6 && to == To::Input6 => match self.sixrd(b, &outer, turn) {
                // Its packets come from many.
                Ok(work) => (&work.end, false),
                Err(why) => return why,
            },
            None => return To::NoTunnel,
        };
        match self.decap.receive(b, end, outer.upper.offset, outer.class, turn) {
            Ok(()) => {
                cx.count(To::Decapsulated, 1);
                let to = self.decap.first_feature(b, onto, cx).map_or(to, To::Feature);
                if is_own {
                    let (headers, decided) =
                        ((outer.upper.offset, &[][..]), (Receipt::of(end), end.flags, to));
                    self.last.remember::<F>(b, headers, decided, self.decap.receiver());
                }
                to
            }
            Err(why) => why.into(),
        }
    }

    #[inline(always)]
    fn stages<I: Isa>(&mut self, v: &mut Vector<'_, To>, cx: &mut Cx<'_, false>) {
        tunnel::decapsulate::<F, _>(self, v, cx);
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, cx: &mut Cx<'_, TRACED>) {
        tunnel::end_decapsulation::<F, _, TRACED>(self, cx);
    }
}
