// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Control, Enabled, SessionName, named_ends};
use crate::key::{read_end, read_protocol as protocol};
use crate::settings::role;
use crate::show;
use ::nat::log;
use cli::{Command, Error, Matches, Output, Result};
use graph::World;
use nat::statics::{
    External, LocalHost, MappingKind, StaticMapping, read_host, read_identity, read_twice as twice,
};
use net::args::{given_interface, interface};
use std::net::Ipv4Addr;
use std::sync::Arc;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Enable NAT44-ED, or disable it and forget its configuration
    "nat44 plugin",
    "{enable [sessions <sessions:u32>] [inside-vrf <inside:u32>] [outside-vrf <outside:u32>] | disable}" => plugin;
    /// Let packets without a mapping pass as they are
    "nat44 forwarding", "{enable|disable}" => |w, m| control(w).set_forwarding(w, m.flag("enable"));
    /// Make interfaces ones to users (in) and to the world (out); with output-feature, translate
    /// packets as they leave
    "set interface nat44",
    "([in <in:interface>] [out <out:interface>] [output-feature] [del])" => set_interface;
    /// Give users addresses of the world; with twice-nat, give hosts of the world addresses inside
    "nat44 add address",
    "<first:ip4> [- <last:ip4>] [tenant-vrf <vrf:u32>] [twice-nat] [del]" => address;
    /// Give users the first address of an interface
    "nat44 add interface address", "<interface:interface> [twice-nat] [del]" => |w, m| {
        let sw_if = interface(w, m, "interface")?;
        control(w).set_followed(w, sw_if, (m.flag("twice-nat"), !m.flag("del")))
    };
    /// Give a host, or a port of it, an address of the world
    "nat44 add static mapping",
    "([tcp|udp|icmp] {local <local:ip4> [<local-port:u16>]} {external {<address:ip4>|<interface:interface>} [<port:u16>]} [vrf <vrf:u32>] [twice-nat|self-twice-nat] [out2in-only] [exact <exact:ip4>] [tag <tag:word>] [del])" => static_mapping;
    /// Let the packets of an address or a port pass as they are
    "nat44 add identity mapping",
    "{external <interface:interface> | <address:ip4>} [{tcp|udp|icmp} <port:u16>] [vrf <vrf:u32>] [tag <tag:word>] [del]" => identity_mapping;
    /// Let several hosts share the load of a port of the world
    "nat44 add load-balancing static mapping",
    "protocol {tcp|udp} external <external:word> {local <local:word> [vrf <vrf:u32>] probability <probability:u8>}... [twice-nat|self-twice-nat] [out2in-only] [affinity <affinity:u32>] [tag <tag:word>] [del]" => balanced_mapping;
    /// Let one more host share the load
    "nat44 add load-balancing back-end",
    "protocol {tcp|udp} external <external:word> local <local:word> [vrf <vrf:u32>] probability <probability:u8> [del]" => back_end;
    /// Let users of a table send to others
    "nat44 vrf table", "[add|del] <table:u32>" => |w, m| {
        control(w).set_table(w, m.req("table")?, !m.flag("del"))
    };
    /// Let users of a table send to another one
    "nat44 vrf route", "[add|del] table <table:u32> <vrf:u32>" => |w, m| {
        control(w).set_route(w, m.req("table")?, m.req("vrf")?, !m.flag("del"))
    };
    /// Limit the sessions of a thread, of the users of a table
    "set nat44 session limit", "{<limit:u32> | off} [vrf <vrf:u32>]" => |w, m| {
        let vrf = m.opt("vrf")?.unwrap_or(0);
        match m.opt("limit")? {
            Some(limit) => control(w).set_limit(w, limit, vrf),
            None => control(w).remove_limit(w, vrf),
        }
    };
    /// Seconds without a packet after which sessions end
    "set nat timeout",
    "{([udp <udp:u32>] [tcp-established <established:u32>] [tcp-transitory <transitory:u32>] [icmp <icmp:u32>]) | reset}" => timeout;
    /// Limit the maximum segment size that TCP connections ask for
    "nat mss-clamping", "{<mss:1-65535> | disable}" => |w, m| {
        control(w).set_mss(w, m.opt("mss")?)
    };
    /// Choose the workers that have sessions: numbers and ranges, as 0,2-3, or all
    "set nat workers", "<workers:word>" => workers;
    /// Setting of VPP without effect here: rings between threads grow as they have to
    "set nat frame-queue-nelts", "<n:u32>" => |w, m| control(w).set_frame_queue(w, m.req("n")?);
    /// Export events of all kinds of NAT by IPFIX, or no longer
    "nat ipfix logging", "{disable | enable [domain <domain:u32>] [src-port <port:u16>]}" => log::run_ipfix;
    /// Where events of NAT go, and how many were lost
    "show nat logging" => show::logging;
    /// Setting of VPP without effect here: NAT writes to the daemon's log
    "nat set logging level", "<level:0-5>" => |_, _| {
        Ok(Output::text("no effect: NAT writes to the log of the daemon\n"))
    };
    /// End a session, by its end inside or outside
    "nat44 del session",
    "{in|out} <end:word> {tcp|udp|icmp} [vrf <vrf:u32>] [external-host <host:word>]" => del_session;
    /// End all sessions, or those of a user
    "clear nat44 ed sessions", "[user <user:ip4>]" => clear_sessions;
    /// Addresses of users, and of hosts of the world
    "show nat44 addresses" => show::addresses;
    /// Interfaces whose address is in a pool
    "show nat44 interface address" => show::followed;
    /// Interfaces and their roles
    "show nat44 interfaces" => show::interfaces;
    /// Static mappings
    "show nat44 static mappings" => show::mappings;
    /// Sessions, or those that all filters match
    "show nat44 sessions",
    "[filter {i2o|o2i} {saddr <saddr:ip4> | sport <sport:u16> | daddr <daddr:ip4> | dport <dport:u16> | proto <proto:tcp|udp|icmp>}]..." => show::sessions;
    /// Number of sessions by kind
    "show nat44 summary" => show::summary;
    /// Memory of the table of sessions
    "show nat44 hash tables", "[detail|verbose]" => show::tables;
    /// Tables that users of a table may send to
    "show nat44 vrf tables" => show::vrf_tables;
    /// Seconds without a packet after which sessions end
    "show nat timeouts" => show::timeouts;
    /// The greatest segment size of TCP connections
    "show nat mss-clamping" => show::mss;
    /// The workers that have sessions
    "show nat workers" => show::workers;
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
        sessions: number("sessions")?,
    };
    control(w).enable(w, options)
}

