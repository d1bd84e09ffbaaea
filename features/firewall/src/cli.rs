// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{Firewall, Target};
use crate::limits::Sources;
use crate::log::Logs;
use crate::model::{PolicyOptions, Rule};
use crate::sets::Members;
use crate::settings::{Limit, Settings, Timer};
use crate::values::{network, range};
use crate::zone::ZoneLimits;
use crate::{explain, show};
use cli::{Command, Error, Matches, Result};
use graph::World;
use net::args::interface;
use object::{Arguments, Choice};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use syslog::sender::PORT;

const ZONE: &str = cli::join!("<name:word> {del | (", ZoneLimits::USAGE, ")}");
const POLICY: &str =
    cli::join!("from <from:word> to <to:word> {del | (", PolicyOptions::USAGE, ")}");
const RULE: &str = cli::join!(
    "from <from:word> to <to:word> {all del | <number:u32> {del | (",
    Rule::USAGE,
    ")}}"
);
const SET: &str = "<name:word> {del | {add|remove} {network [<networks:word>]... | \
                   port [<ports:word>]... | interface [<interfaces:interface>]...}}";

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make a zone or set its limits, or delete it
    "firewall zone", ZONE => |w, m| zone(w, m, Target::Running);
    /// Put an interface into a zone, or into none
    "set interface firewall zone", "<interface:interface> {none | <zone:word>}" => interface_zone;
    /// Make a policy of packets from one zone to another or set its options, or delete it
    "firewall policy", POLICY => |w, m| policy(w, m, Target::Running);
    /// Put a rule into a policy, in the place of one with its number, or delete one or all
    "firewall rule", RULE => |w, m| rule(w, m, Target::Running);
    /// Add members to a set, take them out, or delete the set
    "firewall set", SET => |w, m| set(w, m, Target::Running);
    /// As firewall zone, in the draft
    "firewall draft zone", ZONE => |w, m| zone(w, m, Target::Draft);
    /// As firewall policy, in the draft
    "firewall draft policy", POLICY => |w, m| policy(w, m, Target::Draft);
    /// As firewall rule, in the draft
    "firewall draft rule", RULE => |w, m| rule(w, m, Target::Draft);
    /// As firewall set, in the draft
    "firewall draft set", SET => |w, m| set(w, m, Target::Draft);
    /// Open a draft: its changes wait until they are committed together
    "firewall begin" => |w, _| w.get::<Firewall>().begin();
    /// Put all changes of the draft into force at once
    "firewall commit" => |w, _| w.get::<Firewall>().commit(w);
    /// Forget the changes of the draft
    "firewall abort" => |w, _| w.get::<Firewall>().abort();
    /// Seconds without a packet after which sessions end
    "firewall timeout",
    "<timer:tcp-opening|tcp-established|tcp-closing|tcp-time-wait|tcp-closed|udp|udp-answered|icmp|other|other-answered> <seconds:1-4294967>" => |w, m| {
        let timer = Timer::of_word(m.str("timer"));
        let settings = w.get::<Settings>();
        timer.into_iter().try_for_each(|timer| {
            settings.set_seconds(timer, m.req("seconds")?);
            Ok(())
        })
    };
    /// Sessions at most: all, half-open TCP, those of one host, and new ones of a host in a second
    "firewall limit",
    "<limit:sessions|half-open|source-sessions|source-rate> <value:u32>" => limit;
    /// Send records to a server (RFC 5424, by UDP), write them to the log, or end that
    "firewall log",
    "{server {none | <server:ip> [port <port:1-65535>]} | local {on|off} | no-policy {on|off}}" => log;
    /// Zones, their interfaces and sessions
    "show firewall zones" => show::zones;
    /// Policies and their rules, with counters, or those of the draft
    "show firewall policies", "[draft] [from <from:word> to <to:word>]" => show::policies;
    /// Sets and their members
    "show firewall sets", "[draft] [<name:word>]" => show::sets;
    /// Sessions
    "show firewall sessions",
    cli::join!("[verbose <most:u32>] ", show::FILTER) => show::sessions;
    /// The latest records, and where they are sent
    "show firewall log", "[last <last:u32>]" => show::log;
    /// Settings of sessions
    "show firewall settings" => show::settings;
    /// End sessions
    "clear firewall sessions", show::FILTER => show::clear_sessions;
    /// The rule that would decide about a packet
    "firewall explain", explain::USAGE => explain::explain;
};

