// SPDX-License-Identifier: Apache-2.0
//! Proxies: hosts behind downstream interfaces listen by an upstream interface (RFC 4605).

use crate::control::{Igmp, error};
use crate::event::publish;
use crate::filter::{Filter, Sources};
use crate::table::{Mode, Proxy, Table};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::retval;
use net::{Fib, Interfaces};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use wire::Ip4;

/// Returns true for a group whose packets leave their link (RFC 5771 4).
fn is_routed(group: Ipv4Addr) -> bool {
    group.octets()[..3] != [224, 0, 0]
}

impl Table {
    /// The groups that hosts behind a proxy listen to.
    fn groups_behind(&self, proxy: &Proxy) -> BTreeSet<Ipv4Addr> {
        let links = proxy.downstream.iter().filter_map(|sw_if| self.links.get(sw_if));
        links.flat_map(|link| link.router.groups().map(|(group, _)| group)).collect()
    }

    /// The filters of a group of all downstream interfaces that listen to it.
    pub fn filters_behind(&self, proxy: &Proxy, group: Ipv4Addr) -> Vec<(SwIfIndex, Filter)> {
        if !is_routed(group) {
            return Vec::new();
        }
        let filter =
            |sw_if: &SwIfIndex| Some((*sw_if, self.links.get(sw_if)?.router.filter(group)));
        let all = proxy.downstream.iter().filter_map(filter);
        all.filter(|(_, filter)| !filter.is_empty()).collect()
    }

    fn check_mode(&self, world: &World, sw_if: SwIfIndex, mode: Mode) -> Result<()> {
        let name = world.get::<Interfaces>().get(sw_if)?.name;
        if self.links.get(&sw_if).is_none_or(|link| link.mode != mode) {
            let text = format!("{name} has no IGMP as a {}", mode.word());
            return Err(error(retval::INVALID_INTERFACE, text));
        }
        Ok(())
    }
}

impl Igmp {
    /// Makes an interface the upstream one of a table's proxy, or deletes the proxy.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or is no IGMP host (−71); no such table (−3); a proxy
    /// that is there (−1); one to be deleted that isn't (−6).
    pub fn set_proxy(&self, world: &World, vrf: u32, upstream: SwIfIndex, add: bool) -> Result<()> {
        if !add {
            let known = self.table().proxies.get(&vrf).map(|proxy| proxy.upstream);
            if known != Some(upstream) {
                let text = format!("table {vrf} has no such proxy");
                return Err(Error::not_found(text).retval(retval::NO_SUCH_ENTRY));
            }
            self.delete_proxy(world, vrf);
            world.note_config_change();
            return Ok(());
        }
        world.get::<Fib<Ip4>>().find_table(vrf)?;
        let mut table = self.table();
        table.check_mode(world, upstream, Mode::Host)?;
        let is_used = table.proxies.values().any(|proxy| proxy.upstream == upstream);
        if is_used || table.proxies.contains_key(&vrf) {
            let text = format!("table {vrf} or the interface has a proxy already");
            return Err(error(retval::UNSPECIFIED, text));
        }
        table.proxies.insert(vrf, Proxy { upstream, downstream: BTreeSet::new() });
        world.note_config_change();
        Ok(())
    }

    /// Deletes the proxy of a table, if it has one.
    pub fn delete_proxy(&self, world: &World, vrf: u32) {
        let groups = {
            let mut table = self.table();
            let Some(proxy) = table.proxies.get(&vrf).cloned() else { return };
            let groups = table.groups_behind(&proxy);
            if let Some(proxy) = table.proxies.get_mut(&vrf) {
                proxy.downstream.clear();
            }
            groups
        };
        groups.into_iter().for_each(|group| self.sync(world, vrf, group));
        self.table().proxies.remove(&vrf);
        self.signal.raise();
    }

