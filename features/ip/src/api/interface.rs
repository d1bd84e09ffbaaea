// SPDX-License-Identifier: Apache-2.0
//! The part of the module `interface` that is about IP.

use crate::broadcast::DirectedBroadcast;
use crate::control;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, retval};
use net::api::{AddressWithPrefix, InterfaceIndex};
use net::{Addresses, Fib, Net};
use wire::{Ip4, Ip6};

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(add_del_address);
    m.call(set_table);
    m.call(get_table);
    m.call(set_unnumbered);
    m.call(|w, r: SwInterfaceSetIpDirectedBroadcast| {
        w.get::<DirectedBroadcast>().set(w, r.sw_if_index.existing(w)?, r.enable)
    });
    m.order(|w, _: SwInterfaceAddressReplaceBegin| {
        control::replace_addresses_begin::<Ip4>(w);
        control::replace_addresses_begin::<Ip6>(w);
    });
    m.order(|w, _: SwInterfaceAddressReplaceEnd| {
        control::replace_addresses_end::<Ip4>(w);
        control::replace_addresses_end::<Ip6>(w);
    });
}

msg::messages! {
    /// Gives an interface an address, or takes one or all away.
    SwInterfaceAddDelAddress,
    /// Moves an interface to a table.
    SwInterfaceSetTable,
    /// Asks for the table that an interface is in.
    SwInterfaceGetTable,
    /// Starts or stops the use of another interface's addresses by an unnumbered interface.
    SwInterfaceSetUnnumbered,
    /// Sends packets for the broadcast address of an interface's networks there, or drops them.
    SwInterfaceSetIpDirectedBroadcast,
    /// Marks all addresses: `sw_interface_address_replace_end` removes the ones not added again by
    /// then.
    SwInterfaceAddressReplaceBegin,
    /// Removes the addresses that are still marked.
    SwInterfaceAddressReplaceEnd,
}

fn add_del_address(w: &World, r: SwInterfaceAddDelAddress) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    if r.del_all {
        w.get::<Addresses<Ip4>>().clear(w, sw_if)?;
        return w.get::<Addresses<Ip6>>().clear(w, sw_if);
    }
    let length = |e: Error| e.retval(retval::ADDRESS_LENGTH_MISMATCH);
    if let Some(prefix) = r.prefix.0.of::<Ip4>().map_err(length)? {
        return add_or_remove::<Ip4>(w, sw_if, prefix, r.is_add);
    }
    r.prefix
        .0
        .of::<Ip6>()?
        .map_or(Ok(()), |prefix| add_or_remove::<Ip6>(w, sw_if, prefix, r.is_add))
}

fn add_or_remove<F: Net>(
    w: &World,
    sw_if: SwIfIndex,
    prefix: wire::Prefix<F::Addr>,
    add: bool,
) -> Result<()> {
    if add {
        control::add_address::<F>(w, sw_if, prefix)
    } else {
        control::remove_address::<F>(w, sw_if, prefix)
    }
}

fn set_table(w: &World, r: SwInterfaceSetTable) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    net::by_version!(r.is_ipv6, F => w.get::<Addresses<F>>().set_table(w, sw_if, r.vrf_id))
}

fn get_table(w: &World, r: SwInterfaceGetTable) -> Result<u32> {
    let sw_if = r.sw_if_index.existing(w)?;
    net::by_version!(r.is_ipv6, F => {
        let index = w.get::<Addresses<F>>().table_of(sw_if)?;
        let gone = || Error::failed(format!("there is no table of index {index}"));
        w.get::<Fib<F>>().table_id(index).ok_or_else(|| gone().retval(retval::NO_SUCH_FIB))
    })
}

fn set_unnumbered(w: &World, r: SwInterfaceSetUnnumbered) -> Result<()> {
    let sw_if = r.unnumbered_sw_if_index.existing(w)?;
    let lender = r.is_add.then_some(SwIfIndex(r.sw_if_index.0));
    control::set_unnumbered(w, sw_if, lender)
}
