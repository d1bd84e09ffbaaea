// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Algorithm, Control, Enabled, SessionName, named_ends};
use crate::ha::resync::Resync;
use crate::ha::{Failover, Listener};
use crate::settings::{OUTPUT_INSIDE, role};
use crate::show;
use cli::{Command, Error, Matches, Output, Result};
use graph::World;
use nat::key::{User, read_end, read_protocol};
use nat::statics::{StaticMapping, read_host, read_identity};
use net::args::{given_interface, interface};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Bytes of a datagram to another router, if no other number is set.
const PATH_MTU: u32 = 512;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Enable NAT44-EI, or disable it and forget its configuration
    "nat44 ei plugin",
    "{enable ([sessions <sessions:u32>] [users <users:u32>] [{static-mapping-only|static-mappig-only} [connection-tracking]] [out2in-dpo] [inside-vrf <inside:u32>] [outside-vrf <outside:u32>] [user-sessions <user-sessions:u32>]) | disable}" => plugin;
    /// Let packets without a mapping pass as they are
    "nat44 ei forwarding", "{enable|disable}" => |w, m| {
        control(w).set_forwarding(w, m.flag("enable"))
    };
    /// Make interfaces ones to users (in) and to the world (out); with output-feature, translate
    /// packets as they leave
    "set interface nat44 ei",
    "([in <in:interface>] [out <out:interface>] [output-feature] [del])" => set_interface;
    /// Give users addresses of the world
    "nat44 ei add address", "<first:ip4> [- <last:ip4>] [tenant-vrf <vrf:u32>] [del]" => |w, m| {
        let first: Ipv4Addr = m.req("first")?;
        let last = m.opt("last")?.unwrap_or(first);
        control(w).set_range(w, (first, last), m.opt("vrf")?, !m.flag("del"))
    };
    /// Give users the first address of an interface
    "nat44 ei add interface address", "<interface:interface> [del]" => |w, m| {
        control(w).set_followed(w, interface(w, m, "interface")?, !m.flag("del"))
    };
    /// Give a host, or a port of it, an address of the world
    "nat44 ei add static mapping",
    "([tcp|udp|icmp] {local <local:ip4> [<local-port:u16>]} {external {<address:ip4>|<interface:interface>} [<port:u16>]} [vrf <vrf:u32>] [tag <tag:word>] [del])" => |w, m| {
        set(w, m, read_host(w, m)?)
    };
    /// Let the packets of an address or a port pass as they are
    "nat44 ei add identity mapping",
    "{external <interface:interface> | <address:ip4>} [{tcp|udp|icmp} <port:u16>] [vrf <vrf:u32>] [tag <tag:word>] [del]" => |w, m| {
        set(w, m, read_identity(w, m)?)
    };
    /// Choose the ports that users get: any, those of a port set identifier (MAP-E), or a range
    "nat44 ei addr-port-assignment-alg",
    "{default | map-e psid <psid:u16> psid-offset <offset:u8> psid-len <length:u8> | port-range <first:u16> - <last:u16>}" => algorithm;
    /// Seconds without a packet after which sessions end
    "set nat44 ei timeout",
    "{([udp <udp:u32>] [tcp-established <established:u32>] [tcp-transitory <transitory:u32>] [icmp <icmp:u32>]) | reset}" => |w, m| {
        let timeouts = control(w).read(|state| state.timeouts).set_by(m)?;
        control(w).set_timeouts(w, timeouts)
    };
    /// Limit the maximum segment size that TCP connections ask for
    "nat44 ei mss-clamping", "{<mss:1-65535> | disable}" => |w, m| {
        control(w).set_mss(w, m.opt("mss")?)
    };
    /// Choose the workers that have sessions: numbers and ranges, as 0,2-3, or all
    "set nat44 ei workers", "<workers:word>" => |w, m| {
        control(w).set_workers(w, nat::workers::read(w, m)?)
    };
    /// Export events of all kinds of NAT by IPFIX, or no longer: as `nat ipfix logging`
    "nat44 ei ipfix logging", "{disable | enable [domain <domain:u32>] [src-port <port:u16>]}" => ::nat::log::run_ipfix;
    /// Setting of VPP without effect here: NAT writes to the daemon's log
    "nat44 ei set logging level", "<level:0-5>" => |_, _| {
        Ok(Output::text("no effect: NAT writes to the log of the daemon\n"))
    };
    /// End a session, by its end inside or outside
    "nat44 ei del session",
    "{in|out} <end:word> {tcp|udp|icmp} [vrf <vrf:u32>] [external-host <host:word>]" => del_session;
    /// End all sessions of a user
    "nat44 ei del user", "<user:ip4> [fib <fib:u32>]" => |w, m| {
        let user = User { fib: m.opt("fib")?.unwrap_or(0), addr: m.req("user")? };
        let ended = control(w).delete_user(w, user)?;
        Ok(ended.then(|ended| named_ends(ended).map(|()| Output::empty())))
    };
    /// End all sessions
    "clear nat44 ei sessions" => |w, _| {
        Ok(control(w).clear(w)?.then(|ended| {
            let n: u32 = ended.into_iter().sum();
            Ok(Output::both(format!("ended sessions: {n}\n"), serde_json::json!({ "ended": n })))
        }))
    };
    /// Address and port that another router's copies of sessions come to
    "nat44 ei ha listener", "{off | <end:word> [path-mtu <mtu:u32>]}" => |w, m| {
        let path_mtu = m.opt("mtu")?.unwrap_or(PATH_MTU);
        let end = if m.flag("off") { None } else { Some(read_end(m, "end")?) };
        control(w).set_listener(w, end.map(|end| Listener { end, path_mtu }))
    };
    /// Address and port of the router that takes over, which gets copies of all sessions
    "nat44 ei ha failover", "{off | <end:word> [refresh-interval <refresh:u32>]}" => |w, m| {
        let refresh = m.opt("refresh")?.unwrap_or(0);
        let end = if m.flag("off") { None } else { Some(read_end(m, "end")?) };
        control(w).set_failover(w, end.map(|end| Failover { end, refresh }))
    };
    /// Send the events of sessions that wait for more
    "nat44 ei ha flush" => |w, _| {
        Ok(control(w).flush(w)?.then(|_| Ok(Output::empty())))
    };
    /// Send all sessions to the other router
    "nat44 ei ha resync" => |w, _| {
        control(w).check()?;
        w.get::<Resync>().begin(w, Box::new(|_, _| {}))
    };
    /// Addresses of users
    "show nat44 ei addresses" => show::addresses;
    /// Interfaces whose address is in the pool
    "show nat44 ei interface address" => show::followed;
    /// Interfaces and their roles
    "show nat44 ei interfaces" => show::interfaces;
    /// Static mappings
    "show nat44 ei static mappings" => show::mappings;
    /// Users; with detail, their sessions
    "show nat44 ei sessions", "[detail] [filter saddr <saddr:ip4>]" => show::sessions;
    /// Memory of the table of sessions
    "show nat44 ei hash tables", "[detail|verbose]" => show::tables;
    /// The ports that users get
    "show nat44 ei addr-port-assignment-alg" => show::algorithm;
    /// Seconds without a packet after which sessions end
    "show nat44 ei timeouts" => show::timeouts;
    /// The greatest segment size of TCP connections
    "show nat44 ei mss-clamping" => show::mss;
    /// The workers that have sessions
    "show nat44 ei workers" => show::workers;
    /// The other router, and the last transfer of all sessions to it
    "show nat44 ei ha" => show::ha;
};

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn plugin(w: &World, m: &Matches) -> Result<()> {
    if m.flag("disable") {
        return control(w).disable(w);
    }
    let number = |name| m.opt(name).map(Option::unwrap_or_default);
    let options = Enabled {
        inside: number("inside")?,
        outside: number("outside")?,
        users: number("users")?,
        sessions: number("sessions")?,
        user_sessions: number("user-sessions")?,
        static_only: m.flag("static-mapping-only") || m.flag("static-mappig-only"),
        tracking: m.flag("connection-tracking"),
        dpo: m.flag("out2in-dpo"),
    };
    control(w).enable(w, options)
}

