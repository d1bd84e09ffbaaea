// SPDX-License-Identifier: Apache-2.0
//! The commands.

use super::state::{COPY_TOS, Tunnel};
use super::{Domain, SixRd, SixRds};
use cli::{Error, Matches, Output, Result, Table, Writer};
use graph::World;
use net::Interfaces;
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
    crate::spec::register::<Ip4>(w)?;
    let sw_if = w.get::<SixRds>().create(w, config, m.opt("instance")?)?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}

/// `delete 6rd tunnel`.
pub fn delete(w: &World, m: &Matches) -> Result<()> {
    let sw_if = w.get::<Interfaces>().named_or_numbered(m)?;
    w.get::<SixRds>().delete(w, sw_if)
}

/// `show 6rd tunnel`.
pub fn show(w: &World, _: &Matches) -> Result<Output> {
    let table = Table::new()
        .left("Interface")
        .left("IPv6 prefix")
        .left("IPv4 prefix")
        .left("Source")
        .right("IPv4 table")
        .left("Check")
        .left("TOS");
    Ok(table.list(w.get::<SixRds>().list(), |w: &World, tunnel: Tunnel, out: &mut Writer| {
        let SixRd { domain, local, table4, security_check, tos, .. } = tunnel.config;
        out.row([
            w.get::<Interfaces>().name(tunnel.sw_if).into(),
            domain.ip6.to_string().into(),
            domain.ip4.to_string().into(),
            local.to_string().into(),
            table4.into(),
            (if security_check { "yes" } else { "no" }).into(),
            if tos == COPY_TOS { "copy".into() } else { u32::from(tos).into() },
        ]);
        Ok(())
    }))
}
