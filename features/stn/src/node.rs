// SPDX-License-Identifier: Apache-2.0
//! `stn-ip4-punt`, `stn-ip6-punt`: send punted packets by the interface of a rule.

use crate::control::Rules;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::{IfFlags, Interfaces, Net};
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Header, IpHeader};

/// The MAC addresses of frames: destination, source.
const ADDRESSES: [u8; 12] = [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1];

/// `stn-ip4-punt` or `stn-ip6-punt`.
pub struct StnPunt<F> {
    rules: Arc<Rules>,
    interfaces: Arc<Interfaces>,
    family: PhantomData<F>,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    #[next_feature]
    Next,
    /// The output of the rule's interface.
    #[dynamic]
    Output(NodeIndex),
    /// packets that left by the interface of a rule
    #[count]
    #[counter("no error")]
    Sent,
    /// interface of the rule is gone
    #[drop]
    Gone,
    /// no room in front of the packet for an Ethernet header
    #[drop]
    NoHeadroom,
}

#[derive(Clone, Copy)]
pub struct StnTrace {
    destination: Option<IpAddr>,
    tx_if: Option<u32>,
}

impl Trace for StnTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.destination, self.tx_if) {
            (Some(address), Some(tx_if)) => write!(f, "dst_address: {address} sw_if_index {tx_if}"),
            (Some(address), None) => write!(f, "dst_address: {address} has no rule"),
            (None, _) => f.write_str("no header"),
        }
    }
}

impl<F> Build for StnPunt<F> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { rules: world.get(), interfaces: world.get(), family: PhantomData }
    }
}

impl<F: Net> Node for StnPunt<F> {
    const NAME: &'static str = "stn-{ip}-punt";
    const V6: Option<bool> = Some(F::IS_V6);
    const DROP: &'static str = "{ip}-drop";
    type Next = To;
    type Trace = StnTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let destination = F::Header::view_at(b.data(), 0).map(|ip| ip.dst().into());
        let rule = destination.and_then(|address| self.rules.find(address, cx.turn));
        if TRACED {
            cx.trace(b, StnTrace { destination, tx_if: rule });
        }
        let Some(tx_if) = rule else { return To::Next };
        let view = self.interfaces.views(cx.turn).get(tx_if as usize);
        let Some(view) = view.filter(|view| view.output != NodeIndex::default()) else {
            return To::Gone;
        };
        if !view.flags.contains(IfFlags::IP_MODE) {
            let Some(header) = b.push::<14>() else { return To::NoHeadroom };
            header[..12].copy_from_slice(&ADDRESSES);
            header[12..].copy_from_slice(&F::ETHERTYPE.0.to_be_bytes());
        }
        b.mark_l2();
        b.flags.remove(Flags::TABLE);
        b.tx_if = tx_if;
        cx.count(To::Sent, 1);
        To::Output(view.output)
    }
}