fn set_interface(w: &World, m: &Matches) -> Result<()> {
    let inside = given_interface(w, m, "in")?;
    let outside = given_interface(w, m, "out")?;
    if inside.is_none() && outside.is_none() {
        return Err(Error::parse("expected in or out with an interface"));
    }
    let roles = match m.flag("output-feature") {
        true => [role::OUTPUT | OUTPUT_INSIDE, role::OUTPUT],
        false => [role::INSIDE, role::OUTSIDE],
    };
    for (sw_if, bit) in [inside, outside].into_iter().zip(roles) {
        if let Some(sw_if) = sw_if {
            control(w).set_role(w, sw_if, bit, !m.flag("del"))?;
        }
    }
    Ok(())
}

fn set(w: &World, m: &Matches, mapping: StaticMapping) -> Result<()> {
    match m.flag("del") {
        true => control(w).remove_mapping(w, &mapping),
        false => control(w).add_mapping(w, mapping),
    }
}

fn algorithm(w: &World, m: &Matches) -> Result<()> {
    let algorithm = if m.flag("map-e") {
        Algorithm::MapE { offset: m.req("offset")?, length: m.req("length")?, psid: m.req("psid")? }
    } else if m.flag("port-range") {
        Algorithm::Range { first: m.req("first")?, last: m.req("last")? }
    } else {
        Algorithm::Default
    };
    control(w).set_algorithm(w, algorithm)
}

fn del_session(w: &World, m: &Matches) -> Result<Output> {
    if m.has("host") {
        // A session is the same for all hosts of the world; the word is VPP's.
        read_end(m, "host")?;
    }
    let name = SessionName {
        inside: m.flag("in"),
        end: read_end(m, "end")?,
        protocol: read_protocol(m),
        vrf: m.opt("vrf")?.unwrap_or(0),
    };
    let ended = control(w).delete_session(w, name)?;
    Ok(ended.then(|ended| named_ends(ended).map(|()| Output::empty())))
}
