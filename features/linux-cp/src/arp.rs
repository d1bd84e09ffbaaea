// SPDX-License-Identifier: Apache-2.0
//! ARP: `linux-cp-arp-phy` copies replies from the wire to the host, `linux-cp-arp-host` sends all
//! of the host's to the wire. Packets begin at their ARP header.

use crate::header::restore;
use crate::pairs::Pairs;
use buffer::{Buffer, Owned};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::Interfaces;
use std::fmt;
use std::sync::Arc;
use wire::{ArpOp, EtherType, Header};

/// Bytes of the longest frame that is copied.
const FRAME: usize = 256;

/// The interface of a packet, and the other one of its pair.
#[derive(Clone, Copy)]
pub struct ArpTrace {
    from: u32,
    to: Option<u32>,
    op: u16,
}

impl Trace for ArpTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arp operation {} sw_if_index {}", self.op, self.from)?;
        self.to.map_or(Ok(()), |to| write!(f, " -> {to}"))
    }
}

fn op_of(b: &Buffer) -> Option<ArpOp> {
    wire::Arp::view(b.data()).map(wire::Arp::op)
}

/// `linux-cp-arp-phy`.
pub struct ArpPhy {
    pairs: Arc<Pairs>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum PhyTo {
    #[next_feature]
    Continue,
    /// The output of the mirror, for a copy.
    #[dynamic]
    Output(NodeIndex),
    /// ARP packets processed
    #[count]
    Packets,
    /// ARP replies copied to host
    #[count]
    Copies,
}

impl Build for ArpPhy {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { pairs: world.get(), interfaces: world.get() }
    }
}

impl ArpPhy {
    /// A copy of the frame for the mirror, and its next node.
    fn copy<const TRACED: bool>(
        &self,
        b: &mut Buffer,
        host: u32,
        cx: &mut Cx<'_, TRACED>,
    ) -> Option<(NodeIndex, Owned)> {
        let output = self.interfaces.views(cx.turn).get(host as usize)?.output;
        let mut frame = [0; FRAME];
        let header = b.l2_len();
        if !b.rewind(header) {
            return None;
        }
        let len = b.copy_out(0, &mut frame);
        let pulled = b.pull(header);
        debug_assert!(pulled, "these bytes are there");
        let mut copy = cx.alloc()?;
        if !copy.set_data(&frame[..len]) {
            return None;
        }
        copy.mark_l2();
        if !copy.pull(header) || !restore(&mut copy, Some(EtherType::ARP)) {
            return None;
        }
        copy.rx_if = b.rx_if;
        copy.tx_if = host;
        Some((output, copy))
    }
}

impl Node for ArpPhy {
    const NAME: &'static str = "linux-cp-arp-phy";
    type Next = PhyTo;
    type Trace = ArpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> PhyTo {
        cx.count(PhyTo::Packets, 1);
        let op = op_of(b);
        let peer = self.pairs.peer(b.rx_if, cx.turn).copied();
        let to = peer.filter(|peer| op == Some(ArpOp::REPLY) && !peer.is_mirror && !peer.is_tun);
        if TRACED {
            let (op, to) = (op.map_or(0, |op| op.0), to.map(|peer| peer.other));
            cx.trace(b, ArpTrace { from: b.rx_if, to, op });
        }
        if let Some(peer) = to
            && let Some((output, copy)) = self.copy(b, peer.other, cx)
        {
            cx.count(PhyTo::Copies, 1);
            cx.emit(PhyTo::Output(output), copy);
        }
        PhyTo::Continue
    }
}

/// `linux-cp-arp-host`.
pub struct ArpHost {
    pairs: Arc<Pairs>,
    interfaces: Arc<Interfaces>,
}

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostTo {
    /// The output of the mirrored interface.
    #[dynamic]
    Output(NodeIndex),
    /// ARP packets processed
    #[count]
    Packets,
    /// ARP replies copied to host
    #[count]
    #[allow(dead_code, reason = "monitoring systems read it, and it stays 0")]
    Copies,
    /// interface is no mirror
    #[drop]
    NoPair,
    /// packet of the host has no Ethernet header
    #[drop]
    NoHeader,
}

impl Build for ArpHost {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { pairs: world.get(), interfaces: world.get() }
    }
}

impl Node for ArpHost {
    const NAME: &'static str = "linux-cp-arp-host";
    type Next = HostTo;
    type Trace = ArpTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> HostTo {
        cx.count(HostTo::Packets, 1);
        let Some(peer) = self.pairs.peer(b.rx_if, cx.turn).filter(|peer| peer.is_mirror) else {
            return HostTo::NoPair;
        };
        if TRACED {
            let op = op_of(b).map_or(0, |op| op.0);
            cx.trace(b, ArpTrace { from: b.rx_if, to: Some(peer.other), op });
        }
        if !restore(b, Some(EtherType::ARP)) {
            return HostTo::NoHeader;
        }
        b.tx_if = peer.other;
        let view = self.interfaces.views(cx.turn).get(peer.other as usize);
        view.map_or(HostTo::NoPair, |view| HostTo::Output(view.output))
    }
}
