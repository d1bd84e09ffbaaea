// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::adjacencies::HeaderTable;
use crate::control;
use crate::ethertypes;
use crate::pairs::{HostKind, Pair, Pairs, Request};
use crate::settings::Settings;
use crate::sync;
use cli::{Command, Error, Matches, Output, Result, Table, Writer, retval};
use graph::World;
use net::Interfaces;
use net::args::{given_interface, interface};
use wire::EtherType;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// MirrorRole an interface in the host's kernel
    "lcp create",
    "<interface:interface> {host-if <name>} [netns <namespace:string>] [tun]" => create;
    /// Take an interface's mirror away
    "lcp delete", "<interface:interface>" => delete;
    /// Set the network namespace of mirrors that name none; without a name, that of this process
    "lcp default", "netns [<namespace:string>]" => default;
    /// Push state, MTU and addresses of interfaces to the kernel's, or push nothing
    "lcp lcp-sync", "[<state:on|enable|off|disable>]" => |w, m| sync::set(w, switch(m));
    /// Push the addresses that unnumbered interfaces borrow too, or don't
    "lcp lcp-sync-unnumbered", "[<state:on|enable|off|disable>]" => |w, m| sync::set_unnumbered(w, switch(m));
    /// MirrorRole new sub-interfaces of mirrored interfaces too, or don't
    "lcp lcp-auto-subint", "[<state:on|enable|off|disable>]" => |w, m| {
        let on = switch(m);
        w.get::<Settings>().change(w, |values| values.auto_subint = on);
        Ok(())
    };
    /// Remove routes over a link that loses its carrier, or keep them
    "lcp param",
    "[del-static-on-link-down <fixed:on|enable|off|disable>] \
     [del-dynamic-on-link-down <dynamic:on|enable|off|disable>]" => param;
    /// Let frames of an Ethernet type cross between interfaces and their mirrors
    "lcp ethertype enable", "<type:word>" => |w, m| w.get::<Settings>().enable_ethertype(w, ethertype(m)?);
    /// Drop frames of an Ethernet type again
    "lcp ethertype disable", "<type:word>" => |w, m| w.get::<Settings>().disable_ethertype(w, ethertype(m)?);
    /// Let packets of an OSI protocol cross; refused, since OSI isn't built
    "lcp osi-proto enable", "<protocol:word>" => osi;
    /// Pairs of interfaces and their mirrors, and their settings
    "show lcp", "[phy <interface:interface>]" => show;
    /// Neighbours whose Ethernet header leads packets of the host to an adjacency
    "show lcp adj" => adjacencies;
    /// Ethernet types that cross pairs
    "show lcp ethertype" => types;
    /// OSI protocols that cross pairs
    "show lcp osi-proto" => |_, _| Ok(Output::both(String::new(), serde_json::json!([])));
    /// Pair two interfaces that are there, without the kernel, or end such a pair
    "test lcp", "[add|del] phy <phy:interface> host <host:interface>" => test;
};

fn create(w: &World, m: &Matches) -> Result<Output> {
    let kind = if m.flag("tun") { HostKind::Tun } else { HostKind::Tap };
    let namespace = m.has("namespace").then(|| m.str("namespace").to_string());
    let phy = interface(w, m, "interface")?;
    let request = Request { phy, name: m.str("name").into(), kind, namespace };
    control::create(w, &request)?;
    Ok(Output::empty())
}

fn delete(w: &World, m: &Matches) -> Result<()> {
    control::delete(w, interface(w, m, "interface")?).map_err(m.at("interface"))
}

fn default(w: &World, m: &Matches) -> Result<()> {
    let name = if m.has("namespace") { m.str("namespace") } else { "" };
    w.get::<Settings>().set_default_namespace(w, name)
}

fn is_on(word: &str) -> bool {
    ["on", "enable"].contains(&word)
}

/// On, unless off is said.
fn switch(m: &Matches) -> bool {
    !m.has("state") || is_on(m.str("state"))
}

