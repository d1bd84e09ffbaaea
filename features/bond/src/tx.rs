// SPDX-License-Identifier: Apache-2.0
//! `BondEthernetN-tx`: sends frames by members.

use crate::hash::{choose, hash};
use crate::model::Balance;
use crate::state::{BondView, Bonds};
use buffer::{Buffer, Flags, Owned};
use driver::finish_checksum;
use graph::{
    Copies, Cx, Next, Node, NodeIndex, SwIfIndex, ThreadIndex, Trace, World, copy_to_each,
};
use net::Interfaces;
use object::Choice;
use std::fmt;
use std::sync::Arc;
use sync::Turn;

pub struct BondTx {
    sw_if: u32,
    bonds: Arc<Bonds>,
    interfaces: Arc<Interfaces>,
    /// Round-robin: the number of the next frame.
    next: usize,
    copies: Copies,
}

#[derive(Next, Clone, Copy)]
pub enum To {
    /// The output of a member, or this node again.
    #[dynamic]
    Node(NodeIndex),
    /// To several members.
    #[keep]
    Copy,
    /// no member is active
    #[drop]
    #[counter("no member")]
    NoMember,
    /// bond is down
    #[drop]
    #[counter("interface down")]
    Down,
    /// no buffer for a copy
    #[count]
    NoBuffer,
}

/// The bond and the member.
#[derive(Clone, Copy)]
pub struct TxTrace {
    bond: u32,
    member: Option<u32>,
    copies: usize,
    balance: Balance,
}

impl Trace for TxTrace {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sw_if_index {} {} -> ", self.bond, self.balance.word())?;
        match self.member {
            Some(member) => write!(f, "{member}"),
            None => write!(f, "{} members", self.copies),
        }
    }
}

impl BondTx {
    pub fn new(world: &World, _: ThreadIndex, sw_if: SwIfIndex) -> Self {
        Self {
            sw_if: sw_if.0,
            bonds: world.get(),
            interfaces: world.get(),
            next: 0,
            copies: Copies::default(),
        }
    }

    /// The output node of a member, which may be one that several interfaces share; `NoMember` for
    /// an interface that has been deleted.
    #[inline(always)]
    fn output(&self, b: &mut Buffer, member: u32, turn: &Turn<'_>) -> To {
        b.tx_if = member;
        let view = self.interfaces.views(turn).get(member as usize);
        view.map_or(To::NoMember, |view| To::Node(view.output))
    }

    /// The member that a frame leaves by, out of at least one. `number` counts the frames of the
    /// bond.
    #[inline(always)]
    fn member(view: &BondView, b: &Buffer, number: usize) -> u32 {
        let n = view.active.len();
        let at = match view.balance {
            Balance::ActiveBackup | Balance::Broadcast => 0,
            Balance::RoundRobin => number % n,
            Balance::L2 | Balance::L23 | Balance::L34 => choose(hash(b, view.balance), n),
        };
        view.active[at]
    }

    /// Sends a frame by all members.
    fn copy(&self, mut b: Owned, cx: &mut Cx<'_, false>) {
        let turn = cx.turn;
        let Some(view) = self.bonds.view(self.sw_if, turn) else { return cx.emit(To::Down, b) };
        // A checksum that is left to the device covers bytes that the copies share. Segmentation
        // makes the checksums of its segments.
        if !b.flags.contains(Flags::GSO) {
            finish_checksum(&mut b);
        }
        let members = view.active.iter().copied();
        let copied =
            copy_to_each(b, members, To::NoMember, cx, |b, member, _| self.output(b, member, turn));
        cx.count(To::NoBuffer, copied.missing as u64);
    }
}

impl Node for BondTx {
    const NAME: &'static str = "bond-tx";
    const HOT: bool = true;
    type Next = To;
    type Trace = TxTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if self.copies.are_enough() {
            return To::Copy;
        }
        let turn = cx.turn;
        let Some(view) = self.bonds.view(self.sw_if, turn).filter(|view| view.up) else {
            return To::Down;
        };
        if view.active.is_empty() {
            return To::NoMember;
        }
        let copies = view.active.len();
        if view.balance == Balance::Broadcast && copies > 1 {
            if TRACED {
                cx.trace(
                    b,
                    TxTrace { bond: self.sw_if, member: None, copies, balance: view.balance },
                );
            }
            self.copies.plan(copies);
            return To::Copy;
        }
        let member = Self::member(view, b, self.next);
        self.next = self.next.wrapping_add(1);
        if TRACED {
            cx.trace(
                b,
                TxTrace {
                    bond: self.sw_if,
                    member: Some(member),
                    copies: 1,
                    balance: view.balance,
                },
            );
        }
        self.output(b, member, turn)
    }

    fn keep(&mut self, b: Owned, cx: &mut Cx<'_, false>) {
        if !self.copies.take() {
            let again = To::Node(cx.node());
            return cx.emit(again, b);
        }
        self.copy(b, cx);
    }

    #[inline(always)]
    fn end<const TRACED: bool>(&mut self, _: &mut Cx<'_, TRACED>) {
        self.copies.end();
    }
}
