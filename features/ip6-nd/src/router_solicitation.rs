// SPDX-License-Identifier: Apache-2.0
//! `icmp6-router-solicitation`: a host asks who routes here (RFC 4861 6.2.6).

use crate::check::{Checked, check, ethernet_source, is_station, ways};
use crate::ours::{AllOurs, Here};
use crate::protocol::Nd;
use crate::ra::Advertiser;
use crate::trace::NdTrace;
use buffer::Buffer;
use graph::{Build, Cx, Head, Node, ThreadIndex, World};
use ip_neighbor::resolve::{Lately, Note, Notes, Seen, Target};
use net::{Evidence, Interfaces};
use std::sync::Arc;
use wire::nd::{NdOptionKind, NdOptions, RouterSolicitation};
use wire::{Ip6, MacAddr};

pub struct Solicited {
    interfaces: Arc<Interfaces>,
    ours: Arc<AllOurs>,
    ears: Ears,
}

struct Ears {
    advertiser: Arc<Advertiser>,
    notes: Arc<Notes<Nd>>,
    lately: Lately<Ip6>,
}

ways! {
    pub enum To {
        /// The question was passed on.
        #[free]
        Noted,
        /// source is a group
        #[drop]
        SourceMulticast,
        /// unspecified source, but with a link-layer address
        #[drop]
        ProbeLinkAddress,
        /// link-layer address is not that of one station
        #[drop]
        LinkAddress,
        /// sender is ourselves
        #[drop]
        OwnFrame,
        /// router advertisements are not sent on this interface
        #[drop]
        NotAdvertising,
        /// source is not on the link
        #[drop]
        SourceNotLocal,
        /// control is too far behind to take note
        #[drop]
        Busy,
    }
}

impl Build for Solicited {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self {
            interfaces: world.get(),
            ours: world.get(),
            ears: Ears { advertiser: world.get(), notes: world.get(), lately: Lately::default() },
        }
    }
}

impl Ears {
    #[inline(always)]
    fn classify(
        &mut self,
        m: &Checked<'_, RouterSolicitation>,
        (sw_if, own, source): (u32, MacAddr, MacAddr),
        here: &Here,
        now: u64,
    ) -> To {
        if m.src.is_multicast() {
            return To::SourceMulticast;
        }
        let link = NdOptions::new(m.options).link_address(NdOptionKind::SOURCE_LINK).unwrap_or_default();
        if m.src.is_unspecified() && link.is_some() {
            return To::ProbeLinkAddress;
        }
        if link.is_some_and(|mac| !is_station(mac)) {
            return To::LinkAddress;
        }
        if source == own || link == Some(own) {
            return To::OwnFrame;
        }
        if !here.advertises {
            return To::NotAdvertising;
        }
        if !m.src.is_unspecified() && (!here.is_on_link(m.src) || here.role(m.src).is_some()) {
            return To::SourceNotLocal;
        }
        if let Some(mac) = link {
            // Who asks for a router is none.
            let seen = Seen {
                who: Target { sw_if, ip: m.src },
                mac: Some(mac),
                evidence: Evidence::Hint { router: Some(false) },
            };
            let _ = self.lately.post(&self.notes, Note::Seen(seen), now);
        }
        if self.advertiser.post(sw_if, m.src) { To::Noted } else { To::Busy }
    }
}

impl Node for Solicited {
    const NAME: &'static str = "icmp6-router-solicitation";
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
        let Some(here) = self.ours.of(rx_if, cx.turn) else { return To::NotAdvertising };
        let view = self.interfaces.views(cx.turn).get(rx_if as usize).copied().unwrap_or_default();
        match check(b) {
            Ok(m) => self.ears.classify(&m, (rx_if, view.mac, source), here, now),
            Err(fault) => fault.into(),
        }
    }
}
