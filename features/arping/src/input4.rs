// SPDX-License-Identifier: Apache-2.0
//! `arping-input`: counts the ARP replies to an arping, and where it detects conflicts other uses
//! of the address and probes for it; lets them pass.

use crate::waiters::Waiters;
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, ThreadIndex, Trace, World};
use net::Interfaces;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use wire::describe::{Layer, describe};
use wire::{Arp, ArpOp, Header};

/// `arping-input`.
pub struct Input4 {
    waiters: Arc<Waiters>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    #[next_feature]
    Continue,
    /// ARP replies to an arping
    #[count]
    #[counter("no error")]
    Reply,
}

/// The packet as it came.
#[derive(Clone, Copy)]
pub struct ArpTrace(Head);

impl Trace for ArpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", describe(self.0.bytes(), Layer::Arp))
    }
}

impl Build for Input4 {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { waiters: world.get(), interfaces: world.get() }
    }
}

impl Node for Input4 {
    const NAME: &'static str = "arping-input";
    type Next = To;
    type Trace = ArpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, ArpTrace(Head::of(b)));
        }
        let Some(waiter) = self.waiters.of(b.rx_if, cx.turn) else { return To::Continue };
        let Some(arp) = Arp::view(b.data()) else { return To::Continue };
        let (sender, op) = (arp.sender_ip(), arp.op());
        let counts = if waiter.address == IpAddr::V4(sender) {
            op == ArpOp::REPLY || op == ArpOp::REQUEST && waiter.detects_conflicts
        } else {
            // Another station's probe: it wants the address as well (RFC 5227 2.1.1).
            let wants = waiter.address == IpAddr::V4(arp.target_ip());
            waiter.detects_conflicts && sender.is_unspecified() && op == ArpOp::REQUEST && wants
        };
        // Our own frame may come back.
        let view = self.interfaces.views(cx.turn).get(b.rx_if as usize).unwrap_or_default();
        if counts && arp.sender_mac != view.mac {
            waiter.count(arp.sender_mac);
            cx.count(To::Reply, 1);
        }
        To::Continue
    }
}
