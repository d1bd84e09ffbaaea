// SPDX-License-Identifier: Apache-2.0
//! `icmp6-neighbor-advertisement`: takes note of neighbours that tell where they are (RFC 4861 7.2.5).

use crate::check::{Checked, check, ethernet_source, is_station, ways};
use crate::ours::{AllOurs, Here, Role};
use crate::protocol::Nd;
use crate::trace::NdTrace;
use buffer::Buffer;
use graph::{Build, Cx, Head, Node, ThreadIndex, World};
use ip_neighbor::resolve::{Lanes, Lately, Note, Notes, Seen, Target};
use net::{Evidence, Interfaces};
use std::sync::Arc;
use wire::nd::{NdOptionKind, NdOptions, NeighborMessage};
use wire::{Ip6, MacAddr};

pub struct Advertisement {
    interfaces: Arc<Interfaces>,
    ours: Arc<AllOurs>,
    ears: Ears,
}

struct Ears {
    notes: Arc<Notes<Nd>>,
    lately: Lately<Ip6>,
    rx: Lanes,
}

ways! {
    pub enum To {
        /// What a neighbour told was passed on.
        #[free]
        Noted,
        /// target is a group
        #[drop]
        TargetMulticast,
        /// source is not the address of one host
        #[drop]
        SourceAddress,
        /// said to be an answer, but to a group
        #[drop]
        SolicitedMulticast,
        /// link-layer address is not that of one station
        #[drop]
        LinkAddress,
        /// sender is ourselves
        #[drop]
        OwnFrame,
        /// ipv6 is not enabled on this interface
        #[drop]
        NotEnabled,
        /// another host has the address that we want
        #[drop]
        DuplicateTarget,
        /// another station uses our address
        #[drop]
        DuplicateAddress,
        /// target is an address of all routers
        #[drop]
        Anycast,
        /// target is not on the link, and nobody asked
        #[drop]
        TargetNotLocal,
        /// control is too far behind to take note
        #[drop]
        Busy,
    }
}

impl Build for Advertisement {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            interfaces: world.get(),
            ours: world.get(),
            ears: Ears { notes: world.get(), lately: Lately::default(), rx: Lanes::rx::<Nd>(world, thread) },
        }
    }
}

impl Ears {
    #[inline(always)]
    fn classify(
        &mut self,
        m: &Checked<'_, NeighborMessage>,
        (sw_if, own, source): (u32, MacAddr, MacAddr),
        here: &Here,
        now: u64,
    ) -> To {
        let target = m.message.target();
        let has = |flag| m.message.has(flag);
        let solicited = has(NeighborMessage::SOLICITED);
        if target.is_multicast() {
            return To::TargetMulticast;
        }
        if m.src.is_unspecified() || m.src.is_multicast() {
            return To::SourceAddress;
        }
        if solicited && m.dst.is_multicast() {
            return To::SolicitedMulticast;
        }
        let link = NdOptions::new(m.options).link_address(NdOptionKind::TARGET_LINK).unwrap_or_default();
        if link.is_some_and(|mac| !is_station(mac)) {
            return To::LinkAddress;
        }
        if source == own || link == Some(own) {
            return To::OwnFrame;
        }
        let lane = if solicited { &self.rx.replies } else { &self.rx.gratuitous };
        lane.add(sw_if as usize, 1);
        let who = Target { sw_if, ip: target };
        match here.role(target) {
            Some(Role::Own | Role::Tentative(_)) => {
                // If control can't hear it now, the other station will be heard again.
                let conflict = Note::Conflict(who, link.unwrap_or(source));
                let _ = self.lately.post(&self.notes, conflict, now);
                return match here.role(target) {
                    Some(Role::Own) => To::DuplicateAddress,
                    _ => To::DuplicateTarget,
                };
            }
            Some(Role::Anycast) => return To::Anycast,
            Some(Role::Proxy) => {}
            // A route may lead to a neighbour outside of our networks: whether somebody asked for him, control knows (RFC 4861 7.2.5).
            None if solicited || here.is_on_link(target) => {}
            None => return To::TargetNotLocal,
        }
        let evidence = Evidence::Advertisement {
            solicited,
            replace: has(NeighborMessage::OVERRIDE),
            router: has(NeighborMessage::ROUTER),
        };
        let note = Note::Seen(Seen { who, mac: link, evidence });
        // Somebody waits for an answer; for the rest once a second is enough.
        let told = if solicited { self.notes.post(note) } else { self.lately.post(&self.notes, note, now) };
        if told { To::Noted } else { To::Busy }
    }
}

impl Node for Advertisement {
    const NAME: &'static str = "icmp6-neighbor-advertisement";
    const DROP: &'static str = "ip6-drop";
    type Next = To;
    type Trace = NdTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, NdTrace(Head::of(b)));
        }
        let (rx_if, now) = (b.rx_if, cx.now());
        let (source, _) = match ethernet_source(b) {
            Ok(found) => found,
            Err(fault) => return fault.into(),
        };
        let Some(here) = self.ours.of(rx_if, cx.turn) else { return To::NotEnabled };
        let view = self.interfaces.views(cx.turn).get(rx_if as usize).copied().unwrap_or_default();
        match check(b) {
            Ok(m) => self.ears.classify(&m, (rx_if, view.mac, source), here, now),
            Err(fault) => fault.into(),
        }
    }
}