    /// Adds a downstream interface to a table's proxy, or removes it.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or is no IGMP router (−71); no proxy (−6); an interface
    /// that a proxy has (−1), or one to be removed that it hasn't (−6).
    pub fn set_downstream(
        &self,
        world: &World,
        vrf: u32,
        sw_if: SwIfIndex,
        add: bool,
    ) -> Result<()> {
        let groups = {
            let mut table = self.table();
            table.check_mode(world, sw_if, Mode::Router)?;
            let is_used = table.proxies.values().any(|proxy| proxy.downstream.contains(&sw_if));
            let Some(proxy) = table.proxies.get_mut(&vrf) else {
                let text = format!("table {vrf} has no proxy");
                return Err(Error::not_found(text)
                    .hint("`igmp proxy-dev add' makes one")
                    .retval(retval::NO_SUCH_ENTRY));
            };
            if add && is_used {
                let text = "the interface belongs to a proxy already";
                return Err(error(retval::UNSPECIFIED, text));
            }
            if !add && !proxy.downstream.contains(&sw_if) {
                let text = format!("the interface doesn't belong to the proxy of table {vrf}");
                return Err(Error::not_found(text).retval(retval::NO_SUCH_ENTRY));
            }
            match add {
                true => proxy.downstream.insert(sw_if),
                false => proxy.downstream.remove(&sw_if),
            };
            let link = table.links.get(&sw_if);
            let groups =
                link.map(|link| link.router.groups().map(|(group, _)| group).collect::<Vec<_>>());
            groups.unwrap_or_default()
        };
        groups.into_iter().for_each(|group| self.sync(world, vrf, group));
        world.note_config_change();
        Ok(())
    }

    /// Takes an interface out of all proxies; a proxy without its upstream interface is deleted.
    pub fn leave_proxies(&self, world: &World, sw_if: SwIfIndex) {
        let all: Vec<_> = self.table().proxies.iter().map(|(vrf, p)| (*vrf, p.clone())).collect();
        for (vrf, proxy) in all {
            if proxy.upstream == sw_if {
                self.delete_proxy(world, vrf);
            } else if proxy.downstream.contains(&sw_if) {
                let groups = self.table().groups_behind(&proxy);
                if let Some(proxy) = self.table().proxies.get_mut(&vrf) {
                    proxy.downstream.remove(&sw_if);
                }
                groups.into_iter().for_each(|group| self.sync(world, vrf, group));
            }
        }
    }

    /// The hosts of an interface listen to other sources of a group than before: clients and
    /// proxies learn it.
    pub fn group_changed(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        group: Ipv4Addr,
        before: &Sources,
    ) {
        let (now, proxies) = {
            let table = self.table();
            let link = table.links.get(&sw_if);
            let now = link.map_or_else(Sources::new, |link| link.router.listed(group));
            let of_link = |(_, proxy): &(&u32, &Proxy)| proxy.downstream.contains(&sw_if);
            let proxies = table.proxies.iter().filter(of_link).map(|(vrf, _)| *vrf);
            (now, proxies.collect::<Vec<_>>())
        };
        for source in &now - before {
            publish(world, sw_if, group, source, true);
        }
        for source in before - &now {
            publish(world, sw_if, group, source, false);
        }
        proxies.into_iter().for_each(|vrf| self.sync(world, vrf, group));
    }

    /// Brings a group of a proxy up to date: what its upstream interface listens to, and the
    /// multicast routes.
    fn sync(&self, world: &World, vrf: u32, group: Ipv4Addr) {
        let (upstream, filters) = {
            let mut table = self.table();
            let Some(proxy) = table.proxies.get(&vrf).cloned() else { return };
            let filters = table.filters_behind(&proxy, group);
            let merged = filters.iter().fold(Filter::default(), |all, (_, one)| all.merge(one));
            if let Some(link) = table.links.get_mut(&proxy.upstream) {
                match merged.is_empty() {
                    true => _ = link.proxied.remove(&group),
                    false => _ = link.proxied.insert(group, merged),
                }
                link.update(world.clock.now(), group, self.reports(false));
            }
            (proxy.upstream, filters)
        };
        self.forward(world, vrf, group, upstream, &filters);
        self.signal.raise();
    }
}
