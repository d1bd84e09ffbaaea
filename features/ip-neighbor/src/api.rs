// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip_neighbor`.

use crate::control::Sweep;
use crate::watch::Watch;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module, Wire};
use net::api::{Address, AddressFamily, InterfaceIndex, MacAddress};
use net::{Adjacencies, Neighbor, NeighborEvent, Neighbors};
use std::net::IpAddr;

/// The module.
pub static API: Module<World> =
    Module { name: "ip_neighbor", version: "1.0.1", crc: 0x36db_39bd, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.dump(dump);
    m.call(config);
    m.call(config_get);
    m.call(|w: &World, _: &Caller<'_, World>, _: IpNeighborReplaceBegin| {
        w.get::<Sweep>().begin(w);
        Ok(())
    });
    m.call(|w: &World, _: &Caller<'_, World>, _: IpNeighborReplaceEnd| w.get::<Sweep>().end(w));
    m.call(flush);
    m.call(want);
    m.answer::<IpNeighborEvent>();
    m.call(want_v2);
    m.answer::<IpNeighborEventV2>();
}

msg::flags! {
    /// The flags of a neighbour entry: static, without a FIB entry.
    pub struct IpNeighborFlags: u8 = enum "ip_neighbor_flags" {
        NONE = 0 => "IP_API_NEIGHBOR_FLAG_NONE",
        STATIC = 1 => "IP_API_NEIGHBOR_FLAG_STATIC",
        NO_FIB_ENTRY = 2 => "IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY",
    }
}

msg::flags! {
    /// The kind of a neighbour event: entry added or removed.
    pub struct IpNeighborEventFlags: u32 = enum "ip_neighbor_event_flags" {
        ADDED = 1 => "IP_NEIGHBOR_API_EVENT_FLAG_ADDED",
        REMOVED = 2 => "IP_NEIGHBOR_API_EVENT_FLAG_REMOVED",
    }
}

/// A neighbour.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNeighbor {
    /// Interface that the neighbour is attached to.
    pub sw_if_index: InterfaceIndex,
    /// Flags of the entry.
    pub flags: IpNeighborFlags,
    /// Its MAC address.
    pub mac_address: MacAddress,
    /// Its address.
    pub ip_address: Address,
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

/// Adds or removes a neighbour.
#[derive(Message)]
#[msg(reply)]
pub struct IpNeighborAddDel {
    /// True to add, false to remove.
    pub is_add: bool,
    /// The neighbour; its MAC address isn't looked at when it is removed.
    pub neighbor: IpNeighbor,
}

/// Index of the neighbour's counters.
#[derive(Message)]
pub struct IpNeighborAddDelReply {
    /// Index in `/net/adjacency`; all bits set while no route uses it.
    pub stats_index: u32,
}

fn add_del(w: &World, _: &Caller<'_, World>, r: IpNeighborAddDel) -> Result<IpNeighborAddDelReply> {
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
    Ok(IpNeighborAddDelReply { stats_index: adjacency.map_or(u32::MAX, |a| a.0) })
}

/// Requests the neighbours of a family, on an interface or on all.
#[derive(Message)]
#[msg(details)]
pub struct IpNeighborDump {
    /// The interface; all bits set for all.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
    /// The family.
    pub af: AddressFamily,
}

/// A neighbour.
#[derive(Message)]
pub struct IpNeighborDetails {
    /// Seconds since it was last confirmed.
    pub age: f64,
    /// The neighbour.
    pub neighbor: IpNeighbor,
}

fn dump(w: &World, _: &Caller<'_, World>, r: IpNeighborDump) -> Result<Vec<IpNeighborDetails>> {
    let (sw_if, now) = (r.sw_if_index.existing_or_all(w)?, w.clock.now());
    let all = w.get::<Neighbors>().list(r.af.is_ip6(), sw_if);
    let details = |n: &Neighbor| IpNeighborDetails {
        age: now.saturating_sub(n.updated) as f64 / 1e9,
        neighbor: n.into(),
    };
    Ok(all.iter().map(details).collect())
}

