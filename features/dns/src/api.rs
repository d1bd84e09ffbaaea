// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `dns`.

use crate::control::Dns;
use crate::lookup::{self, NameAddresses, Reply};
use cli::{Error, Result};
use graph::World;
use msg::{Messages, Module, retval};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::dns::Name;

/// The module.
pub static API: Module<World> = Module::plugin("dns", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: DnsEnableDisable| w.get::<Dns>().enable(w, r.enable != 0));
    m.call(|w, r: DnsNameServerAddDel| {
        let server = address(r.is_ip6, r.server_address);
        let dns = w.get::<Dns>();
        if r.is_add != 0 { dns.add_server(w, server) } else { dns.remove_server(w, server) }
    });
    m.call_later(|w, r: DnsResolveName| lookup::name(w, name(&r.name)?).map(Reply));
    m.call_later(|w, r: DnsResolveIp| lookup::ip(w, address(r.is_ip6, r.address)).map(Reply));
}

msg::messages! {
    /// Enables or disables name resolution.
    DnsEnableDisable,
    /// Adds or removes a name server.
    DnsNameServerAddDel,
    /// Asks for the addresses of a name; the reply comes when they are known.
    DnsResolveName,
    /// An address of each IP version, if the name has one.
    DnsResolveNameReply,
    /// Asks for the name of an address; the reply comes when it is known.
    DnsResolveIp,
    /// The name, which ends with a zero byte.
    DnsResolveIpReply,
}

/// An address of IPv4 is in the first four bytes.
fn address(is_ip6: u8, bytes: [u8; 16]) -> IpAddr {
    if is_ip6 != 0 {
        return Ipv6Addr::from(bytes).into();
    }
    let [a, b, c, d, ..] = bytes;
    Ipv4Addr::new(a, b, c, d).into()
}

/// The name in a field, up to its first zero byte.
fn name(field: &[u8]) -> Result<Name> {
    let bytes = field.split(|byte| *byte == 0).next().unwrap_or_default();
    parse(&String::from_utf8_lossy(bytes))
}

/// Reads a name.
///
/// # Errors
/// A text that is none (−133).
pub fn parse(text: &str) -> Result<Name> {
    text.parse::<Name>()
        .map_err(|e| Error::parse(format!("`{text}' is no name: {e}")).retval(retval::ILLEGAL_NAME))
}

impl From<NameAddresses> for DnsResolveNameReply {
    fn from((ip4, ip6): NameAddresses) -> Self {
        Self {
            ip4_set: ip4.is_some().into(),
            ip6_set: ip6.is_some().into(),
            ip4_address: ip4.map_or([0; 4], |ip| ip.octets()),
            ip6_address: ip6.map_or([0; 16], |ip| ip.octets()),
        }
    }
}

impl From<Name> for DnsResolveIpReply {
    fn from(name: Name) -> Self {
        let mut field = [0; 256];
        // The last byte stays zero.
        let text = name.to_string();
        field.iter_mut().take(255).zip(text.bytes()).for_each(|(slot, byte)| *slot = byte);
        Self { name: field }
    }
}
