// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{self, Create, Taps};
use crate::device::kind_name;
use crate::{Config, Kind};
use cli::{Command, Error, Matches, Output, Writer, quote, retval};
use graph::{RunningConfig, World};
use net::{Interface, Interfaces, Net, OriginalSettings};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface whose other end is an interface of the host
    "create tap",
    "[id <id:u32>] [hw-addr <mac:mac>] [if-name <name>] [num-rx-queues <rx:1-256>] \
     [num-tx-queues <tx:1-256>] [rx-ring-size <rx-ring:1-65536>] [tx-ring-size <tx-ring:1-65536>] \
     [host-ns <ns>] [host-bridge <bridge>] [host-ip4-addr <ip4:ifaddr4>] [host-ip6-addr <ip6:ifaddr6>] \
     [host-ip4-gw <gw4:ip4>] [host-ip6-gw <gw6:ip6>] [host-mac-addr <host-mac:mac>] \
     [host-if-name <host-name>] [host-mtu-size <mtu:68-65535>] [no-gso | gso | csum-offload] \
     [gro-coalesce] [persist] [attach] [tun] [packed] [in-order]" => create;
    /// Take a tap away, and the host's end with it unless that is persistent
    "delete tap", "{<interface:interface> | sw_if_index <index:u32>}" => |w, m| {
        control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?).map(Output::task)
    };
    /// Taps and their ends on the host
    "show tap", "[<interface:interface>] [descriptors]" => |w, m| show(w, m, Kind::Tap);
    /// Taps without link layer and their ends on the host
    "show tun", "[<interface:interface>] [descriptors]" => |w, m| show(w, m, Kind::Tun);
};

fn of_version<F: Net>((ip, len): (IpAddr, u8)) -> Option<(F::Addr, u8)> {
    Some((F::of_ip(ip)?, len))
}

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    if m.flag("gro-coalesce") {
        return Err(Error::unsupported(
            "gro-coalesce isn't built: the host's own super-packets pass as they are",
        )
        .at(m.span("gro-coalesce")));
    }
    let given = |name| m.has(name).then(|| m.str(name).to_string());
    let gso = !(m.flag("no-gso") || m.flag("csum-offload"));
    let host = Config {
        host_namespace: given("ns"),
        kind: if m.flag("tun") { Kind::Tun } else { Kind::Tap },
        queues: m.opt("rx")?.unwrap_or(1),
        csum_offload: !m.flag("no-gso"),
        gso,
        host_mac: m.opt("host-mac")?,
        host_mtu: m.opt("mtu")?,
        host_bridge: given("bridge"),
        host_ip4: m.opt("ip4")?.and_then(of_version::<Ip4>),
        host_ip6: m.opt("ip6")?.and_then(of_version::<Ip6>),
        host_ip4_gateway: m.opt("gw4")?,
        host_ip6_gateway: m.opt("gw6")?,
        host_queue_len: m.opt("rx-ring")?,
        persist: m.flag("persist"),
        attach: m.flag("attach"),
        ..Config::new(m.str("host-name"))
    };
    let new = Create {
        id: m.opt("id")?,
        name: given("name"),
        mac: m.opt("mac")?,
        tag: String::new(),
        is_owned: false,
        above: None,
        host,
    };
    let sw_if = control::create(w, new)?;
    Ok(object::made(w, sw_if))
}

fn show(w: &World, m: &Matches, kind: Kind) -> Result<Output, Error> {
    if m.flag("descriptors") {
        return Err(Error::unsupported("there are no descriptors: a tap here has no virtio ring")
            .at(m.span("descriptors")));
    }
    let interfaces = w.get::<Interfaces>();
    let only = net::args::given_interface(w, m, "interface")?;
    if let Some(sw_if) = only
        && w.get::<Taps>().find(w, sw_if)?.config.kind != kind
    {
        let error = format!("{} is no {}", interfaces.name(sw_if), kind_name(kind));
        return Err(Error::not_found(error)
            .at(m.span("interface"))
            .retval(retval::INVALID_SW_IF_INDEX));
    }
    Ok(Output::list(
        w.get::<Taps>().list(kind),
        move |_: &World, (sw_if, tap), out: &mut Writer| {
            if only.is_some_and(|only| only != sw_if) {
                return Ok(());
            }
            // It may be gone.
            let Ok(interface) = interfaces.get(sw_if) else { return Ok(()) };
            let (link, there) = tap.link();
            out.text(|text| text.push_str(&lines(&interface, &tap.config, &link, there)));
            out.value(|| value(&interface, &tap.config, &link, there));
            Ok(())
        },
    ))
}