fn param(w: &World, m: &Matches) -> Result<()> {
    let given = |name| m.has(name).then(|| is_on(m.str(name)));
    let (fixed, dynamic) = (given("fixed"), given("dynamic"));
    w.get::<Settings>().change(w, |values| {
        values.del_static = fixed.unwrap_or(values.del_static);
        values.del_dynamic = dynamic.unwrap_or(values.del_dynamic);
    });
    Ok(())
}

fn ethertype(m: &Matches) -> Result<EtherType> {
    let word = m.str("type");
    ethertypes::parse(word).ok_or_else(|| {
        Error::parse(format!("`{word}' is no Ethernet type"))
            .at(m.span("type"))
            .retval(retval::INVALID_VALUE)
    })
}

fn osi(_: &World, m: &Matches) -> Result<()> {
    let why = format!("the protocol {} needs OSI, which isn't built", m.str("protocol"));
    Err(Error::unsupported(why).at(m.span("protocol")).retval(retval::FEATURE_DISABLED))
}

fn test(w: &World, m: &Matches) -> Result<()> {
    let (phy, host) = (interface(w, m, "phy")?, interface(w, m, "host")?);
    if !m.flag("del") {
        return control::pair_existing(w, phy, host, 0);
    }
    match w.get::<Pairs>().of_phy(phy) {
        Some((_, pair)) if pair.host == host => control::delete(w, phy),
        _ => Err(Error::not_found("they are no pair").retval(retval::INVALID_SW_IF_INDEX)),
    }
}

/// A part of `show lcp`.
enum Part {
    Settings,
    Pair(u32, Pair),
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let only = given_interface(w, m, "interface")?;
    let pairs = w.get::<Pairs>().list().into_iter();
    let wanted = pairs.filter(|(_, pair)| only.is_none_or(|only| only == pair.phy));
    let pairs: Vec<_> = wanted.map(|(number, pair)| Part::Pair(number, pair)).collect();
    let head = only.is_none().then_some(Part::Settings);
    Ok(Output::list(head.into_iter().chain(pairs), |w: &World, part, out: &mut Writer| {
        match part {
            Part::Settings => {
                let values = w.get::<Settings>().get();
                out.text(|text| text.push_str(&values.lines()));
            }
            Part::Pair(number, pair) => show_pair(w, number, &pair, out),
        }
        Ok(())
    }))
}

fn show_pair(w: &World, number: u32, pair: &Pair, out: &mut Writer) {
    let interfaces = w.get::<Interfaces>();
    let (phy, host) = (interfaces.name(pair.phy), interfaces.name(pair.host));
    let Pair { name, vif, kind, namespace, .. } = pair;
    let netns = namespace.as_ref().map_or_else(String::new, |name| format!(" netns {name}"));
    out.text(|text| {
        let kind = kind.name();
        *text += &format!("itf-pair: [{number}] {phy} {host} {name} {vif} type {kind}{netns}\n");
    });
    out.value(|| {
        serde_json::json!({
            "number": number,
            "interface": phy,
            "mirror": host,
            "host_if_name": name,
            "host_if_index": vif,
            "type": kind.name(),
            "netns": namespace,
        })
    });
}

fn adjacencies(w: &World, _: &Matches) -> Result<Output> {
    let table =
        Table::new().left("Interface").left("Neighbor").left("MAC address").right("Adjacency");
    Ok(table.list(
        w.get::<HeaderTable>().list(),
        |w: &World, (sw_if, ip, mac, adj), out: &mut Writer| {
            let name = w.get::<Interfaces>().name(sw_if);
            out.row([name.into(), cli::Cell::show(ip), cli::Cell::show(mac), cli::Cell::show(adj)]);
            Ok(())
        },
    ))
}

fn types(w: &World, _: &Matches) -> Result<Output> {
    let all = w.get::<Settings>().get().ethertypes;
    Ok(Output::list(all, |_: &World, ethertype, out: &mut Writer| {
        out.text(|text| *text += &format!("0x{ethertype:04x}\n"));
        out.value(|| format!("0x{ethertype:04x}"));
        Ok(())
    }))
}
