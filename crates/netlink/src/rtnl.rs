// SPDX-License-Identifier: Apache-2.0
//! Questions and orders to the host kernel.

use std::{
    io,
    net::IpAddr,
    os::fd::{AsFd, AsRawFd},
};

use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope},
    link::{
        InfoData, InfoKind, InfoVeth, InfoVlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
        VlanProtocol,
    },
    route::{RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType},
};
use wire::MacAddr;

use crate::{Namespace, link::Link, requests::Requests, socket::malformed};

/// A VLAN link to be created.
#[derive(Clone, Copy, Debug)]
pub struct VlanLink<'a> {
    /// Its name.
    pub name: &'a str,
    /// Index of the interface below.
    pub lower: u32,
    /// The VLAN.
    pub id: u16,
    /// True if frames have a service tag (802.1ad, type 0x88a8).
    pub dot1ad: bool,
}

impl VlanLink<'_> {
    fn message(&self) -> io::Result<LinkMessage> {
        let protocol = if self.dot1ad { VlanProtocol::Ieee8021Ad } else { VlanProtocol::Ieee8021Q };
        let data = vec![InfoVlan::Id(self.id), InfoVlan::Protocol(protocol)];
        let info = vec![LinkInfo::Kind(InfoKind::Vlan), LinkInfo::Data(InfoData::Vlan(data))];
        let lower = LinkAttribute::Link(self.lower);
        Ok(link(0, vec![if_name(self.name)?, lower, LinkAttribute::LinkInfo(info)]))
    }
}

/// An rtnetlink socket for requests. Errors are the kernel's (`EPERM`, `ENODEV`, `EEXIST` …).
///
/// It speaks for the network namespace that it was made in, even if the thread moves on.
#[derive(Debug)]
pub struct Rtnl(Requests);

impl Rtnl {
    /// Opens a socket in the network namespace of the calling thread. To look needs no privilege,
    /// to change needs CAP_NET_ADMIN in that namespace.
    pub fn new() -> io::Result<Self> {
        Requests::new(None).map(Self)
    }

    /// Opens a socket that speaks for `namespace`.
    pub fn in_namespace(namespace: &Namespace) -> io::Result<Self> {
        namespace.run(Self::new)
    }

    /// All interfaces.
    pub fn links(&mut self) -> io::Result<Vec<Link>> {
        self.get_links(NLM_F_DUMP, link(0, vec![]))
    }

    /// The interface of this name; `ENODEV` if there is none.
    pub fn link(&mut self, name: &str) -> io::Result<Link> {
        self.get_link(link(0, vec![if_name(name)?]))
    }

    /// The interface of this index; `ENODEV` if there is none.
    pub fn link_by_index(&mut self, index: u32) -> io::Result<Link> {
        self.get_link(link(index, vec![]))
    }

    fn get_link(&mut self, which: LinkMessage) -> io::Result<Link> {
        let found = self.get_links(NLM_F_ACK, which)?.pop();
        found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
    }

    fn get_links(&mut self, flags: u16, which: LinkMessage) -> io::Result<Vec<Link>> {
        let mut links = Vec::new();
        self.0.talk(flags, RouteNetlinkMessage::GetLink(which), |payload| {
            links.push(Link::parse(payload).map_err(malformed)?);
            Ok(())
        })?;
        Ok(links)
    }

    /// Switches the interface on or off.
    pub fn set_admin_up(&mut self, index: u32, up: bool) -> io::Result<()> {
        let mut link = link(index, vec![]);
        link.header.flags.set(LinkFlags::Up, up);
        link.header.change_mask = LinkFlags::Up;
        self.order(0, RouteNetlinkMessage::NewLink(link))
    }

