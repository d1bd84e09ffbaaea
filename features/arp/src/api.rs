// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `arp`.

use crate::control;
use crate::ranges::Ranges;
use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Module, Wire, retval};
use net::api::{InterfaceIndex, Ip4Address};

/// The module.
pub static API: Module<World> =
    Module { name: "arp", version: "1.0.0", crc: 0xb577_96ae, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(proxy_add_del);
    m.dump(proxy_dump);
    m.call(intfc_enable_disable);
    m.dump(intfc_dump);
}

/// Addresses that are answered for.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyArp {
    /// The table of the interfaces where they are asked for.
    pub table_id: u32,
    /// The first.
    pub low: Ip4Address,
    /// The last.
    pub hi: Ip4Address,
}

/// Answers ARP requests for a range of addresses where proxy ARP is enabled, or no longer.
#[derive(Message)]
pub struct ProxyArpAddDel {
    /// Answer, not stop answering.
    pub is_add: bool,
    /// The range.
    pub proxy: ProxyArp,
}

fn proxy_add_del(w: &World, _: &Caller<'_, World>, r: ProxyArpAddDel) -> Result<()> {
    let ProxyArp { table_id, low, hi } = r.proxy;
    match control::set_range(w, table_id, low.0.into(), hi.0.into(), r.is_add) {
        // Clients say again what they want.
        Err(e) if e.is(retval::VALUE_EXIST) => Ok(()),
        done => done,
    }
}

/// Asks for the ranges that are answered for.
#[derive(Message)]
#[msg(details)]
pub struct ProxyArpDump {}

/// A range that is answered for.
#[derive(Message)]
pub struct ProxyArpDetails {
    /// The range.
    pub proxy: ProxyArp,
}

fn proxy_dump(w: &World, _: &Caller<'_, World>, _: ProxyArpDump) -> Result<Vec<ProxyArpDetails>> {
    let details = |table_id, low, hi| ProxyArpDetails { proxy: ProxyArp { table_id, low, hi } };
    let ip = |ip: std::net::Ipv4Addr| Ip4Address(ip.octets());
    let all = w.get::<Ranges>().list();
    Ok(all.iter().map(|r| details(control::table_id(w, r.table), ip(r.start), ip(r.end))).collect())
}

/// Answers for others on an interface, or no longer.
#[derive(Message)]
pub struct ProxyArpIntfcEnableDisable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Answer, not stop answering.
    pub enable: bool,
}

fn intfc_enable_disable(
    w: &World,
    _: &Caller<'_, World>,
    r: ProxyArpIntfcEnableDisable,
) -> Result<()> {
    control::set_proxy(w, r.sw_if_index.existing(w)?, r.enable)
}

/// Asks for the interfaces where others are answered for.
#[derive(Message)]
#[msg(details)]
pub struct ProxyArpIntfcDump {}

/// An interface where others are answered for.
#[derive(Message)]
pub struct ProxyArpIntfcDetails {
    /// The interface.
    pub sw_if_index: u32,
}

fn intfc_dump(
    w: &World,
    _: &Caller<'_, World>,
    _: ProxyArpIntfcDump,
) -> Result<Vec<ProxyArpIntfcDetails>> {
    Ok(control::proxies(w)
        .iter()
        .map(|i| ProxyArpIntfcDetails { sw_if_index: i.sw_if.0 })
        .collect())
}
