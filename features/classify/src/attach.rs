// SPDX-License-Identifier: Apache-2.0
//! Where tables decide: ACLs, layer-2 classification, routes to tables.

use crate::acl::{Acl, InputAcl, OutputAcl, PuntAcl};
use crate::control::no_table;
use crate::hook::Hook;
use crate::object::CLASSIFIED;
use crate::state::{Classifier, Direction, L2Tables, Layer, Routed};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use l2::{Bridge, Features, OutputFeatures};
use net::{Addresses, Fib, IfEvent, Interfaces, Net, Path, PathKind, Source, TableIndex};
use wire::{Ip4, Ip6, Prefix};

/// The interface whose tables of punted packets count for all that have none.
pub const ALL_PUNTED: SwIfIndex = SwIfIndex(0);

impl Classifier {
    fn check(&self, table: u32, which: usize) -> Result<()> {
        if self.control().tables.contains_key(&table) {
            return Ok(());
        }
        let retvals = [retval::NO_SUCH_TABLE, retval::NO_SUCH_TABLE2, retval::NO_SUCH_TABLE3];
        Err(no_table(table).retval(retvals[which % retvals.len()]))
    }

    /// Makes tables ACLs of an interface, or ends that. An ACL that is there already stays.
    ///
    /// # Errors
    /// An interface that isn't there (−2); a table that isn't there, or isn't the one that is to go
    /// (−65, −66, −67 by its place in the request); an output ACL of punted packets (−7).
    pub fn set_acl(
        &self,
        world: &World,
        direction: Direction,
        sw_if: SwIfIndex,
        tables: &[(Layer, u32)],
        on: bool,
    ) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        for (layer, table) in tables {
            let which = Layer::ALL.iter().position(|one| one == layer).unwrap_or(0);
            if direction == Direction::Output && which > 2 {
                let why = "packets that leave aren't punted";
                return Err(Error::parse(why).retval(retval::INVALID_VALUE));
            }
            self.check(*table, which)?;
            if !on && self.acl(direction, sw_if, *layer) != Some(*table) {
                let name = world.get::<Interfaces>().name(sw_if);
                let why = format!("table {table} is no {} ACL of {name}", direction.word());
                let retvals =
                    [retval::NO_SUCH_TABLE, retval::NO_SUCH_TABLE2, retval::NO_SUCH_TABLE3];
                return Err(Error::not_found(why).retval(retvals[which % retvals.len()]));
            }
        }
        for (layer, table) in tables {
            let key = (direction, sw_if, *layer);
            let has = self.acl(direction, sw_if, *layer).is_some();
            if on && has {
                continue;
            }
            match on {
                true => _ = self.control().acls.insert(key, *table),
                false => _ = self.control().acls.remove(&key),
            }
            self.apply(world, direction, sw_if, *layer, on.then_some(*table))?;
        }
        world.note_config_change();
        Ok(())
    }

    /// Puts the node of an ACL in the way of packets, or takes it away.
    fn apply(
        &self,
        world: &World,
        direction: Direction,
        sw_if: SwIfIndex,
        layer: Layer,
        table: Option<u32>,
    ) -> Result<()> {
        match (layer, direction) {
            (Layer::Ip4, Direction::Input) => {
                configure::<Ip4>(world, "ip4-unicast", Hook::In(false), sw_if, table)
            }
            (Layer::Ip6, Direction::Input) => {
                configure::<Ip6>(world, "ip6-unicast", Hook::In(true), sw_if, table)
            }
            (Layer::Ip4, Direction::Output) => {
                configure::<Ip4>(world, "ip4-output", Hook::Out(false), sw_if, table)
            }
            (Layer::Ip6, Direction::Output) => {
                configure::<Ip6>(world, "ip6-output", Hook::Out(true), sw_if, table)
            }
            (Layer::L2, _) => {
                let slots = &self.l2_acl[direction as usize];
                match table {
                    Some(table) => slots.set(sw_if.0, table),
                    None => _ = slots.clear(sw_if.0),
                }
                let (bridge, on) = (world.get::<Bridge>(), table.is_some());
                match direction {
                    Direction::Input => bridge.set_input_feature(world, sw_if, Features::ACL, on),
                    Direction::Output => {
                        bridge.set_output_feature(world, sw_if, OutputFeatures::ACL, on)
                    }
                }
                Ok(())
            }
            (Layer::Ip4Punt | Layer::Ip6Punt, _) => self.apply_punt(world, layer),
        }
    }

    /// Every interface gets its own table of punted packets, or that for all.
    fn apply_punt(&self, world: &World, layer: Layer) -> Result<()> {
        for interface in world.get::<Interfaces>().list() {
            self.apply_punt_to(world, layer, interface.sw_if)?;
        }
        Ok(())
    }

    fn apply_punt_to(&self, world: &World, layer: Layer, sw_if: SwIfIndex) -> Result<()> {
        let own = self.acl(Direction::Input, sw_if, layer);
        let table = own.or_else(|| self.acl(Direction::Input, ALL_PUNTED, layer));
        match layer {
            Layer::Ip6Punt => configure::<Ip6>(world, "ip6-punt", Hook::Punt(true), sw_if, table),
            _ => configure::<Ip4>(world, "ip4-punt", Hook::Punt(false), sw_if, table),
        }
    }

    /// The table of an ACL.
    pub fn acl(&self, direction: Direction, sw_if: SwIfIndex, layer: Layer) -> Option<u32> {
        self.control().acls.get(&(direction, sw_if, layer)).copied()
    }

    /// All ACLs.
    pub fn acls(&self) -> Vec<((Direction, SwIfIndex, Layer), u32)> {
        self.control().acls.iter().map(|(key, table)| (*key, *table)).collect()
    }

    /// Sets the tables that classify switched frames of an interface; without a table they aren't
    /// classified.
    ///
    /// # Errors
    /// An interface that isn't there (−2); a table that isn't there (−65, −66, −67 by its place).
    pub fn set_l2_tables(
        &self,
        world: &World,
        direction: Direction,
        sw_if: SwIfIndex,
        tables: L2Tables,
    ) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        for (which, table) in tables.iter().enumerate() {
            table.map_or(Ok(()), |table| self.check(table, which))?;
        }
        let (slots, on) = (&self.l2_classify[direction as usize], tables != L2Tables::default());
        match on {
            true => {
                self.control().l2.insert((direction, sw_if), tables);
                slots.set(sw_if.0, tables);
            }
            false => {
                self.control().l2.remove(&(direction, sw_if));
                slots.clear(sw_if.0);
            }
        }
        let bridge = world.get::<Bridge>();
        match direction {
            Direction::Input => bridge.set_input_feature(world, sw_if, Features::CLASSIFY, on),
            Direction::Output => {
                bridge.set_output_feature(world, sw_if, OutputFeatures::CLASSIFY, on)
            }
        }
        world.note_config_change();
        Ok(())
    }

    /// All interfaces whose switched frames are classified.
    pub fn l2_tables(&self) -> Vec<((Direction, SwIfIndex), L2Tables)> {
        self.control().l2.iter().map(|(key, tables)| (*key, *tables)).collect()
    }

    /// Classifies packets to the first address of an interface, or no longer.
    ///
    /// # Errors
    /// An interface (−2) or a table (−65) that isn't there.
    pub fn set_routed(
        &self,
        world: &World,
        v6: bool,
        sw_if: SwIfIndex,
        table: Option<u32>,
    ) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        table.map_or(Ok(()), |table| self.check(table, 0))?;
        let old = self.control().routed.remove(&(sw_if, v6));
        self.unroute(world, old.and_then(|(_, routed)| routed))?;
        if let Some(table) = table {
            let routed = if v6 {
                route::<Ip6>(world, sw_if, table)?
            } else {
                route::<Ip4>(world, sw_if, table)?
            };
            self.control().routed.insert((sw_if, v6), (table, routed));
        }
        world.note_config_change();
        Ok(())
    }

    fn unroute(&self, world: &World, routed: Routed) -> Result<()> {
        fn remove<F: Net>(world: &World, table: TableIndex, address: F::Addr) -> Result<()> {
            let removed = world.get::<Fib<F>>().remove(
                world,
                table,
                Prefix::host(address),
                Source::Classify,
                &[],
            );
            // It goes with its table.
            removed.or_else(|e| {
                if e.is(retval::NO_SUCH_ENTRY) || e.is(retval::NO_SUCH_FIB) {
                    Ok(())
                } else {
                    Err(e)
                }
            })
        }
        match routed {
            None => Ok(()),
            Some((table, std::net::IpAddr::V4(address))) => remove::<Ip4>(world, table, address),
            Some((table, std::net::IpAddr::V6(address))) => remove::<Ip6>(world, table, address),
        }
    }

    /// All interfaces to whose first address packets are classified, with whether it is of IPv6.
    pub fn routed(&self) -> Vec<((SwIfIndex, bool), u32)> {
        self.control().routed.iter().map(|(key, (table, _))| (*key, *table)).collect()
    }

    /// Follows addresses and tables of interfaces, and lets new ones take part in what is for all.
    pub(crate) fn follow(&self, world: &World, event: IfEvent) -> Result<()> {
        match event {
            IfEvent::Added(sw_if) => {
                self.apply_punt_to(world, Layer::Ip4Punt, sw_if)?;
                self.apply_punt_to(world, Layer::Ip6Punt, sw_if)
            }
            IfEvent::Address(sw_if, v6) | IfEvent::Table(sw_if, v6) => {
                let table = self.control().routed.get(&(sw_if, v6)).map(|(table, _)| *table);
                table.map_or(Ok(()), |table| self.set_routed(world, v6, sw_if, Some(table)))
            }
            _ => Ok(()),
        }
    }

    /// Forgets all of an interface. What stands on its arcs goes with it.
    pub(crate) fn forget_interface(&self, world: &World, sw_if: SwIfIndex) {
        let routed: Vec<_> = {
            let mut control = self.control();
            control.acls.retain(|(_, of, _), _| *of != sw_if);
            control.l2.retain(|(_, of), _| *of != sw_if);
            let keys = [(sw_if, false), (sw_if, true)];
            keys.into_iter().filter_map(|key| control.routed.remove(&key)).collect()
        };
        for (_, route) in routed {
            if let Err(e) = self.unroute(world, route) {
                log::warn!("a route to a classifier table stays: {e}");
            }
        }
        for slots in &self.l2_acl {
            slots.clear(sw_if.0);
        }
        for slots in &self.l2_classify {
            slots.clear(sw_if.0);
        }
        self.forget_filter_of(world, sw_if);
    }
}

fn configure<F: ip::Ip>(
    world: &World,
    arc: &str,
    hook: Hook,
    sw_if: SwIfIndex,
    table: Option<u32>,
) -> Result<()> {
    let done = match hook {
        Hook::Out(_) => world.configure_feature::<Acl<F, OutputAcl>>(arc, sw_if, table),
        Hook::Punt(_) => world.configure_feature::<Acl<F, PuntAcl>>(arc, sw_if, table),
        _ => world.configure_feature::<Acl<F, InputAcl>>(arc, sw_if, table),
    };
    done.map_err(Error::failed)
}

/// Leads packets to the first address of an interface to a table.
fn route<F: Net>(world: &World, sw_if: SwIfIndex, table: u32) -> Result<Routed> {
    let addresses = world.get::<Addresses<F>>();
    let Some(first) = addresses.list(sw_if).first().copied() else { return Ok(None) };
    let (fib, index) = (world.get::<Fib<F>>(), addresses.table_of(sw_if)?);
    let path = Path::new(PathKind::Object(&CLASSIFIED, table));
    fib.set(world, index, Prefix::host(first.addr()), Source::Classify, &[path])?;
    Ok(Some((index, first.addr().into())))
}