fn lines(i: &Interface, config: &Config, link: &netlink::Link, there: bool) -> String {
    let mut text = String::new();
    let none = || "(none)".to_string();
    let threads: Vec<_> = i
        .device
        .rx_queues()
        .iter()
        .map(|q| format!("{} on thread {}", q.queue, q.thread))
        .collect();
    let lines = [
        format!("  host-if-name {}{}", link.name, if there { "" } else { " (gone)" }),
        format!("  host-ns {}", config.host_namespace.clone().unwrap_or_else(none)),
        format!("  host-mac-addr {}", link.mac.map_or_else(none, |mac| mac.to_string())),
        format!("  host-mtu-size {}", link.mtu),
        format!("  host-if-index {}", link.index),
        format!("  gso-enabled {}", u8::from(config.gso)),
        format!("  csum-enabled {}", u8::from(config.gso || config.csum_offload)),
        format!("  persist {}, attach {}", u8::from(config.persist), u8::from(config.attach)),
        format!("  Number of RX Virtqueue {}: {}", config.queues, threads.join(", ")),
    ];
    // Writing to a String can't fail.
    let _ = writeln!(text, "Interface: {} (ifindex {})\n{}", i.name, i.sw_if, lines.join("\n"));
    text
}

fn value(i: &Interface, config: &Config, link: &netlink::Link, there: bool) -> Value {
    json!({
        "name": i.name,
        "sw_if_index": i.sw_if.0,
        "mac": i.mac.to_string(),
        "host_if_name": link.name,
        "host_if_index": link.index,
        "host_there": there,
        "host_up": link.is_admin_up(),
        "host_ns": config.host_namespace,
        "host_mac": link.mac.map(|mac| mac.to_string()),
        "host_mtu": link.mtu,
        "gso": config.gso,
        "csum_offload": config.gso || config.csum_offload,
        "persist": config.persist,
        "attach": config.attach,
        "rx_queues": config.queues,
    })
}

/// Writes the taps, except those of features. Their addresses are always written: addresses that
/// aren't given are drawn by chance.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let mut all = BTreeMap::new();
    for kind in [Kind::Tap, Kind::Tun] {
        let taps = world.get::<Taps>().numbered(kind).into_iter().filter(|(.., tap)| !tap.is_owned);
        all.extend(taps.map(|(id, sw_if, _)| (sw_if, (kind, id))));
    }
    let indices: Vec<_> = all.keys().copied().collect();
    config.interfaces(indices, move |world, sw_if, lines| {
        let (kind, id) = all[&sw_if];
        let tap = world.get::<Taps>().get(kind, id).filter(|(index, _)| *index == sw_if);
        let (Some((_, tap)), Ok(interface)) = (tap, world.get::<Interfaces>().get(sw_if)) else {
            return;
        };
        let OriginalSettings { name, mac, .. } = interface.original;
        let usual = format!("{}{id}", kind_name(kind));
        let mut line = format!("create tap id {id} hw-addr {mac}");
        if name != usual {
            line += &format!(" if-name {}", quote(&name));
        }
        line += &host(&tap.config, &usual);
        lines.push(line, format!("delete tap {}", quote(&name)));
    });
}

fn host(c: &Config, usual: &str) -> String {
    let mut text = String::new();
    let mut word = |word: &str, value: Option<String>| {
        if let Some(value) = value {
            text += &format!(" {word} {}", quote(&value));
        }
    };
    let host_name = (c.host_name != usual || c.attach).then(|| c.host_name.clone());
    word("num-rx-queues", (c.queues != 1).then(|| c.queues.to_string()));
    word("rx-ring-size", c.host_queue_len.map(|n| n.to_string()));
    word("host-ns", c.host_namespace.clone());
    word("host-bridge", c.host_bridge.clone());
    word("host-ip4-addr", c.host_ip4.map(|(ip, len)| format!("{ip}/{len}")));
    word("host-ip6-addr", c.host_ip6.map(|(ip, len)| format!("{ip}/{len}")));
    word("host-ip4-gw", c.host_ip4_gateway.map(|ip| ip.to_string()));
    word("host-ip6-gw", c.host_ip6_gateway.map(|ip| ip.to_string()));
    word("host-mac-addr", c.host_mac.map(|mac| mac.to_string()));
    word("host-if-name", host_name);
    word("host-mtu-size", c.host_mtu.map(|n| n.to_string()));
    let flags = [
        (!c.gso && !c.csum_offload, " no-gso"),
        (!c.gso && c.csum_offload, " csum-offload"),
        (c.persist, " persist"),
        (c.attach, " attach"),
        (c.kind == Kind::Tun, " tun"),
    ];
    text.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| word));
    text
}
