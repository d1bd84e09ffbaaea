// SPDX-License-Identifier: Apache-2.0
//! Gauges of the stats segment: interfaces, and tables and neighbours by family.
//!
//! - `/net/ip4/neighbors`: number of neighbours.
//! - `/net/ip4/routes/TABLE`: number of routes of a table.
//! - `/net/ip4/interface-tables`: by interface, the id of the table that its packets are looked up
//!   in.
//! - `/net/interface/admin-up`, `/net/interface/link-up`: 1 or 0; `/net/interface/mtu`: what its
//!   link carries.
//! - `/net/interface/link-speed`: kilobits a second; 0 where it isn't known, and of sub-interfaces.
//! - `/net/nexthop/is-down`: by interface, how many next hops don't answer.

use graph::World;
use net::{Fib, Interfaces, IpBinding, MtuKind, Neighbors, NextHops, TableIndex};
use stats::{Gauge, Lane, Names};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use wire::{Ip4, Ip6};

/// Tables that are counted; there may be millions, and a directory isn't the place for them.
const TABLES: usize = 1024;

/// Of all families.
pub struct Nets {
    ip4: Net,
    ip6: Net,
    interfaces: ByInterface,
}

/// Gauges with a value for each interface.
struct ByInterface {
    admin_up: Lane,
    link_up: Lane,
    mtu: Lane,
    link_speed: Lane,
    hops_down: Lane,
}

impl ByInterface {
    fn new(world: &World) -> Self {
        let by = |name: &str| world.stats.simple(&format!("/net/{name}")).control();
        Self {
            admin_up: by("interface/admin-up"),
            link_up: by("interface/link-up"),
            mtu: by("interface/mtu"),
            link_speed: by("interface/link-speed"),
            hops_down: by("nexthop/is-down"),
        }
    }

    fn update(&self, world: &World) {
        let interfaces = world.get::<Interfaces>();
        // Interfaces that are gone read as zero.
        let mut values = vec![[0; 5]; interfaces.max()];
        for interface in interfaces.list() {
            if let Some([admin, link, mtu, speed, _]) = values.get_mut(interface.sw_if.at()) {
                (*admin, *link) = (u64::from(interface.admin_up), u64::from(interface.link_up));
                *mtu = u64::from(interface.mtu_of(MtuKind::Link));
                if interface.parent == interface.sw_if {
                    *speed = interface.device.link_speed().unwrap_or(0);
                }
            }
        }
        for (hop, _) in world.get::<NextHops>().list() {
            if let Some([.., down]) = values.get_mut(hop.sw_if.at()) {
                *down += 1;
            }
        }
        for (i, of) in values.into_iter().enumerate() {
            let lanes =
                [&self.admin_up, &self.link_up, &self.mtu, &self.link_speed, &self.hops_down];
            lanes.into_iter().zip(of).for_each(|(lane, value)| lane.set(i, value));
        }
    }
}

struct Net {
    neighbors: Gauge,
    tables: Arc<Names>,
    /// Names written last: by interface, the id of its table.
    told: Mutex<Vec<String>>,
}

impl Net {
    fn new(world: &World, family: &str) -> Self {
        Self {
            neighbors: world.stats.gauge(&format!("/net/{family}/neighbors")),
            tables: world.stats.names(&format!("/net/{family}/interface-tables")),
            told: Mutex::default(),
        }
    }

    /// Publishes the tables' numbers of routes, and the table of each interface.
    /// `tables`: index, id, and number of routes; `of`: the index of an interface's.
    fn update(
        &self,
        world: &World,
        family: &str,
        tables: &[(u32, u32, usize)],
        of: fn(&IpBinding) -> TableIndex,
    ) {
        let routes: Vec<_> =
            tables.iter().take(TABLES).map(|(_, id, n)| (id.to_string(), *n as u64)).collect();
        world.stats.set_gauges(&format!("/net/{family}/routes/"), &routes);
        let ids: HashMap<u32, u32> = tables.iter().map(|(index, id, _)| (*index, *id)).collect();
        let interfaces = world.get::<Interfaces>();
        let mut texts = vec![String::new(); interfaces.max()];
        for interface in interfaces.list() {
            let id = ids.get(&of(&IpBinding::of(world, interface.sw_if)).0);
            if let (Some(id), Some(text)) = (id, texts.get_mut(interface.sw_if.at())) {
                *text = id.to_string();
            }
        }
        self.tell(world, texts);
    }

    /// Says which table each interface has; the empty text is that of no interface.
    fn tell(&self, world: &World, new: Vec<String>) {
        let mut told = self.told.lock().expect("no panic inside");
        if *told == new {
            return;
        }
        world.stats.change(|change| {
            for i in 0..new.len().max(told.len()) {
                let text = new.get(i).map_or("", String::as_str);
                if told.get(i).map(String::as_str) != Some(text) {
                    self.tables.set(change, i, text);
                }
            }
        });
        *told = new;
    }
}

impl Nets {
    pub fn new(world: &World) -> Self {
        Self {
            ip4: Net::new(world, "ip4"),
            ip6: Net::new(world, "ip6"),
            interfaces: ByInterface::new(world),
        }
    }

    pub fn update(&self, world: &World) {
        self.interfaces.update(world);
        let tables = world.get::<Fib<Ip4>>().list_tables();
        let tables: Vec<_> = tables.iter().map(|t| (t.index.0, t.id, t.routes)).collect();
        self.ip4.update(world, "ip4", &tables, IpBinding::table::<Ip4>);
        let tables = world.get::<Fib<Ip6>>().list_tables();
        let tables: Vec<_> = tables.iter().map(|t| (t.index.0, t.id, t.routes)).collect();
        self.ip6.update(world, "ip6", &tables, IpBinding::table::<Ip6>);
        let neighbors = world.get::<Neighbors>();
        self.ip4.neighbors.set(neighbors.len(false) as u64);
        self.ip6.neighbors.set(neighbors.len(true) as u64);
    }
}
