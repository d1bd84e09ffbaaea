// SPDX-License-Identifier: Apache-2.0
//! Hosts that domains learn from ARP and ND messages: the main thread's part.
//!
//! A domain learns the addresses that ARP termination parses: senders of ARP packets and
//! solicitations, and targets of advertisements. Not learned are probes (RFC 5227 2.1.1) and
//! solicitations from the unspecified address, whose sender doesn't have the address yet; addresses
//! of more than one host; IPv6 link-local addresses, as in events: they identify routers, and a
//! reply of the domain couldn't say that the host is a router. A domain floods probes for snooped
//! hosts: only the host itself may defend its address (RFC 5227 2.4).
//!
//! The limit of a domain is shared as that of learned MAC addresses is: a port has as many hosts as
//! it leaves room for others.

use super::{Known, Report, Snooped};
use crate::bridge::{Bridge, Control};
use crate::domain::DomainState;
use crate::features::Features;
use crate::mode::Mode;
use graph::{SwIfIndex, World};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use wire::MacAddr;

/// Limits of the number of snooped hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number in a domain.
    pub domain: usize,
    /// Maximum number in all domains.
    pub all: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { domain: 1 << 14, all: 1 << 18 }
    }
}

/// The hosts that a domain has snooped.
#[derive(Default)]
pub struct SnoopedHosts {
    hosts: BTreeMap<IpAddr, (MacAddr, Arc<Snooped>)>,
    /// Number of snooped hosts at each port.
    at_ports: BTreeMap<u32, usize>,
    /// Number of hosts refused because a limit was reached.
    refused: u64,
}

impl SnoopedHosts {
    /// Returns the hosts by address.
    pub fn hosts(&self) -> &BTreeMap<IpAddr, (MacAddr, Arc<Snooped>)> {
        &self.hosts
    }

    /// Returns the number of hosts refused because a limit was reached.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn at_port(&self, sw_if: u32) -> usize {
        self.at_ports.get(&sw_if).copied().unwrap_or_default()
    }

    fn insert(&mut self, ip: IpAddr, mac: MacAddr, snooped: Arc<Snooped>) {
        *self.at_ports.entry(snooped.sw_if).or_default() += 1;
        self.hosts.insert(ip, (mac, snooped));
    }

    fn remove(&mut self, ip: IpAddr) -> Option<(MacAddr, Arc<Snooped>)> {
        let (mac, snooped) = self.hosts.remove(&ip)?;
        if let Some(at_port) = self.at_ports.get_mut(&snooped.sw_if) {
            *at_port -= 1;
            if *at_port == 0 {
                self.at_ports.remove(&snooped.sw_if);
            }
        }
        Some((mac, snooped))
    }
}

/// Returns true if the addresses are those of a single host.
pub fn is_host(ip: IpAddr, mac: MacAddr) -> bool {
    !ip.is_multicast() && !ip.is_unspecified() && mac.is_unicast() && !mac.is_zero()
}

/// Returns true if a host with these addresses is learned.
pub fn is_learnable(ip: IpAddr, mac: MacAddr) -> bool {
    let is_group = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    is_host(ip, mac) && !is_group && !ip.is_loopback()
}

impl DomainState {
    /// Returns true if it learns hosts.
    pub fn snoops(&self) -> bool {
        self.config.arp_term && self.config.arp_snoop
    }
}

impl Control {
    /// Returns the domain with an index, if it learns hosts at a port now.
    fn snooping(&mut self, index: u16, sw_if: SwIfIndex) -> Option<&mut DomainState> {
        let id = self.ids.get(usize::from(index)).copied().flatten()?;
        // Since the worker saw the host, the port may have left the domain, or its termination been
        // switched off.
        let is_asked = |mode: &Mode| match mode {
            Mode::Bridge { id: of, features, .. } => {
                *of == id && features.contains(Features::ARP_TERM)
            }
            Mode::Xconnect(_) => false,
        };
        let is_asked = self.modes.get(&sw_if).is_some_and(is_asked);
        self.domains
            .get_mut(&id)
            .filter(|domain| is_asked && domain.index == index && domain.snoops())
    }

    /// Forgets a snooped host of a domain.
    pub fn forget_host(&mut self, id: u32, ip: IpAddr) {
        let Some(domain) = self.domains.get_mut(&id) else { return };
        if domain.snooped.remove(ip).is_some() {
            self.snooped -= 1;
            domain.published_hosts.set(ip, None);
        }
    }

