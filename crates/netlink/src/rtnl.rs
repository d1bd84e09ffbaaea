// SPDX-License-Identifier: Apache-2.0
//! Questions and orders to the host kernel.

use std::{
    io,
    net::IpAddr,
    os::fd::{AsFd, AsRawFd},
};

use wire::MacAddr;

use crate::{
    Namespace,
    link::Link,
    message::{Attributes, Message, request},
    requests::Requests,
};

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
        let mut links = Vec::new();
        let request = request(libc::RTM_GETLINK, libc::NLM_F_DUMP, &ifinfomsg(0, 0, 0));
        self.talk(request, |message| {
            links.push(Link::parse(message)?);
            Ok(())
        })?;
        Ok(links)
    }

    /// The interface of this name; `ENODEV` if there is none.
    pub fn link(&mut self, name: &str) -> io::Result<Link> {
        self.get_link(
            request(libc::RTM_GETLINK, libc::NLM_F_ACK, &ifinfomsg(0, 0, 0))
                .name(libc::IFLA_IFNAME, check_name(name)?),
        )
    }

    /// The interface of this index; `ENODEV` if there is none.
    pub fn link_by_index(&mut self, index: u32) -> io::Result<Link> {
        self.get_link(request(libc::RTM_GETLINK, libc::NLM_F_ACK, &ifinfomsg(index, 0, 0)))
    }

    fn get_link(&mut self, request: Attributes) -> io::Result<Link> {
        let mut found = None;
        self.talk(request, |message| {
            found = Some(Link::parse(message)?);
            Ok(())
        })?;
        found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
    }

    /// Switches the interface on or off.
    pub fn set_admin_up(&mut self, index: u32, up: bool) -> io::Result<()> {
        let flags = if up { libc::IFF_UP as u32 } else { 0 };
        self.order(request(
            libc::RTM_NEWLINK,
            libc::NLM_F_ACK,
            &ifinfomsg(index, flags, libc::IFF_UP as u32),
        ))
    }

    /// Sets the MTU, in bytes without the link layer header.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> io::Result<()> {
        self.order(change(index).number(libc::IFLA_MTU, mtu))
    }

    /// Sets how many packets the interface's transmit queue holds.
    pub fn set_queue_len(&mut self, index: u32, packets: u32) -> io::Result<()> {
        self.order(change(index).number(libc::IFLA_TXQLEN, packets))
    }

    /// Sets the Ethernet address.
    pub fn set_mac(&mut self, index: u32, mac: MacAddr) -> io::Result<()> {
        self.order(change(index).attribute(libc::IFLA_ADDRESS, &mac.octets()))
    }

    /// Renames the interface; it may have to be down for that.
    pub fn set_name(&mut self, index: u32, name: &str) -> io::Result<()> {
        self.order(change(index).name(libc::IFLA_IFNAME, check_name(name)?))
    }

    /// Makes the interface a port of the bridge with index `master`, or of none.
    pub fn set_master(&mut self, index: u32, master: Option<u32>) -> io::Result<()> {
        self.order(change(index).number(libc::IFLA_MASTER, master.unwrap_or(0)))
    }

    /// Moves the interface to another namespace, where it is down and without addresses.
    pub fn set_namespace(&mut self, index: u32, namespace: &Namespace) -> io::Result<()> {
        self.order(change(index).number(libc::IFLA_NET_NS_FD, namespace.as_fd().as_raw_fd() as u32))
    }

    /// Creates a pair of connected Ethernet interfaces, both down: `name` here, `peer` here or in
    /// `peer_namespace`.
    pub fn add_veth(
        &mut self,
        name: &str,
        peer: &str,
        peer_namespace: Option<&Namespace>,
    ) -> io::Result<()> {
        const VETH_INFO_PEER: u16 = 1;
        let mut other =
            Attributes::after(&ifinfomsg(0, 0, 0)).name(libc::IFLA_IFNAME, check_name(peer)?);
        if let Some(namespace) = peer_namespace {
            other = other.number(libc::IFLA_NET_NS_FD, namespace.as_fd().as_raw_fd() as u32);
        }
        let data = Attributes::default().attribute(VETH_INFO_PEER, other.bytes());
        let info = Attributes::default()
            .name(libc::IFLA_INFO_KIND, "veth")
            .attribute(libc::IFLA_INFO_DATA, data.bytes());
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.order(
            request(libc::RTM_NEWLINK, flags, &ifinfomsg(0, 0, 0))
                .name(libc::IFLA_IFNAME, check_name(name)?)
                .attribute(libc::IFLA_LINKINFO, info.bytes()),
        )
    }

    /// Deletes a virtual interface.
    pub fn delete_link(&mut self, index: u32) -> io::Result<()> {
        self.order(request(libc::RTM_DELLINK, libc::NLM_F_ACK, &ifinfomsg(index, 0, 0)))
    }

    /// Gives the interface an address; the kernel adds the connected route. `EEXIST` if it has it.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix_len: u8) -> io::Result<()> {
        let (family, bytes) = octets(address);
        // ifaddrmsg: family, prefix length, flags, scope, index. No duplicate address detection:
        // the address is to be usable at once, and the operator knows the link.
        let mut body =
            [family, prefix_len, libc::IFA_F_NODAD as u8, libc::RT_SCOPE_UNIVERSE, 0, 0, 0, 0];
        body[4..].copy_from_slice(&index.to_ne_bytes());
        if address.is_ipv4() {
            body[2] = 0;
        }
        self.order(
            request(
                libc::RTM_NEWADDR,
                libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL,
                &body,
            )
            .attribute(libc::IFA_LOCAL, &bytes)
            .attribute(libc::IFA_ADDRESS, &bytes),
        )
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
        let (family, destination) = octets(prefix);
        let (gateway_family, gateway) = octets(gateway);
        if family != gateway_family {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "prefix and gateway are of different families",
            ));
        }
        // rtmsg: family, dst_len, src_len, tos, table, protocol, scope, type, flags
        let body = [
            family,
            prefix_len,
            0,
            0,
            libc::RT_TABLE_MAIN,
            libc::RTPROT_STATIC,
            libc::RT_SCOPE_UNIVERSE,
            libc::RTN_UNICAST,
            0,
            0,
            0,
            0,
        ];
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let mut request = request(libc::RTM_NEWROUTE, flags, &body);
        if prefix_len > 0 {
            request = request.attribute(libc::RTA_DST, &destination);
        }
        self.order(request.attribute(libc::RTA_GATEWAY, &gateway).number(libc::RTA_OIF, index))
    }

    fn order(&mut self, request: Attributes) -> io::Result<()> {
        self.talk(request, |_| Ok(()))
    }

    fn talk(
        &mut self,
        request: Attributes,
        answer: impl FnMut(Message<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.0.talk(request, answer)
    }
}

