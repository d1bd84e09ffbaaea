// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Control, Enabled, StaticName, role};
use crate::key::End;
use crate::show;
use cli::{Command, Error, Matches, Output, Result};
use graph::World;
use net::args::{given_interface, interface};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::IpProtocol;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Enable NAT64, or disable it and forget its configuration; ten entries for each bucket
    "nat64 plugin",
    "{enable [bib-buckets <bibs:u32>] [bib-memory <bib-memory:u32>] [st-buckets <sessions:u32>] [st-memory <st-memory:u32>] | disable}" => plugin;
    /// Make interfaces ones to users of IPv6 (in) or to the world of IPv4 (out)
    "set interface nat64", "{in|out} <interface:interface> [del]" => |w, m| {
        let bit = if m.flag("in") { role::INSIDE } else { role::OUTSIDE };
        control(w).set_role(w, interface(w, m, "interface")?, bit, !m.flag("del"))
    };
    /// Give users addresses of the world
    "nat64 add pool address",
    "<first:ip4> [- <last:ip4>] [tenant-vrf <vrf:u32>] [del]" => |w, m| {
        let first: Ipv4Addr = m.req("first")?;
        let last = m.opt("last")?.unwrap_or(first);
        control(w).set_range(w, (first, last), m.opt("vrf")?, !m.flag("del"))
    };
    /// Give users the first address of an interface
    "nat64 add interface address", "<interface:interface> [del]" => |w, m| {
        control(w).set_followed(w, interface(w, m, "interface")?, !m.flag("del"))
    };
    /// Set the prefix that users of a table have for hosts of the world; with an interface, packets
    /// to it are taken for received there
    "nat64 add prefix",
    "<prefix:prefix6> [tenant-vrf <vrf:u32>] [del] [interface <interface:interface>]" => |w, m| {
        let of = (m.req("prefix")?, m.opt("vrf")?.unwrap_or(0));
        control(w).set_prefix(w, of, given_interface(w, m, "interface")?, !m.flag("del"))
    };
    /// Give a port of a user an end that the world sees, or a protocol without ports an address;
    /// their ports are 0
    "nat64 add static bib",
    "<user:ip6> <port:u16> <address:ip4> <external-port:u16> {tcp|udp|icmp|<protocol:u8>} [{vrf|vfr} <vrf:u32>] [del]" => static_bib;
    /// Seconds without a packet after which sessions end
    "set nat64 timeout",
    "{([udp <udp:u32>] [tcp-established <established:u32>] [tcp-transitory <transitory:u32>] [icmp <icmp:u32>]) | reset}" => timeout;
    /// Addresses of users
    "show nat64 pool" => show::pool;
    /// Interfaces and their roles
    "show nat64 interfaces" => show::interfaces;
    /// Prefixes for hosts of the world
    "show nat64 prefix" => show::prefixes;
    /// Bindings of users' ports, of a protocol or all
    "show nat64 bib", "[all|tcp|udp|icmp|unknown]" => show::bindings;
    /// Sessions, of a protocol or all
    "show nat64 session table", "[all|tcp|udp|icmp|unknown]" => show::sessions;
    /// Seconds without a packet after which sessions end
    "show nat64 timeouts" => show::timeouts;
};

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn plugin(w: &World, m: &Matches) -> Result<()> {
    if m.flag("disable") {
        return control(w).disable(w);
    }
    let number = |name| m.opt(name).map(Option::unwrap_or_default);
    // Memory grows with what is there: VPP's sizes have no effect.
    let options = Enabled { bib_buckets: number("bibs")?, st_buckets: number("sessions")? };
    control(w).enable(w, options)
}

fn static_bib(w: &World, m: &Matches) -> Result<Output> {
    let known = [("tcp", IpProtocol::TCP), ("udp", IpProtocol::UDP), ("icmp", IpProtocol::ICMP)];
    let named = known.into_iter().find(|(word, _)| m.flag(word)).map(|(_, protocol)| protocol.0);
    let protocol = match (named, m.opt("protocol")?) {
        (Some(protocol), _) | (None, Some(protocol)) => protocol,
        (None, None) => return Err(Error::parse("expected tcp, udp, icmp or a number")),
    };
    let name = StaticName {
        vrf: m.opt("vrf")?.unwrap_or(0),
        addr: m.req("user")?,
        port: m.req("port")?,
        protocol,
    };
    let end = End::new(m.req("address")?, m.req("external-port")?);
    Ok(control(w).set_static(w, (name, end), !m.flag("del"))?.output())
}

fn timeout(w: &World, m: &Matches) -> Result<()> {
    let timeouts = control(w).read(|state| state.timeouts).set_by(m)?;
    control(w).set_timeouts(w, timeouts)
}
