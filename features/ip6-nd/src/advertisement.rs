// SPDX-License-Identifier: Apache-2.0
//! `icmp6-neighbor-advertisement`: records the link-layer addresses that neighbours advertise (RFC
//! 4861 7.2.5).

use crate::check::{Checked, edges, is_station};
use crate::handler::{MessageHandler, MessageOrigin};
use crate::local::Role;
use crate::protocol::Nd;
use graph::{Build, ThreadIndex, World};
use ip_neighbor::resolve::{DetectedNeighbor, Lanes, RecentReports, Report, Reports, Target};
use net::{Evidence, IfFlags};
use std::sync::Arc;
use wire::Ip6;
use wire::nd::{NdOptionKind, NdOptions, NeighborMessage};

pub struct Advertisement {
    reports: Arc<Reports<Nd>>,
    recent: RecentReports<Ip6>,
    rx: Lanes,
}

edges! {
    pub enum To {
        /// The neighbour's statement was passed on.
        #[free]
        Noted,
        /// advertisement of a neighbour, for the interface's mirror too
        #[punt]
        Mirrored,
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
            reports: world.get(),
            recent: RecentReports::default(),
            rx: Lanes::rx::<Nd>(world, thread),
        }
    }
}

impl MessageHandler for Advertisement {
    const NAME: &'static str = "icmp6-neighbor-advertisement";
    type Message = NeighborMessage;
    type To = To;

    #[inline(always)]
    fn handle(&mut self, m: &Checked<'_, NeighborMessage>, origin: &MessageOrigin<'_>) -> To {
        let MessageOrigin { sw_if, source, here, now, view, .. } = *origin;
        let own = view.mac;
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
        let link =
            NdOptions::new(m.options).link_address(NdOptionKind::TARGET_LINK).unwrap_or_default();
        if link.is_some_and(|mac| !is_station(mac)) {
            return To::LinkAddress;
        }
        if source == own || link == Some(own) {
            return To::OwnFrame;
        }
        // As VPP counts them: also unsolicited ones.
        self.rx.replies.add(sw_if as usize, 1);
        let who = Target { sw_if, ip: target };
        match here.role(target) {
            Some(Role::Own | Role::Tentative(_)) => {
                // If the queue to control is full, the next message of the other station is
                // reported.
                let conflict = Report::Conflict(who, link.unwrap_or(source));
                let _ = self.recent.post(&self.reports, conflict, now);
                return match here.role(target) {
                    Some(Role::Own) => To::DuplicateAddress,
                    _ => To::DuplicateTarget,
                };
            }
            Some(Role::Anycast) => return To::Anycast,
            Some(Role::Proxy) => {}
            // A route may lead to a neighbour outside of our networks: control knows if it was
            // solicited (RFC 4861 7.2.5).
            None if solicited || here.is_on_link(target) => {}
            None => return To::TargetNotLocal,
        }
        let evidence = Evidence::Advertisement {
            solicited,
            replace: has(NeighborMessage::OVERRIDE),
            router: has(NeighborMessage::ROUTER),
        };
        let note = Report::Detected(DetectedNeighbor { who, mac: link, evidence });
        // Packets may wait for an answer; for unsolicited ones once a second is enough.
        let told = if solicited {
            self.reports.post(note)
        } else {
            self.recent.post(&self.reports, note, now)
        };
        match told {
            // The host's own neighbour discovery waits for it too.
            true if view.flags.contains(IfFlags::MIRRORED) => To::Mirrored,
            true => To::Noted,
            false => To::Busy,
        }
    }
}