    /// Sets the MTU, in bytes without the link layer header.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> io::Result<()> {
        self.change(index, LinkAttribute::Mtu(mtu))
    }

    /// Sets how many packets the interface's transmit queue holds.
    pub fn set_queue_len(&mut self, index: u32, packets: u32) -> io::Result<()> {
        self.change(index, LinkAttribute::TxQueueLen(packets))
    }

    /// Sets the Ethernet address.
    pub fn set_mac(&mut self, index: u32, mac: MacAddr) -> io::Result<()> {
        self.change(index, LinkAttribute::Address(mac.octets().to_vec()))
    }

    /// Renames the interface; it may have to be down for that.
    pub fn set_name(&mut self, index: u32, name: &str) -> io::Result<()> {
        self.change(index, if_name(name)?)
    }

    /// Makes the interface a port of the bridge with index `master`, or of none.
    pub fn set_master(&mut self, index: u32, master: Option<u32>) -> io::Result<()> {
        self.change(index, LinkAttribute::Controller(master.unwrap_or(0)))
    }

    /// Moves the interface to another namespace, where it is down and without addresses.
    pub fn set_namespace(&mut self, index: u32, namespace: &Namespace) -> io::Result<()> {
        self.change(index, descriptor(namespace))
    }

    /// Creates a pair of connected Ethernet interfaces, both down: `name` here, `peer` here or in
    /// `peer_namespace`.
    pub fn add_veth(
        &mut self,
        name: &str,
        peer: &str,
        peer_namespace: Option<&Namespace>,
    ) -> io::Result<()> {
        let mut other = vec![if_name(peer)?];
        other.extend(peer_namespace.map(descriptor));
        let info = vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(link(0, other)))),
        ];
        let link = link(0, vec![if_name(name)?, LinkAttribute::LinkInfo(info)]);
        self.order(NLM_F_CREATE | NLM_F_EXCL, RouteNetlinkMessage::NewLink(link))
    }

    /// Creates a VLAN link above another interface: down, with its MAC address.
    pub fn add_vlan(&mut self, vlan: &VlanLink<'_>) -> io::Result<()> {
        self.order(NLM_F_CREATE | NLM_F_EXCL, RouteNetlinkMessage::NewLink(vlan.message()?))
    }

    /// Deletes a virtual interface.
    pub fn delete_link(&mut self, index: u32) -> io::Result<()> {
        self.order(0, RouteNetlinkMessage::DelLink(link(index, vec![])))
    }

    /// Gives the interface an address; the kernel adds the connected route. `EEXIST` if it has it.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix_len: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix_len;
        message.header.scope = AddressScope::Universe;
        message.header.index = index;
        if address.is_ipv6() {
            // No duplicate address detection: the address is to be usable at once, and the operator
            // knows the link.
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        message.attributes =
            vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.order(NLM_F_CREATE | NLM_F_EXCL, RouteNetlinkMessage::NewAddress(message))
    }

    /// Gives the interface an address, or takes it away; that it has it, or hasn't, is no error.
    pub fn ensure_address(
        &mut self,
        index: u32,
        address: IpAddr,
        prefix_len: u8,
        is_there: bool,
    ) -> io::Result<()> {
        let (done, fine) = if is_there {
            (self.add_address(index, address, prefix_len), libc::EEXIST)
        } else {
            let mut message = AddressMessage::default();
            message.header.family = family(address);
            message.header.prefix_len = prefix_len;
            message.header.index = index;
            message.attributes = vec![AddressAttribute::Local(address)];
            (self.order(0, RouteNetlinkMessage::DelAddress(message)), libc::EADDRNOTAVAIL)
        };
        match done {
            Err(error) if error.raw_os_error() == Some(fine) => Ok(()),
            done => done,
        }
    }

    /// Adds, or replaces, a unicast route of the main table to `prefix`/`prefix_len` through
    /// `gateway` out of the interface. A default route has the unspecified address and
    /// length 0.
    pub fn set_route(
        &mut self,
        index: u32,
        prefix: IpAddr,
        prefix_len: u8,
        gateway: IpAddr,
    ) -> io::Result<()> {
        if prefix.is_ipv4() != gateway.is_ipv4() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "prefix and gateway are of different families",
            ));
        }
        let mut message = RouteMessage::default();
        message.header.address_family = family(prefix);
        message.header.destination_prefix_length = prefix_len;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Universe;
        message.header.kind = RouteType::Unicast;
        message.attributes =
            vec![RouteAttribute::Gateway(gateway.into()), RouteAttribute::Oif(index)];
        if prefix_len > 0 {
            message.attributes.push(RouteAttribute::Destination(prefix.into()));
        }
        self.order(NLM_F_CREATE | NLM_F_REPLACE, RouteNetlinkMessage::NewRoute(message))
    }

    /// Sets an attribute of an interface.
    fn change(&mut self, index: u32, attribute: LinkAttribute) -> io::Result<()> {
        self.order(0, RouteNetlinkMessage::NewLink(link(index, vec![attribute])))
    }

    /// Sends a request and hands the payloads of the answers to `answer`.
    pub(crate) fn ask(
        &mut self,
        flags: u16,
        request: RouteNetlinkMessage,
        answer: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.0.talk(flags, request, answer)
    }

    fn order(&mut self, flags: u16, order: RouteNetlinkMessage) -> io::Result<()> {
        self.0.talk(NLM_F_ACK | flags, order, |_| Ok(()))
    }
}

fn link(index: u32, attributes: Vec<LinkAttribute>) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = attributes;
    link
}

/// The family of an address.
pub(crate) fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn descriptor(namespace: &Namespace) -> LinkAttribute {
    LinkAttribute::NetNsFd(namespace.as_fd().as_raw_fd())
}

/// The attribute with a name. The kernel would cut a longer one, or find another interface by an
/// alternative name.
fn if_name(name: &str) -> io::Result<LinkAttribute> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains(['/', ' ', '\0']) {
        let text = format!("`{name}' is no interface name: 1 to 15 characters, no space, no slash");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(LinkAttribute::IfName(name.into()))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn every_host_has_a_loopback() {
        let mut rtnl = Rtnl::new().unwrap();
        let lo = rtnl.link("lo").unwrap();
        assert_eq!((lo.name.as_str(), lo.mac), ("lo", Some(MacAddr::ZERO)));
        assert_eq!(rtnl.link_by_index(lo.index).unwrap().name, "lo");
        assert!(rtnl.links().unwrap().iter().any(|l| l.index == lo.index));
    }

    #[suite::test]
    fn errors_say_what_is_wrong() {
        let mut rtnl = Rtnl::new().unwrap();
        assert_eq!(rtnl.link("nosuchif").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert_eq!(
            rtnl.link("a-name-that-is-too-long").unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        assert_eq!(rtnl.link("").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        // the socket is still in step after an error
        assert_eq!(rtnl.link("lo").unwrap().name, "lo");
    }
}