fn pair<'a>(m: &Matches<'a>) -> [&'a str; 2] {
    [m.str("from"), m.str("to")]
}

fn zone(w: &World, m: &Matches, to: Target) -> Result<()> {
    let (firewall, name) = (w.get::<Firewall>(), m.str("name"));
    let done = match m.flag("del") {
        true => firewall.delete_zone(to, w, name),
        false => firewall.set_zone(to, name, ZoneLimits::read(w, m)?),
    };
    done.map_err(m.at("name"))
}

fn interface_zone(w: &World, m: &Matches) -> Result<()> {
    let sw_if = interface(w, m, "interface")?;
    let zone = (!m.flag("none")).then(|| m.str("zone"));
    w.get::<Firewall>().set_interface(w, sw_if, zone).map_err(m.at("zone"))
}

fn policy(w: &World, m: &Matches, to: Target) -> Result<()> {
    let firewall = w.get::<Firewall>();
    let done = match m.flag("del") {
        true => firewall.delete_policy(to, pair(m)),
        false => firewall.set_policy(to, pair(m), PolicyOptions::read(w, m)?),
    };
    done.map_err(m.at("from"))
}

fn rule(w: &World, m: &Matches, to: Target) -> Result<()> {
    let firewall = w.get::<Firewall>();
    if m.flag("del") {
        return firewall.delete_rule(to, pair(m), m.opt("number")?).map_err(m.at("number"));
    }
    let rule = Rule::read(w, m)?;
    firewall.set_rule(to, pair(m), m.req("number")?, rule).map_err(m.at("from"))
}

fn set(w: &World, m: &Matches, to: Target) -> Result<()> {
    let (firewall, name) = (w.get::<Firewall>(), m.str("name"));
    if m.flag("del") {
        return firewall.delete_set(to, name).map_err(m.at("name"));
    }
    let words = |of: &str| m.all::<String>(of).map_err(m.at(of));
    let members = if m.flag("network") {
        let all = words("networks")?.into_iter().map(|word| network(&word));
        Members::Networks(all.collect::<Result<_>>().map_err(m.at("networks"))?)
    } else if m.flag("port") {
        let all = words("ports")?.into_iter().map(|word| range(&word));
        Members::Ports(all.collect::<Result<_>>().map_err(m.at("ports"))?)
    } else {
        let interfaces = w.get::<net::Interfaces>();
        let all = words("interfaces")?.into_iter().map(|word| interfaces.find(&word));
        Members::Interfaces(all.collect::<Result<_>>().map_err(m.at("interfaces"))?)
    };
    firewall.change_set(to, name, members, m.flag("add")).map_err(m.at("name"))
}

fn limit(w: &World, m: &Matches) -> Result<()> {
    let Some(limit) = Limit::of_word(m.str("limit")) else { return Ok(()) };
    let value = m.req("value")?;
    if value == 0 && matches!(limit, Limit::Sessions | Limit::HalfOpen) {
        let why = "expected at least one: without a session, no rule lets a packet pass";
        return Err(Error::parse(why).at(m.span("value")));
    }
    if value > 0 && matches!(limit, Limit::SourceSessions | Limit::SourceRate) {
        w.get::<Sources>().prepare()?;
    }
    w.get::<Settings>().set_limit(limit, value);
    Ok(())
}

fn log(w: &World, m: &Matches) -> Result<()> {
    let logs = w.get::<Logs>();
    if m.flag("local") {
        logs.local.store(m.flag("on"), Ordering::Relaxed);
    } else if m.flag("no-policy") {
        logs.records.no_policy.store(m.flag("on"), Ordering::Relaxed);
    } else {
        let server = m.opt::<IpAddr>("server")?;
        let port = m.opt("port")?.unwrap_or(PORT);
        logs.server.set(server.map(|server| SocketAddr::new(server, port)))?;
    }
    Ok(())
}
