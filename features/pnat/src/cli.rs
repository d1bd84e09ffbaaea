// SPDX-License-Identifier: Apache-2.0
//! The commands, and the saved configuration.

use crate::binding::{Binding, Match, Rewrite, mask};
use crate::control::Control;
use crate::table::Place;
use cli::{Command, Error, Matches, Output, Result, Writer, quote};
use graph::{Phase, RunningConfig, Script, SwIfIndex, World};
use nat::key::End;
use net::Interfaces;
use net::args::interface;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::IpProtocol;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Rewrite packets that match, as they are received (in) or as they leave (out)
    "set pnat translation",
    "interface <interface:interface> match ([src <src:ip4>] [dst <dst:ip4>] [proto <proto:word>] [sport <sport:u16>] [dport <dport:u16>]) \
     rewrite ([src <new-src:ip4>] [dst <new-dst:ip4>] [sport <new-sport:u16>] [dport <new-dport:u16>] [copy <from:u8> to <to:u8>] [clear <zero:u8>]) {in|out} [del]" => translation;
    /// Add a binding with a number, without an interface, or remove it: what packets match, and how
    /// they are rewritten
    "pnat binding",
    "<binding:u32> {match ([src <src:ip4>] [dst <dst:ip4>] [proto <proto:word>] [sport <sport:u16>] [dport <dport:u16>]) \
     rewrite ([src <new-src:ip4>] [dst <new-dst:ip4>] [sport <new-sport:u16>] [dport <new-dport:u16>] [copy <from:u8> to <to:u8>] [clear <zero:u8>]) | del}" => binding;
    /// Attach a binding to an interface, for packets that are received (in) or leave (out)
    "set interface pnat", "<interface:interface> {in|out} binding <binding:u32> [del]" => attach;
    /// Bindings, and where they are attached
    "show pnat translations" => show_bindings;
    /// Interfaces with bindings, and what is compared there
    "show pnat interfaces" => show_interfaces;
};

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "rewritten packets",
    "create loopback interface
     create loopback interface
     pnat binding 7 match src 10.0.0.1 dst 10.0.0.2 proto udp dport 53 rewrite src 192.0.2.1 sport 99 copy 19 to 15 clear 40
     pnat binding 8 match proto 47 rewrite dst 192.0.2.9
     pnat binding 9 match dst 10.0.0.9 rewrite clear 1
     pnat binding 9 del
     set interface pnat loop0 in binding 7
     set interface pnat loop0 out binding 8
     set interface pnat loop1 out binding 8
     set interface pnat loop1 out binding 8 del
     set pnat translation interface loop1 match src 10.1.0.1 rewrite src 192.0.2.7 in
     set pnat translation interface loop1 match src 10.1.0.2 rewrite src 192.0.2.8 in
     set pnat translation interface loop1 match src 10.1.0.2 rewrite src 192.0.2.8 in del",
)];

fn control(w: &World) -> Arc<Control> {
    w.get()
}

/// A protocol by name or number.
fn protocol(m: &Matches, word: &str) -> Result<IpProtocol> {
    Ok(match word {
        "tcp" => IpProtocol::TCP,
        "udp" => IpProtocol::UDP,
        "icmp" => IpProtocol::ICMP,
        word => IpProtocol(word.parse().map_err(|_| {
            let why = format!("expected tcp, udp, icmp or a number to 255, not `{word}'");
            Error::parse(why).at(m.span("proto"))
        })?),
    })
}

/// Ends by the names of their values: of addresses, then of ports; with the mask.
fn ends(m: &Matches, names: [&str; 4]) -> Result<(u32, End, End)> {
    let [src, dst, sport, dport] = names;
    let (src, dst) = (m.opt::<Ipv4Addr>(src)?, m.opt::<Ipv4Addr>(dst)?);
    let (sport, dport) = (m.opt::<u16>(sport)?, m.opt::<u16>(dport)?);
    let bit = |there: bool, bit: u32| if there { bit } else { 0 };
    let mask = bit(src.is_some(), mask::SOURCE)
        | bit(dst.is_some(), mask::DESTINATION)
        | bit(sport.is_some(), mask::SOURCE_PORT)
        | bit(dport.is_some(), mask::DESTINATION_PORT);
    let end = |addr: Option<Ipv4Addr>, port: Option<u16>| {
        End::new(addr.unwrap_or(Ipv4Addr::UNSPECIFIED), port.unwrap_or(0))
    };
    Ok((mask, end(src, sport), end(dst, dport)))
}

fn tuples(m: &Matches) -> Result<(Match, Rewrite)> {
    let (mut of_match, from, to) = ends(m, ["src", "dst", "sport", "dport"])?;
    let known = m.opt::<String>("proto")?.map(|word| protocol(m, &word)).transpose()?;
    if known.is_some() {
        of_match |= mask::PROTOCOL;
    }
    let what = Match { mask: of_match, from, to, protocol: known.unwrap_or(IpProtocol(0)) };
    let (mut bits, from, to) = ends(m, ["new-src", "new-dst", "new-sport", "new-dport"])?;
    let copy = m.opt::<u8>("from")?.zip(m.opt::<u8>("to")?);
    let clear = m.opt::<u8>("zero")?;
    if copy.is_some() {
        bits |= mask::COPY;
    }
    if clear.is_some() {
        bits |= mask::CLEAR;
    }
    let (copy_from, copy_to) = copy.unwrap_or_default();
    let clear = clear.unwrap_or_default();
    Ok((what, Rewrite { mask: bits, from, to, copy_from, copy_to, clear }))
}

