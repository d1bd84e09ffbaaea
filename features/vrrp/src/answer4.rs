// SPDX-License-Identifier: Apache-2.0
//! `vrrp4-arp-input`: the master answers ARP requests for addresses of virtual routers by their
//! MAC address (RFC 9568 8.1.2), a backup doesn't answer.

use crate::control::Vrrp;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::Interfaces;
use std::fmt;
use std::sync::Arc;
use wire::describe::{Layer, describe};
use wire::{Arp, ArpOp, Header};

pub struct ArpAnswer {
    vrrp: Arc<Vrrp>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The answer leaves by the interface that received the request.
    #[dynamic]
    Output(NodeIndex),
    #[next_feature]
    Continue,
    /// requests answered by the master
    #[count]
    #[counter("VRRP packets processed")]
    Processed,
    /// the address is a virtual router's whose master is another router
    #[drop]
    Backup,
    /// no room for the Ethernet header of the answer
    #[drop]
    NoHeader,
}

/// The packet as it came.
#[derive(Clone, Copy)]
pub struct ArpTrace(Head);

impl Trace for ArpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Arp))
    }
}

impl Build for ArpAnswer {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { vrrp: world.get(), interfaces: world.get() }
    }
}

impl Node for ArpAnswer {
    const NAME: &'static str = "vrrp4-arp-input";
    type Next = To;
    type Trace = ArpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, ArpTrace(Head::of(b)));
        }
        let Some(arp) = Arp::view(b.data()) else { return To::Continue };
        // `arp-reply` drops a sender that is no station by name.
        let is_station = arp.sender_mac.is_unicast() && !arp.sender_mac.is_zero();
        if arp.op() != ArpOp::REQUEST || arp.is_gratuitous() || !is_station {
            return To::Continue;
        }
        let target = arp.target_ip();
        let link = self.vrrp.link(b.rx_if, cx.turn);
        let address = link.and_then(|link| link.address(target.into()));
        let Some(address) = address else { return To::Continue };
        let Some(mac) = address.mac else { return To::Backup };
        let view = self.interfaces.views(cx.turn).get(b.rx_if as usize).unwrap_or_default();
        if !arp::answer(b, mac, target) {
            return To::NoHeader;
        }
        cx.count(To::Processed, 1);
        To::Output(view.output)
    }
}
