// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::Vrrp;
use crate::model::{VrConfig, VrInfo, VrKey, VrSettings};
use cli::{Command, Matches, Output, Result, Writer, join};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::Interfaces;
use net::args::interface;
use object::{Arguments, Members};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::IpAddr;

/// A virtual router, by interface, number and IP version.
const NAMED: &str = "{<interface:interface> | sw_if_index <index:u32>} ({vr_id <id:1-255>} [ipv6])";

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Add a virtual router: addresses that several routers of a link share; the one with the
    /// highest priority is the master, 255 is for the owner of the addresses
    "vrrp vr add",
    join!("(<interface:interface> {vr_id <id:1-255>} [ipv6]", VrSettings::USAGE, ") <address:ip>...")
        => add;
    /// Remove a virtual router; one that runs is stopped first
    "vrrp vr del", "(<interface:interface> {vr_id <id:1-255>} [ipv6])" => |w, m| {
        let key = VrKey { sw_if: interface(w, m, "interface")?, v6: m.flag("ipv6"), id: m.req("id")? };
        w.get::<Vrrp>().remove(w, key)
    };
    /// Let the priority of a virtual router fall by so much while another interface is down, or
    /// end that
    "vrrp vr track-if",
    join!("{add | del}", NAMED,
        "{{track-index <trackindex:u32> | track <tracked:interface>} priority <amount:1-255>}...")
        => track;
    /// Start a virtual router, or stop it
    "vrrp proto", join!("{start | stop}", NAMED)
        => |w, m| w.get::<Vrrp>().set_started(w, key(w, m)?, m.flag("start"));
    /// Set the routers to which a stopped unicast virtual router sends, or none
    "vrrp peers", join!(NAMED, "{none | <peer:ip>...}") => |w, m| {
        w.get::<Vrrp>().set_peers(w, key(w, m)?, &m.all::<IpAddr>("peer")?)
    };
    /// Virtual routers, of all interfaces or of one
    "show vrrp vr", "[<interface:interface> | sw_if_index <index:u32>]" => show;
};

fn key(w: &World, m: &Matches) -> Result<VrKey> {
    let interfaces = w.get::<Interfaces>();
    let sw_if = interfaces.named_or_numbered(m)?;
    interfaces.check(sw_if).map_err(m.at("index"))?;
    Ok(VrKey { sw_if, v6: m.flag("ipv6"), id: m.req("id")? })
}

fn add(w: &World, m: &Matches) -> Result<()> {
    let key = VrKey { sw_if: interface(w, m, "interface")?, v6: m.flag("ipv6"), id: m.req("id")? };
    let settings = VrSettings::read(w, m)?;
    let addresses = m.all::<IpAddr>("address")?;
    w.get::<Vrrp>().add(w, VrConfig { key, settings, addresses }).map(|_| ())
}

fn track(w: &World, m: &Matches) -> Result<()> {
    let mut all: Vec<(SwIfIndex, u8)> = Vec::new();
    for turn in m.groups("priority") {
        let sw_if = match turn.opt("trackindex")? {
            Some(index) => SwIfIndex(index),
            None => interface(w, &turn, "tracked")?,
        };
        all.push((sw_if, turn.req("amount")?));
    }
    w.get::<Vrrp>().track(w, key(w, m)?, m.flag("add"), &all)
}

fn show(w: &World, m: &Matches) -> Result<Output> {
    let interfaces = w.get::<Interfaces>();
    let only = match m.has("interface") || m.has("index") {
        true => Some(interfaces.named_or_numbered(m)?),
        false => None,
    };
    let vrrp = w.get::<Vrrp>();
    let indices = vrrp.indices();
    Ok(Output::list(indices, move |w: &World, index, out: &mut Writer| {
        let Some(vr) = vrrp.get(w, index) else { return Ok(()) };
        if only.is_some_and(|only| only != vr.config.key.sw_if) {
            return Ok(());
        }
        out.text(|text| describe(text, &vr));
        out.value(|| value(w, &vr));
        Ok(())
    }))
}

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(|ip| format!("{ip} ")).collect()
}

/// Writes a virtual router as VPP does.
fn describe(text: &mut String, vr: &VrInfo) -> std::fmt::Result {
    let yes = |on: bool| if on { "yes" } else { "no" };
    let VrConfig { key, settings, addresses } = &vr.config;
    let version = key.version();
    writeln!(text, "[{}] sw_if_index {} VR ID {} IPv{version}", vr.index, key.sw_if.0, key.id)?;
    writeln!(
        text,
        "   state {} flags: preempt {} accept {} unicast {}",
        vr.state.name(),
        yes(!settings.no_preempt),
        yes(settings.accept_mode),
        yes(settings.unicast)
    )?;
    writeln!(text, "   priority: configured {} adjusted {}", settings.priority, vr.priority)?;
    writeln!(
        text,
        "   timers: adv interval {} master adv {} skew {} master down {}",
        settings.interval, vr.master_interval, vr.skew, vr.down_interval
    )?;
    writeln!(text, "   virtual MAC {}", vr.mac)?;
    writeln!(text, "   addresses {}", list(addresses))?;
    writeln!(text, "   peer addresses {}", list(&vr.peers))?;
    writeln!(text, "   tracked interfaces")?;
    vr.tracked
        .iter()
        .try_for_each(|(sw_if, by)| writeln!(text, "     sw_if_index {} priority {by}", sw_if.0))
}

