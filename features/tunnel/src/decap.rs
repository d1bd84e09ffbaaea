// SPDX-License-Identifier: Apache-2.0
//! The way out of a tunnel.

use crate::Key;
use crate::encap::Nested;
use crate::model::{Flags, Spec};
use crate::state::{End, Tunnels};
use buffer::{Buffer, Field, Flags as Marked};
use graph::{ThreadIndex, World};
use net::{IfLanes, Interfaces, L4};
use std::sync::Arc;
use sync::Turn;
use wire::{Header, Ipv4Header, Ipv6Header};

/// Why a packet isn't taken out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The tunnel's interface is down.
    Down,
    /// A super-packet: its segments would have the same outer header.
    Super,
    /// Shorter than the headers.
    TooShort,
}

/// Takes headers off packets, for the nodes of a kind.
pub struct Decap<S: Spec> {
    tunnels: Arc<Tunnels<S>>,
    interfaces: Arc<Interfaces>,
    lanes: Arc<IfLanes>,
    l4: Field<L4>,
    nested: Field<Nested>,
}

impl<S: Spec> Decap<S> {
    /// For a node of a thread.
    pub fn new(world: &World, thread: ThreadIndex) -> Self {
        Self {
            tunnels: world.get(),
            interfaces: world.get(),
            lanes: IfLanes::of(world, thread),
            l4: world.field(),
            nested: world.field(),
        }
    }

    /// The tunnel that a packet belongs to.
    #[inline(always)]
    pub fn find<'t>(&'t self, key: &Key, turn: &'t Turn<'_>) -> Option<&'t End> {
        self.tunnels.lookup(key, turn)
    }

    /// As [`Self::receive_for`], counted for the interface itself.
    ///
    /// # Errors
    /// Why it isn't; the packet is unchanged.
    #[inline(always)]
    pub fn receive(
        &self,
        b: &mut Buffer,
        end: &End,
        headers: usize,
        class: u8,
        turn: &Turn<'_>,
    ) -> Result<(), Refused> {
        self.receive_for(b, end, end.sw_if, headers, class, turn)
    }

    /// Takes `headers` bytes off. The packet is one that the tunnel's interface has received; it counts for interface `counts`. `class` is
    /// the outer type of service or traffic class.
    ///
    /// # Errors
    /// Why it isn't; the packet is unchanged.
    #[inline(always)]
    pub fn receive_for(
        &self,
        b: &mut Buffer,
        end: &End,
        counts: u32,
        headers: usize,
        class: u8,
        turn: &Turn<'_>,
    ) -> Result<(), Refused> {
        let is_up = self.interfaces.views(turn).get(end.sw_if as usize).is_some_and(|view| view.is_up());
        if !is_up {
            return Err(Refused::Down);
        }
        if b.flags.has(Marked::GSO) {
            return Err(Refused::Super);
        }
        // A checksum that is to be finished may be the inner packet's, if a host of ours sent it through a tunnel of its own.
        let unfinished = b.flags.has(Marked::CSUM_PARTIAL);
        let inner_unfinished = unfinished && usize::from(b.offload.csum_start) >= headers;
        if !b.pull(headers) {
            return Err(Refused::TooShort);
        }
        // These flags describe the outer packet.
        const OF_OUTER: Marked = Marked::L4_CSUM_OK
            .with(Marked::IP4_CSUM_OK)
            .with(Marked::CSUM_PARTIAL)
            .with(Marked::LOCAL)
            .with(Marked::TABLE)
            .with(Marked::VLAN)
            .with(Marked::L2_BROADCAST)
            .with(Marked::L2_MULTICAST);
        b.flags.clear(OF_OUTER);
        if inner_unfinished {
            b.flags.set(Marked::CSUM_PARTIAL);
        }
        b.clear_field(self.l4);
        b.clear_field(self.nested);
        b.rx_if = end.sw_if;
        if end.frames {
            self.lanes.rx.frame(counts as usize, b);
        } else {
            self.lanes.rx.unicast(counts as usize, 1, b.packet_len() as u64);
        }
        if end.flags.has(Flags::DECAP_COPY_ECN) && !end.frames {
            copy_ecn(b, class);
        }
        Ok(())
    }
}

/// Overwrites the congestion mark of an IP packet with that of the outer one, as VPP does.
fn copy_ecn(b: &mut Buffer, class: u8) {
    let version = b.data().first().map_or(0, |first| first >> 4);
    if version == 4
        && let Some(ip) = Ipv4Header::view_mut(b.data_mut())
    {
        let old = u16::from_be_bytes([ip.version_ihl, ip.tos]);
        ip.tos = ip.tos & 0xfc | class & 3;
        let new = u16::from_be_bytes([ip.version_ihl, ip.tos]);
        ip.checksum.set(wire::checksum::update16(ip.checksum.get(), old, new));
    } else if version == 6
        && let Some(ip) = Ipv6Header::view_mut(b.data_mut())
    {
        let own = (ip.version_class_flow.get() >> 20) as u8;
        ip.set_traffic_class(own & 0xfc | class & 3);
    }
}
