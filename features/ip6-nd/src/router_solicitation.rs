// SPDX-License-Identifier: Apache-2.0
//! `icmp6-router-solicitation`: takes router solicitations of hosts (RFC 4861 6.2.6).

use crate::check::{Checked, edges, is_station};
use crate::handler::{MessageHandler, MessageOrigin};
use crate::protocol::Nd;
use crate::ra::{Advertiser, ReceivedSolicitation};
use graph::{Build, ThreadIndex, World};
use ip_neighbor::resolve::{DetectedNeighbor, RecentReports, Report, Reports, Target};
use net::Evidence;
use std::sync::Arc;
use wire::Ip6;
use wire::nd::{NdOptionKind, NdOptions, RouterSolicitation};

pub struct Solicited {
    advertiser: Arc<Advertiser>,
    reports: Arc<Reports<Nd>>,
    recent: RecentReports<Ip6>,
}

edges! {
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
        #[counter("router_solicitation_radv_not_config")]
        NotAdvertising,
        /// source is not on the link
        #[drop]
        #[counter("router_solicitation_source_not_on_link")]
        SourceNotLocal,
        /// control is too far behind to take note
        #[drop]
        Busy,
    }
}

impl Build for Solicited {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { advertiser: world.get(), reports: world.get(), recent: RecentReports::default() }
    }
}

impl MessageHandler for Solicited {
    const NAME: &'static str = "icmp6-router-solicitation";
    type Message = RouterSolicitation;
    type To = To;

    #[inline(always)]
    fn handle(&mut self, m: &Checked<'_, RouterSolicitation>, origin: &MessageOrigin<'_>) -> To {
        let MessageOrigin { sw_if, source, here, now, view, .. } = *origin;
        let own = view.mac;
        if m.src.is_multicast() {
            return To::SourceMulticast;
        }
        let link =
            NdOptions::new(m.options).link_address(NdOptionKind::SOURCE_LINK).unwrap_or_default();
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
            // A host that solicits routers is no router.
            let seen = DetectedNeighbor {
                who: Target { sw_if, ip: m.src },
                mac: Some(mac),
                evidence: Evidence::Hint { router: Some(false) },
            };
            let _ = self.recent.post(&self.reports, Report::Detected(seen), now);
        }
        let question = ReceivedSolicitation { sw_if, from: m.src, mac: link.unwrap_or(source) };
        if self.advertiser.post(question) { To::Noted } else { To::Busy }
    }
}
