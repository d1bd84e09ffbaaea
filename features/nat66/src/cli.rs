// SPDX-License-Identifier: Apache-2.0
//! The commands, and the saved configuration.

use crate::control::{Control, StaticMapping};
use cli::{Command, Matches, Output, Result, Writer, quote};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use net::Interfaces;
use net::args::interface;
use serde_json::json;
use std::sync::Arc;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Enable NAT66, or disable it and forget its configuration
    "nat66 plugin", "{enable [outside-vrf <outside:u32>] | disable}" => |w, m| {
        match m.flag("disable") {
            true => control(w).disable(w),
            false => control(w).enable(w, m.opt("outside")?.unwrap_or(0)),
        }
    };
    /// Make an interface one to users (in) or to the world (out)
    "set interface nat66", "{in|out} <interface:interface> [del]" => |w, m| {
        let sw_if = interface(w, m, "interface")?;
        control(w).set_role(w, sw_if, m.flag("in"), !m.flag("del"))
    };
    /// Give an address inside another one outside
    "nat66 add static mapping",
    "local <local:ip6> external <external:ip6> [vrf <vrf:u32>] [del]" => set_mapping;
    /// Interfaces and their roles
    "show nat66 interfaces" => show_interfaces;
    /// Static mappings, with the packets and bytes that they have translated
    "show nat66 static mappings" => show_mappings;
};

/// The switch, which all other lines need.
pub const SWITCH: Phase =
    Phase { name: "nat66 switch", after: &["addresses"], before: &["routes"] };

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "translation of IPv6",
    "create loopback interface
     create loopback interface
     create loopback interface
     nat66 plugin enable outside-vrf 10
     set interface nat66 in loop0
     set interface nat66 out loop1
     set interface nat66 out loop2
     set interface nat66 out loop2 del
     nat66 add static mapping local fd00::1 external 2001:db8::1
     nat66 add static mapping local fd00::1 external 2001:db8::2 vrf 11
     nat66 add static mapping local fd00::3 external 2001:db8::3
     nat66 add static mapping local fd00::3 external 2001:db8::3 del",
)];

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn set_mapping(w: &World, m: &Matches) -> Result<()> {
    let mapping = StaticMapping {
        local: m.req("local")?,
        external: m.req("external")?,
        vrf: m.opt("vrf")?.unwrap_or(0),
    };
    match m.flag("del") {
        true => control(w).del(w, mapping),
        false => control(w).add(w, mapping),
    }
}

fn role_word(inside: bool) -> &'static str {
    if inside { "in" } else { "out" }
}

fn show_interfaces(w: &World, _: &Matches) -> Result<Output> {
    let roles = control(w).read(|state| state.roles.clone());
    let rows: Vec<_> = [None].into_iter().chain(roles.into_iter().map(Some)).collect();
    Ok(Output::list(rows, |w: &World, row: Option<(SwIfIndex, bool)>, out: &mut Writer| {
        let Some((sw_if, inside)) = row else {
            out.text(|text| *text += "NAT66 interfaces:\n");
            return Ok(());
        };
        let (name, role) = (w.get::<Interfaces>().name(sw_if), role_word(inside));
        out.text(|text| *text += &format!(" {name} {role}\n"));
        out.value(|| json!({ "interface": name, "role": role }));
        Ok(())
    }))
}

fn show_mappings(w: &World, _: &Matches) -> Result<Output> {
    let all = control(w).read(|state| state.mappings.clone());
    let rows: Vec<_> = [None].into_iter().chain(all.into_iter().map(Some)).collect();
    Ok(Output::list(rows, |w: &World, row: Option<(u32, StaticMapping)>, out: &mut Writer| {
        let Some((at, StaticMapping { local, external, vrf })) = row else {
            out.text(|text| *text += "NAT66 static mappings:\n");
            return Ok(());
        };
        let (packets, bytes) = Control::counters(w, at);
        out.text(|text| {
            *text += &format!(" local {local} external {external} vrf {vrf}\n");
            *text += &format!("  total pkts {packets}, total bytes {bytes}\n");
        });
        out.value(|| {
            json!({
                "local": local.to_string(),
                "external": external.to_string(),
                "vrf": vrf,
                "packets": packets,
                "bytes": bytes,
            })
        });
        Ok(())
    }))
}

/// Writes lines for all that was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let control = control(world);
    let Some(outside) = control.read(|state| state.enabled) else { return };
    let vrf = |word: &str, id: u32| if id == 0 { String::new() } else { format!(" {word} {id}") };
    let line = format!("nat66 plugin enable{}", vrf("outside-vrf", outside));
    config.push(SWITCH, line, "nat66 plugin disable");
    let roles: Vec<_> = control.read(|state| state.roles.clone()).into_iter().collect();
    config.list(Phase::FEATURES, roles, |world, (sw_if, inside), lines| {
        let name = quote(&world.get::<Interfaces>().name(sw_if));
        let line = format!("set interface nat66 {} {name}", role_word(inside));
        lines.push(line.clone(), format!("{line} del"));
    });
    let all: Vec<_> = control.read(|state| state.mappings.values().copied().collect());
    config.list(Phase::FEATURES, all, move |_, mapping, lines| {
        let StaticMapping { local, external, vrf: id } = mapping;
        let line =
            format!("nat66 add static mapping local {local} external {external}{}", vrf("vrf", id));
        lines.push(line.clone(), format!("{line} del"));
    });
}
