// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use cli::Command;
use graph::World;

use crate::names::{by_name, chosen};
use crate::{address, brief, clear, hardware, rx, set, show, sub, tx};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// State, MTU and counters of interfaces, by name or by number
    "show interface",
    "[<interface:interface>]... [address|addr|features|feat|tag] [verbose]" => show::interface;
    /// Addresses of interfaces
    "show interface address",
    "[<interface:interface>]..." => |w, m| address::show(w, chosen(w, m)?);
    /// A line for each interface: state, link, addresses, MTU, packets a second over half a second,
    /// drops
    "show interface brief", "[<interface:interface>]..." => |w, m| {
        let only = chosen(w, m)?;
        brief::show(w, if only.is_empty() { by_name(w) } else { only })
    };
    /// Features enabled on interfaces, arc by arc, in order
    "show interface features",
    "[<interface:interface>]..." => |w, m| show::features(w, chosen(w, m)?);
    /// Interfaces' tags
    "show interface tag", "[<interface:interface>]..." => |w, m| show::tags(w, chosen(w, m)?);
    /// Which thread polls which receive queue, and how
    "show interface rx-placement", "[<interface:interface>]" => rx::show_placement;
    /// Make sub-interfaces, which take the frames with a VLAN's tag: without more words that of
    /// their number
    "create sub-interfaces",
    "<interface:interface> <ids:range> [default | untagged | {dot1q <outer> | dot1ad <outer>} [inner-dot1q <inner>] [exact-match]]"
        => sub::create;
    /// Take a sub-interface away
    "delete sub-interface", "<interface:interface>" => sub::delete;
    /// Sub-interfaces, of all interfaces or of some, and the tags of their frames
    "show sub-interfaces", "[<interface:interface>]..." => sub::show;
    /// Hardware interfaces and what their drivers tell
    "show hardware-interfaces",
    "[brief] [verbose] [detail] [<interface:interface>]..." => hardware::show;
    /// Start what drivers count again at zero: packets missed, bad, without a buffer, not sent
    "clear hardware-interfaces", "[<interface:interface>]..." => hardware::clear;
    /// Start all interface counters again at zero
    "clear interfaces" => clear::counters;
    /// Remove an interface's tag
    "clear interface tag", "<interface:interface>" => clear::tag;
    /// Take an interface up or down
    "set interface state", "<interface:interface> <state:up|down|enable|disable>" => set::state;
    /// Set the MTU of the link, of all layer-3 packets, or of one protocol (0: none of its own)
    "set interface mtu", "[<kind:packet|ip4|ip6|mpls>] <mtu:u16> <interface:interface>" => set::mtu;
    /// Set the MAC address, or set it back to the interface's original one
    "set interface mac address", "(<interface:interface> {<mac:mac> | default})" => set::mac;
    /// Receive frames for a further MAC address too, or end that
    "set interface secondary-mac-address", "<interface:interface> <mac:mac> [add | del]"
        => set::further_mac;
    /// Give an interface another name
    "set interface name", "<interface:interface> <name>" => set::name;
    /// Set an interface's tag
    "set interface tag", "<interface:interface> <tag:string>" => set::tag;
    /// Take frames for any MAC address
    "set interface promiscuous", "(<state:on|off> <interface:interface>)" => set::promiscuous;
    /// Enable or disable a feature on an interface
    "set interface feature", "<interface:interface> <feature> arc <arc> [disable]" => set::feature;
    /// Segment super-packets (GSO) that leave as VPP does: 2048 bytes at most, and fragments where
    /// segments don't fit
    "set interface feature gso", "<interface:interface> [<on:enable|disable>]" => set::gso;
    /// Set the mode in which a thread receives packets
    "set interface rx-mode",
    "(<interface:interface> [queue <queue:u16>] <mode:polling|interrupt|adaptive|default>)"
        => rx::set_mode;
    /// Set the receive mode of new interfaces
    "set interface default rx-mode", "<mode:polling|interrupt|adaptive>" => rx::set_default_mode;
    /// Receive mode of new interfaces
    "show interface default rx-mode" => rx::show_default_mode;
    /// Which thread polls a receive queue
    "set interface rx-placement",
    "(<interface:interface> [queue <queue:u16>] {worker <worker:u16> | main | default})"
        => rx::set_placement;
    /// Which threads send by a transmit queue, 0 the main one; without any, none does
    "set interface tx-queue",
    "<interface:interface> queue <queue:u32> [threads {<threads> | default}]" => tx::set_placement;
    /// Which threads send by which transmit queue
    "show interface tx-queue", "[<interface:interface>]" => tx::show_placement;
    /// The receive queues that the device spreads received packets over, or all of them
    "set interface rss queues",
    "(<interface:interface> {list <queues> | default})" => tx::set_rss_queues;
};
