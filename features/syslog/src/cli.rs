// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::message::{APP_NAME, FACILITIES, MSG_ID, Message, Severity, is_name, is_sd_name};
use crate::sender::{PORT, SIZE, Sender, Syslog};
use cli::{Command, Error, Matches, Output, Result};
use graph::{Phase, RunningConfig, Script, World};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::SystemTime;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Send messages about traffic (RFC 5424) to a collector, or to none
    "set syslog sender",
    "{off | (collector <collector:ip4> [port <port:u16>] src <source:ip4> [vrf-id <vrf:u32>] [max-msg-size <size:u32>])}"
        => set_sender;
    /// Send only messages at least as urgent as this
    "set syslog filter",
    "severity <severity:emergency|alert|critical|error|warning|notice|informational|debug>"
        => set_filter;
    /// The collector of messages, and how many were sent
    "show syslog sender" => show_sender;
    /// The least urgent severity that is sent
    "show syslog filter" => show_filter;
    /// Send a message
    "test syslog",
    "<facility:word> <severity:emergency|alert|critical|error|warning|notice|informational|debug> <app:word> <id:word> [sd-id <element:word> [sd-param <name:word> <value:string>]...]... [<message:string>]"
        => test;
};

pub const EXAMPLES: &[Script] = &[
    Script::here(
        "messages about traffic to a collector",
        "ip table add 7
         set syslog sender collector 192.0.2.1 port 1514 src 192.0.2.2 vrf-id 7 max-msg-size 1024
         set syslog filter severity warning",
    ),
    Script::here(
        "messages in the default table",
        "set syslog sender collector 192.0.2.1 src 192.0.2.2",
    ),
];

fn set_sender(w: &World, m: &Matches) -> Result<()> {
    let syslog = w.get::<Syslog>();
    if m.flag("off") {
        return syslog.set_sender(w, None);
    }
    let sender = Sender {
        collector: m.req("collector")?,
        port: m.opt("port")?.unwrap_or(PORT),
        source: m.req("source")?,
        vrf: m.opt("vrf")?,
        size: m.opt("size")?.unwrap_or(SIZE),
    };
    syslog.set_sender(w, Some(sender))
}

fn severity(m: &Matches) -> Result<Severity> {
    let word = m.str("severity");
    Severity::of_word(word).ok_or_else(|| Error::parse(format!("no severity `{word}'")))
}

fn set_filter(w: &World, m: &Matches) -> Result<()> {
    w.get::<Syslog>().set_filter(w, severity(m)?);
    Ok(())
}

fn show_sender(w: &World, _: &Matches) -> Result<Output> {
    let syslog = w.get::<Syslog>();
    let Some(sender) = syslog.sender() else {
        return Ok(Output::both("syslog is disabled", json!({ "collector": null })));
    };
    let Sender { collector, port, source, vrf, size } = sender;
    let of = &syslog.counts;
    let (sent, unreachable, no_buffer) = (of.sent(), of.unreachable(), of.no_buffer());
    let (filtered, cut) = (syslog.filtered(), syslog.cut());
    let words = vrf.map_or(String::new(), |vrf| format!("VRF ID {vrf}, "));
    let text = format!(
        "collector {collector}:{port}, src address {source}, {words}max-msg-size {size}\n\
         messages sent {sent}, unreachable {unreachable}, no buffer {no_buffer}, \
         filtered {filtered}, cut {cut}"
    );
    let value = json!({
        "collector": collector.to_string(),
        "port": port,
        "source": source.to_string(),
        "vrf": vrf,
        "max_msg_size": size,
        "sent": sent,
        "unreachable": unreachable,
        "no_buffer": no_buffer,
        "filtered": filtered,
        "cut": cut,
    });
    Ok(Output::both(text, value))
}

fn show_filter(w: &World, _: &Matches) -> Result<Output> {
    let name = w.get::<Syslog>().filter().name();
    Ok(Output::both(format!("severity-filter: {name}"), json!({ "severity": name })))
}

fn test(w: &World, m: &Matches) -> Result<()> {
    let word = m.str("facility");
    let number = FACILITIES.iter().position(|name| *name == word);
    let facility = number.ok_or_else(|| {
        Error::parse(format!("no facility `{word}'")).near(word, FACILITIES).at(m.span("facility"))
    })?;
    for (what, most) in [("app", APP_NAME), ("id", MSG_ID)] {
        if !is_name(m.str(what), most) {
            let why = format!("expected 1 to {most} printable characters of ASCII");
            return Err(Error::parse(why).at(m.span(what)));
        }
    }
    let syslog = w.get::<Syslog>();
    if syslog.sender().is_none() {
        let why = "there is no collector: `set syslog sender' sets one";
        return Err(Error::failed(why));
    }
    let mut message =
        Message::new((facility as u8, severity(m)?), SystemTime::now(), m.str("app"), m.str("id"));
    let check = |group: &Matches, what: &str| {
        if is_sd_name(group.str(what)) {
            return Ok(());
        }
        let why = "expected a name of 1 to 32 characters without `=', `]' and quotes";
        Err(Error::parse(why).at(group.span(what)))
    };
    let mut ids = BTreeSet::new();
    for element in m.groups("element") {
        check(&element, "element")?;
        if !ids.insert(element.str("element").to_string()) {
            // RFC 5424 6.3.2.
            let why = "a message has each element of structured data once";
            return Err(Error::parse(why).at(element.span("element")));
        }
        message = message.element(element.str("element"));
        for param in element.groups("name") {
            check(&param, "name")?;
            message.add(param.str("name"), param.str("value"));
        }
    }
    if m.has("message") {
        message = message.text(m.str("message"));
    }
    syslog.send(w, &message);
    Ok(())
}

/// Writes the settings.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    let syslog = world.get::<Syslog>();
    if let Some(sender) = syslog.sender() {
        let Sender { collector, port, source, vrf, size } = sender;
        let mut line = format!("set syslog sender collector {collector}");
        if port != PORT {
            let _ = write!(line, " port {port}");
        }
        let _ = write!(line, " src {source}");
        if let Some(vrf) = vrf {
            let _ = write!(line, " vrf-id {vrf}");
        }
        if size != SIZE {
            let _ = write!(line, " max-msg-size {size}");
        }
        // Behind the tables: the collector may be in one.
        config.push(Phase::FEATURES, line, "set syslog sender off");
    }
    if syslog.filter() != Severity::Informational {
        config.value(
            Phase::SETTINGS,
            "set syslog filter severity",
            syslog.filter().name(),
            Severity::Informational.name(),
        );
    }
}
