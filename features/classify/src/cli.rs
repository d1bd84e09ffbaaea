// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{ActionConfig, DEFAULT_BUCKETS, SessionConfig, TableConfig};
use crate::hook::Hook;
use crate::show;
use crate::state::{Classifier, Direction, FilterOf, Layer};
use crate::words::{Mask, mask, mask_usage, match_usage, matched};
use cli::{Command, Error, Matches, Result, retval};
use graph::World;
use net::args::interface;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make a table of sessions, delete it, or set the table that is asked behind it
    "classify table",
    concat!(
        "([",
        mask_usage!(),
        "] [buckets <buckets:u32>] [skip <skip:u32>] [match <match:u32>] [memory-size <memory:size>] \
         [next-table <next:u32>] [table <table:u32>] [current-data-flag <flag:0-1>] [current-data-offset <offset:i32>] \
         [{miss-next|l2-input-miss-next|l2-output-miss-next|acl-miss-next} {node <node:node> | <number:word>}] \
         [del] [del-chain])"
    ) => table;
    /// Set what happens to packets whose bytes match, or delete that
    "classify session",
    concat!(
        "(table-index <table:u32> ",
        "[",
        match_usage!(),
        "] [{hit-next|l2-input-hit-next|l2-output-hit-next|acl-hit-next} {node <node:node> | <number:word>}] \
         [policer-hit-next <policer:word>] [opaque-index <opaque:u32>] [advance <advance:i32>] \
         [action {set-ip4-fib-id <fib4:u32>|set-ip6-fib-id <fib6:u32>|set-sr-policy-index <metadata:u32>}] [del])"
    ) => session;
    /// Trace or capture only packets whose bytes match: `trace add … filter', `pcap trace … filter'
    "classify filter",
    concat!(
        "({trace|pcap|<interface:interface>} [",
        mask_usage!(),
        "] [",
        match_usage!(),
        "] [buckets <buckets:u32>] [memory-size <memory:size>] [del])"
    ) => filter;
    /// Let tables decide which packets an interface takes; those of local0 for punted packets are
    /// for all interfaces
    "set interface input acl",
    "(intfc <interface:interface> [ip4-table <ip4:u32>] [ip6-table <ip6:u32>] [l2-table <l2:u32>] \
     [ip4-punt-table <punt4:u32>] [ip6-punt-table <punt6:u32>] [del])"
        => |w, m| acl(w, m, Direction::Input);
    /// Let tables decide which packets an interface sends
    "set interface output acl",
    "(intfc <interface:interface> [ip4-table <ip4:u32>] [ip6-table <ip6:u32>] [l2-table <l2:u32>] [del])"
        => |w, m| acl(w, m, Direction::Output);
    /// Classify switched frames that an interface receives; without a table end that
    "set interface l2 input classify",
    "(intfc <interface:interface> [ip4-table <ip4:u32>] [ip6-table <ip6:u32>] [other-table <other:u32>])"
        => |w, m| l2_classify(w, m, Direction::Input);
    /// Classify switched frames that an interface sends; without a table end that
    "set interface l2 output classify",
    "(intfc <interface:interface> [ip4-table <ip4:u32>] [ip6-table <ip6:u32>] [other-table <other:u32>])"
        => |w, m| l2_classify(w, m, Direction::Output);
    /// Classify packets to the first IPv4 address of an interface; `none' or -1 ends that
    "set ip classify",
    "(intfc <interface:interface> table-index <table:word>)" => |w, m| routed(w, m, false);
    /// Classify packets to the first IPv6 address of an interface; `none' or -1 ends that
    "set ip6 classify",
    "(intfc <interface:interface> table-index <table:word>)" => |w, m| routed(w, m, true);
    /// Tables; with `verbose' their sessions and hits
    "show classify tables", "([index <index:u32>] [verbose [<level:u32>]])" => show::tables;
    /// Tables of the filters of traces and captures
    "show classify filter", "[verbose [<level:u32>]]" => show::filters;
    /// Interfaces with an input ACL
    "show inacl", "type {ip4|ip6|l2}" => |w, m| show::acls(w, m, Direction::Input);
    /// Interfaces with an output ACL
    "show outacl", "type {ip4|ip6|l2}" => |w, m| show::acls(w, m, Direction::Output);
};

