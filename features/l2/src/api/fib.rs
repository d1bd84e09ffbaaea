// SPDX-License-Identifier: Apache-2.0
//! Messages about MAC addresses.

use crate::bridge::Bridge;
use crate::fib::{FibEntry, NewEntry};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Messages};
use net::api::{InterfaceIndex, MacAddress};

pub fn messages(m: &mut Messages<World>) {
    m.call(fib_add_del);
    m.order(|w, _: L2fibFlushAll| w.get::<Bridge>().flush_all(w));
    m.call(|w, r: L2fibFlushBd| w.get::<Bridge>().flush_domain(w, r.bd_id));
    m.call(|w, r: L2fibFlushInt| {
        r.sw_if_index.existing(w).map(|sw_if| w.get::<Bridge>().flush_interface(w, sw_if))
    });
    m.order(|w, _: L2FibClearTable| w.get::<Bridge>().clear_entries(w));
    m.dump_some(fib);
    m.call_by(|w, c, r: WantL2MacsEvents| {
        let limits = Some((r.learn_limit, r.scan_delay));
        want(w, c, r.into(), limits)
    });
    m.call_by(|w, c, r: WantL2MacsEvents2| want(w, c, r, None));
    m.answer::<L2MacsEvent>();
    m.call(|w, r: L2fibSetScanDelay| w.get::<Bridge>().set_mac_scan_delay(r.scan_delay.into()));
}

msg::messages! {
    /// Adds or deletes a MAC address of a bridge domain.
    L2fibAddDel,
    /// Forgets all learned MAC addresses.
    L2fibFlushAll,
    /// Forgets the MAC addresses learned in a bridge domain.
    L2fibFlushBd,
    /// Forgets the MAC addresses learned on an interface.
    L2fibFlushInt,
    /// Forgets all MAC addresses, also those that were configured.
    L2FibClearTable,
    /// Requests the MAC addresses.
    L2FibTableDump,
    /// A MAC address.
    L2FibTableDetails,
    /// The kind of an event.
    MacEventAction,
    /// An event of a MAC address.
    MacEntry,
    /// Subscribes to events of MAC addresses that are learned, move and are forgotten, sets the
    /// learn limit of all domains, and flushes learned addresses.
    WantL2MacsEvents,
    /// Subscribes to events of MAC addresses that are learned, move and are forgotten, and flushes
    /// learned addresses.
    #[from(WantL2MacsEvents)]
    WantL2MacsEvents2,
    /// Events of MAC addresses.
    L2MacsEvent,
    /// Sets the interval at which the table is scanned for such events.
    L2fibSetScanDelay,
}

fn fib_add_del(w: &World, r: L2fibAddDel) -> Result<()> {
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

impl From<FibEntry> for L2FibTableDetails {
    fn from(e: FibEntry) -> Self {
        Self {
            bd_id: e.id,
            mac: e.mac.into(),
            sw_if_index: e.sw_if.into(),
            static_mac: e.is_static,
            filter_mac: e.is_filter,
            bvi_mac: e.is_bvi,
        }
    }
}

fn fib(
    w: &World,
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