fn value(w: &World, vr: &VrInfo) -> Value {
    let interfaces = w.get::<Interfaces>();
    let VrConfig { key, settings, addresses } = &vr.config;
    let tracked = vr.tracked.iter().map(|(sw_if, by)| {
        json!({ "interface": interfaces.name(*sw_if), "sw_if_index": sw_if.0, "priority": by })
    });
    let mut members = Members::new();
    members.insert("index".into(), vr.index.into());
    members.insert("interface".into(), interfaces.name(key.sw_if).into());
    members.insert("sw_if_index".into(), key.sw_if.0.into());
    members.insert("vr_id".into(), key.id.into());
    members.insert("ipv6".into(), key.v6.into());
    settings.members(w, &mut members);
    for (name, value) in [
        ("addresses", json!(addresses)),
        ("peers", json!(vr.peers)),
        ("tracked", tracked.collect()),
        ("started", json!(vr.started)),
        ("state", json!(vr.state.name())),
        ("priority_in_force", json!(vr.priority)),
        ("master_interval", json!(vr.master_interval)),
        ("skew", json!(vr.skew)),
        ("master_down_interval", json!(vr.down_interval)),
        ("mac", json!(vr.mac.to_string())),
    ] {
        members.insert(name.into(), value);
    }
    Value::Object(members)
}

/// Virtual routers, with all that commands set.
pub const EXAMPLES: &[Script] = &[Script::here(
    "virtual routers",
    "create loopback interface
     create loopback interface
     set interface ip address loop0 10.0.0.1/24
     set interface ip address loop0 2001:db8::1/64
     vrrp vr add loop0 vr_id 1 10.0.0.7 10.0.0.2
     vrrp vr add loop0 vr_id 2 priority 255 interval 10 no_preempt accept_mode 10.0.0.1
     vrrp vr del loop0 vr_id 1
     vrrp vr add loop0 vr_id 1 ipv6 priority 7 fe80::1 2001:db8::9
     vrrp vr add loop0 vr_id 3 unicast 10.0.0.3
     vrrp peers loop0 vr_id 3 10.0.0.4 10.0.0.5
     vrrp vr add loop0 vr_id 4 unicast 10.0.0.6
     vrrp peers loop0 vr_id 4 10.0.0.4
     vrrp peers loop0 vr_id 4 none
     vrrp vr track-if add loop0 vr_id 3 track loop1 priority 10
     vrrp vr track-if add loop0 vr_id 4 track loop1 priority 10
     vrrp vr track-if del loop0 vr_id 4 track loop1 priority 10
     vrrp proto start loop0 vr_id 3
     vrrp proto start loop0 vr_id 1 ipv6
     vrrp proto start loop0 vr_id 2
     vrrp proto stop loop0 vr_id 2
     set interface state loop0 up",
)];

/// Writes virtual routers, each with its peers and tracked interfaces before it is started.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let vrrp = world.get::<Vrrp>();
    config.list(Phase::FEATURES, vrrp.indices(), move |world, index, lines| {
        let Some(vr) = vrrp.get(world, index) else { return };
        let interfaces = world.get::<Interfaces>();
        let VrConfig { key, settings, addresses } = &vr.config;
        let version = if key.v6 { " ipv6" } else { "" };
        let name = format!("{} vr_id {}{version}", interfaces.word(key.sw_if), key.id);
        let words = settings.words(world);
        let mut line = format!("vrrp vr add {name}{words}");
        addresses.iter().for_each(|ip| _ = write!(line, " {ip}"));
        lines.push(line, format!("vrrp vr del {name}"));
        if !vr.peers.is_empty() {
            let peers = list(&vr.peers);
            let line = format!("vrrp peers {name}");
            lines.value(&line, peers.trim_end(), "none");
        }
        for (sw_if, by) in &vr.tracked {
            let tracked = format!("{name} track {} priority {by}", interfaces.word(*sw_if));
            let line = |verb| format!("vrrp vr track-if {verb} {tracked}");
            lines.push(line("add"), line("del"));
        }
        if vr.started {
            lines.push(format!("vrrp proto start {name}"), format!("vrrp proto stop {name}"));
        }
    });
}
