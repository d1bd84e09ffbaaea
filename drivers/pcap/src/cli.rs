// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{self, Create, Pcaps, own_mac};
use crate::device::Config;
use crate::format::Link;
use crate::replay::Pace;
use cli::{Cell, Command, Error, Matches, Output, Table, Writer, quote};
use graph::{RunningConfig, World};
use net::{Interfaces, OriginalSettings};
use std::path::Path;
use std::sync::atomic::Ordering;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface that replays a capture file, and writes what it sends to another
    "create interface pcap",
    "[id <id:0-65535>] [rx <rx:string>] [rate <rate:rate> | full-speed] [loop {<times:u64> | endless}] \
     [tx <tx:string>] [mode <mode:ethernet|ip>] [hw-addr <mac:mac>]" => create;
    /// Take a pcap interface away; its files stay
    "delete interface pcap", "{<interface:interface> | sw_if_index <index:u32>}"
        => |w, m| control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?);
    /// Pcap interfaces: files, how far replays are, and captured packets
    "show interface pcap" => |w, _| Ok(show(w));
};

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    // Plain names lie where those of `pcap trace' do.
    let file = |name: &str| m.has(name).then(|| Path::new("/tmp").join(m.str(name)));
    let pace = match m.opt::<f64>("rate")? {
        Some(rate) => Pace::Rate(rate),
        None if m.flag("full-speed") => Pace::FullSpeed,
        None => Pace::Timestamps,
    };
    let times = match m.opt::<u64>("times")? {
        Some(0) => return Err(Error::parse("at least one pass").at(m.span("times"))),
        Some(times) => Some(times),
        None if m.flag("endless") => None,
        None => Some(1),
    };
    let link = match m.str("mode") {
        "ip" => Some(Link::Ip),
        "ethernet" => Some(Link::Ethernet),
        _ => None,
    };
    let new = Create {
        id: m.opt("id")?,
        rx: file("rx"),
        tx: file("tx"),
        pace,
        times,
        link,
        mac: m.opt("mac")?,
    };
    Ok(object::made(w, control::create(w, new)?))
}

/// A row for each interface.
pub fn show(w: &World) -> Output {
    let table = Table::new().left("Interface").left("Replay").left("Speed").left("State");
    let table = table.right("Passes").right("Read").right("Skipped").left("Capture");
    let table = table.right("Written").right("Lost").left("Error");
    table.list(w.get::<Pcaps>().indices(), |w: &World, sw_if, out: &mut Writer| {
        let Some(device) = w.get::<Pcaps>().device(sw_if) else { return Ok(()) };
        let name = w.get::<Interfaces>().name(sw_if);
        let (phase, progress) = device.replay();
        let path = |path: &std::path::Path| Cell::from(path.display().to_string());
        let count = |of: Option<u64>| Cell::from(of.unwrap_or(0));
        let read = progress.as_ref().map(|p| p.read.load(Ordering::Relaxed));
        let skipped = progress.as_ref().map(|p| p.skipped.load(Ordering::Relaxed));
        let passes = progress.as_ref().map(|p| p.passes.load(Ordering::Relaxed));
        let capture = device.capture.as_ref();
        let error = progress
            .and_then(|progress| progress.failed())
            .or_else(|| capture.and_then(|capture| capture.failed()));
        let speed = match &device.config.rx {
            Some(_) => Cell::from(device.config.pace_words()),
            None => Cell::empty(),
        };
        out.row([
            name.as_str().into(),
            device.config.rx.as_deref().map_or_else(Cell::empty, path),
            speed,
            phase.name().into(),
            count(passes),
            count(read),
            count(skipped),
            device.config.tx.as_deref().map_or_else(Cell::empty, path),
            count(capture.map(|capture| capture.written.load(Ordering::Relaxed))),
            count(capture.map(|capture| capture.lost.load(Ordering::Relaxed))),
            error.map_or_else(Cell::empty, Cell::from),
        ]);
        Ok(())
    })
}

/// Writes the interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Pcaps>().indices(), |world, sw_if, lines| {
        let device = world.get::<Pcaps>().device(sw_if);
        let (Some(device), Ok(interface)) = (device, world.get::<Interfaces>().get(sw_if)) else {
            return;
        };
        let OriginalSettings { name, mac, .. } = interface.original;
        let mut line =
            format!("create interface pcap id {}{}", device.config.id, device.config.words());
        if mac != own_mac(device.config.id) {
            line += &format!(" hw-addr {mac}");
        }
        lines.push(line, format!("delete interface pcap {}", quote(&name)));
    });
}

impl Config {
    /// The speed, in the words of the command or of `show`.
    pub fn pace_words(&self) -> String {
        match self.pace {
            Pace::Timestamps => "timestamps".into(),
            Pace::Rate(rate) => format!("rate {rate}"),
            Pace::FullSpeed => "full-speed".into(),
        }
    }

    /// The words behind the number.
    fn words(&self) -> String {
        let mut text = String::new();
        if let Some(path) = &self.rx {
            text += &format!(" rx {}", quote(&path.to_string_lossy()));
            if self.pace != Pace::Timestamps {
                text += &format!(" {}", self.pace_words());
            }
            match self.times {
                Some(1) => {}
                Some(times) => text += &format!(" loop {times}"),
                None => text += " loop endless",
            }
        }
        if let Some(path) = &self.tx {
            text += &format!(" tx {}", quote(&path.to_string_lossy()));
        }
        if self.link == Link::Ip {
            text += " mode ip";
        }
        text
    }
}
