// SPDX-License-Identifier: Apache-2.0
//! The address plan, shared by the router's configuration, the senders and the verification.
//!
//! Port `i` of the router, `host-ri`, has 10.0.i.1/24 and 2001:db8:i::1/64; its far end is a host
//! that answers for all addresses of the link with a last byte below 200. Behind it lie
//! 10.1i.0.0/16 and 2001:db8:10i::/48, and the sources of verified packets, 198.18.i.0/24 and
//! 2001:db8:5eed:i::/64.

use wire::MacAddr;

/// Ports of the router.
pub const PORTS: usize = 4;
/// MTU of each port for IPv4 and for IPv6. The kernel's ends take 9000 everywhere.
pub const MTU: [(u16, u16); PORTS] = [(9000, 9000), (9000, 9000), (1500, 1500), (600, 1280)];
/// The beginning of the sources of all packets that are verified, and of no others.
pub const SOURCE4: [u8; 2] = [198, 18];
pub const SOURCE6: [u8; 6] = [0x20, 0x01, 0x0d, 0xb8, 0x5e, 0xed];
/// TTL and hop limit of packets that are verified.
pub const TTL: u8 = 64;
/// Groups that port 0 sends to and all others get.
pub const GROUP4: &str = "239.1.1.1";
pub const GROUP6: &str = "ff0e::1";

/// The router's address at a port, on the link and in the network layer.
pub fn router_mac(port: usize) -> MacAddr {
    MacAddr([0x02, 0xfe, 0, 0, 0, port as u8])
}

/// The host's.
pub fn host_mac(port: usize) -> MacAddr {
    MacAddr([0x02, 0xaa, 0, 0, 0, port as u8])
}

pub fn source4(port: usize) -> [u8; 4] {
    [SOURCE4[0], SOURCE4[1], port as u8, 7]
}

pub fn source6(port: usize) -> [u8; 16] {
    let mut address = [0; 16];
    address[..6].copy_from_slice(&SOURCE6);
    address[7] = port as u8;
    address[15] = 7;
    address
}

/// Something behind a port.
pub fn behind4(port: usize, host: u8) -> [u8; 4] {
    [10, 10 + port as u8, host, 1]
}

pub fn behind6(port: usize, host: u8) -> [u8; 16] {
    [0x20, 0x01, 0x0d, 0xb8, 0x01, port as u8, 0, host, 0, 0, 0, 0, 0, 0, 0, 1]
}

pub fn router4(port: usize) -> [u8; 4] {
    [10, 0, port as u8, 1]
}

pub fn router6(port: usize) -> [u8; 16] {
    [0x20, 0x01, 0x0d, 0xb8, 0, port as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
}

/// Some address of a port's link.
pub fn on_link4(port: usize, host: [u8; 1]) -> [u8; 4] {
    [10, 0, port as u8, host[0]]
}

pub fn on_link6(port: usize, host: [u8; 4]) -> [u8; 16] {
    let mut address = router6(port);
    address[12..].copy_from_slice(&host);
    address
}

/// The commands that make the router of the plan.
pub fn configuration() -> String {
    let mut lines = String::new();
    let mut line = |text: String| {
        lines += &text;
        lines.push('\n');
    };
    for (i, (mtu4, mtu6)) in MTU.into_iter().enumerate() {
        line(format!("create host-interface name r{i} hw-addr {}", router_mac(i)));
        line(format!("set interface state host-r{i} up"));
        line(format!("set interface mtu packet 9000 host-r{i}"));
        line(format!("set interface mtu ip4 {mtu4} host-r{i}"));
        line(format!("set interface mtu ip6 {mtu6} host-r{i}"));
        line(format!("set interface ip address host-r{i} 10.0.{i}.1/24"));
        line(format!("set interface ip address host-r{i} 2001:db8:{i}::1/64"));
        line(format!("ip6 nd host-r{i} ra-suppress"));
        for to in [format!("10.1{i}.0.0/16"), format!("198.18.{i}.0/24")] {
            line(format!("ip route add {to} via 10.0.{i}.2 host-r{i}"));
        }
        for to in [format!("2001:db8:10{i}::/48"), format!("2001:db8:5eed:{i}::/64")] {
            line(format!("ip route add {to} via 2001:db8:{i}::2 host-r{i}"));
        }
    }
    let outputs: String = (1..PORTS).map(|i| format!(" via host-r{i} Forward")).collect();
    for group in [GROUP4, GROUP6] {
        line(format!("ip mroute add {group} via host-r0 Accept{outputs}"));
    }
    // So that what is never completed is gone soon.
    for family in ["ip4", "ip6"] {
        for kind in ["full", "sv"] {
            line(format!(
                "set {family}-{kind}-reassembly timeout 2000 max-reassembly-length 100 expire-walk-interval 200"
            ));
        }
    }
    // The generator's interface, which sends to no host.
    line("create packet-generator interface pg0".into());
    line("set interface state pg0 up".into());
    line("set interface ip address pg0 10.0.100.1/24".into());
    lines
}
