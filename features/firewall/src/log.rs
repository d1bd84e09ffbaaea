// SPDX-License-Identifier: Apache-2.0
//! Logs: the latest records for operators, and their text in the daemon's log and for a server of
//! syslog.

use crate::control::Firewall;
use crate::record::{End, Happened, Record, Records};
use crate::state::Config;
use crate::values::Protocol;
use graph::{Process, Shared, Sleep, Wake, World};
use ipfix_export::Drained;
use std::collections::VecDeque;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;
use syslog::{Message, Server, Severity, message::LOCAL0};
use wire::IpProtocol;

/// Records that are kept for `show firewall log`.
const KEPT: usize = 1024;
/// Records that are taken in one turn of the control thread.
const AT_ONCE: usize = 1024;

/// A record with the names of what it is about.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The record.
    pub record: Record,
    /// Time of day.
    pub at: SystemTime,
    /// Names of the zones.
    pub zones: [String; 2],
    /// The rule: its number and its name.
    pub rule: Option<(u32, Option<String>)>,
}

/// The log.
pub struct Logs {
    /// Records of the threads.
    pub records: Arc<Records>,
    /// Records are written to the daemon's log too.
    pub local: AtomicBool,
    kept: Mutex<VecDeque<Entry>>,
    /// The server that messages are sent to.
    pub server: Server,
}

impl Shared for Logs {
    fn make(world: &World) -> Self {
        Self {
            records: world.get(),
            local: AtomicBool::new(false),
            kept: Mutex::default(),
            server: Server::default(),
        }
    }
}

impl Logs {
    fn kept(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.kept.lock().expect("no panic inside")
    }

    /// The latest records, the oldest first.
    pub fn last(&self, n: usize) -> Vec<Entry> {
        let kept = self.kept();
        kept.iter().skip(kept.len().saturating_sub(n)).cloned().collect()
    }

    /// Takes all records that wait, a ringful of each thread at most.
    pub fn take_all(&self, world: &World) {
        self.take(world, usize::MAX);
    }

    /// Takes records that wait, about so many.
    fn take(&self, world: &World, most: usize) -> Drained {
        let mut config = None;
        let now = (world.clock.now(), SystemTime::now());
        self.records.rings.drain(most, |record| {
            let config = config.get_or_insert_with(|| world.get::<Firewall>().running());
            let entry = entry(record, config, now);
            if self.local.load(Ordering::Relaxed) {
                log::info!("{}", message(&entry));
            }
            self.server.send(|| syslog(&entry));
            let mut kept = self.kept();
            if kept.len() >= KEPT {
                kept.pop_front();
            }
            kept.push_back(entry);
        })
    }
}

fn entry(record: Record, config: &Config, (now, today): (u64, SystemTime)) -> Entry {
    let ago = std::time::Duration::from_nanos(now.saturating_sub(record.at));
    let rule = record.rule.and_then(|cell| config.rule_of(cell)?.1);
    Entry {
        record,
        at: today.checked_sub(ago).unwrap_or(today),
        zones: record.zones.map(|zone| config.zone_name(zone).to_string()),
        rule: rule.map(|(number, rule)| (number, rule.name.clone())),
    }
}

/// The word of what happened: `create`, `delete`, `deny`.
pub fn event(happened: Happened) -> &'static str {
    match happened {
        Happened::Created => "create",
        Happened::Ended(_) => "delete",
        Happened::Denied(_) => "deny",
    }
}

/// The reason of what happened, if there is one.
pub fn reason(happened: Happened) -> Option<&'static str> {
    match happened {
        Happened::Created => None,
        Happened::Ended(end) => Some(end.name()),
        Happened::Denied(why) => Some(why),
    }
}

/// A record as a line for people.
pub fn message(entry: &Entry) -> String {
    let record = &entry.record;
    let [(source, from), (destination, to)] = record.ends;
    let protocol = Protocol(record.protocol);
    let [out, back] = &entry.zones;
    let word = event(record.happened);
    let mut line = format!("{word} {protocol} ");
    let has_ports = matches!(IpProtocol(record.protocol), IpProtocol::TCP | IpProtocol::UDP);
    // Writing to a String can't fail.
    let _ = match has_ports {
        true => write!(
            line,
            "{} -> {}",
            SocketAddr::new(source, from),
            SocketAddr::new(destination, to)
        ),
        false => write!(line, "{source} -> {destination}"),
    };
    let _ = write!(line, " from {out} to {back}");
    if let Some((number, name)) = &entry.rule {
        let _ = write!(line, " rule {number}");
        name.iter().for_each(|name| _ = write!(line, " ({name})"));
    }
    if let Some(reason) = reason(record.happened) {
        let _ = write!(line, ": {reason}");
    }
    if matches!(record.happened, Happened::Ended(_)) {
        let [(packets, bytes), (answers, answered)] = record.counts;
        let _ = write!(
            line,
            ", {} s, {packets} packets {bytes} bytes, {answers} packets {answered} bytes back",
            record.seconds
        );
    }
    line
}

/// A record as a message of syslog, its values in structured data too. The number of the enterprise
/// is that of documentation (RFC 5612).
pub fn syslog(entry: &Entry) -> Message {
    let record = &entry.record;
    let severity = match record.happened {
        Happened::Denied(_) | Happened::Ended(End::Revoked) => Severity::Warning,
        _ => Severity::Informational,
    };
    let [(source, from), (destination, to)] = record.ends;
    let mut out = Message::new((LOCAL0, severity), entry.at, "ferrovia", event(record.happened))
        .element("firewall@32473")
        .param("src", source)
        .param("sport", from)
        .param("dst", destination)
        .param("dport", to)
        .param("proto", record.protocol)
        .param("from", &entry.zones[0])
        .param("to", &entry.zones[1]);
    if let Some((number, name)) = &entry.rule {
        out.add("rule", number);
        name.iter().for_each(|name| out.add("name", name));
    }
    reason(record.happened).iter().for_each(|reason| out.add("reason", reason));
    if matches!(record.happened, Happened::Ended(_)) {
        let [(packets, bytes), (answers, answered)] = record.counts;
        out.add("packets", packets);
        out.add("bytes", bytes);
        out.add("packets-back", answers);
        out.add("bytes-back", answered);
        out.add("seconds", record.seconds);
    }
    out.text(message(entry))
}

/// The process that takes records.
pub struct LogProcess(pub Arc<Logs>);

impl Process for LogProcess {
    fn name(&self) -> &'static str {
        "firewall-log"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        let drained = self.0.take(world, AT_ONCE);
        self.0.records.rings.sleep(world.clock.now(), drained)
    }
}
