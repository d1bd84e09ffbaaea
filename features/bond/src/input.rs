// SPDX-License-Identifier: Apache-2.0
//! `bond-input`: frames that members receive are the bond's.

use crate::hash::payload;
use crate::state::{Acceptance, Bonds};
use buffer::Buffer;
use graph::{Build, Cx, Head, Next, Node, NodeIndex, ThreadIndex, Trace, World};
use net::{FrameInput, IfFlags, Interfaces};
use std::fmt;
use std::sync::Arc;
use wire::describe::{Layer, describe};
use wire::{EtherType, MacAddr};

pub struct BondInput {
    bonds: Arc<Bonds>,
    interfaces: Arc<Interfaces>,
    input: FrameInput,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The first feature of the bond, or `ethernet-input`.
    #[dynamic]
    Bond(NodeIndex),
    /// The member's next feature.
    #[next_feature]
    Member,
    /// frames that bonds received
    #[count]
    #[counter("no error")]
    Received,
    /// frames that stay with the member
    #[count]
    #[counter("pass through (CDP, LLDP, slow protocols)")]
    PassThrough,
    /// bond or member is down
    #[drop]
    #[counter("interface down")]
    Down,
    /// another member of the active-backup bond is the current one
    #[drop]
    #[counter("traffic received on passive interface")]
    Passive,
    /// LACP hasn't brought the member into the bond
    #[drop]
    NotCollecting,
}

#[derive(Clone, Copy)]
pub struct BondTrace {
    head: Head,
    member: u32,
    rx_if: u32,
}

impl Trace for BondTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = describe(self.head.bytes(), Layer::Ethernet).layers(1);
        write!(f, "{frame}\nsw_if_index {} -> {}", self.member, self.rx_if)
    }
}

impl Build for BondInput {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { bonds: world.get(), interfaces: world.get(), input: FrameInput::new(world, thread) }
    }
}

/// Frames of the link itself, of which each member has its own: slow protocols such as LACP (IEEE
/// 802.3 57A), LLDP and CDP.
#[inline(always)]
fn is_of_link(b: &Buffer) -> bool {
    const CDP: MacAddr = MacAddr([1, 0, 0xc, 0xcc, 0xcc, 0xcc]);
    /// LLC for SNAP, and Cisco's code with the protocol CDP.
    const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0xc, 0x20, 0];
    match payload(b) {
        Some((EtherType::SLOW | EtherType::LLDP, _)) => true,
        Some((ethertype, at)) if ethertype.is_length() => {
            b.bytes::<6>(0) == Some(&CDP.octets()) && b.bytes::<8>(at) == Some(&SNAP)
        }
        _ => false,
    }
}

impl BondInput {
    #[inline(always)]
    fn classify<const TRACED: bool>(&self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        // It may have left the bond since the frame came in.
        let Some(member) = self.bonds.member_view(b.rx_if, cx.turn) else { return To::Member };
        if is_of_link(b) {
            cx.count(To::PassThrough, 1);
            return To::Member;
        }
        match member.acceptance {
            Acceptance::All => {}
            Acceptance::Down => return To::Down,
            Acceptance::Backup => return To::Passive,
            Acceptance::Waiting => return To::NotCollecting,
        }
        let view = self.interfaces.views(cx.turn).get(member.bond as usize);
        if !view.is_some_and(|view| view.flags.contains(IfFlags::ADMIN)) {
            return To::Down;
        }
        b.rx_if = member.bond;
        cx.count(To::Received, 1);
        To::Bond(self.input.receive(b, cx))
    }
}

impl Node for BondInput {
    const NAME: &'static str = "bond-input";
    const HOT: bool = true;
    type Next = To;
    type Trace = BondTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let member = b.rx_if;
        let to = self.classify(b, cx);
        if TRACED {
            cx.trace(b, BondTrace { head: Head::of(b), member, rx_if: b.rx_if });
        }
        to
    }
}