fn change(index: u32) -> Attributes {
    request(libc::RTM_NEWLINK, libc::NLM_F_ACK, &ifinfomsg(index, 0, 0))
}

/// `ifinfomsg`: family, pad, type, index, flags, mask of the flags to change.
fn ifinfomsg(index: u32, flags: u32, mask: u32) -> [u8; 16] {
    let mut body = [0; 16];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body[8..12].copy_from_slice(&flags.to_ne_bytes());
    body[12..16].copy_from_slice(&mask.to_ne_bytes());
    body
}

/// Address family and bytes.
fn octets(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(v4) => (libc::AF_INET as u8, v4.octets().to_vec()),
        IpAddr::V6(v6) => (libc::AF_INET6 as u8, v6.octets().to_vec()),
    }
}

/// The kernel would cut a longer name, or find another interface by an alternative name.
fn check_name(name: &str) -> io::Result<&str> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains(['/', ' ', '\0']) {
        let text = format!("`{name}' is no interface name: 1 to 15 characters, no space, no slash");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_loopback() {
        let mut rtnl = Rtnl::new().unwrap();
        let lo = rtnl.link("lo").unwrap();
        assert_eq!((lo.name.as_str(), lo.mac), ("lo", Some(MacAddr::ZERO)));
        assert_eq!(rtnl.link_by_index(lo.index).unwrap().name, "lo");
        assert!(rtnl.links().unwrap().iter().any(|l| l.index == lo.index));
    }

    #[test]
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
