// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use super::state::{self, COPY_TOS};
use super::{Domain, SixRd, SixRds};
use cli::{Cell, Error, Matches, Output, Result};
use graph::{RunningConfig, Script, World};
use net::Interfaces;
use net::args::made;
use std::str::FromStr;
use wire::Ip4;

/// The usage of `create 6rd tunnel`.
pub const CREATE: &str = "({ip6-pfx <ip6:prefix>} {ip4-pfx <ip4:prefix>} {ip4-src <source:ip4>} \
     [ip4-table-id <table4:u32>] [ip6-table-id <table6:u32>] [security-check] \
     [tos <tos:0-254>] [copy-tos] [instance <instance:u32>])";

fn prefix<P: FromStr>(m: &Matches, word: &str, what: &str) -> Result<P> {
    let wrong = || Error::parse(format!("expected a prefix of {what}")).at(m.span(word));
    m.str(word).parse().map_err(|_| wrong())
}

/// `create 6rd tunnel`.
pub fn create(w: &World, m: &Matches) -> Result<Output> {
    let domain = Domain::new(prefix(m, "ip6", "IPv6")?, prefix(m, "ip4", "IPv4")?)?;
    let tos = m.opt("tos")?;
    if tos.is_some() && m.flag("copy-tos") {
        return Err(Error::parse("expected one of tos and copy-tos"));
    }
    let config = SixRd {
        domain,
        local: m.req("source")?,
        table4: m.opt("table4")?.unwrap_or(0),
        table6: m.opt("table6")?.unwrap_or(0),
        security_check: m.flag("security-check"),
        tos: tos.unwrap_or(if m.flag("copy-tos") { COPY_TOS } else { 0 }),
    };
    m.note(|| net::notes::foreign_source(w, config.local.into(), config.table4));
    crate::spec::register::<Ip4>(w)?;
    Ok(made(w, w.get::<SixRds>().create(w, config, m.opt("instance")?)?))
}

/// `delete 6rd tunnel`.
pub fn delete(w: &World, m: &Matches) -> Result<()> {
    let sw_if = w.get::<Interfaces>().named_or_numbered(m)?;
    w.get::<SixRds>().delete(w, sw_if)
}

/// `show 6rd tunnel`.
pub fn show(w: &World, _: &Matches) -> Result<Output> {
    Ok(cli::columns!(w.get::<SixRds>().list(), |w: &World, tunnel| {
        let SixRd { domain, local, table4, security_check, tos, .. } = tunnel.config;
        "Interface" => w.get::<Interfaces>().name(tunnel.sw_if),
        "IPv6 prefix" => domain.ip6.to_string(),
        "IPv4 prefix" => domain.ip4.to_string(),
        "Source" => local.to_string(),
        "IPv4 table" right => table4,
        "Check" => if security_check { "yes" } else { "no" },
        "TOS" => if tos == COPY_TOS { "copy".into() } else { Cell::from(u32::from(tos)) },
    }))
}

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLE: Script = Script::here(
    "6RD tunnels",
    "ip table add 7
     ip6 table add 7
     create 6rd tunnel ip6-pfx 2001:db8::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.1 security-check
     create 6rd tunnel ip6-pfx 2002::/16 ip4-pfx 0.0.0.0/0 ip4-src 192.0.2.1 ip4-table-id 7 ip6-table-id 7 tos 8
     create 6rd tunnel ip6-pfx 2001:db9::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.2 copy-tos instance 11
     create 6rd tunnel ip6-pfx 2001:dba::/32 ip4-pfx 10.0.0.0/8 ip4-src 10.0.0.3 instance 5
     delete 6rd tunnel ip6ip-6rd5
     ip route add 2001:dbb::/32 via 2001:db9:1::1",
);

/// Writes a line for each tunnel. The table of an interface has a line of its own.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Interfaces>().indices(), |world, sw_if, lines| {
        let Some(tunnel) = world.get::<SixRds>().get(sw_if) else { return };
        let SixRd { domain, local, table4, table6, security_check, tos } = tunnel.config;
        let mut line = format!(
            "create 6rd tunnel ip6-pfx {} ip4-pfx {} ip4-src {local}",
            domain.ip6, domain.ip4
        );
        if table4 != 0 {
            line += &format!(" ip4-table-id {table4}");
        }
        if table6 != 0 {
            line += &format!(" ip6-table-id {table6}");
        }
        if security_check {
            line += " security-check";
        }
        match tos {
            0 => {}
            COPY_TOS => line += " copy-tos",
            tos => line += &format!(" tos {tos}"),
        }
        let name = state::name(tunnel.instance);
        lines.push(
            format!("{line} instance {}", tunnel.instance),
            format!("delete 6rd tunnel {name}"),
        );
    });
}
