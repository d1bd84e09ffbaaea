// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, Create};
use crate::device::Config;
use crate::io::Attach;
use crate::show;
use cli::{Command, Error, Matches, Output};
use graph::World;
use net::Interfaces;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface of an interface of the Linux kernel, through AF_XDP sockets
    "create interface af_xdp",
    "host-if <netdev:host-link> [name <name:string>] [rx-queue-size <rx:u32>] [tx-queue-size <tx:u32>] \
     [num-rx-queues {<queues:1-65534> | all}] [prog <prog:string>] [netns <netns:string>] \
     [zero-copy | no-zero-copy] [native | generic] [no-syscall-lock] [mac-reuse] [force]" => create;
    /// Take an AF_XDP interface away; the kernel's stays
    "delete interface af_xdp", "{<interface:interface> | sw_if_index <index:u32>}" => delete;
    /// AF_XDP interfaces: mode, queues, and the kernel's counts
    "show af_xdp" => |w, _| Ok(show::show(w));
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

fn delete(w: &World, m: &Matches) -> Result<(), Error> {
    control::delete(w, w.get::<Interfaces>().named_or_numbered(m)?)
}
