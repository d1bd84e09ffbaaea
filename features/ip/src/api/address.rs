// SPDX-License-Identifier: Apache-2.0
//! Addresses of interfaces.

use cli::Result;
use graph::World;
use msg::{Caller, Message, Messages};
use net::api::{AddressWithPrefix, InterfaceIndex};
use net::{Addresses, Interfaces};
use wire::Ip4;

pub(super) fn messages(m: &mut Messages<World>) {
    m.dump(address_dump);
    m.dump(unnumbered_dump);
    m.dump(dump);
    m.call(|w: &World, _: &Caller<'_, World>, r: SwInterfaceIp4EnableDisable| {
        w.get::<Addresses<Ip4>>().enable(w, r.sw_if_index.existing(w)?, r.enable)
    });
}

/// Asks for the addresses of an interface; an unnumbered one has none.
#[derive(Message)]
#[msg(details)]
pub struct IpAddressDump {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Of IPv6.
    pub is_ipv6: bool,
}

/// An address of an interface.
#[derive(Message)]
pub struct IpAddressDetails {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The address and the length of its network.
    pub prefix: AddressWithPrefix,
}

fn address_dump(w: &World, _: &Caller<'_, World>, r: IpAddressDump) -> Result<Vec<IpAddressDetails>> {
    let sw_if = r.sw_if_index.existing(w)?;
    let all = if r.is_ipv6 { Vec::new() } else { w.get::<Addresses<Ip4>>().own(sw_if) };
    let details = |prefix: wire::Ip4Prefix| IpAddressDetails {
        sw_if_index: sw_if.into(),
        prefix: AddressWithPrefix(prefix.into()),
    };
    Ok(all.into_iter().map(details).collect())
}

/// Asks whose addresses an unnumbered interface uses, or all of them.
#[derive(Message)]
#[msg(details)]
pub struct IpUnnumberedDump {
    /// The interface; all bits set for all.
    #[wire(default = "4294967295")]
    pub sw_if_index: InterfaceIndex,
}

/// An unnumbered interface.
#[derive(Message)]
pub struct IpUnnumberedDetails {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Whose addresses it uses.
    pub ip_sw_if_index: InterfaceIndex,
}

fn unnumbered_dump(
    w: &World,
    _: &Caller<'_, World>,
    r: IpUnnumberedDump,
) -> Result<Vec<IpUnnumberedDetails>> {
    let (only, addresses) = (r.sw_if_index.existing_or_all(w)?, w.get::<Addresses<Ip4>>());
    let of = |sw_if| {
        let lender = addresses.unnumbered(sw_if)?;
        Some(IpUnnumberedDetails { sw_if_index: sw_if.into(), ip_sw_if_index: lender.into() })
    };
    let all = w.get::<Interfaces>().list().into_iter().map(|i| i.sw_if);
    Ok(all.filter(|sw_if| only.is_none_or(|only| only == *sw_if)).filter_map(of).collect())
}

/// Asks for all interfaces that may have addresses of their own.
#[derive(Message)]
#[msg(details)]
pub struct IpDump {
    /// Of IPv6.
    pub is_ipv6: bool,
}

/// An interface that may have addresses of its own.
#[derive(Message)]
pub struct IpDetails {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Of IPv6.
    pub is_ipv6: bool,
}

fn dump(w: &World, _: &Caller<'_, World>, r: IpDump) -> Result<Vec<IpDetails>> {
    let addresses = w.get::<Addresses<Ip4>>();
    let all = if r.is_ipv6 { Vec::new() } else { w.get::<Interfaces>().list() };
    let numbered = all.iter().filter(|i| addresses.unnumbered(i.sw_if).is_none());
    Ok(numbered.map(|i| IpDetails { sw_if_index: i.sw_if.into(), is_ipv6: false }).collect())
}

/// Enables IPv4 on an interface without an address, or takes that back.
#[derive(Message)]
pub struct SwInterfaceIp4EnableDisable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Enable, not disable.
    pub enable: bool,
}
