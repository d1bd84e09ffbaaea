// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Control, Enabled, closed};
use crate::settings::role;
use crate::show;
use cli::{Command, Error, Matches, Output, Result};
use graph::World;
use nat::key::read_end;
use nat::timeouts::Timeouts;
use net::args::given_interface;
use serde_json::json;
use std::sync::Arc;
use wire::Ip4Prefix;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Enable deterministic NAT, or disable it and forget its configuration
    "det44 plugin",
    "{enable [inside vrf <inside:u32>] [outside vrf <outside:u32>] | disable}" => plugin;
    /// Make interfaces ones to users (inside) and to the world (outside)
    "set interface det44",
    "([inside <inside:interface>] [outside <outside:interface>] [del])" => set_interface;
    /// Let the users of a prefix share the addresses of another one, each with ports of its own
    "det44 add", "in <inside:prefix4> out <outside:prefix4> [del]" => add;
    /// Address and ports of a user
    "det44 forward", "<user:ip4>" => forward;
    /// The user of an address and port, as 192.0.2.1:1024
    "det44 reverse", "<outside:word>" => reverse;
    /// End a session, by the address and port outside, and those of the other end
    "det44 close session out", "<outside:word> <external:word>" => |w, m| {
        let ended = Control::close_out(w, read_end(m, "outside")?, read_end(m, "external")?)?;
        Ok(ended.then(|ended| closed(ended).map(|()| Output::empty())))
    };
    /// End a session, by the user's address and port, and those of the other end
    "det44 close session in", "<inside:word> <external:word>" => |w, m| {
        let ended = Control::close_in(w, read_end(m, "inside")?, read_end(m, "external")?)?;
        Ok(ended.then(|ended| closed(ended).map(|()| Output::empty())))
    };
    /// Seconds without a packet after which sessions end
    "set det44 timeouts",
    "{([udp <udp:u32>] [tcp established <established:u32>] [tcp transitory <transitory:u32>] [icmp <icmp:u32>]) | reset}" => timeouts;
    /// Maps of users to addresses, with the number of their sessions
    "show det44 mappings" => show::mappings;
    /// Interfaces and their roles
    "show det44 interfaces" => show::interfaces;
    /// Sessions
    "show det44 sessions" => show::sessions;
    /// Seconds without a packet after which sessions end
    "show det44 timeouts" => show::timeouts;
};

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn plugin(w: &World, m: &Matches) -> Result<()> {
    if m.flag("disable") {
        return control(w).disable(w);
    }
    let number = |name| m.opt(name).map(Option::unwrap_or_default);
    control(w).enable(w, Enabled { inside: number("inside")?, outside: number("outside")? })
}

fn set_interface(w: &World, m: &Matches) -> Result<()> {
    let inside = given_interface(w, m, "inside")?;
    let outside = given_interface(w, m, "outside")?;
    if inside.is_none() && outside.is_none() {
        return Err(Error::parse("expected inside or outside with an interface"));
    }
    for (sw_if, bit) in [(inside, role::INSIDE), (outside, role::OUTSIDE)] {
        if let Some(sw_if) = sw_if {
            control(w).set_role(w, sw_if, bit, !m.flag("del"))?;
        }
    }
    Ok(())
}

fn add(w: &World, m: &Matches) -> Result<()> {
    let (inside, outside) = (m.req::<Ip4Prefix>("inside")?, m.req::<Ip4Prefix>("outside")?);
    match m.flag("del") {
        true => control(w).remove_map(w, inside, outside),
        false => control(w).add_map(w, inside, outside),
    }
}

fn forward(w: &World, m: &Matches) -> Result<Output> {
    let range = Control::forward(w, m.req("user")?)?;
    let (addr, first, last) = (range.addr, range.first, range.last());
    let value = json!({ "address": addr.to_string(), "first_port": first, "last_port": last });
    Ok(Output::both(format!("{addr}:<{first}-{last}>\n"), value))
}

fn reverse(w: &World, m: &Matches) -> Result<Output> {
    let user = Control::reverse(w, read_end(m, "outside")?)?;
    Ok(Output::both(format!("{user}\n"), json!({ "user": user.to_string() })))
}

fn timeouts(w: &World, m: &Matches) -> Result<()> {
    if m.flag("reset") {
        return control(w).set_timeouts(w, Timeouts::default());
    }
    // A timeout of 0 stays as it was.
    let timeouts = Timeouts([0; 4]).set_by(m)?;
    if timeouts == Timeouts([0; 4]) {
        return Err(Error::parse("expected a timeout of 1 second at least"));
    }
    control(w).set_timeouts(w, timeouts)
}
