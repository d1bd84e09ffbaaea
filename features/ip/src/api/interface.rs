// SPDX-License-Identifier: Apache-2.0
//! The part of the module `interface` that is about IP.

use super::only_ip4;
use crate::control;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, retval};
use net::api::{AddressWithPrefix, InterfaceIndex, no_ip6};
use net::{Addresses, Fib};
use wire::Ip4;

pub(super) fn messages(m: &mut Messages<World>) {
    m.call(add_del_address);
    m.call(set_table);
    m.call(get_table);
    m.call(set_unnumbered);
    m.call(|w: &World, _: &Caller<'_, World>, _: SwInterfaceAddressReplaceBegin| {
        control::replace_addresses_begin(w);
        Ok(())
    });
    m.call(|w: &World, _: &Caller<'_, World>, _: SwInterfaceAddressReplaceEnd| {
        control::replace_addresses_end(w);
        Ok(())
    });
}

/// Gives an interface an address, or takes one or all away.
#[derive(Message)]
pub struct SwInterfaceAddDelAddress {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Give, not take away.
    pub is_add: bool,
    /// Take all away, whatever the other fields say.
    pub del_all: bool,
    /// The address and the length of its network.
    pub prefix: AddressWithPrefix,
}

fn add_del_address(w: &World, _: &Caller<'_, World>, r: SwInterfaceAddDelAddress) -> Result<()> {
    let (sw_if, addresses) = (r.sw_if_index.existing(w)?, w.get::<Addresses<Ip4>>());
    if r.del_all {
        return addresses.clear(w, sw_if);
    }
    let length = |e: Error| e.retval(retval::ADDRESS_LENGTH_MISMATCH);
    let prefix = r.prefix.0.ip4().map_err(length)?.ok_or_else(|| no_ip6("an address"))?;
    if r.is_add { control::add_address(w, sw_if, prefix) } else { addresses.remove(w, sw_if, prefix) }
}

/// Moves an interface to a table.
#[derive(Message)]
pub struct SwInterfaceSetTable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Of IPv6.
    pub is_ipv6: bool,
    /// The table.
    pub vrf_id: u32,
}

fn set_table(w: &World, _: &Caller<'_, World>, r: SwInterfaceSetTable) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    only_ip4(r.is_ipv6, "the table of an interface")?;
    w.get::<Addresses<Ip4>>().set_table(w, sw_if, r.vrf_id)
}

/// Asks for the table that an interface is in.
#[derive(Message)]
#[msg(reply)]
pub struct SwInterfaceGetTable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Of IPv6.
    pub is_ipv6: bool,
}

/// The table that an interface is in.
#[derive(Message)]
pub struct SwInterfaceGetTableReply {
    /// The table.
    pub vrf_id: u32,
}

fn get_table(w: &World, _: &Caller<'_, World>, r: SwInterfaceGetTable) -> Result<SwInterfaceGetTableReply> {
    let sw_if = r.sw_if_index.existing(w)?;
    only_ip4(r.is_ipv6, "the table of an interface")?;
    let index = w.get::<Addresses<Ip4>>().table_of(sw_if)?;
    let gone = || Error::failed(format!("there is no table of index {index}")).retval(retval::NO_SUCH_FIB);
    w.get::<Fib<Ip4>>().table_id(index).map(|vrf_id| SwInterfaceGetTableReply { vrf_id }).ok_or_else(gone)
}

/// Lets an interface speak by another's addresses, or no longer.
#[derive(Message)]
pub struct SwInterfaceSetUnnumbered {
    /// The interface that has the addresses.
    pub sw_if_index: InterfaceIndex,
    /// The one that uses them.
    pub unnumbered_sw_if_index: InterfaceIndex,
    /// Use, not stop using.
    #[wire(default = "true")]
    pub is_add: bool,
}

fn set_unnumbered(w: &World, _: &Caller<'_, World>, r: SwInterfaceSetUnnumbered) -> Result<()> {
    let sw_if = r.unnumbered_sw_if_index.existing(w)?;
    let lender = r.is_add.then_some(SwIfIndex(r.sw_if_index.0));
    w.get::<Addresses<Ip4>>().set_unnumbered(w, sw_if, lender)
}

/// Marks all addresses: those that aren't added again until `sw_interface_address_replace_end` go then.
#[derive(Message)]
pub struct SwInterfaceAddressReplaceBegin {}

/// Removes the addresses that are still marked.
#[derive(Message)]
pub struct SwInterfaceAddressReplaceEnd {}
