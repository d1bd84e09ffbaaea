// SPDX-License-Identifier: Apache-2.0
//! Logs: the latest records for operators, and their text in the daemon's log and for a server of
//! syslog (RFC 5424, by UDP as RFC 5426 has it).

use crate::control::Firewall;
use crate::record::{End, Happened, Record, Records};
use crate::state::Config;
use crate::values::Protocol;
use cli::{Date, Error, Result};
use graph::{Process, Shared, Sleep, Wake, World};
use std::collections::VecDeque;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::SystemTime;
use wire::IpProtocol;

/// Records that are kept for `show firewall log`.
const KEPT: usize = 1024;
/// Facility local0, severity informational and warning (RFC 5424 6.2.1).
const INFORMATIONAL: u8 = 16 * 8 + 6;
const WARNING: u8 = 16 * 8 + 4;

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
    server: Mutex<Option<(SocketAddr, UdpSocket)>>,
    /// Messages that the server's socket didn't take.
    pub unsent: AtomicU64,
    /// Messages that were sent.
    pub sent: AtomicU64,
}

impl Shared for Logs {
    fn make(world: &World) -> Self {
        Self {
            records: world.get(),
            local: AtomicBool::new(false),
            kept: Mutex::default(),
            server: Mutex::default(),
            unsent: AtomicU64::new(0),
            sent: AtomicU64::new(0),
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

    /// Where messages are sent.
    pub fn server(&self) -> Option<SocketAddr> {
        self.server.lock().expect("no panic inside").as_ref().map(|(server, _)| *server)
    }

    /// Sends messages to a server, or to none.
    ///
    /// # Errors
    /// No socket.
    pub fn set_server(&self, server: Option<SocketAddr>) -> Result<()> {
        let open = |server: SocketAddr| -> std::io::Result<(SocketAddr, UdpSocket)> {
            let any: SocketAddr = match server {
                SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
            };
            let socket = UdpSocket::bind(any)?;
            socket.set_nonblocking(true)?;
            Ok((server, socket))
        };
        let opened = server.map(open).transpose();
        let opened = opened.map_err(|e| Error::failed(format!("no socket for messages: {e}")))?;
        *self.server.lock().expect("no panic inside") = opened;
        Ok(())
    }

    fn take(&self, world: &World) {
        let mut config = None;
        let now = (world.clock.now(), SystemTime::now());
        self.records.drain(|record| {
            let config = config.get_or_insert_with(|| world.get::<Firewall>().running());
            let entry = entry(record, config, now);
            if self.local.load(Ordering::Relaxed) {
                log::info!("{}", message(&entry));
            }
            self.send(&entry);
            let mut kept = self.kept();
            if kept.len() >= KEPT {
                kept.pop_front();
            }
            kept.push_back(entry);
        });
    }

    fn send(&self, entry: &Entry) {
        let server = self.server.lock().expect("no panic inside");
        let Some((server, socket)) = &*server else { return };
        match socket.send_to(syslog(entry).as_bytes(), server) {
            Ok(_) => self.sent.fetch_add(1, Ordering::Relaxed),
            Err(_) => self.unsent.fetch_add(1, Ordering::Relaxed),
        };
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

/// A record as a message of RFC 5424, its values in structured data too. The number of the
/// enterprise is that of documentation (RFC 5612).
pub fn syslog(entry: &Entry) -> String {
    let record = &entry.record;
    let priority = match record.happened {
        Happened::Denied(_) | Happened::Ended(End::Revoked) => WARNING,
        _ => INFORMATIONAL,
    };
    let (at, host) = (Date::from(entry.at), &*HOST);
    let [(source, from), (destination, to)] = record.ends;
    let id = event(record.happened);
    let mut data = format!(
        "[firewall@32473 src=\"{source}\" sport=\"{from}\" dst=\"{destination}\" dport=\"{to}\" \
         proto=\"{}\" from=\"{}\" to=\"{}\"",
        record.protocol, entry.zones[0], entry.zones[1]
    );
    let mut add = |name: &str, value: &dyn std::fmt::Display| {
        // RFC 5424 6.3.3: these three are escaped.
        let value = value.to_string().replace('\\', "\\\\").replace('"', "\\\"");
        let _ = write!(data, " {name}=\"{}\"", value.replace(']', "\\]"));
    };
    if let Some((number, name)) = &entry.rule {
        add("rule", number);
        name.iter().for_each(|name| add("name", name));
    }
    reason(record.happened).iter().for_each(|reason| add("reason", reason));
    if matches!(record.happened, Happened::Ended(_)) {
        let [(packets, bytes), (answers, answered)] = record.counts;
        add("packets", &packets);
        add("bytes", &bytes);
        add("packets-back", &answers);
        add("bytes-back", &answered);
        add("seconds", &record.seconds);
    }
    let (at, pid) = (at.iso(), std::process::id());
    format!("<{priority}>1 {at}Z {host} ferrovia {pid} {id} {data}] {}", message(entry))
}

/// The name of the host, or `-` (RFC 5424 6.2.4).
static HOST: LazyLock<String> = LazyLock::new(|| {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    let is_good =
        !name.is_empty() && name.len() < 256 && name.bytes().all(|b| b.is_ascii_graphic());
    if is_good { name.to_string() } else { "-".to_string() }
});

/// The process that takes records.
pub struct LogProcess(pub Arc<Logs>);

impl Process for LogProcess {
    fn name(&self) -> &'static str {
        "firewall-log"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.take(world);
        Sleep::Event
    }
}
