// SPDX-License-Identifier: Apache-2.0
//! The addresses of a site, its routes and its smallest packets, for either protocol.

use net::Net;
use std::net::{Ipv4Addr, Ipv6Addr};
use testkit::internet::{self, Internet};
use testkit::pkt;
use wire::{Ip4, Ip6, MacAddr, Prefix};

/// Interfaces that packets can come in by.
pub const INPUTS: usize = 2;
/// Number of sources of a scenario with uRPF, rules or connections.
pub const SENDERS: usize = 10_000;
/// Different packets of a scenario; then they come again.
pub const PACKETS: usize = 1 << 18;
/// Number of routes up to which a table is not of the Internet's shape.
pub const FEW: usize = 16;

/// The protocol-specific part of a site.
pub trait Side: Internet + Net {
    /// The neighbour with this number on an output interface.
    fn hop(output: usize, number: u16) -> Self::Addr;
    /// The addresses of the interfaces, which are numbered from 1.
    fn addresses(outputs: usize) -> Vec<(usize, String)>;
    /// The network of the sources of scenarios with uRPF.
    const SENDERS: &'static str;
    /// A host behind the first input.
    const GATEWAY: &'static str;
    /// A source in that network; without a number, the source of all other scenarios.
    fn sender(number: Option<usize>) -> Self::Addr;
    /// A packet of the smallest size that the peer was measured with.
    fn packet(from: Self::Addr, to: Self::Addr, mac: MacAddr) -> Vec<u8>;
}

impl Side for Ip4 {
    fn hop(output: usize, number: u16) -> Ipv4Addr {
        Ipv4Addr::from_bits(0x0a00_0002 + (output as u32) * 0x1_0000 + u32::from(number))
    }

    fn addresses(outputs: usize) -> Vec<(usize, String)> {
        let out = (1..=outputs).map(|i| (i, format!("10.{i}.0.1/16")));
        let into = |i| (i, format!("192.168.{i}.1/24"));
        out.chain((outputs + 1..=outputs + INPUTS).map(into)).collect()
    }

    const SENDERS: &'static str = "198.18.0.0/15";
    const GATEWAY: &'static str = "192.168.2.2";

    fn sender(number: Option<usize>) -> Ipv4Addr {
        number
            .map_or(Ipv4Addr::new(192, 168, 0, 2), |n| Ipv4Addr::from_bits(0xc612_0000 + n as u32))
    }

    fn packet(from: Ipv4Addr, to: Ipv4Addr, mac: MacAddr) -> Vec<u8> {
        let headers = pkt::ether(MacAddr([2, 0, 0, 0, 0, 1]), mac).ip4(from, to);
        headers.udp(1000, 2000).payload([0; 18]).build()
    }
}

impl Side for Ip6 {
    fn hop(output: usize, number: u16) -> Ipv6Addr {
        Ipv6Addr::new(0xfd00, 0, 0, output as u16, 0, 0, 0, 2 + number)
    }

    fn addresses(outputs: usize) -> Vec<(usize, String)> {
        let out = (1..=outputs).map(|i| (i, format!("fd00:0:0:{i}::1/64")));
        let into = |i| (i, format!("fd00:1:0:{i}::1/64"));
        out.chain((outputs + 1..=outputs + INPUTS).map(into)).collect()
    }

    const SENDERS: &'static str = "fd00:2::/32";
    const GATEWAY: &'static str = "fd00:1:0:2::2";

    fn sender(number: Option<usize>) -> Ipv6Addr {
        let (net, host) = number.map_or((1, 2), |n| (2, n as u16));
        Ipv6Addr::new(0xfd00, net, 0, 0, 0, 0, 0, host)
    }

    fn packet(from: Ipv6Addr, to: Ipv6Addr, mac: MacAddr) -> Vec<u8> {
        let headers = pkt::ether(MacAddr([2, 0, 0, 0, 0, 1]), mac).ip6(from, to);
        headers.udp(1000, 2000).payload([0; 12]).build()
    }
}

/// The routes of a table. A few stand side by side, so that an address of each is known.
pub fn routes<F: Side>(n: usize) -> Vec<internet::Route<F::Addr>> {
    if n > FEW {
        return internet::routes::<F>(n, 1);
    }
    let len = F::CLUSTER;
    let first = F::bits(F::space()[1].addr());
    let one = |i: usize| {
        let bits = first + ((i as u128) << (128 - len));
        Some(internet::Route {
            prefix: Prefix::new(<F as Internet>::addr(bits), len)?,
            hop: i as u16,
        })
    };
    (0..n).filter_map(one).collect()
}
