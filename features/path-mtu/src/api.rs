// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip` about path MTUs.

use cli::Result;
use graph::World;
use msg::Messages;
use net::api::Address;
use net::{Net, PathMtus};
use std::net::IpAddr;
use wire::{Ip4, Ip6};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(update);
    m.stream(get);
    m.order(|w, _: IpPathMtuReplaceBegin| {
        w.get::<PathMtus<Ip4>>().replace_begin();
        w.get::<PathMtus<Ip6>>().replace_begin();
    });
    m.order(|w, _: IpPathMtuReplaceEnd| {
        w.get::<PathMtus<Ip4>>().replace_end();
        w.get::<PathMtus<Ip6>>().replace_end();
    });
}

msg::messages! {
    /// The MTU of a path.
    IpPathMtu,
    /// Sets the MTU of the path to a host or over a next hop.
    IpPathMtuUpdate,
    /// Asks for all path MTUs that were set.
    IpPathMtuGet,
    /// The MTU of a path.
    IpPathMtuDetails,
    /// Marks all path MTUs: `ip_path_mtu_replace_end` removes the ones that aren't set again until
    /// then.
    IpPathMtuReplaceBegin,
    /// Removes the path MTUs that are still marked.
    IpPathMtuReplaceEnd,
}

fn update(w: &World, r: IpPathMtuUpdate) -> Result<()> {
    let IpPathMtu { table_id, nh, path_mtu, .. } = r.pmtu;
    match nh.into() {
        IpAddr::V4(to) => w.get::<PathMtus<Ip4>>().set(w, table_id, to, path_mtu),
        IpAddr::V6(to) => w.get::<PathMtus<Ip6>>().set(w, table_id, to, path_mtu),
    }
}

fn get(w: &World, _: IpPathMtuGet) -> Result<Vec<IpPathMtuDetails>> {
    let details = |pmtu| IpPathMtuDetails { pmtu };
    let all = [of::<Ip4>(w), of::<Ip6>(w)].concat().into_iter().map(details).collect();
    Ok(all)
}

fn of<F: Net>(w: &World) -> Vec<IpPathMtu> {
    let path = |(table_id, to, path_mtu): (u32, F::Addr, u16)| {
        let nh = Into::<IpAddr>::into(to).into();
        IpPathMtu { table_id, nh, path_mtu, ..IpPathMtu::default() }
    };
    w.get::<PathMtus<F>>().list(w).into_iter().map(path).collect()
}
