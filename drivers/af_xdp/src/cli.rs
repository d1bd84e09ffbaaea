// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::control::{self, Create, Xdps};
use crate::device::Config;
use crate::io::Attach;
use cli::{Cell, Command, Error, Matches, Output, Table, Writer, quote};
use graph::{RunningConfig, World};
use net::{Interfaces, OriginalSettings};
use std::sync::atomic::Ordering;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface of an interface of the Linux kernel, through AF_XDP sockets
    "create interface af_xdp",
    "host-if <netdev:host-link> [name <name:string>] [rx-queue-size <rx:u32>] [tx-queue-size <tx:u32>] \
     [num-rx-queues {<queues:1-65534> | all}] [prog <prog:string>] [netns <netns:string>] \
     [zero-copy | no-zero-copy] [native | generic] [no-syscall-lock] [mac-reuse] [force]" => create;
    /// Take an AF_XDP interface away; the kernel's stays
    "delete interface af_xdp", "{<interface:interface> | sw_if_index <index:u32>}"
        => |w, m| control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?);
    /// AF_XDP interfaces: mode, queues, and the kernel's counts
    "show af_xdp" => |w, _| Ok(show(w));
};

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    let given = |word: &str| if m.has(word) { m.str(word).to_string() } else { String::new() };
    let either = |yes: &str, no: &str| match (m.flag(yes), m.flag(no)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let usual = Config::new(m.str("netdev"));
    let config = Config {
        rx_size: m.opt("rx")?.unwrap_or(usual.rx_size),
        tx_size: m.opt("tx")?.unwrap_or(usual.tx_size),
        rx_queues: if m.flag("all") { None } else { m.opt("queues")?.or(usual.rx_queues) },
        program: given("prog"),
        netns: given("netns"),
        zero_copy: either("zero-copy", "no-zero-copy"),
        attach: either("native", "generic")
            .map(|native| if native { Attach::Native } else { Attach::Generic }),
        mac_reuse: m.flag("mac-reuse"),
        no_syscall_lock: m.flag("no-syscall-lock"),
        force: m.flag("force"),
        ..usual
    };
    let name = m.has("name").then(|| m.str("name").to_string());
    let at = m.span("netdev");
    let new = control::create(w, Create { config, name }).map_err(|e| e.at(at.clone()))?;
    Ok(Output::task(new.at(at)))
}

/// A row for each socket of each interface.
pub fn show(w: &World) -> Output {
    let table = Table::new().left("Interface").left("Netdev").left("XDP").left("Memory");
    let table = table.left("Buffers").right("Queue").left("Directions").right("Rx full");
    let table = table.right("No buffer").right("Rx dropped").right("Bad fill").right("Bad tx");
    let table = table.right("System calls").right("Failed");
    table.list(w.get::<Xdps>().indices(), |w: &World, sw_if, out: &mut Writer| {
        let Some(device) = w.get::<Xdps>().device(sw_if) else { return Ok(()) };
        let name = w.get::<Interfaces>().name(sw_if);
        let state = device.state();
        let Some(held) = &state.held else {
            let (name, netdev) = (name.as_str().into(), device.config.netdev.as_str().into());
            let mut row: [Cell; 14] = std::array::from_fn(|_| Cell::empty());
            let is = if device.opening.is_pending() { "opening" } else { "gone" };
            (row[0], row[1], row[2]) = (name, netdev, is.into());
            out.row(row);
            return Ok(());
        };
        let (rx, tx) = held.queues;
        for (queue, socket) in (0..).zip(&held.sockets) {
            let directions = match (queue < rx, queue < tx) {
                (true, true) => "rx tx",
                (true, false) => "rx",
                _ => "tx",
            };
            let s = socket.statistics();
            let count = |of: fn(&libc::xdp_statistics) -> u64| Cell::from(s.as_ref().map(of));
            out.row([
                name.as_str().into(),
                device.config.netdev.as_str().into(),
                held.mode.name().into(),
                if held.zero_copy { "zero copy" } else { "copy" }.into(),
                if held.multi_buffer { "chains" } else { "single" }.into(),
                queue.into(),
                directions.into(),
                count(|s| s.rx_ring_full),
                count(|s| s.rx_fill_ring_empty_descs),
                count(|s| s.rx_dropped),
                count(|s| s.rx_invalid_descs),
                count(|s| s.tx_invalid_descs),
                socket.kicks.load(Ordering::Relaxed).into(),
                socket.failures.load(Ordering::Relaxed).into(),
            ]);
        }
        Ok(())
    })
}

/// Writes the interfaces.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    config.interfaces(world.get::<Xdps>().indices(), |world, sw_if, lines| {
        let device = world.get::<Xdps>().device(sw_if);
        let (Some(device), Ok(interface)) = (device, world.get::<Interfaces>().get(sw_if)) else {
            return;
        };
        let OriginalSettings { name, .. } = interface.original;
        let line = format!("create interface af_xdp{}", words(&device.config, &name));
        lines.push(line, format!("delete interface af_xdp {}", quote(&name)));
        if device.state().held.is_none() && !device.opening.is_pending() {
            let netdev = &device.config.netdev;
            lines.waits(format!("the host has no interface {netdev}: opened when it comes"));
        }
    });
}

fn words(c: &Config, name: &str) -> String {
    let usual = Config::new("");
    let mut text = format!(" host-if {} name {}", quote(&c.netdev), quote(name));
    let mut word = |word: &str, value: &str| text += &format!(" {word} {}", quote(value));
    if c.rx_size != usual.rx_size {
        word("rx-queue-size", &c.rx_size.to_string());
    }
    if c.tx_size != usual.tx_size {
        word("tx-queue-size", &c.tx_size.to_string());
    }
    match c.rx_queues {
        None => word("num-rx-queues", "all"),
        Some(1) => {}
        Some(n) => word("num-rx-queues", &n.to_string()),
    }
    for (name, value) in [("prog", &c.program), ("netns", &c.netns)] {
        if !value.is_empty() {
            word(name, value);
        }
    }
    text += match c.zero_copy {
        None => "",
        Some(true) => " zero-copy",
        Some(false) => " no-zero-copy",
    };
    if let Some(mode) = c.attach {
        text += &format!(" {}", mode.name());
    }
    text += if c.no_syscall_lock { " no-syscall-lock" } else { "" };
    text += if c.mac_reuse { " mac-reuse" } else { "" };
    text += if c.force { " force" } else { "" };
    text
}
