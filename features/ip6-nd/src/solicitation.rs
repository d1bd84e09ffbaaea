// SPDX-License-Identifier: Apache-2.0
//! `icmp6-neighbor-solicitation`: answers solicitations for us (RFC 4861 7.2.3, 7.2.4), and records
//! their senders.

use crate::check::{Checked, check, edges, is_station};
use crate::compose::{PACKET, packet};
use crate::handler::{Links, MessageOrigin};
use crate::local::Role;
use crate::protocol::Nd;
use crate::proxy::Routed;
use crate::trace::NdTrace;
use buffer::{Buffer, Flags};
use graph::{Build, Cx, Head, Node, NodeIndex, ThreadIndex, World};
use ip_neighbor::resolve::{DetectedNeighbor, Lanes, RecentReports, Report, Reports, Target};
use net::Evidence;
use std::net::Ipv6Addr;
use std::sync::Arc;
use wire::nd::{ALL_NODES, NdOption, NdOptionKind, NdOptions, NeighborMessage, solicited_node};
use wire::{EtherType, Ethernet, Header, Ip6, MacAddr};

pub struct Solicitation {
    links: Links,
    routed: Routed,
    detection: Detection,
    tx: Lanes,
}

struct Detection {
    reports: Arc<Reports<Nd>>,
    recent: RecentReports<Ip6>,
    rx: Lanes,
    /// Proxied addresses are advertised as by VPP: from the address itself, to the frame's sender.
    as_target: bool,
}

edges! {
    pub enum To {
        /// Out by the interface that the question came in by.
        #[dynamic]
        Output(NodeIndex),
        /// target is a group
        #[drop]
        TargetMulticast,
        /// source is a group
        #[drop]
        SourceMulticast,
        /// unspecified source, but not to a solicited-node group
        #[drop]
        ProbeDestination,
        /// unspecified source, but with a link-layer address
        #[drop]
        ProbeLinkAddress,
        /// link-layer address is not that of one station
        #[drop]
        LinkAddress,
        /// sender is ourselves
        #[drop]
        OwnFrame,
        /// question is for another host
        #[drop]
        #[counter("neighbor_solicitation_source_unknown")]
        NotForUs,
        /// source is not on the link
        #[drop]
        #[counter("neighbor_solicitation_source_not_on_link")]
        SourceNotOnLink,
        /// target is not ours yet: it is being asked whether somebody has it
        #[drop]
        Tentative,
        /// another host wants our address before we have it
        #[drop]
        DuplicateTarget,
        /// another station uses our address
        #[drop]
        DuplicateAddress,
    }
}

/// The advertisement to be sent.
struct OutgoingAdvertisement {
    /// Destination; the group of all nodes if the sender has no address.
    to: Ipv6Addr,
    mac: Option<MacAddr>,
    from: Ipv6Addr,
    target: Ipv6Addr,
    flags: u32,
}

impl Build for Solicitation {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self {
            links: Links::build(world, thread),
            routed: Routed::build(world, thread),
            detection: Detection {
                reports: world.get(),
                recent: RecentReports::default(),
                rx: Lanes::rx::<Nd>(world, thread),
                as_target: world.compat_vpp(),
            },
            tx: Lanes::tx::<Nd>(world, thread),
        }
    }
}

/// Checks a message for any target, beyond the checks of all messages; returns its sender's
/// link-layer address, if given.
#[inline(always)]
fn judge(m: &Checked<'_, NeighborMessage>, own: MacAddr) -> Result<Option<MacAddr>, To> {
    let target = m.message.target();
    if target.is_multicast() {
        return Err(To::TargetMulticast);
    }
    if m.src.is_multicast() {
        return Err(To::SourceMulticast);
    }
    let link =
        NdOptions::new(m.options).link_address(NdOptionKind::SOURCE_LINK).unwrap_or_default();
    if m.src.is_unspecified() {
        if link.is_some() {
            return Err(To::ProbeLinkAddress);
        }
        if m.dst != solicited_node(target) {
            return Err(To::ProbeDestination);
        }
    }
    match link {
        Some(mac) if !is_station(mac) => Err(To::LinkAddress),
        Some(mac) if mac == own => Err(To::OwnFrame),
        link => Ok(link),
    }
}

/// Returns true if a solicitation from the unspecified address is our own, come back (RFC 7527
/// 4.2).
#[inline(always)]
fn is_our_own(options: &[u8], nonce: Option<[u8; 6]>, from_us: bool) -> bool {
    let theirs =
        NdOptions::new(options).flatten().find_map(|option| match NdOption::from(option) {
            NdOption::Nonce(theirs) => Some(theirs == nonce.as_ref().map_or(&[][..], |n| &n[..])),
            _ => None,
        });
    theirs.unwrap_or(from_us)
}

impl Detection {
    #[inline(always)]
    fn conflict(&mut self, sw_if: u32, ip: Ipv6Addr, mac: MacAddr, now: u64) {
        // If the queue to control is full, the next message of the other station is reported.
        let _ = self.recent.post(&self.reports, Report::Conflict(Target { sw_if, ip }, mac), now);
    }