    /// Forgets the snooped hosts of a domain for which `keep` is false.
    pub fn retain_snooped(&mut self, id: u32, keep: impl Fn(&Snooped) -> bool) {
        let Some(domain) = self.domains.get_mut(&id) else { return };
        let hosts = &domain.snooped.hosts;
        let gone: Vec<_> = hosts.iter().filter(|(_, (_, s))| !keep(s)).map(|(ip, _)| *ip).collect();
        if gone.is_empty() {
            return;
        }
        self.snooped -= gone.len();
        gone.into_iter().for_each(|ip| _ = domain.snooped.remove(ip));
        // By the same list, not by `keep`: a worker may have seen an old host again meanwhile.
        let left = &domain.snooped.hosts;
        domain
            .published_hosts
            .retain(|ip, known| known.snooped.is_none() || left.contains_key(&ip));
    }

    /// Learns a host, or its new port. Configured hosts stay.
    fn learn(&mut self, report: Report, now: u64) {
        let Report { sighting, learn, overrides } = report;
        let (ip, mac, sw_if) = (sighting.ip, sighting.mac, sighting.sw_if);
        let (limits, all) = (self.snoop_limits, self.snooped);
        let Some(domain) = learn.and_then(|index| self.snooping(index, SwIfIndex(sw_if))) else {
            return;
        };
        if domain.hosts.contains_key(&ip) || !is_learnable(ip, mac) {
            return;
        }
        let before = domain.snooped.hosts.get(&ip).filter(|(_, snooped)| !snooped.is_old(now));
        if before.is_some_and(|(known, _)| *known != mac && !overrides) {
            return;
        }
        if let Some((_, snooped)) =
            before.filter(|(known, snooped)| *known == mac && snooped.sw_if == sw_if)
        {
            return snooped.touch(now);
        }
        // A moved host is forgotten even if there is no room at the new port: requests for it are
        // flooded then.
        let was = domain.snooped.remove(ip);
        let stays = was.as_ref().is_some_and(|(_, snooped)| snooped.sw_if == sw_if);
        let (count, all) = (domain.snooped.hosts.len(), all - usize::from(was.is_some()));
        let room = limits.domain.saturating_sub(count).min(limits.all.saturating_sub(all));
        let has_room = stays || domain.snooped.at_port(sw_if) < room;
        let known = has_room.then(|| {
            let snooped = Arc::new(Snooped::new(sw_if, now));
            domain.snooped.insert(ip, mac, snooped.clone());
            Known { mac, snooped: Some(snooped) }
        });
        domain.snooped.refused += u64::from(!has_room);
        if has_room || was.is_some() {
            domain.published_hosts.set(ip, known);
        }
        self.snooped = all + usize::from(has_room);
    }
}

impl Bridge {
    /// Learns a host that a worker has detected.
    pub(crate) fn learn_host(&self, report: Report, now: u64) {
        self.control().learn(report, now);
    }

    /// Forgets the hosts that were snooped behind a port.
    pub(crate) fn forget_hosts_at(&self, sw_if: SwIfIndex) {
        let mut control = self.control();
        if let Some(Mode::Bridge { id, .. }) = control.modes.get(&sw_if).copied() {
            control.retain_snooped(id, |snooped| snooped.sw_if != sw_if.0);
        }
    }

    /// Forgets hosts that weren't seen for long, of the first domain behind `last`. Returns its id.
    pub(crate) fn age_hosts(&self, last: Option<u32>, now: u64) -> Option<u32> {
        let mut control = self.control();
        let (id, _) = control.domains.range(last.map_or(0, |last| last + 1)..).next()?;
        let id = *id;
        control.retain_snooped(id, |snooped| !snooped.is_old(now));
        Some(id)
    }

    /// Returns true if a domain learns hosts, and so may have snooped ones.
    pub(crate) fn is_snooping(&self) -> bool {
        self.control().domains.values().any(DomainState::snoops)
    }

    /// Enables learning of hosts in a domain from ARP and ND messages while it terminates them, or
    /// disables it and forgets them.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6).
    pub fn set_snooping(&self, world: &World, id: u32, on: bool) -> cli::Result<()> {
        self.configure_domain(world, id, |config| config.arp_snoop = on)
    }
}
