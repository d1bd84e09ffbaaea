// SPDX-License-Identifier: Apache-2.0
//! The commands, and the lines that save what they set.

use crate::relay::cli::{self as relay, PROXY4, PROXY6, VSS};
use crate::v4::cli as v4;
use crate::v6::association::Kind;
use crate::v6::cli as v6;
use cli::Command;
use graph::{RunningConfig, World};
use wire::{Ip4, Ip6};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Get an interface's IPv4 address by DHCP, or end that
    "set dhcp client", v4::CLIENT => v4::set;
    /// DHCPv4 clients and their leases; with `verbose' also their times
    "show dhcp client", "[intfc <interface:interface>] [verbose]" => v4::show;
    /// Relay DHCPv4 messages of a table's clients to a server, or end that
    "set dhcp proxy", PROXY4 => relay::proxy::<Ip4>;
    /// Relay DHCPv6 messages of a table's clients to a server, or end that
    "set dhcpv6 proxy", PROXY6 => relay::proxy::<Ip6>;
    /// Tell DHCPv4 servers the VPN of a table's clients, or end that
    "set dhcp option-82 vss", VSS => relay::vss::<Ip4>;
    /// Tell DHCPv6 servers the VPN of a table's clients, or end that
    "set dhcpv6 vss", VSS => relay::vss::<Ip6>;
    /// DHCPv4 servers of the tables' clients
    "show dhcp proxy" => |w, _| Ok(relay::show::<Ip4>(w));
    /// DHCPv6 servers of the tables' clients
    "show dhcpv6 proxy" => |w, _| Ok(relay::show::<Ip6>(w));
    /// VPNs that DHCPv4 servers are told
    "show dhcp vss" => |w, _| Ok(relay::show_vss::<Ip4>(w));
    /// VPNs that DHCPv6 servers are told
    "show dhcpv6 vss" => |w, _| Ok(relay::show_vss::<Ip6>(w));
    /// The address by which DHCPv4 servers know the link of an interface
    "show dhcp option-82-address interface", "<interface:interface>" => relay::link::<Ip4>;
    /// The address by which DHCPv6 servers know the link of an interface
    "show dhcpv6 link-address interface", "<interface:interface>" => relay::link::<Ip6>;
    /// Get addresses of an interface by DHCPv6, or end that
    "dhcp6 client", "<interface:interface> [disable]" => v6::client;
    /// Get prefixes for a group by DHCPv6 on an interface, or end that
    "dhcp6 pd client", "<interface:interface> {prefix group <group:string> | disable}"
        => v6::pd_client;
    /// Give an interface an address made of a group's delegated prefix, or take it away
    "set ip6 address", v6::ADDRESS => v6::address;
    /// Set the identifier of the DHCPv6 clients, 10 bytes
    "set dhcp6 duid", "{<duid:string> | default}" => v6::duid;
    /// DHCPv6 clients for addresses
    "show dhcp6 clients" => |w, _| Ok(v6::show_clients(w, Kind::Addresses));
    /// Addresses from DHCPv6, and seconds until they end
    "show dhcp6 addresses" => |w, _| Ok(v6::show_leases(w, Kind::Addresses));
    /// DHCPv6 clients for prefixes
    "show ip6 pd clients" => |w, _| Ok(v6::show_clients(w, Kind::Prefixes));
    /// Prefixes from DHCPv6, and seconds until they end
    "show ip6 prefixes" => |w, _| Ok(v6::show_leases(w, Kind::Prefixes));
    /// Addresses made of delegated prefixes
    "show ip6 addresses" => |w, _| Ok(v6::show_addresses(w));
};

/// Writes what was set.
pub fn write_config(world: &World, config: &mut RunningConfig) {
    v4::write_config(world, config);
    relay::write_config(world, config);
    v6::write_config(world, config);
}
