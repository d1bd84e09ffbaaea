// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::exporter::{DEFAULT, ExporterInfo, Fate, Ipfix, StreamInfo};
use crate::settings::{PATH_MTU, PORT, Settings, TEMPLATE_INTERVAL};
use cli::{Command, Matches, Output, Result};
use graph::{Phase, RunningConfig, Script, World};
use serde_json::{Value, json};
use std::fmt::Write;

/// The words of an exporter's settings.
const SETTINGS: &str = "collector <collector:ip> [port <port:u16>] src <source:ip> [fib-id <vrf:u32>] [path-mtu <mtu:u32>] [template-interval <interval:u32>] [udp-checksum]";

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Give the default exporter a collector of IPFIX records, or none
    "set ipfix exporter", cli::join!("{off | (", SETTINGS, ")}") => set;
    /// Make an exporter to one more collector, or delete it
    "ipfix exporter", cli::join!("{add (", SETTINGS, ") | del collector <collector:ip>}") => change;
    /// Send all records that wait, and templates that the collector doesn't know
    "ipfix flush" => |w, _| {
        w.get::<Ipfix>().flush(w);
        Ok(())
    };
    /// Exporters, and what became of their records and datagrams
    "show ipfix exporters" => exporters;
    /// Streams of exporters, and their templates
    "show ipfix streams" => streams;
};

pub const EXAMPLES: &[Script] = &[
    Script::here(
        "records of traffic to collectors",
        "ip table add 7
         set ipfix exporter collector 192.0.2.1 port 4740 src 192.0.2.2 fib-id 7 path-mtu 1400 template-interval 60 udp-checksum
         ipfix exporter add collector 2001:db8::1 src 2001:db8::2
         ipfix exporter add collector 192.0.2.9 src 192.0.2.2 template-interval 5
         ipfix exporter del collector 192.0.2.9",
    ),
    Script::here(
        "records to the default exporter",
        "set ipfix exporter collector 192.0.2.1 src 192.0.2.2",
    ),
];

fn settings(m: &Matches) -> Result<Settings> {
    Ok(Settings {
        collector: m.req("collector")?,
        port: m.opt("port")?.unwrap_or(PORT),
        source: m.req("source")?,
        vrf: m.opt("vrf")?,
        path_mtu: m.opt("mtu")?.unwrap_or(PATH_MTU),
        template_interval: m.opt("interval")?.unwrap_or(TEMPLATE_INTERVAL),
        checksum: m.flag("udp-checksum"),
    })
}

fn set(w: &World, m: &Matches) -> Result<()> {
    let ipfix = w.get::<Ipfix>();
    if m.flag("off") {
        return ipfix.set(w, None);
    }
    ipfix.set(w, Some(settings(m)?).filter(|set| !set.collector.is_unspecified()))
}

fn change(w: &World, m: &Matches) -> Result<()> {
    let ipfix = w.get::<Ipfix>();
    match m.flag("add") {
        true => ipfix.create(w, settings(m)?).map(drop),
        false => ipfix.delete(w, m.req("collector")?).map(drop),
    }
}

fn words(set: &Settings) -> String {
    let Settings { collector, port, source, .. } = set;
    let mut words = format!("collector {collector}");
    // Writing to a String can't fail.
    if *port != PORT {
        let _ = write!(words, " port {port}");
    }
    let _ = write!(words, " src {source}");
    if let Some(vrf) = set.vrf {
        let _ = write!(words, " fib-id {vrf}");
    }
    if set.path_mtu != PATH_MTU {
        let _ = write!(words, " path-mtu {}", set.path_mtu);
    }
    if set.template_interval != TEMPLATE_INTERVAL {
        let _ = write!(words, " template-interval {}", set.template_interval);
    }
    words + if set.checksum { " udp-checksum" } else { "" }
}

/// Writes the settings, behind the tables of collectors.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    for ExporterInfo { number, settings, .. } in world.get::<Ipfix>().exporters() {
        let Some(set) = settings else { continue };
        let words = words(&set);
        if number == DEFAULT {
            let line = format!("set ipfix exporter {words}");
            config.push(Phase::FEATURES, line, "set ipfix exporter off");
        } else {
            let undo = format!("ipfix exporter del collector {}", set.collector);
            config.push(Phase::FEATURES, format!("ipfix exporter add {words}"), undo);
        }
    }
}

fn exporters(w: &World, _: &Matches) -> Result<Output> {
    let (mut text, mut values) = (String::new(), Vec::new());
    for ExporterInfo { number, settings, counters } in w.get::<Ipfix>().exporters() {
        let line = settings.as_ref().map_or("no collector".into(), words);
        let sent = &counters.datagrams;
        let (datagrams, unreachable, no_buffer) =
            (sent.sent(), sent.unreachable(), sent.no_buffer());
        let fates = [Fate::Taken, Fate::NoCollector, Fate::TooLong, Fate::Malformed];
        let [records, no_collector, too_long, malformed] = fates.map(|fate| counters.records(fate));
        let _ = writeln!(
            text,
            "exporter {number}: {line}\n  records {records}, lost: no collector {no_collector}, \
             too long {too_long}, malformed {malformed}\n  datagrams {datagrams}, not sent: \
             unreachable {unreachable}, no buffer {no_buffer}"
        );
        values.push(json!({
            "exporter": number,
            "collector": settings.map(|set| set.collector.to_string()),
            "port": settings.map(|set| set.port),
            "source": settings.map(|set| set.source.to_string()),
            "vrf": settings.and_then(|set| set.vrf),
            "path_mtu": settings.map(|set| set.path_mtu),
            "template_interval": settings.map(|set| set.template_interval),
            "udp_checksum": settings.map(|set| set.checksum),
            "records": records,
            "no_collector": no_collector,
            "too_long": too_long,
            "malformed": malformed,
            "datagrams": datagrams,
            "unreachable": unreachable,
            "no_buffer": no_buffer,
        }));
    }
    Ok(Output::both(text, Value::Array(values)))
}

fn streams(w: &World, _: &Matches) -> Result<Output> {
    let (mut text, mut values) = (String::new(), Vec::new());
    for StreamInfo { exporter, name, sequence, waiting, templates } in w.get::<Ipfix>().streams() {
        let (domain, port) = (name.domain, name.source_port);
        let _ = writeln!(
            text,
            "exporter {exporter} domain {domain} source port {port}: records sent {sequence}, \
             waiting {waiting}"
        );
        for (id, template) in &templates {
            let _ = writeln!(text, "  template {id} {}", template.name);
        }
        let of =
            |(id, template): &(u16, crate::Template)| json!({ "id": id, "name": template.name });
        values.push(json!({
            "exporter": exporter, "domain": domain, "source_port": port,
            "sent": sequence, "waiting": waiting,
            "templates": templates.iter().map(of).collect::<Vec<_>>(),
        }));
    }
    Ok(Output::both(text, Value::Array(values)))
}
