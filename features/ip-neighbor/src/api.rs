// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip_neighbor`.

use crate::control::Sweep;
use crate::watch::Watch;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Messages, Module};
use net::api::{Address, AddressFamily, InterfaceIndex, MacAddress};
use net::{Adjacencies, Neighbor, NeighborEvent, Neighbors};
use std::net::IpAddr;

/// The module.
pub static API: Module<World> = Module::core("ip_neighbor", messages);

fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.dump(dump);
    m.order(config);
    m.call(config_get);
    m.order(|w, _: IpNeighborReplaceBegin| w.get::<Sweep>().begin(w));
    m.call(|w, _: IpNeighborReplaceEnd| w.get::<Sweep>().end(w));
    m.call(flush);
    m.call_by(want);
    m.answer::<IpNeighborEvent>();
    m.call_by(want_v2);
    m.answer::<IpNeighborEventV2>();
}

msg::messages! {
    /// The flags of a neighbour entry: static, without a FIB entry.
    flags IpNeighborFlags,
    /// The kind of a neighbour event: entry added or removed.
    flags IpNeighborEventFlags,
    /// A neighbour.
    IpNeighbor,
    /// Adds or removes a neighbour.
    IpNeighborAddDel,
    /// Requests the neighbours of a family, on an interface or on all.
    IpNeighborDump,
    /// A neighbour.
    IpNeighborDetails,
    /// Sets the limits of a family's table.
    IpNeighborConfig,
    /// Requests the limits of a family's table.
    IpNeighborConfigGet,
    /// The limits.
    IpNeighborConfigGetReply,
    /// Marks all neighbours: neighbours not added again until `ip_neighbor_replace_end` are removed
    /// then.
    IpNeighborReplaceBegin,
    /// Removes the neighbours that are still marked.
    IpNeighborReplaceEnd,
    /// Forgets the neighbours of a family, on an interface or on all, that were learned.
    IpNeighborFlush,
    /// Subscribes to events of new neighbours.
    WantIpNeighborEvents,
    /// A neighbour is new or has changed.
    IpNeighborEvent,
    /// Subscribes to events of neighbours that are added or removed.
    WantIpNeighborEventsV2,
    /// A neighbour was added or removed.
    IpNeighborEventV2,
}

impl From<&Neighbor> for IpNeighbor {
    fn from(n: &Neighbor) -> Self {
        Self {
            sw_if_index: n.sw_if.into(),
            flags: IpNeighborFlags::STATIC.when(n.is_static)
                | IpNeighborFlags::NO_FIB_ENTRY.when(n.no_fib_entry),
            mac_address: n.mac.into(),
            ip_address: n.ip.into(),
        }
    }
}

fn add_del(w: &World, r: IpNeighborAddDel) -> Result<u32> {
    let sw_if = r.neighbor.sw_if_index.existing(w)?;
    let (ip, flags) = (IpAddr::from(r.neighbor.ip_address), r.neighbor.flags);
    let neighbors = w.get::<Neighbors>();
    if r.is_add {
        let new = Neighbor {
            is_static: flags.has(IpNeighborFlags::STATIC),
            no_fib_entry: flags.has(IpNeighborFlags::NO_FIB_ENTRY),
            ..Neighbor::new(sw_if, ip, r.neighbor.mac_address.into())
        };
        neighbors.set(w, new)?;
        w.get::<Sweep>().keep(sw_if, ip);
    } else {
        neighbors.remove(w, sw_if, ip)?;
    }
    let adjacency = w.get::<Adjacencies>().find_neighbor(sw_if, ip);
    Ok(adjacency.map_or(u32::MAX, |a| a.0))
}

fn dump(w: &World, r: IpNeighborDump) -> Result<Vec<IpNeighborDetails>> {
    let (sw_if, now) = (r.sw_if_index.existing_or_all(w)?, w.clock.now());
    let all = w.get::<Neighbors>().list(r.af.is_ip6(), sw_if);
    let details = |n: &Neighbor| IpNeighborDetails {
        age: now.saturating_sub(n.updated) as f64 / 1e9,
        neighbor: n.into(),
    };
    Ok(all.iter().map(details).collect())
}

fn config(w: &World, r: IpNeighborConfig) {
    let neighbors = w.get::<Neighbors>();
    let old = neighbors.config(r.af.is_ip6());
    let new =
        net::NeighborConfig { limit: r.max_number, age: r.max_age, recycle: r.recycle, ..old };
    neighbors.configure(r.af.is_ip6(), new);
}

fn config_get(w: &World, r: IpNeighborConfigGet) -> Result<IpNeighborConfigGetReply> {
    let c = w.get::<Neighbors>().config(r.af.is_ip6());
    Ok(IpNeighborConfigGetReply {
        af: r.af,
        max_number: c.limit,
        max_age: c.age,
        recycle: c.recycle,
    })
}

fn flush(w: &World, r: IpNeighborFlush) -> Result<()> {
    let sw_if = r.sw_if_index.existing_or_all(w)?;
    w.get::<Neighbors>().flush(w, r.af.is_ip6(), sw_if);
    Ok(())
}

/// Returns the event key and the filter of the neighbours that a client subscribed to.
fn filter(ip: Address, sw_if: Option<SwIfIndex>) -> (String, impl Fn(&IpNeighbor) -> bool) {
    let watch = Watch { sw_if, ip: Some(IpAddr::from(ip)).filter(|ip| !ip.is_unspecified()) };
    (watch.to_key(), move |n: &IpNeighbor| {
        watch.covers(SwIfIndex(n.sw_if_index.0), n.ip_address.into())
    })
}

fn want(w: &World, c: &Caller<'_, World>, r: WantIpNeighborEvents) -> Result<()> {
    let (key, passes) = filter(r.ip, r.sw_if_index.existing_or_all(w)?);
    c.hub.subscribe_where(c, r.pid, key, r.enable, move |e: &IpNeighborEvent| passes(&e.neighbor));
    Ok(())
}

fn want_v2(w: &World, c: &Caller<'_, World>, r: WantIpNeighborEventsV2) -> Result<()> {
    let (key, passes) = filter(r.ip, r.sw_if_index.existing_or_all(w)?);
    c.hub
        .subscribe_where(c, r.pid, key, r.enable, move |e: &IpNeighborEventV2| passes(&e.neighbor));
    Ok(())
}

/// Sends clients the event of a neighbour.
pub fn publish(w: &World, event: &NeighborEvent) {
    let (flags, neighbor) = match event {
        NeighborEvent::Set { new, .. } => (IpNeighborEventFlags::ADDED, new.into()),
        NeighborEvent::Gone { gone, .. } => (IpNeighborEventFlags::REMOVED, gone.into()),
    };
    if flags == IpNeighborEventFlags::ADDED {
        w.api.publish(&IpNeighborEvent { neighbor });
    }
    w.api.publish(&IpNeighborEventV2 { flags, neighbor });
}
