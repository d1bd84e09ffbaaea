// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use cli::Command;
use graph::World;

use crate::names::chosen;
use crate::{address, clear, hardware, rx, set, show, sub, tx};

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "show interface",
        usage: "[<interface:interface>]... [address|addr|features|feat|tag] [verbose]",
        help: "State, MTU and counters of interfaces, by name or by number",
        run: show::interface,
    },
    Command {
        path: "show interface address",
        usage: "[<interface:interface>]...",
        help: "Addresses of interfaces",
        run: |w, m| address::show(w, chosen(w, m)?),
    },
    Command {
        path: "show interface features",
        usage: "[<interface:interface>]...",
        help: "Features enabled on interfaces, arc by arc, in order",
        run: |w, m| show::features(w, chosen(w, m)?),
    },
    Command {
        path: "show interface tag",
        usage: "[<interface:interface>]...",
        help: "Interfaces' tags",
        run: |w, m| show::tags(w, chosen(w, m)?),
    },
    Command {
        path: "show interface rx-placement",
        usage: "[<interface:interface>]",
        help: "Which thread polls which receive queue, and how",
        run: rx::show_placement,
    },
    Command {
        path: "create sub-interfaces",
        usage: "<interface:interface> <ids:range> [default | untagged | {dot1q <outer> | dot1ad <outer>} [inner-dot1q <inner>] [exact-match]]",
        help: "Make sub-interfaces, which take the frames with a VLAN's tag: without more words that of their number",
        run: sub::create,
    },
    Command {
        path: "delete sub-interface",
        usage: "<interface:interface>",
        help: "Take a sub-interface away",
        run: sub::delete,
    },
    Command {
        path: "show sub-interfaces",
        usage: "[<interface:interface>]...",
        help: "Sub-interfaces, of all interfaces or of some, and the tags of their frames",
        run: sub::show,
    },
    Command {
        path: "show hardware-interfaces",
        usage: "[brief] [verbose] [detail] [<interface:interface>]...",
        help: "Hardware interfaces and what their drivers tell",
        run: hardware::show,
    },
    Command {
        path: "clear hardware-interfaces",
        usage: "[<interface:interface>]...",
        help: "Start what drivers count again at zero: packets missed, bad, without a buffer, not sent",
        run: hardware::clear,
    },
    Command {
        path: "clear interfaces",
        usage: "",
        help: "Start all interface counters again at zero",
        run: clear::counters,
    },
    Command {
        path: "clear interface tag",
        usage: "<interface:interface>",
        help: "Remove an interface's tag",
        run: clear::tag,
    },
    Command {
        path: "set interface state",
        usage: "<interface:interface> <state:up|down|enable|disable>",
        help: "Take an interface up or down",
        run: set::state,
    },
    Command {
        path: "set interface mtu",
        usage: "[<kind:packet|ip4|ip6|mpls>] <mtu:u16> <interface:interface>",
        help: "Set the MTU of the link, of all layer-3 packets, or of one protocol (0: none of its own)",
        run: set::mtu,
    },
    Command {
        path: "set interface mac address",
        usage: "(<interface:interface> {<mac:mac> | default})",
        help: "Set the MAC address, or set it back to the interface's original one",
        run: set::mac,
    },
    Command {
        path: "set interface name",
        usage: "<interface:interface> <name>",
        help: "Give an interface another name",
        run: set::name,
    },
    Command {
        path: "set interface tag",
        usage: "<interface:interface> <tag:string>",
        help: "Set an interface's tag",
        run: set::tag,
    },
    Command {
        path: "set interface promiscuous",
        usage: "(<state:on|off> <interface:interface>)",
        help: "Take frames for any MAC address",
        run: set::promiscuous,
    },
    Command {
        path: "set interface feature",
        usage: "<interface:interface> <feature> arc <arc> [disable]",
        help: "Enable or disable a feature on an interface",
        run: set::feature,
    },
    Command {
        path: "set interface feature gso",
        usage: "<interface:interface> [<on:enable|disable>]",
        help: "Segment super-packets (GSO) that leave as VPP does: 2048 bytes at most, and fragments where segments don't fit",
        run: set::gso,
    },
    Command {
        path: "set interface rx-mode",
        usage: "(<interface:interface> [queue <queue:u16>] <mode:polling|interrupt|adaptive|default>)",
        help: "Set the mode in which a thread receives packets",
        run: rx::set_mode,
    },
    Command {
        path: "set interface default rx-mode",
        usage: "<mode:polling|interrupt|adaptive>",
        help: "Set the receive mode of new interfaces",
        run: rx::set_default_mode,
    },
    Command {
        path: "show interface default rx-mode",
        usage: "",
        help: "Receive mode of new interfaces",
        run: rx::show_default_mode,
    },
    Command {
        path: "set interface rx-placement",
        usage: "(<interface:interface> [queue <queue:u16>] {worker <worker:u16> | main | default})",
        help: "Which thread polls a receive queue",
        run: rx::set_placement,
    },
    Command {
        path: "set interface tx-queue",
        usage: "<interface:interface> queue <queue:u32> [threads {<threads> | default}]",
        help: "Which threads send by a transmit queue, 0 the main one; without any, none does",
        run: tx::set_placement,
    },
    Command {
        path: "show interface tx-queue",
        usage: "[<interface:interface>]",
        help: "Which threads send by which transmit queue",
        run: tx::show_placement,
    },
    Command {
        path: "set interface rss queues",
        usage: "(<interface:interface> {list <queues> | default})",
        help: "The receive queues that the device spreads received packets over, or all of them",
        run: tx::set_rss_queues,
    },
];