fn place(w: &World, m: &Matches) -> Result<Place> {
    Ok(Place { sw_if: interface(w, m, "interface")?.0, output: m.flag("out") })
}

fn translation(w: &World, m: &Matches) -> Result<()> {
    let (place, tuples) = (place(w, m)?, tuples(m)?);
    match m.flag("del") {
        true => control(w).untranslate(w, place, tuples),
        false => control(w).translate(w, place, tuples),
    }
}

fn binding(w: &World, m: &Matches) -> Result<()> {
    let number = m.req("binding")?;
    match m.flag("del") {
        true => control(w).del(w, number),
        false => control(w).add(w, Some(number), tuples(m)?).map(|_| ()),
    }
}

fn attach(w: &World, m: &Matches) -> Result<()> {
    let (place, number) = (place(w, m)?, m.req("binding")?);
    match m.flag("del") {
        true => control(w).detach(w, place, number),
        false => control(w).attach(w, place, number),
    }
}

fn direction(output: bool) -> &'static str {
    if output { "out" } else { "in" }
}

fn show_bindings(w: &World, _: &Matches) -> Result<Output> {
    let all: Vec<_> = control(w).read(|state| {
        let attached = |number: u32| {
            state.places().filter(move |place| state.numbers(*place).contains(&number)).collect()
        };
        state.bindings.iter().map(|(number, b)| (*number, *b, attached(*number))).collect()
    });
    Ok(Output::list(all, |w: &World, row: (u32, Binding, Vec<Place>), out: &mut Writer| {
        let (number, binding, places) = row;
        let interfaces = w.get::<Interfaces>();
        let name = |place: &Place| interfaces.name(SwIfIndex(place.sw_if));
        out.text(|text| {
            *text += &format!("[{number}] {} {}\n", binding.what, binding.rewrite);
            for place in &places {
                *text += &format!("  {} {}\n", name(place), direction(place.output));
            }
        });
        out.value(|| {
            let attached = |place: &Place| {
                json!({ "interface": name(place), "direction": direction(place.output) })
            };
            json!({
                "binding": number,
                "match": binding.what.to_string(),
                "rewrite": binding.rewrite.to_string(),
                "attached": places.iter().map(attached).collect::<Vec<_>>(),
            })
        });
        Ok(())
    }))
}

/// The fields of a mask.
fn fields(bits: u32) -> Vec<&'static str> {
    let names = [
        (mask::SOURCE, "src"),
        (mask::DESTINATION, "dst"),
        (mask::PROTOCOL, "proto"),
        (mask::SOURCE_PORT, "sport"),
        (mask::DESTINATION_PORT, "dport"),
    ];
    names.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| name).collect()
}

fn show_interfaces(w: &World, _: &Matches) -> Result<Output> {
    let all: Vec<_> = control(w).read(|state| {
        let of = |place| (place, state.mask(place).unwrap_or(0), state.numbers(place).len());
        state.places().map(of).collect()
    });
    Ok(Output::list(all, |w: &World, row: (Place, u32, usize), out: &mut Writer| {
        let (place, mask, bindings) = row;
        let name = w.get::<Interfaces>().name(SwIfIndex(place.sw_if));
        let (direction, compared) = (direction(place.output), fields(mask));
        out.text(|text| {
            let compared = compared.join(" ");
            *text += &format!("{name} {direction}: {compared}, bindings: {bindings}\n");
        });
        out.value(|| -> Value {
            json!({
                "interface": name,
                "direction": direction,
                "compared": compared,
                "bindings": bindings,
            })
        });
        Ok(())
    }))
}

/// Writes lines for all that was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let control = control(world);
    let bindings: Vec<_> =
        control.read(|state| state.bindings.iter().map(|(number, b)| (*number, *b)).collect());
    config.list(BINDINGS, bindings, |_, (number, binding), lines| {
        let line = format!("pnat binding {number}");
        let tuples = format!("{} {}", binding.what, binding.rewrite);
        lines.push(format!("{line} {tuples}"), format!("{line} del"));
    });
    let attached: Vec<_> = control.read(|state| {
        let of = |place| state.numbers(place).into_iter().map(move |number| (place, number));
        state.places().flat_map(of).collect()
    });
    config.list(Phase::FEATURES, attached, |world, (place, number), lines| {
        let name = quote(&world.get::<Interfaces>().name(SwIfIndex(place.sw_if)));
        let word = direction(place.output);
        let line = format!("set interface pnat {name} {word} binding {number}");
        lines.push(line.clone(), format!("{line} del"));
    });
}

/// Bindings, which attachments need.
pub const BINDINGS: Phase =
    Phase { name: "pnat bindings", after: &["addresses"], before: &["routes"] };