/// The number of a next node: a word of the hooks, a number, or a node that these hooks lead to
/// from now on.
fn next(w: &World, m: &Matches, kind: &str) -> Result<Option<u32>> {
    let words = ["", "l2-input-", "l2-output-", "acl-"];
    let Some(prefix) = words.into_iter().find(|prefix| m.flag(&format!("{prefix}{kind}"))) else {
        return Ok(None);
    };
    let places: Vec<_> = Hook::ALL.into_iter().filter(|hook| hook.word() == prefix).collect();
    if m.has("node") && !m.str("node").is_empty() {
        let name = m.str("node");
        let mut index = None;
        for hook in places.into_iter().filter(|hook| w.node(hook.node()).is_some()) {
            index = Some(
                w.link(hook.node(), name)
                    .map_err(|why| Error::not_found(why).at(m.span("node")))?,
            );
        }
        return Ok(index.map(|index| index.0));
    }
    let named = match (prefix, m.str("number")) {
        (_, "~0" | "-1") => Some(u32::MAX),
        ("acl-", "deny") => Some(0),
        ("acl-", "permit") => Some(u32::MAX),
        (_, "drop") if prefix != "acl-" => Some(0),
        ("", "punt") => Some(1),
        ("", "local") => Some(2),
        ("", "rewrite") => Some(5),
        ("l2-input-", "ethernet") => Some(1),
        ("l2-input-", "ip4") => Some(2),
        ("l2-input-", "ip6") => Some(3),
        _ => None,
    };
    named.map_or_else(|| m.opt::<u32>("number"), |number| Ok(Some(number)))
}

fn table(w: &World, m: &Matches) -> Result<()> {
    let classifier = w.get::<Classifier>();
    let index: Option<u32> = m.opt("table")?;
    if m.flag("del") || m.flag("del-chain") {
        let index = index.ok_or_else(|| Error::usage("which table? `table N'"))?;
        classifier.delete_table(w, index, m.flag("del-chain")).map_err(m.at("table"))?;
        return Ok(());
    }
    let next_table: Option<u32> = m.opt("next")?;
    let exists = index.is_some_and(|index| classifier.table(index).is_ok());
    if let Some(index) = index.filter(|_| exists) {
        return classifier.set_next(w, index, next_table).map_err(m.at("next"));
    }
    let Some(bytes) = mask(m)? else {
        return Err(match index {
            Some(index) => {
                crate::control::no_table(index).hint("a new table needs a mask").at(m.span("table"))
            }
            None => Error::usage("a table needs a mask: `mask …'"),
        });
    };
    let mask = match (m.opt::<u32>("skip")?, m.opt::<u32>("match")?) {
        (None, None) => Mask::of(&bytes),
        (skip, vectors) => {
            let own = Mask::of(&bytes).ok();
            let skip = skip.or(own.as_ref().map(|mask| mask.skip)).unwrap_or(0);
            let end =
                own.map_or(0, |mask| mask.skip as usize + mask.bytes.len() / crate::key::VECTOR);
            let vectors =
                vectors.map_or(end.saturating_sub(skip as usize), |vectors| vectors as usize);
            Mask::within(&bytes, skip, vectors)
        }
    };
    let mask = mask.map_err(m.at("mask"))?;
    if m.opt::<u64>("memory")? == Some(0) {
        return Err(Error::parse("a table needs memory")
            .at(m.span("memory"))
            .retval(retval::INVALID_MEMORY_SIZE));
    }
    let offset = i16::try_from(m.opt::<i32>("offset")?.unwrap_or(0))
        .map_err(|_| Error::parse("an offset has 16 bits").at(m.span("offset")))?;
    let config = TableConfig {
        mask: mask.bytes,
        skip: mask.skip,
        buckets: m.opt("buckets")?.unwrap_or(DEFAULT_BUCKETS),
        next: next_table,
        miss: next(w, m, "miss-next")?.unwrap_or(u32::MAX),
        offset: (m.opt::<u32>("flag")? == Some(1)).then_some(offset),
    };
    classifier.add_table(w, &config, index)?;
    Ok(())
}

