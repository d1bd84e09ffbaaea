// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip` about path MTUs.

use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages, Wire};
use net::api::Address;
use net::{Net, PathMtus};
use std::net::IpAddr;
use wire::{Ip4, Ip6};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(update);
    m.stream(get);
    m.call(|w: &World, _: &Caller<'_, World>, _: IpPathMtuReplaceBegin| {
        w.get::<PathMtus<Ip4>>().replace_begin();
        w.get::<PathMtus<Ip6>>().replace_begin();
        Ok(())
    });
    m.call(|w: &World, _: &Caller<'_, World>, _: IpPathMtuReplaceEnd| {
        w.get::<PathMtus<Ip4>>().replace_end();
        w.get::<PathMtus<Ip6>>().replace_end();
        Ok(())
    });
}

/// The MTU of a path.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpPathMtu {
    /// Of no meaning.
    pub client_index: u32,
    /// Of no meaning.
    pub context: u32,
    /// The table.
    pub table_id: u32,
    /// The host, or the next hop.
    pub nh: Address,
    /// Bytes of a packet at most; 0 removes it.
    pub path_mtu: u16,
}

/// Sets the MTU of the path to a host or over a next hop.
#[derive(Message)]
pub struct IpPathMtuUpdate {
    /// The path.
    pub pmtu: IpPathMtu,
}

fn update(w: &World, _: &Caller<'_, World>, r: IpPathMtuUpdate) -> Result<()> {
    let IpPathMtu { table_id, nh, path_mtu, .. } = r.pmtu;
    match nh.into() {
        IpAddr::V4(to) => w.get::<PathMtus<Ip4>>().set(w, table_id, to, path_mtu),
        IpAddr::V6(to) => w.get::<PathMtus<Ip6>>().set(w, table_id, to, path_mtu),
    }
}

/// Asks for all path MTUs that were set.
#[derive(Message)]
#[msg(reply, details)]
pub struct IpPathMtuGet {
    /// 0.
    pub cursor: u32,
}

/// End of the path MTUs.
#[derive(Message)]
pub struct IpPathMtuGetReply {
    /// All bits set.
    pub cursor: u32,
}

/// The MTU of a path.
#[derive(Message)]
pub struct IpPathMtuDetails {
    /// The path.
    pub pmtu: IpPathMtu,
}

fn get(
    w: &World,
    _: &Caller<'_, World>,
    _: IpPathMtuGet,
) -> Result<(Vec<IpPathMtuDetails>, IpPathMtuGetReply)> {
    let details = |pmtu| IpPathMtuDetails { pmtu };
    let all = [of::<Ip4>(w), of::<Ip6>(w)].concat().into_iter().map(details).collect();
    Ok((all, IpPathMtuGetReply { cursor: u32::MAX }))
}

fn of<F: Net>(w: &World) -> Vec<IpPathMtu> {
    let path = |(table_id, to, path_mtu): (u32, F::Addr, u16)| {
        let nh = Into::<IpAddr>::into(to).into();
        IpPathMtu { table_id, nh, path_mtu, ..IpPathMtu::default() }
    };
    w.get::<PathMtus<F>>().list(w).into_iter().map(path).collect()
}

/// Marks all path MTUs: `ip_path_mtu_replace_end` removes the ones that aren't set again until
/// then.
#[derive(Message)]
pub struct IpPathMtuReplaceBegin {}

/// Removes the path MTUs that are still marked.
#[derive(Message)]
pub struct IpPathMtuReplaceEnd {}