    #[inline(always)]
    fn classify(
        &mut self,
        m: &Checked<'_, NeighborMessage>,
        origin: &MessageOrigin<'_>,
        (role, reached): (Option<Role>, bool),
    ) -> Result<OutgoingAdvertisement, To> {
        let MessageOrigin { sw_if, source, here, now, view, .. } = *origin;
        let own = view.mac;
        let link = judge(m, own)?;
        self.rx.requests.add(sw_if as usize, 1);
        if !reached {
            return Err(To::SourceNotOnLink);
        }
        let target = m.message.target();
        let probe = m.src.is_unspecified();
        let nonce = if let Some(Role::Tentative(nonce)) = role { Some(nonce) } else { None };
        if probe && is_our_own(m.options, nonce, source == own) || !probe && source == own {
            return Err(To::OwnFrame);
        }
        let (from, flags) = match role {
            None => return Err(To::NotForUs),
            Some(Role::Tentative(_)) if probe => {
                self.conflict(sw_if, target, source, now);
                return Err(To::DuplicateTarget);
            }
            Some(Role::Tentative(_)) => return Err(To::Tentative),
            Some(Role::Own) => (Some(target), NeighborMessage::ROUTER | NeighborMessage::OVERRIDE),
            // Other nodes may answer too, and take precedence (RFC 4861 7.2.7, 7.2.8).
            Some(Role::Anycast) => (here.link_local(), NeighborMessage::ROUTER),
            Some(Role::Proxy) if self.as_target => (Some(target), 0),
            Some(Role::Proxy) => (here.link_local(), 0),
        };
        let from = from.ok_or(To::Tentative)?;
        if probe {
            return Ok(OutgoingAdvertisement { to: ALL_NODES, mac: None, from, target, flags });
        }
        if matches!(here.role(m.src), Some(Role::Own | Role::Tentative(_))) {
            self.conflict(sw_if, m.src, source, now);
            return Err(To::DuplicateAddress);
        }
        // The sender is on the link, or the hop limit would be less; but only addresses of our
        // networks are recorded.
        if let Some(mac) = link.filter(|_| here.is_on_link(m.src)) {
            // The answer goes out even if the queue to control is full: the sender will solicit
            // again.
            let who = Target { sw_if, ip: m.src };
            let seen =
                DetectedNeighbor { who, mac: Some(mac), evidence: Evidence::Hint { router: None } };
            let _ = self.recent.post(&self.reports, Report::Detected(seen), now);
        }
        let link = link.filter(|_| !(self.as_target && role == Some(Role::Proxy)));
        let mac = Some(link.unwrap_or(source));
        Ok(OutgoingAdvertisement {
            to: m.src,
            mac,
            from,
            target,
            flags: flags | NeighborMessage::SOLICITED,
        })
    }
}

/// Replaces the solicitation by the answer. The frame has no tags: the interface's output puts its
/// own in.
#[inline(always)]
fn put(b: &mut Buffer, own: MacAddr, answer: &OutgoingAdvertisement) -> bool {
    let mut frame = [0; Ethernet::LEN + PACKET];
    if !b.rewind(Ethernet::LEN) {
        return false;
    }
    let to = answer.mac.unwrap_or(MacAddr::ip6_multicast(answer.to));
    if let Some(ethernet) = Ethernet::view_mut(&mut frame) {
        *ethernet = Ethernet::new(own, to, EtherType::IP6);
    }
    let message = NeighborMessage::advertisement(answer.flags, answer.target);
    let packet = packet(answer.from, answer.to, message, NdOptionKind::TARGET_LINK, own);
    frame[Ethernet::LEN..].copy_from_slice(&packet);
    if !b.set_data(&frame) {
        return false;
    }
    b.flags &= Flags::TRACED;
    b.flags.insert(Flags::LOCAL | Flags::L4_CSUM_OK);
    b.tx_if = b.rx_if;
    true
}

impl Node for Solicitation {
    const NAME: &'static str = "icmp6-neighbor-solicitation";
    const DROP: &'static str = "ip6-drop";
    type Next = To;
    type Trace = NdTrace;

    #[inline(always)]
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        if TRACED {
            cx.trace(b, NdTrace(Head::of(b)));
        }
        let origin = match self.links.origin(b, cx) {
            Ok(origin) => origin,
            Err(fault) => return fault.into(),
        };
        if b.is_chained() {
            return To::TooLong;
        }
        let answer = match check::<NeighborMessage>(b) {
            Ok(m) => {
                let target = m.message.target();
                let routed = || {
                    origin.here.proxies_all
                        && self.routed.elsewhere(&origin.view, origin.sw_if, target, cx.turn)
                };
                let role = origin.here.role(target).or_else(|| routed().then_some(Role::Proxy));
                // A sender without an address yet, one on the link, or one with a route by this
                // interface.
                let reached = m.src.is_unspecified()
                    || origin.here.is_on_link(m.src)
                    || self.routed.here(&origin.view, origin.sw_if, m.src, cx.turn);
                self.detection.classify(&m, &origin, (role, reached))
            }
            Err(fault) => return fault.into(),
        };
        match answer {
            Ok(answer) if put(b, origin.view.mac, &answer) => {
                self.tx.replies.add(origin.sw_if as usize, 1);
                b.tx_if = origin.sw_if;
                To::Output(origin.view.output)
            }
            Ok(_) => To::NoHeader,
            Err(why) => why,
        }
    }
}