fn set_interface(w: &World, m: &Matches) -> Result<()> {
    let inside = given_interface(w, m, "in")?;
    let outside = given_interface(w, m, "out")?;
    if inside.is_none() && outside.is_none() {
        return Err(Error::parse("expected in or out with an interface"));
    }
    let add = !m.flag("del");
    let role = |bit| if m.flag("output-feature") { role::OUTPUT } else { bit };
    for (sw_if, bit) in [(inside, role::INSIDE), (outside, role::OUTSIDE)] {
        if let Some(sw_if) = sw_if {
            control(w).set_role(w, sw_if, role(bit), add)?;
        }
    }
    Ok(())
}

fn address(w: &World, m: &Matches) -> Result<()> {
    let first: Ipv4Addr = m.req("first")?;
    let last = m.opt("last")?.unwrap_or(first);
    let how = (m.flag("twice-nat"), !m.flag("del"));
    control(w).set_range(w, (first, last), m.opt("vrf")?, how)
}

fn set(w: &World, m: &Matches, mapping: StaticMapping) -> Result<()> {
    match m.flag("del") {
        true => control(w).remove_mapping(w, &mapping),
        false => control(w).add_mapping(w, mapping),
    }
}

fn static_mapping(w: &World, m: &Matches) -> Result<()> {
    set(w, m, read_host(w, m)?)
}

fn identity_mapping(w: &World, m: &Matches) -> Result<()> {
    set(w, m, read_identity(w, m)?)
}

fn host(m: &Matches) -> Result<LocalHost> {
    Ok(LocalHost {
        end: read_end(m, "local")?,
        vrf: m.opt("vrf")?.unwrap_or(0),
        probability: m.req("probability")?,
    })
}

fn balanced_mapping(w: &World, m: &Matches) -> Result<()> {
    let external = read_end(m, "external")?;
    let locals = m.groups("local").map(|group| host(&group)).collect::<Result<_>>()?;
    let mapping = StaticMapping {
        kind: MappingKind::Balanced,
        external: External::Address(external.addr),
        port: external.port,
        protocol: protocol(m),
        locals,
        twice: twice(m),
        twice_address: None,
        inward_only: m.flag("out2in-only"),
        affinity: m.opt("affinity")?.unwrap_or(0),
        tag: m.str("tag").into(),
        resolved: None,
    };
    set(w, m, mapping)
}

fn back_end(w: &World, m: &Matches) -> Result<()> {
    let of = (read_end(m, "external")?, protocol(m));
    control(w).set_back_end(w, of, host(m)?, !m.flag("del"))
}

fn timeout(w: &World, m: &Matches) -> Result<()> {
    let timeouts = control(w).read(|state| state.timeouts).set_by(m)?;
    control(w).set_timeouts(w, timeouts)
}

fn workers(w: &World, m: &Matches) -> Result<()> {
    control(w).set_workers(w, nat::workers::read(w, m)?)
}

fn del_session(w: &World, m: &Matches) -> Result<Output> {
    let name = SessionName {
        inside: m.flag("in"),
        end: read_end(m, "end")?,
        protocol: protocol(m),
        vrf: m.opt("vrf")?.unwrap_or(0),
        external: m.has("host").then(|| read_end(m, "host")).transpose()?,
    };
    let ended = control(w).delete_session(w, name)?;
    Ok(ended.then(|ended| named_ends(ended).map(|()| Output::empty())))
}

fn clear_sessions(w: &World, m: &Matches) -> Result<Output> {
    control(w).check()?;
    let user = m.opt::<Ipv4Addr>("user")?;
    let gone =
        move |keys: &[crate::key::Key; 2]| user.is_none_or(|user| keys[0].from().addr == user);
    Ok(Control::clear(w, gone).then(|ended| {
        let n: u32 = ended.into_iter().sum();
        Ok(Output::both(format!("ended sessions: {n}\n"), serde_json::json!({ "ended": n })))
    }))
}
