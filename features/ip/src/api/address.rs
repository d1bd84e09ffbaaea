// SPDX-License-Identifier: Apache-2.0
//! Addresses of interfaces.

use crate::control;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages};
use net::api::{AddressWithPrefix, InterfaceIndex, Ip6Address};
use net::{Addresses, Interfaces, LinkLocals, Net};
use wire::{Ip4, Ip6};

pub(super) fn messages(m: &mut Messages<World>) {
    m.dump(address_dump);
    m.dump(unnumbered_dump);
    m.dump(dump);
    m.call(|w: &World, _: &Caller<'_, World>, r: SwInterfaceIp4EnableDisable| {
        w.get::<Addresses<Ip4>>().enable(w, r.sw_if_index.existing(w)?, r.enable)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: SwInterfaceIp6EnableDisable| {
        w.get::<Addresses<Ip6>>().enable(w, r.sw_if_index.existing(w)?, r.enable)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: SwInterfaceIp6SetLinkLocalAddress| {
        control::set_link_local(w, r.sw_if_index.existing(w)?, r.ip.0.into())
    });
    m.call(link_local);
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

fn address_dump(
    w: &World,
    _: &Caller<'_, World>,
    r: IpAddressDump,
) -> Result<Vec<IpAddressDetails>> {
    let sw_if = r.sw_if_index.existing(w)?;
    Ok(net::by_version!(r.is_ipv6, addresses_of(w, sw_if)))
}

fn addresses_of<F: Net>(w: &World, sw_if: SwIfIndex) -> Vec<IpAddressDetails> {
    let details = |prefix: wire::Prefix<F::Addr>| IpAddressDetails {
        sw_if_index: sw_if.into(),
        prefix: AddressWithPrefix(prefix.into()),
    };
    w.get::<Addresses<F>>().own(sw_if).into_iter().map(details).collect()
}

/// Asks for the lender of an unnumbered interface's addresses, or of all such interfaces.
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
    /// The interface whose addresses it uses.
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
    let numbered = net::by_version!(r.is_ipv6, numbered(w));
    let details = |sw_if: SwIfIndex| IpDetails { sw_if_index: sw_if.into(), is_ipv6: r.is_ipv6 };
    Ok(numbered.into_iter().map(details).collect())
}

fn numbered<F: Net>(w: &World) -> Vec<SwIfIndex> {
    let addresses = w.get::<Addresses<F>>();
    let all = w.get::<Interfaces>().list().into_iter();
    all.map(|i| i.sw_if).filter(|sw_if| addresses.unnumbered(*sw_if).is_none()).collect()
}

/// Enables IPv6 on an interface without an address, or takes that back.
#[derive(Message)]
pub struct SwInterfaceIp6EnableDisable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Enable, not disable.
    pub enable: bool,
}

/// Sets the link-local address of an interface, and enables IPv6 on it.
#[derive(Message)]
pub struct SwInterfaceIp6SetLinkLocalAddress {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The address.
    pub ip: Ip6Address,
}

/// Asks for the link-local address of an interface.
#[derive(Message)]
#[msg(reply)]
pub struct SwInterfaceIp6GetLinkLocalAddress {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// The link-local address of an interface.
#[derive(Message)]
pub struct SwInterfaceIp6GetLinkLocalAddressReply {
    /// The address; zeros without IPv6.
    pub ip: Ip6Address,
}

fn link_local(
    w: &World,
    _: &Caller<'_, World>,
    r: SwInterfaceIp6GetLinkLocalAddress,
) -> Result<SwInterfaceIp6GetLinkLocalAddressReply> {
    let address = w.get::<LinkLocals>().address(r.sw_if_index.existing(w)?);
    let ip = Ip6Address(address.map_or([0; 16], |address| address.octets()));
    Ok(SwInterfaceIp6GetLinkLocalAddressReply { ip })
}

/// Enables IPv4 on an interface without an address, or takes that back.
#[derive(Message)]
pub struct SwInterfaceIp4EnableDisable {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Enable, not disable.
    pub enable: bool,
}
