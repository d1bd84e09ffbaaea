// SPDX-License-Identifier: Apache-2.0
//! Hosts that a bridge domain answers for: control.

use super::Known;
use super::snoop::is_host;
use crate::bridge::Bridge;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use std::net::IpAddr;
use std::ops::Bound::{self, Excluded, Unbounded};
use std::ops::RangeInclusive;
use std::sync::Arc;
use wire::MacAddr;

/// A host that is configured: the domain's id, the host's addresses.
pub type Host = (u32, IpAddr, MacAddr);

/// A host that a domain answers for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostInfo {
    /// The domain's id.
    pub id: u32,
    /// Its IP address.
    pub ip: IpAddr,
    /// Its MAC address.
    pub mac: MacAddr,
    /// The port that it was seen behind and nanoseconds since then; nothing for a host that is
    /// configured.
    pub snooped: Option<(SwIfIndex, u64)>,
}

impl Bridge {
    /// Lets a domain answer for a host. A host has one MAC address: another one replaces it.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6); addresses that aren't one host's (−7).
    pub fn set_host(&self, world: &World, id: u32, ip: IpAddr, mac: MacAddr) -> Result<()> {
        let mut control = self.control();
        let domain = control.domain(id)?;
        if !is_host(ip, mac) {
            return Err(Error::parse(format!("{ip} and {mac} aren't the addresses of one host"))
                .retval(retval::INVALID_VALUE));
        }
        domain.hosts.insert(ip, mac);
        control.forget_host(id, ip);
        control.domain(id)?.published_hosts.set(ip, Some(Known::configured(mac)));
        drop(control);
        world.note_config_change();
        Ok(())
    }

    /// A domain no longer answers for a host, configured or snooped.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6); a host that isn't there, or has another MAC
    /// address (−1).
    pub fn remove_host(&self, world: &World, id: u32, ip: IpAddr, mac: MacAddr) -> Result<()> {
        let mut control = self.control();
        let domain = control.domain(id)?;
        let is_snooped = domain.snooped.hosts().get(&ip).is_some_and(|(known, _)| *known == mac);
        if is_snooped {
            control.forget_host(id, ip);
            return Ok(());
        }
        if domain.hosts.get(&ip) != Some(&mac) {
            return Err(Error::not_found(format!(
                "bridge domain {id} has no host {ip} with {mac}"
            ))
            .retval(retval::UNSPECIFIED));
        }
        domain.hosts.remove(&ip);
        domain.published_hosts.set(ip, None);
        drop(control);
        world.note_config_change();
        Ok(())
    }

    /// A domain answers for no host any more, until it learns some.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6).
    pub fn remove_hosts(&self, world: &World, id: u32) -> Result<()> {
        let mut control = self.control();
        let domain = control.domain(id)?;
        domain.hosts.clear();
        domain.published_hosts.clear();
        control.retain_snooped(id, |_| false);
        drop(control);
        world.note_config_change();
        Ok(())
    }

    /// Hosts that are configured, of one domain or of all, by domain id and address. They are read
    /// in slices.
    pub fn hosts(self: Arc<Self>, of: Option<u32>) -> impl Iterator<Item = Host> + use<> {
        cli::pieces(move |last, n| self.hosts_behind(of, last, n), |(id, ip, _)| (*id, *ip))
    }

    /// Configured and snooped hosts, at a time in nanoseconds.
    pub fn known_hosts(
        self: Arc<Self>,
        of: Option<u32>,
        now: u64,
    ) -> impl Iterator<Item = HostInfo> + use<> {
        cli::pieces(move |last, n| self.known_behind(of, last, n, now), |host| (host.id, host.ip))
    }

    /// Up to `n` hosts behind the last one that was read.
    fn hosts_behind(&self, of: Option<u32>, last: Option<(u32, IpAddr)>, n: usize) -> Vec<Host> {
        let control = self.control();
        let hosts = control.domains.range(ids(of, last)).flat_map(|(id, domain)| {
            domain.hosts.range(behind(last, *id)).map(|(ip, mac)| (*id, *ip, *mac))
        });
        hosts.take(n).collect()
    }

    fn known_behind(
        &self,
        of: Option<u32>,
        last: Option<(u32, IpAddr)>,
        n: usize,
        now: u64,
    ) -> Vec<HostInfo> {
        let configured = self.hosts_behind(of, last, n).into_iter();
        let mut all: Vec<_> =
            configured.map(|(id, ip, mac)| HostInfo { id, ip, mac, snooped: None }).collect();
        let control = self.control();
        let snooped = control.domains.range(ids(of, last)).flat_map(|(id, domain)| {
            let hosts = domain.snooped.hosts().range(behind(last, *id));
            hosts.filter(|(_, (_, snooped))| !snooped.is_old(now)).map(|(ip, (mac, snooped))| {
                HostInfo {
                    id: *id,
                    ip: *ip,
                    mac: *mac,
                    snooped: Some((SwIfIndex(snooped.sw_if), snooped.age(now))),
                }
            })
        });
        all.extend(snooped.take(n));
        all.sort_by_key(|host| (host.id, host.ip));
        all.truncate(n);
        all
    }
}

/// The domains in which hosts behind the last one that was read are.
fn ids(of: Option<u32>, last: Option<(u32, IpAddr)>) -> RangeInclusive<u32> {
    let first = last.map_or(0, |(id, _)| id);
    of.map_or(first..=u32::MAX, |id| id.max(first)..=id)
}

/// The hosts of a domain behind the last one that was read.
fn behind(last: Option<(u32, IpAddr)>, id: u32) -> (Bound<IpAddr>, Bound<IpAddr>) {
    (last.filter(|(last, _)| *last == id).map_or(Unbounded, |(_, ip)| Excluded(ip)), Unbounded)
}
