// SPDX-License-Identifier: Apache-2.0
//! Addresses of interfaces.

use crate::control;
use cli::Result;
use graph::{SwIfIndex, World};
use msg::Messages;
use net::api::{AddressWithPrefix, InterfaceIndex, Ip6Address};
use net::{Addresses, Interfaces, LinkLocals, Net};
use wire::{Ip4, Ip6};

pub(super) fn messages(m: &mut Messages<World>) {
    m.dump(address_dump);
    m.dump(unnumbered_dump);
    m.dump(dump);
    m.call(|w, r: SwInterfaceIp4EnableDisable| {
        w.get::<Addresses<Ip4>>().enable(w, r.sw_if_index.existing(w)?, r.enable)
    });
    m.call(|w, r: SwInterfaceIp6EnableDisable| {
        w.get::<Addresses<Ip6>>().enable(w, r.sw_if_index.existing(w)?, r.enable)
    });
    m.call(|w, r: SwInterfaceIp6SetLinkLocalAddress| {
        control::set_link_local(w, r.sw_if_index.existing(w)?, r.ip.0.into())
    });
    m.call(link_local);
}

msg::messages! {
    /// Asks for the addresses of an interface; an unnumbered one has none.
    IpAddressDump,
    /// An address of an interface.
    IpAddressDetails,
    /// Asks for the lender of an unnumbered interface's addresses, or of all such interfaces.
    IpUnnumberedDump,
    /// An unnumbered interface.
    IpUnnumberedDetails,
    /// Asks for all interfaces that may have addresses of their own.
    IpDump,
    /// An interface that may have addresses of its own.
    IpDetails,
    /// Enables IPv6 on an interface without an address, or takes that back.
    SwInterfaceIp6EnableDisable,
    /// Sets the link-local address of an interface, and enables IPv6 on it.
    SwInterfaceIp6SetLinkLocalAddress,
    /// Asks for the link-local address of an interface.
    SwInterfaceIp6GetLinkLocalAddress,
    /// Enables IPv4 on an interface without an address, or takes that back.
    SwInterfaceIp4EnableDisable,
}

fn address_dump(w: &World, r: IpAddressDump) -> Result<Vec<IpAddressDetails>> {
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

fn unnumbered_dump(w: &World, r: IpUnnumberedDump) -> Result<Vec<IpUnnumberedDetails>> {
    let (only, addresses) = (r.sw_if_index.existing_or_all(w)?, w.get::<Addresses<Ip4>>());
    let of = |sw_if| {
        let lender = addresses.unnumbered(sw_if)?;
        Some(IpUnnumberedDetails { sw_if_index: sw_if.into(), ip_sw_if_index: lender.into() })
    };
    let all = w.get::<Interfaces>().list().into_iter().map(|i| i.sw_if);
    Ok(all.filter(|sw_if| only.is_none_or(|only| only == *sw_if)).filter_map(of).collect())
}

fn dump(w: &World, r: IpDump) -> Result<Vec<IpDetails>> {
    let all = w.get::<Interfaces>().list().into_iter().map(|i| i.sw_if);
    let is_numbered = |sw_if: &SwIfIndex| {
        let lender = net::by_version!(r.is_ipv6, F => w.get::<Addresses<F>>().unnumbered(*sw_if));
        lender.is_none()
    };
    let details = |sw_if: SwIfIndex| IpDetails { sw_if_index: sw_if.into(), is_ipv6: r.is_ipv6 };
    Ok(all.filter(is_numbered).map(details).collect())
}

fn link_local(w: &World, r: SwInterfaceIp6GetLinkLocalAddress) -> Result<Ip6Address> {
    let address = w.get::<LinkLocals>().address(r.sw_if_index.existing(w)?);
    Ok(Ip6Address(address.map_or([0; 16], |address| address.octets())))
}
