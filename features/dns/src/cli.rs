// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::api::parse;
use crate::cache::{Static, unknown};
use crate::control::Dns;
use crate::{sample, show};
use cli::{Command, Error, Matches, Result};
use graph::{Phase, RunningConfig, Script, World};
use msg::retval;
use std::fmt::Write as _;
use wire::dns::{CLASS_IN, Name, Question, RecordType};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Enable or disable name resolution for clients
    "dns", "{enable | disable}" => |w, m| w.get::<Dns>().enable(w, m.flag("enable"));
    /// Give a name addresses, take them, or forget all answers of name servers
    "dns cache", "{add <name:word> [<ip4:ip4>] [<ip6:ip6>] | del <name:word> | clear}" => cache;
    /// Add or remove a name server
    "dns name-server", "<server:ip> [del]" => |w, m| {
        let (dns, server) = (w.get::<Dns>(), m.req("server")?);
        let done = if m.flag("del") { dns.remove_server(w, server) } else { dns.add_server(w, server) };
        done.map_err(m.at("server"))
    };
    /// Names that are known, and those that are being asked for
    "show dns cache", "[verbose [<level:u8>]]" => |w, m| Ok(show::cache(w, m.flag("verbose")));
    /// The name servers
    "show dns servers" => |w, _| Ok(show::servers(w));
    /// Let the answers for a name expire
    "test dns expire", "<name:word>" => |w, m| w.get::<Dns>().expire(&name(m)?).map_err(m.at("name"));
    /// Print a response that is made here, as it is read again
    "test dns format" => |_, _| sample::format();
    /// Print the addresses that the cache has for a name
    "test dns unformat", "<name:word> [ip4] [ip6]" => unformat;
};

/// Commands that set what is kept here, for the tests that save and restore it.
pub const EXAMPLES: &[Script] = &[Script::here(
    "names",
    "dns name-server 192.0.2.53
     dns name-server 2001:db8::53
     dns name-server 192.0.2.54
     dns name-server 192.0.2.54 del
     dns enable
     dns cache add bozo.clown.org 1.2.3.4
     dns cache add both.clown.org 1.2.3.5 2001:db8::5
     dns cache add six.clown.org 2001:db8::6
     dns cache add gone.clown.org 1.2.3.6
     dns cache del gone.clown.org",
)];

fn name(m: &Matches) -> Result<Name> {
    parse(m.str("name")).map_err(m.at("name"))
}

fn cache(w: &World, m: &Matches) -> Result<()> {
    let dns = w.get::<Dns>();
    if m.flag("clear") {
        dns.state().cache.clear();
        return Ok(());
    }
    let name = name(m)?;
    if m.flag("del") {
        return dns.forget(w, &name).map_err(m.at("name"));
    }
    let given = Static { ip4: m.opt("ip4")?, ip6: m.opt("ip6")? };
    if given == Static::default() {
        let why = format!("expected an address of {name}");
        return Err(Error::usage(why).retval(retval::INVALID_VALUE));
    }
    dns.give(w, name, given).map_err(m.at("name"))
}

/// `test dns unformat`: nothing is asked.
fn unformat(w: &World, m: &Matches) -> Result<String> {
    let (dns, name) = (w.get::<Dns>(), name(m)?);
    let now = w.clock.now();
    let both = m.flag("ip4") == m.flag("ip6");
    let mut text = String::new();
    for (word, kind) in [("ip4", RecordType::A), ("ip6", RecordType::AAAA)] {
        if !both && !m.flag(word) {
            continue;
        }
        let question = Question { name: name.clone(), kind, class: CLASS_IN };
        let Some(answer) = dns.state().cache.get(&question, now) else { continue };
        let (ip4, ip6) = answer.addresses();
        let address = ip4.map(|ip| ip.to_string()).or(ip6.map(|ip| ip.to_string()));
        let address = address.unwrap_or_else(|| "none".into());
        // Writing to a String can't fail.
        let _ = writeln!(text, "{word} address: {address}");
    }
    if text.is_empty() { Err(m.at("name")(unknown(&name))) } else { Ok(text) }
}

/// Writes the commands that restore the settings.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let dns = world.get::<Dns>();
    let state = dns.state();
    let phase = Phase::FEATURES;
    for server in &state.servers {
        let line = format!("dns name-server {server}");
        config.push(phase, &line, format!("{line} del"));
    }
    for (name, given) in state.cache.statics() {
        let mut line = format!("dns cache add {}", cli::quote(&name.to_string()));
        given.ip4.iter().for_each(|ip| line += &format!(" {ip}"));
        given.ip6.iter().for_each(|ip| line += &format!(" {ip}"));
        config.push(phase, line, format!("dns cache del {}", cli::quote(&name.to_string())));
    }
    if state.enabled {
        config.push(phase, "dns enable", "dns disable");
    }
}