fn session(w: &World, m: &Matches) -> Result<()> {
    let classifier = w.get::<Classifier>();
    let index: u32 = m.req("table")?;
    let info = classifier.table(index).map_err(m.at("table"))?;
    if m.has("policer") {
        let why = "policers aren't built yet";
        return Err(Error::unsupported(why).at(m.span("policer")).retval(retval::UNIMPLEMENTED));
    }
    let mut bytes = matched(m)?.ok_or_else(|| Error::usage("which packets? `match …'"))?;
    // As long as the table's own: what it doesn't compare doesn't count.
    bytes.resize(info.table.skipped() + info.table.vectors * crate::key::VECTOR, 0);
    if m.flag("del") {
        return classifier.delete_session(w, index, &bytes);
    }
    let action = match (m.opt("fib4")?, m.opt("fib6")?, m.opt("metadata")?) {
        (Some(id), ..) => ActionConfig::Fib(false, id),
        (_, Some(id), _) => ActionConfig::Fib(true, id),
        (.., Some(n)) => ActionConfig::Metadata(n),
        _ => ActionConfig::None,
    };
    let config = SessionConfig {
        next: next(w, m, "hit-next")?.unwrap_or(u32::MAX),
        opaque: m.opt("opaque")?.unwrap_or(u32::MAX),
        advance: m.opt("advance")?.unwrap_or(0),
        action,
    };
    classifier.add_session(w, index, &bytes, config)
}

fn filter(w: &World, m: &Matches) -> Result<()> {
    let classifier = w.get::<Classifier>();
    let of = match () {
        () if m.flag("trace") => FilterOf::Trace,
        () if m.flag("pcap") => FilterOf::Capture(None),
        () => FilterOf::Capture(Some(interface(w, m, "interface")?).filter(|sw_if| sw_if.0 != 0)),
    };
    if m.flag("del") {
        return classifier.delete_filter(w, of);
    }
    let mask = mask(m)?.ok_or_else(|| Error::usage("a filter needs a mask: `mask …'"))?;
    let mask = Mask::of(&mask).map_err(m.at("mask"))?;
    let mut bytes = matched(m)?.ok_or_else(|| Error::usage("which packets? `match …'"))?;
    bytes.resize(mask.skip as usize * crate::key::VECTOR + mask.bytes.len(), 0);
    classifier.add_filter(w, of, &mask, &bytes)
}

fn acl(w: &World, m: &Matches, direction: Direction) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    let mut tables = Vec::new();
    for (name, layer) in ["ip4", "ip6", "l2", "punt4", "punt6"].into_iter().zip(Layer::ALL) {
        tables.extend(m.opt::<u32>(name)?.map(|table| (layer, table)));
    }
    if tables.is_empty() {
        return Err(Error::usage("which table? `ip4-table', `ip6-table' or `l2-table'"));
    }
    w.get::<Classifier>().set_acl(w, direction, sw_if, &tables, !m.flag("del"))
}

fn l2_classify(w: &World, m: &Matches, direction: Direction) -> Result<()> {
    let tables = [m.opt("ip4")?, m.opt("ip6")?, m.opt("other")?];
    w.get::<Classifier>().set_l2_tables(w, direction, interface(w, m, "interface")?, tables)
}

fn routed(w: &World, m: &Matches, v6: bool) -> Result<()> {
    let table = match m.str("table") {
        "none" | "-1" | "~0" => None,
        _ => Some(m.req::<u32>("table")?),
    };
    w.get::<Classifier>()
        .set_routed(w, v6, interface(w, m, "interface")?, table)
        .map_err(m.at("table"))
}
