// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use crate::control::{self, Create, Hosts};
use crate::{Config, Mode, Version};
use cli::{Command, Error, Matches, Output};
use graph::World;
use netlink::Rtnl;

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface of an interface of the Linux kernel
    "create host-interface",
    // The sizes of rings are accepted: rings have the size that they need.
    "([v2] [v3] name <ifname:host-link> [num-rx-queues <rx:1-256>] [num-tx-queues <tx:1-256>] \
     [rx-size <rx-size:u32>] [tx-size <tx-size:u32>] [rx-per-block <rx-per-block:u32>] [tx-per-block <tx-per-block:u32>] \
     [hw-addr <mac:mac>] [mode <mode:ip|ethernet>] [qdisc-bypass-disable] [cksum-gso-disable] [force])"
        => create;
    /// Take a host interface away; the kernel's stays
    "delete host-interface", "name <ifname:host-interface>" => delete;
    /// Leave the checksums of sent packets to the kernel, or complete them here
    "set host-interface l4-cksum-offload", "<ifname:host-interface> <state:on|off>" => |w, m| {
        done(control::set_l4_checksum_offload(w, m.str("ifname"), m.str("state") == "on"), m)
    };
    /// Send past the kernel's queueing discipline
    "set host-interface qdisc-bypass", "<ifname:host-interface> <state:enable|disable>" => |w, m| {
        done(control::set_qdisc_bypass(w, m.str("ifname"), m.str("state") == "enable"), m)
    };
};

/// Names for completion.
pub fn register(world: &World) {
    world.register_live("host-interface", |w| w.get::<Hosts>().names());
    world.register_live("host-link", |_| {
        let links = Rtnl::new().and_then(|mut rtnl| rtnl.links()).unwrap_or_default();
        links.into_iter().map(|link| link.name).collect()
    });
}

fn done(result: Result<(), Error>, m: &Matches) -> Result<Output, Error> {
    result.map(Output::from).map_err(m.at("ifname"))
}

fn create(w: &World, m: &Matches) -> Result<Output, Error> {
    if m.flag("v2") && m.flag("v3") {
        return Err(Error::usage("either v2 or v3"));
    }
    let config = Config {
        version: if m.flag("v3") { Version::V3 } else { Version::V2 },
        rx_queues: m.opt("rx")?.unwrap_or(1),
        mode: if m.str("mode") == "ip" { Mode::Ip } else { Mode::Ethernet },
        ..Config::new(m.str("ifname"))
    };
    let new = Create {
        config,
        mac: m.opt("mac")?,
        offloads: !m.flag("cksum-gso-disable"),
        force: m.flag("force"),
    };
    let at = m.span("ifname");
    let new = control::create(w, new).map_err(|e| e.at(at.clone()))?;
    Ok(Output::task(new.at(at)))
}

fn delete(w: &World, m: &Matches) -> Result<Output, Error> {
    done(control::delete(w, m.str("ifname")), m)
}
