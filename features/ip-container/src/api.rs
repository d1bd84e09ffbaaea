// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip` about containers.

use crate::Containers;
use cli::Result;
use graph::World;
use msg::Messages;
use net::Net;
use net::api::{InterfaceIndex, Prefix};
use wire::{Ip4, Ip6};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.dump(dump);
}

msg::messages! {
    /// Delivers packets to a container's addresses here, or no longer.
    IpContainerProxyAddDel,
    /// Asks for containers.
    IpContainerProxyDump,
    /// A container.
    IpContainerProxyDetails,
}

fn add_del(w: &World, r: IpContainerProxyAddDel) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    match (r.pfx.of::<Ip4>()?, r.pfx.of::<Ip6>()?) {
        (Some(prefix), _) => w.get::<Containers<Ip4>>().set(w, prefix, sw_if, r.is_add),
        (_, Some(prefix)) => w.get::<Containers<Ip6>>().set(w, prefix, sw_if, r.is_add),
        _ => Ok(()),
    }
}

fn dump(w: &World, _: IpContainerProxyDump) -> Result<Vec<IpContainerProxyDetails>> {
    fn of<F: Net>(w: &World) -> impl Iterator<Item = IpContainerProxyDetails> {
        let all = w.get::<Containers<F>>().list().into_iter();
        all.map(|(prefix, sw_if)| IpContainerProxyDetails {
            sw_if_index: sw_if.into(),
            prefix: prefix.into(),
        })
    }
    Ok(of::<Ip4>(w).chain(of::<Ip6>(w)).collect())
}
