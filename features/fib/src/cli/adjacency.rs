// SPDX-License-Identifier: Apache-2.0
//! `show adj`, and how adjacencies are printed wherever they are.

use cli::{Error, Matches, Output, Writer, retval};
use graph::World;
use net::args::given_interface;
use net::{AdjIndex, AdjInfo, AdjKind, Adjacencies, Interfaces, Link, Links, NextHop, NextHops};
use std::fmt::Write;
use std::net::IpAddr;

/// The name that operators know a kind by.
pub fn kind_name(kind: AdjKind) -> &'static str {
    match kind {
        AdjKind::Rewrite => "neighbor",
        AdjKind::Incomplete => "arp-incomplete",
        AdjKind::Glean => "glean",
        AdjKind::Receive => "receive",
        AdjKind::Punt => "punt",
        AdjKind::LoadBalance => "load-balance",
        AdjKind::Lookup => "lookup",
        AdjKind::LookupSource => "lookup-source",
        AdjKind::NoRoute => "no-route",
        AdjKind::Drop => "drop",
        AdjKind::Martian => "martian",
        AdjKind::Unreach => "unreach",
        AdjKind::Prohibit => "prohibit",
        AdjKind::LinkLocal => "link-local",
        AdjKind::Multicast => "multicast",
        AdjKind::Feature => "feature",
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from_digit(n.into(), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns true if the next hop is reported down.
fn is_down(w: &World, info: &AdjInfo) -> bool {
    let neighbor = matches!(info.adj.kind, AdjKind::Rewrite | AdjKind::Incomplete);
    let hop =
        info.sw_if().filter(|_| neighbor).map(|sw_if| NextHop { sw_if, ip: info.adj.nexthop() });
    hop.is_some_and(|hop| w.get::<NextHops>().is_down(hop))
}

/// The number that VPP prints before an object that packets leave the lookup by: the next node's.
pub fn next_number(kind: AdjKind) -> u8 {
    match kind {
        AdjKind::Drop | AdjKind::NoRoute | AdjKind::Martian => 0,
        AdjKind::Punt => 1,
        AdjKind::Incomplete => 3,
        AdjKind::Glean => 4,
        AdjKind::Rewrite => 5,
        AdjKind::Multicast => 7,
        AdjKind::Unreach | AdjKind::Prohibit => 9,
        AdjKind::LoadBalance => 10,
        AdjKind::Lookup | AdjKind::LookupSource => 11,
        AdjKind::Receive => 12,
        AdjKind::LinkLocal => 13,
        AdjKind::Feature => 14,
    }
}

/// Description in one line, for packets of `link`: some adjacencies are shared by all link types.
pub fn describe(w: &World, info: &AdjInfo, link: Link) -> String {
    let adj = &info.adj;
    let proto = w.get::<Links>().get(link).name.replace("ip", "ipv");
    let name = || info.sw_if().map_or_else(String::new, |sw_if| w.get::<Interfaces>().name(sw_if));
    let down = || if is_down(w, info) { " next-hop down" } else { "" };
    if let Some(of) = info.object {
        return format!("{}: {}", of.name, (of.describe)(w, adj.table));
    }
    match adj.kind {
        AdjKind::Rewrite => format!(
            "{proto} via {} {}: mtu:{} next:{} flags:[] {}{}",
            adj.nexthop(),
            name(),
            adj.mtu,
            w.node_name(adj.output),
            hex(&adj.rewrite()),
            down()
        ),
        AdjKind::Multicast => {
            format!("{proto}-mcast: {}: mtu:{} {}", name(), adj.mtu, hex(&adj.rewrite()))
        }
        AdjKind::Incomplete => {
            format!("arp-{proto}: via {} {}{}", adj.nexthop(), name(), down())
        }
        AdjKind::Glean => {
            format!("{proto}-glean: [src:{}] {}: mtu:{}", adj.nexthop(), name(), adj.mtu)
        }
        AdjKind::Receive if adj.tx_if == u32::MAX => "dpo-receive".into(),
        AdjKind::Receive => format!("dpo-receive: {} on {}", adj.nexthop(), name()),
        AdjKind::Lookup => format!("lookup in fib_index {}", adj.table),
        AdjKind::LookupSource => format!("source lookup in fib_index {}", adj.table),
        AdjKind::NoRoute | AdjKind::Martian => format!("dpo-drop {}", proto.replace("ipv", "ip")),
        AdjKind::LoadBalance => format!("dpo-load-balance: [buckets:{}]", adj.table + 1),
        kind => format!("dpo-{} {}", kind_name(kind), proto.replace("ipv", "ip")),
    }
}

/// The same for programs: the members of an object.
pub fn write_adjacency(w: &World, info: &AdjInfo, out: &mut Writer) {
    if !out.is_json() {
        return;
    }
    let adj = &info.adj;
    let (packets, bytes) = w.get::<Adjacencies>().counters.sum(adj.counter as usize);
    let sw_if = info.sw_if();
    out.field("index", info.index.0);
    out.field("kind", info.object.map_or(kind_name(adj.kind), |of| of.name));
    out.field("interface", sw_if.map(|sw_if| w.get::<Interfaces>().name(sw_if)));
    out.field("sw_if_index", sw_if.map(|sw_if| sw_if.0));
    out.field("nexthop", sw_if.map(|_| adj.nexthop().to_string()));
    out.field("next_hop_down", is_down(w, info));
    out.field("mtu", sw_if.map(|_| adj.mtu));
    out.field("rewrite", hex(&adj.rewrite()));
    out.field("next", w.node_name(adj.next).to_string());
    out.field("alias_of", info.target.map(|target| target.0));
    out.field("locks", info.refs);
    out.field("packets", packets);
    out.field("bytes", bytes);
}

/// Accepts `enable`: the counters of adjacencies are always on.
pub fn counters(_: &World, m: &Matches) -> Result<(), Error> {
    if m.flag("disable") {
        let why = "packets are always counted by adjacency: it costs nothing that could be saved";
        return Err(Error::unsupported(why));
    }
    Ok(())
}

pub fn show(w: &World, m: &Matches) -> Result<Output, Error> {
    show_some(w, m, |_| true)
}

pub fn neighbors(w: &World, m: &Matches) -> Result<Output, Error> {
    show_some(w, m, |kind| matches!(kind, AdjKind::Rewrite | AdjKind::Incomplete))
}

fn show_some(w: &World, m: &Matches, which: fn(AdjKind) -> bool) -> Result<Output, Error> {
    let adjacencies = w.get::<Adjacencies>();
    let only_if = given_interface(w, m, "interface")?;
    let only_to: Option<IpAddr> = m.opt("nexthop")?;
    let only = one(&adjacencies, m, |info| which(info.adj.kind), "adjacency")?;
    // An alias is shown with its routes.
    let chosen = move |info: &AdjInfo| {
        which(info.adj.kind)
            && (info.target.is_none() || only.is_some())
            && only_if.is_none_or(|sw_if| info.sw_if() == Some(sw_if))
            && only_to.is_none_or(|nexthop| info.adj.nexthop() == nexthop)
    };
    let indices = indices(&adjacencies, only);
    if m.flag("summary") {
        let mut n = 0;
        let all = indices.map(Some).chain([None]);
        return Ok(Output::record(
            all,
            move |_: &World, index: Option<AdjIndex>, out: &mut Writer| {
                match index {
                    Some(index) => {
                        n += usize::from(adjacencies.info(index).is_some_and(|info| chosen(&info)))
                    }
                    None => {
                        out.text(|text| *text += &format!("Number of adjacencies: {n}\n"));
                        out.field("adjacencies", n);
                    }
                }
                Ok(())
            },
        ));
    }
    Ok(Output::list(indices, move |w: &World, index, out: &mut Writer| {
        let Some(info) = adjacencies.info(index).filter(chosen) else { return Ok(()) };
        out.text(|text| write_line(w, &info, text));
        out.object();
        write_adjacency(w, &info, out);
        out.end();
        Ok(())
    }))
}

/// An adjacency with what refers to it, on a line.
pub fn write_line(w: &World, info: &AdjInfo, text: &mut String) {
    let (packets, bytes) = w.get::<Adjacencies>().counters.sum(info.adj.counter as usize);
    let what = describe(w, info, info.adj.link);
    // Writing to a String can't fail.
    let _ = writeln!(text, "[@{}] locks:{} {what} to:[{packets}:{bytes}]", info.index, info.refs);
}

/// All of them, or the one that a command names.
pub fn indices(
    all: &Adjacencies,
    only: Option<AdjIndex>,
) -> impl Iterator<Item = AdjIndex> + use<> {
    only.is_none().then(|| all.indices()).into_iter().flatten().chain(only)
}

/// The adjacency that a command names by its number.
pub fn one(
    all: &Adjacencies,
    m: &Matches,
    which: impl Fn(&AdjInfo) -> bool,
    what: &str,
) -> Result<Option<AdjIndex>, Error> {
    let Some(only) = m.opt::<u32>("index")?.map(AdjIndex) else { return Ok(None) };
    if all.info(only).is_some_and(|info| which(&info)) {
        return Ok(Some(only));
    }
    Err(Error::not_found(format!("there is no {what} {only}"))
        .at(m.span("index"))
        .retval(retval::NO_SUCH_ENTRY))
}
