// SPDX-License-Identifier: Apache-2.0
//! Messages about MAC addresses.

use super::index;
use crate::bridge::Bridge;
use crate::fib::{FibEntry, NewEntry};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Wire};
use net::api::{InterfaceIndex, MacAddress};

pub fn messages(m: &mut Messages<World>) {
    m.call(fib_add_del);
    m.call(|w: &World, _: &Caller<'_, World>, _: L2fibFlushAll| {
        w.get::<Bridge>().flush_all(w);
        Ok(())
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: L2fibFlushBd| {
        w.get::<Bridge>().flush_domain(w, r.bd_id)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: L2fibFlushInt| -> Result<()> {
        w.get::<Bridge>().flush_interface(w, r.sw_if_index.existing(w)?);
        Ok(())
    });
    m.call(|w: &World, _: &Caller<'_, World>, _: L2FibClearTable| {
        w.get::<Bridge>().clear_entries(w);
        Ok(())
    });
    m.dump_some(fib);
    m.call(|w: &World, c: &Caller<'_, World>, r: WantL2MacsEvents| {
        let WantL2MacsEvents { learn_limit, scan_delay, max_macs_in_event, enable_disable, pid } =
            r;
        let r = WantL2MacsEvents2 { max_macs_in_event, enable_disable, pid };
        want(w, c, r, Some((learn_limit, scan_delay)))
    });
    m.call(|w: &World, c: &Caller<'_, World>, r: WantL2MacsEvents2| want(w, c, r, None));
    m.answer::<L2MacsEvent>();
    m.call(|w: &World, _: &Caller<'_, World>, r: L2fibSetScanDelay| {
        w.get::<Bridge>().set_mac_scan_delay(r.scan_delay.into())
    });
}

/// Adds or deletes a MAC address of a bridge domain.
#[derive(Message)]
pub struct L2fibAddDel {
    /// The address.
    pub mac: MacAddress,
    /// The domain.
    pub bd_id: u32,
    /// The interface that it is at; ignored for a filter. To delete, 0 is any.
    pub sw_if_index: InterfaceIndex,
    /// True to add, false to delete.
    #[wire(default = "true")]
    pub is_add: bool,
    /// It never moves to another interface.
    pub static_mac: bool,
    /// Frames from and to it are dropped.
    pub filter_mac: bool,
    /// It is the routed interface's.
    pub bvi_mac: bool,
}

fn fib_add_del(w: &World, _: &Caller<'_, World>, r: L2fibAddDel) -> Result<()> {
    let (bridge, mac) = (w.get::<Bridge>(), r.mac.into());
    if !r.is_add {
        let of = SwIfIndex(r.sw_if_index.0);
        let of = (of.0 != 0 && r.sw_if_index != InterfaceIndex::NONE).then_some(of);
        return bridge.delete_entry(w, mac, r.bd_id, of);
    }
    let new = match r.filter_mac {
        true => NewEntry::Filter,
        false => NewEntry::Port {
            sw_if: SwIfIndex(r.sw_if_index.0),
            is_static: r.static_mac,
            is_bvi: r.bvi_mac,
        },
    };
    bridge.add_entry(w, mac, r.bd_id, new)
}

/// Forgets all learned MAC addresses.
#[derive(Message)]
pub struct L2fibFlushAll {}

/// Forgets the MAC addresses learned in a bridge domain.
#[derive(Message)]
pub struct L2fibFlushBd {
    /// The domain.
    pub bd_id: u32,
}

