// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `arp`.

use crate::control;
use crate::ranges::Ranges;
use cli::Result;
use graph::World;
use msg::{Messages, Module, retval};
use net::api::{InterfaceIndex, Ip4Address};

/// The module.
pub static API: Module<World> = Module::core("arp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(proxy_add_del);
    m.dump(proxy_dump);
    m.call(|w, r: ProxyArpIntfcEnableDisable| {
        control::set_proxy(w, r.sw_if_index.existing(w)?, r.enable)
    });
    m.dump(|w, _: ProxyArpIntfcDump| {
        let details = |i: net::Interface| ProxyArpIntfcDetails { sw_if_index: i.sw_if.0 };
        Ok(control::proxies(w).into_iter().map(details))
    });
}

msg::messages! {
    /// Addresses that are answered for.
    ProxyArp,
    /// Answers ARP requests for a range of addresses where proxy ARP is enabled, or no longer.
    ProxyArpAddDel,
    /// Asks for the ranges that are answered for.
    ProxyArpDump,
    /// A range that is answered for.
    ProxyArpDetails,
    /// Answers for others on an interface, or no longer.
    ProxyArpIntfcEnableDisable,
    /// Asks for the interfaces where others are answered for.
    ProxyArpIntfcDump,
    /// An interface where others are answered for.
    ProxyArpIntfcDetails,
}

fn proxy_add_del(w: &World, r: ProxyArpAddDel) -> Result<()> {
    let ProxyArp { table_id, low, hi } = r.proxy;
    match control::set_range(w, table_id, low.0.into(), hi.0.into(), r.is_add) {
        // Clients say again what they want.
        Err(e) if e.is(retval::VALUE_EXIST) => Ok(()),
        done => done,
    }
}

fn proxy_dump(w: &World, _: ProxyArpDump) -> Result<Vec<ProxyArpDetails>> {
    let details = |table_id, low, hi| ProxyArpDetails { proxy: ProxyArp { table_id, low, hi } };
    let ip = |ip: std::net::Ipv4Addr| Ip4Address(ip.octets());
    let all = w.get::<Ranges>().list();
    Ok(all.iter().map(|r| details(control::table_id(w, r.table), ip(r.start), ip(r.end))).collect())
}