/// Sets the limits of a family's table.
#[derive(Message)]
pub struct IpNeighborConfig {
    /// The family.
    pub af: AddressFamily,
    /// Entries at most.
    pub max_number: u32,
    /// Seconds without confirmation after which an unused entry is removed and a used one asked; 0
    /// for ever.
    pub max_age: u32,
    /// A full table gives up its oldest entry.
    pub recycle: bool,
}

fn config(w: &World, _: &Caller<'_, World>, r: IpNeighborConfig) -> Result<()> {
    let neighbors = w.get::<Neighbors>();
    let old = neighbors.config(r.af.is_ip6());
    let new =
        net::NeighborConfig { limit: r.max_number, age: r.max_age, recycle: r.recycle, ..old };
    neighbors.configure(r.af.is_ip6(), new);
    Ok(())
}

/// Requests the limits of a family's table.
#[derive(Message)]
#[msg(reply)]
pub struct IpNeighborConfigGet {
    /// The family.
    pub af: AddressFamily,
}

/// The limits.
#[derive(Message)]
pub struct IpNeighborConfigGetReply {
    /// The family.
    pub af: AddressFamily,
    /// Entries at most.
    pub max_number: u32,
    /// Seconds without confirmation after which an unused entry is removed and a used one asked; 0
    /// for ever.
    pub max_age: u32,
    /// A full table gives up its oldest entry.
    pub recycle: bool,
}

fn config_get(
    w: &World,
    _: &Caller<'_, World>,
    r: IpNeighborConfigGet,
) -> Result<IpNeighborConfigGetReply> {
    let c = w.get::<Neighbors>().config(r.af.is_ip6());
    Ok(IpNeighborConfigGetReply {
        af: r.af,
        max_number: c.limit,
        max_age: c.age,
        recycle: c.recycle,
    })
}

/// Marks all neighbours: neighbours not added again until `ip_neighbor_replace_end` are removed
/// then.
#[derive(Message)]
pub struct IpNeighborReplaceBegin {}

/// Removes the neighbours that are still marked.
#[derive(Message)]
pub struct IpNeighborReplaceEnd {}

/// Forgets the neighbours of a family, on an interface or on all, that were learned.
#[derive(Message)]
pub struct IpNeighborFlush {
    /// The family.
    pub af: AddressFamily,
    /// The interface; all bits set for all.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
}

fn flush(w: &World, _: &Caller<'_, World>, r: IpNeighborFlush) -> Result<()> {
    let sw_if = r.sw_if_index.existing_or_all(w)?;
    w.get::<Neighbors>().flush(w, r.af.is_ip6(), sw_if);
    Ok(())
}

/// Subscribes to events of new neighbours.
#[derive(Message)]
#[msg(events(IpNeighborEvent))]
pub struct WantIpNeighborEvents {
    /// Ask, not stop asking.
    pub enable: bool,
    /// Comes back with every event.
    pub pid: u32,
    /// Of this address only; zero for all.
    pub ip: Address,
    /// On this interface only; all bits set for all.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
}

/// A neighbour is new or has changed.
#[derive(Message)]
pub struct IpNeighborEvent {
    /// The neighbour.
    pub neighbor: IpNeighbor,
}

/// Subscribes to events of neighbours that are added or removed.
#[derive(Message)]
#[msg(events(IpNeighborEventV2))]
pub struct WantIpNeighborEventsV2 {
    /// Ask, not stop asking.
    pub enable: bool,
    /// Comes back with every event.
    pub pid: u32,
    /// Of this address only; zero for all.
    pub ip: Address,
    /// On this interface only; all bits set for all.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
}

/// A neighbour was added or removed.
#[derive(Message)]
pub struct IpNeighborEventV2 {
    /// Kind of the event.
    pub flags: IpNeighborEventFlags,
    /// The neighbour.
    pub neighbor: IpNeighbor,
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
