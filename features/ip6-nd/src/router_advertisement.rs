// SPDX-License-Identifier: Apache-2.0
//! `icmp6-router-advertisement`: another router tells of itself (RFC 4861 6.1.2, 6.3.4).

use crate::check::{Checked, check, ethernet_source, is_station, ways};
use crate::ours::{AllOurs, Here};
use crate::protocol::Nd;
use crate::rd::{Heard, Receiver};
use crate::trace::NdTrace;
use buffer::Buffer;
use graph::{Build, Cx, Head, Node, ThreadIndex, World};
use ip_neighbor::resolve::{Lately, Note, Notes, Seen, Target};
use net::{Evidence, Interfaces};
use std::sync::Arc;
use wire::nd::{NdOptionKind, NdOptions, RouterAdvertisement};
use wire::{Ip6, MacAddr};

pub struct Advertised {
    interfaces: Arc<Interfaces>,
    ours: Arc<AllOurs>,
    ears: Ears,
}

struct Ears {
    receiver: Arc<Receiver>,
    notes: Arc<Notes<Nd>>,
    lately: Lately<Ip6>,
}

ways! {
    pub enum To {
        /// What the router told was passed on.
        #[free]
        Noted,
        /// source is not link-local
        #[drop]
        SourceNotLinkLocal,
        /// link-layer address is not that of one station
        #[drop]
        LinkAddress,
        /// sender is ourselves
        #[drop]
        OwnFrame,
        /// ipv6 is not enabled on this interface
        #[drop]
        NotEnabled,
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
        Self {
            interfaces: world.get(),
            ours: world.get(),
            ears: Ears { receiver: world.get(), notes: world.get(), lately: Lately::default() },
        }
    }
}

impl Ears {
    #[inline(always)]
    fn classify(
        &mut self,
        m: &Checked<'_, RouterAdvertisement>,
        (sw_if, own, source): (u32, MacAddr, MacAddr),
        here: &Here,
        now: u64,
    ) -> To {
        if !m.src.is_unicast_link_local() {
            return To::SourceNotLinkLocal;
        }
        let link = NdOptions::new(m.options).link_address(NdOptionKind::SOURCE_LINK).unwrap_or_default();
        if link.is_some_and(|mac| !is_station(mac)) {
            return To::LinkAddress;
        }
        if source == own || link == Some(own) {
            return To::OwnFrame;
        }
        let who = Target { sw_if, ip: m.src };
        if here.role(m.src).is_some() {
            let _ = self.lately.post(&self.notes, Note::Conflict(who, source), now);
            return To::DuplicateAddress;
        }
        if let Some(mac) = link {
            let evidence = Evidence::Hint { router: Some(true) };
            let _ = self.lately.post(&self.notes, Note::Seen(Seen { who, mac: Some(mac), evidence }), now);
        }
        match Heard::new(sw_if, m.src, m.bytes) {
            Some(heard) if self.receiver.post(heard) => To::Noted,
            Some(_) => To::Busy,
            None => To::TooLong,
        }
    }
}

impl Node for Advertised {
    const NAME: &'static str = "icmp6-router-advertisement";
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
