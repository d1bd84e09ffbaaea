// SPDX-License-Identifier: Apache-2.0
//! The commands.

use crate::control::{Encapsulation, PayloadProtocol, Udp};
use cli::{Command, Error, Matches, Output, Result, Writer, retval};
use graph::World;
use serde_json::json;
use std::fmt::Write;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an encapsulation that routes can lead to: addresses, source port if any, destination
    /// port
    "udp encap add",
    "[id <id:u32>] <source:ip> <destination:ip> <port:u16> [<port2:u16>] [src-port-is-entropy] \
     [table-id <table:u32>]" => add;
    /// Delete an encapsulation; routes that lead to it go on
    "udp encap del", "[id] <id:u32>"
        => |w, m| w.get::<Udp>().delete(w, m.req("id")?).map_err(m.at("id"));
    /// Encapsulations that routes can lead to
    "show udp encap", "[<id:u32>]" => show;
    /// Take packets out of the datagrams to a port
    "udp decap add",
    "{ipv4|ipv6} <port:u16> next-proto <inside:ip4|ip6|mpls>" => |w, m| port(w, m, true);
    /// Take no packets out of the datagrams to a port any more
    "udp decap del",
    "{ipv4|ipv6} <port:u16> [next-proto <inside:ip4|ip6|mpls>]" => |w, m| port(w, m, false);
};

fn add(w: &World, m: &Matches) -> Result<Output> {
    let (first, second): (u16, Option<u16>) = (m.req("port")?, m.opt("port2")?);
    let (source_port, destination_port) = match second {
        Some(_) if m.flag("src-port-is-entropy") && first != 0 => {
            let why =
                format!("the source port is either {first} or derived from the flow, not both");
            return Err(Error::usage(why).at(m.span("port")));
        }
        Some(second) => (first, second),
        None => (0, first),
    };
    let encap = Encapsulation {
        source: m.req("source")?,
        destination: m.req("destination")?,
        source_port,
        destination_port,
        table: m.opt("table")?.unwrap_or(0),
    };
    m.note(|| net::notes::foreign_source(w, encap.source, encap.table));
    let id = w.get::<Udp>().add(w, m.opt("id")?, encap).map_err(|e| match () {
        () if e.is(retval::NO_SUCH_TABLE) => e.at(m.span("table")),
        () if e.is(retval::VALUE_EXIST) => e.at(m.span("id")),
        () => e,
    })?;
    Ok(if m.has("id") { Output::empty() } else { format!("{id}\n").into() })
}

/// Writes one encapsulation, in VPP's format or as JSON.
fn line(w: &World, (id, encap): (u32, Encapsulation), out: &mut Writer) {
    let udp = w.get::<Udp>();
    let (packets, bytes) = udp.counters.sum(id as usize);
    let Encapsulation { source, destination, source_port, destination_port, table } = encap;
    // The encapsulation may be deleted between two slices of the answer.
    let Some(route) = udp.route(id) else { return };
    let (index, outlook) = (route.table, route.outlook(w));
    let flags = if source_port == 0 { "udp-src-port-is-entropy" } else { "none" };
    out.value(|| {
        json!({
            "id": id,
            "source": source.to_string(),
            "destination": destination.to_string(),
            "source_port": (source_port != 0).then_some(source_port),
            "destination_port": destination_port,
            "table": table,
            "resolved": outlook.is_resolved,
            "obstacle": outlook.obstacle,
            "packets": packets,
            "bytes": bytes,
        })
    });
    out.text(|text| {
        write!(
            text,
            "udp-encap:[{id}]: ip-fib-index:{index} ip:[src:{source}, dst:{destination}] \
             udp:[src:{source_port}, dst:{destination_port}] flags:{flags} to:[{packets}:{bytes}]]"
        )?;
        writeln!(text, "{}", outlook.suffix())
    });
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let udp = w.get::<Udp>();
    let mut all = udp.list();
    if let Some(id) = m.opt("id")? {
        all = vec![(id, udp.find(id).map_err(m.at("id"))?)];
    }
    Ok(Output::list(all, |w: &World, one, out: &mut Writer| {
        line(w, one, out);
        Ok(())
    }))
}

fn port(w: &World, m: &Matches, on: bool) -> Result<()> {
    let inside = match m.str("inside") {
        "mpls" => return Err(Error::unsupported("MPLS isn't built yet").at(m.span("inside"))),
        "ip6" => PayloadProtocol::Ip6,
        _ => PayloadProtocol::Ip4,
    };
    let (udp, number) = (w.get::<Udp>(), m.req("port")?);
    let done = net::by_version!(m.flag("ipv6"), F => match on {
        true => udp.add_port::<F>(w, number, inside),
        false => udp.remove_port::<F>(w, number),
    });
    done.map_err(m.at("port"))
}
