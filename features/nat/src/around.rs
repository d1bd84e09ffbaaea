// SPDX-License-Identifier: Apache-2.0
//! The surroundings of a thread's nodes: interfaces with their tables and addresses, and routes.

use crate::egress::Routes;
use crate::key::End;
use crate::packet::Packet;
use buffer::{Buffer, Field};
use graph::World;
use ip::table_of;
use net::{Addresses, Interfaces, L4};
use std::net::Ipv4Addr;
use std::sync::Arc;
use sync::Turn;
use wire::Ip4;

/// The place of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Packets received from users.
    In2Out,
    /// Packets received from the world.
    Out2In,
    /// Packets that leave to the world.
    Output,
}

/// The surroundings.
pub struct Around {
    /// The routes.
    pub routes: Routes<Ip4>,
    addresses: Arc<Addresses<Ip4>>,
    interfaces: Arc<Interfaces>,
    l4: Field<L4>,
}

impl Around {
    /// Of an instance.
    pub fn new(world: &World) -> Self {
        Self {
            routes: Routes::new(world),
            addresses: world.get(),
            interfaces: world.get(),
            l4: world.field(),
        }
    }

    /// Reads a packet.
    #[inline(always)]
    pub fn read(&self, b: &Buffer, place: Place) -> Option<Packet> {
        let at = if place == Place::Output { b.l3_at() } else { 0 };
        Packet::read(b, at, b.find_field(self.l4))
    }

    /// Notes the ports that a packet leaves with, for features that read them there.
    #[inline(always)]
    pub fn note_ports(&self, b: &mut Buffer, new: (End, End)) {
        if let Some(mut l4) = b.find_field(self.l4) {
            (l4.src_port, l4.dst_port) = (new.0.port, new.1.port);
            b.set_field(self.l4, l4);
        }
    }

    /// Index of the table that a packet came in by. What leaves has no table of its own any more.
    #[inline(always)]
    pub fn table(&self, b: &Buffer, place: Place, turn: &Turn<'_>) -> u32 {
        if place == Place::Output {
            return self.table_of_interface(b.rx_if, turn);
        }
        table_of::<Ip4>(b, self.interfaces.views(turn)).0
    }

    /// Index of an interface's table.
    pub fn table_of_interface(&self, sw_if: u32, turn: &Turn<'_>) -> u32 {
        self.interfaces.views(turn).get(sw_if as usize).map_or(0, |view| view.fib4)
    }

    /// True for an address of an interface.
    pub fn is_own(&self, sw_if: u32, addr: Ipv4Addr, turn: &Turn<'_>) -> bool {
        self.addresses.of(sw_if, turn).iter().any(|own| own.addr() == addr)
    }
}