/// Forgets the MAC addresses learned on an interface.
#[derive(Message)]
pub struct L2fibFlushInt {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// Forgets all MAC addresses, also those that were configured.
#[derive(Message)]
pub struct L2FibClearTable {}

/// Requests the MAC addresses.
#[derive(Message)]
#[msg(details)]
pub struct L2FibTableDump {
    /// The domain; all bits set for all.
    pub bd_id: u32,
}

/// A MAC address.
#[derive(Message)]
pub struct L2FibTableDetails {
    /// The domain.
    pub bd_id: u32,
    /// The address.
    pub mac: MacAddress,
    /// The interface that it is at; all bits set for a filter.
    pub sw_if_index: InterfaceIndex,
    /// It never moves.
    pub static_mac: bool,
    /// Frames from and to it are dropped.
    pub filter_mac: bool,
    /// It is the routed interface's.
    pub bvi_mac: bool,
}

impl From<FibEntry> for L2FibTableDetails {
    fn from(e: FibEntry) -> Self {
        Self {
            bd_id: e.id,
            mac: e.mac.into(),
            sw_if_index: index(e.sw_if),
            static_mac: e.is_static,
            filter_mac: e.is_filter,
            bvi_mac: e.is_bvi,
        }
    }
}

fn fib(
    w: &World,
    _: &Caller<'_, World>,
    r: L2FibTableDump,
) -> Result<impl Iterator<Item = Option<L2FibTableDetails>> + use<>> {
    let (bridge, now) = (w.get::<Bridge>(), w.clock.now());
    let mut walk = bridge.walk();
    let pieces = std::iter::from_fn(move || bridge.entries(&mut walk, now));
    let is_wanted = move |entry: &FibEntry| r.bd_id == u32::MAX || r.bd_id == entry.id;
    // A piece may have none.
    Ok(pieces.flat_map(move |piece| {
        let wanted = piece.into_iter().filter(is_wanted);
        wanted.map(|entry| Some(entry.into())).chain([None])
    }))
}

/// The kind of an event.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "MAC_EVENT_ACTION_API_")]
pub enum MacEventAction {
    /// It was learned.
    Add = 0,
    /// It was forgotten.
    Delete = 1,
    /// It is at another interface.
    Move = 2,
}

/// An event of a MAC address.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacEntry {
    /// The interface that it is at.
    pub sw_if_index: InterfaceIndex,
    /// The address.
    pub mac_addr: MacAddress,
    /// The kind of the event.
    pub action: MacEventAction,
    /// Not used.
    pub flags: u8,
}

/// Subscribes to events of MAC addresses that are learned, move and are forgotten, sets the learn
/// limit of all domains, and flushes learned addresses.
#[derive(Message)]
#[msg(events(L2MacsEvent))]
pub struct WantL2MacsEvents {
    /// Addresses that are learned at most.
    #[wire(default = "1000")]
    pub learn_limit: u32,
    /// From one scan of the table to the next, in units of 10 ms.
    #[wire(default = "10")]
    pub scan_delay: u8,
    /// Addresses that an event has at most, in tens.
    #[wire(default = "10")]
    pub max_macs_in_event: u8,
    /// True to subscribe, false to unsubscribe.
    #[wire(default = "true")]
    pub enable_disable: bool,
    /// Returned in every event.
    pub pid: u32,
}

/// Subscribes to events of MAC addresses that are learned, move and are forgotten, and flushes
/// learned addresses.
#[derive(Message)]
pub struct WantL2MacsEvents2 {
    /// Addresses that an event has at most, in tens.
    #[wire(default = "10")]
    pub max_macs_in_event: u8,
    /// True to subscribe, false to unsubscribe.
    #[wire(default = "true")]
    pub enable_disable: bool,
    /// Returned in every event.
    pub pid: u32,
}

/// Events of MAC addresses.
#[derive(Message)]
pub struct L2MacsEvent {
    /// The events, in any order.
    #[count(n_macs: u32)]
    pub mac: Vec<MacEntry>,
}

/// Sets the interval at which the table is scanned for such events.
#[derive(Message)]
pub struct L2fibSetScanDelay {
    /// From one scan to the next, in units of 10 ms.
    #[wire(default = "10")]
    pub scan_delay: u16,
}

/// Starts or ends events for a client; `limits`: the learn limit and the scan delay, which only the
/// older message sets.
fn want(
    w: &World,
    c: &Caller<'_, World>,
    r: WantL2MacsEvents2,
    limits: Option<(u32, u8)>,
) -> Result<()> {
    let bridge = w.get::<Bridge>();
    if r.enable_disable {
        bridge.subscribe_macs(w, c.client, r.max_macs_in_event, limits)?;
    } else {
        bridge.unsubscribe_macs(w, c.client)?;
    }
    c.hub.subscribe::<L2MacsEvent>(c, r.pid, r.enable_disable);
    Ok(())
}
