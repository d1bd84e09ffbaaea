// SPDX-License-Identifier: Apache-2.0
//! `icmp6-router-advertisement`: takes advertisements of other routers (RFC 4861 6.1.2, 6.3.4).

use crate::check::{Checked, edges, is_station};
use crate::handler::{MessageHandler, MessageOrigin};
use crate::protocol::Nd;
use crate::rd::{ReceivedAdvertisement, Receiver};
use graph::{Build, ThreadIndex, World};
use ip_neighbor::resolve::{DetectedNeighbor, RecentReports, Report, Reports, Target};
use net::Evidence;
use std::sync::Arc;
use wire::Ip6;
use wire::nd::{NdOptionKind, NdOptions, RouterAdvertisement};

pub struct Advertised {
    receiver: Arc<Receiver>,
    reports: Arc<Reports<Nd>>,
    recent: RecentReports<Ip6>,
}

edges! {
    pub enum To {
        /// The router's statement was passed on.
        #[free]
        Noted,
        /// source is not link-local
        #[drop]
        #[counter("router_advertisement_source_not_link_local")]
        SourceNotLinkLocal,
        /// link-layer address is not that of one station
        #[drop]
        LinkAddress,
        /// sender is ourselves
        #[drop]
        OwnFrame,
        /// another router uses our address
        #[drop]
        DuplicateAddress,
        /// control is too far behind to take note
        #[drop]
        Busy,
    }
}

impl Build for Advertised {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { receiver: world.get(), reports: world.get(), recent: RecentReports::default() }
    }
}

impl MessageHandler for Advertised {
    const NAME: &'static str = "icmp6-router-advertisement";
    type Message = RouterAdvertisement;
    type To = To;

    #[inline(always)]
    fn handle(&mut self, m: &Checked<'_, RouterAdvertisement>, origin: &MessageOrigin<'_>) -> To {
        let MessageOrigin { sw_if, source, here, now, view, .. } = *origin;
        let own = view.mac;
        if !m.src.is_unicast_link_local() {
            return To::SourceNotLinkLocal;
        }
        let link =
            NdOptions::new(m.options).link_address(NdOptionKind::SOURCE_LINK).unwrap_or_default();
        if link.is_some_and(|mac| !is_station(mac)) {
            return To::LinkAddress;
        }
        if source == own || link == Some(own) {
            return To::OwnFrame;
        }
        let who = Target { sw_if, ip: m.src };
        if here.role(m.src).is_some() {
            let _ = self.recent.post(&self.reports, Report::Conflict(who, source), now);
            return To::DuplicateAddress;
        }
        if let Some(mac) = link {
            let evidence = Evidence::Hint { router: Some(true) };
            let _ = self.recent.post(
                &self.reports,
                Report::Detected(DetectedNeighbor { who, mac: Some(mac), evidence }),
                now,
            );
        }
        match ReceivedAdvertisement::new(sw_if, m.src, m.bytes) {
            Some(heard) if self.receiver.post(heard) => To::Noted,
            Some(_) => To::Busy,
            None => To::TooLong,
        }
    }
}
