// SPDX-License-Identifier: Apache-2.0
//! What the stats segment says of tables and neighbours, for each family.
//!
//! - `/net/ip4/neighbors`: how many there are.
//! - `/net/ip4/routes/TABLE`: how many routes a table has.
//! - `/net/ip4/interface-tables`: by interface, the id of the table that its packets are looked up in.

use graph::World;
use net::{Fib, Interfaces, Neighbors};
use stats::{Gauge, Names};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use wire::Ip4;

/// Tables that are counted; there may be millions, and a directory isn't the place for them.
const TABLES: usize = 1024;

/// Of all families.
pub struct Nets {
    ip4: Net,
}

struct Net {
    neighbors: Gauge,
    tables: Arc<Names>,
    /// What stands there.
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
        Self { ip4: Net::new(world, "ip4") }
    }

    pub fn update(&self, world: &World) {
        let fib = world.get::<Fib<Ip4>>();
        let tables = fib.list_tables();
        let routes: Vec<_> =
            tables.iter().take(TABLES).map(|t| (t.id.to_string(), t.routes as u64)).collect();
        world.stats.set_gauges("/net/ip4/routes/", &routes);
        self.ip4.neighbors.set(world.get::<Neighbors>().len(false) as u64);

        let ids: HashMap<u32, u32> = tables.iter().map(|t| (t.index.0, t.id)).collect();
        let interfaces = world.get::<Interfaces>();
        let mut texts = vec![String::new(); interfaces.max()];
        for interface in interfaces.list() {
            let id = ids.get(&interface.fib4);
            if let (Some(id), Some(text)) = (id, texts.get_mut(interface.sw_if.at())) {
                *text = id.to_string();
            }
        }
        self.ip4.tell(world, texts);
    }
}
