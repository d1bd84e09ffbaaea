// SPDX-License-Identifier: Apache-2.0
//! Hosts that a bridge domain answers for: control.

use crate::bridge::Bridge;
use cli::{Error, Result, retval};
use graph::World;
use std::net::IpAddr;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;
use wire::MacAddr;

/// A host that a domain answers for: the domain's id, the host's addresses.
pub type Host = (u32, IpAddr, MacAddr);

impl Bridge {
    /// Lets a domain answer for a host. A host has one MAC address: another one replaces it.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6); addresses that aren't one host's (−7).
    pub fn set_host(&self, world: &World, id: u32, ip: IpAddr, mac: MacAddr) -> Result<()> {
        let is_host = !ip.is_multicast() && !ip.is_unspecified() && mac.is_unicast() && !mac.is_zero();
        let mut control = self.control();
        let domain = control.domain(id)?;
        if !is_host {
            return Err(Error::parse(format!("{ip} and {mac} aren't the addresses of one host"))
                .retval(retval::INVALID_VALUE));
        }
        domain.hosts.insert(ip, mac);
        domain.published_hosts.set(ip, Some(mac));
        drop(control);
        world.note_config_change();
        Ok(())
    }

    /// A domain no longer answers for a host.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6); a host that isn't there, or has another MAC address (−1).
    pub fn remove_host(&self, world: &World, id: u32, ip: IpAddr, mac: MacAddr) -> Result<()> {
        let mut control = self.control();
        let domain = control.domain(id)?;
        if domain.hosts.get(&ip) != Some(&mac) {
            return Err(Error::not_found(format!("bridge domain {id} has no host {ip} with {mac}"))
                .retval(retval::UNSPECIFIED));
        }
        domain.hosts.remove(&ip);
        domain.published_hosts.set(ip, None);
        drop(control);
        world.note_config_change();
        Ok(())
    }

    /// A domain answers for no host any more.
    ///
    /// # Errors
    /// Domain 0 (−121); one that isn't there (−6).
    pub fn remove_hosts(&self, world: &World, id: u32) -> Result<()> {
        let mut control = self.control();
        let domain = control.domain(id)?;
        domain.hosts.clear();
        domain.published_hosts.clear();
        drop(control);
        world.note_config_change();
        Ok(())
    }

    /// Hosts that domains answer for, of one domain or of all, by domain id and address. They are read in slices.
    pub fn hosts(self: Arc<Self>, of: Option<u32>) -> impl Iterator<Item = Host> + use<> {
        cli::pieces(move |last, n| self.hosts_behind(of, last, n), |(id, ip, _)| (*id, *ip))
    }

    /// Up to `n` hosts behind the last one that was read.
    fn hosts_behind(&self, of: Option<u32>, last: Option<(u32, IpAddr)>, n: usize) -> Vec<Host> {
        let first = last.map_or(0, |(id, _)| id);
        let ids = of.map_or(first..=u32::MAX, |id| id.max(first)..=id);
        let control = self.control();
        let hosts = control.domains.range(ids).flat_map(|(id, domain)| {
            let behind = last.filter(|(last, _)| last == id).map_or(Unbounded, |(_, ip)| Excluded(ip));
            domain.hosts.range((behind, Unbounded)).map(|(ip, mac)| (*id, *ip, *mac))
        });
        hosts.take(n).collect()
    }
}
