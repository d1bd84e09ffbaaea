// SPDX-License-Identifier: Apache-2.0
//! Routes and packets of both versions, as texts and bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::internet::{Internet, Traffic, destinations, routes};
use testkit::pkt;
use wire::{Ip4, Ip6, MacAddr, Prefix};

/// Different packets; then they come again.
const PACKETS: usize = 1 << 18;
/// Routes that aren't worth a table of the Internet's shape.
const FEW: usize = 1000;

/// A table and the addresses that lie in it.
pub struct Table {
    /// Prefix, and the number of its next hop.
    pub routes: Vec<(String, u16)>,
    /// Evenly over the routes.
    pub to: Vec<IpAddr>,
}

impl Table {
    pub fn new(ip6: bool, n: usize) -> Self {
        if ip6 { table::<Ip6>(n) } else { table::<Ip4>(n) }
    }

    /// The table as `ip route add file` takes it: `paths` says the ways by the number of the next
    /// hop.
    pub fn lines(&self, paths: impl Fn(u16) -> String) -> String {
        self.routes.iter().map(|(prefix, hop)| format!("{prefix} {}\n", paths(*hop))).collect()
    }
}

fn table<F: Internet>(n: usize) -> Table {
    let routes = if n > FEW { routes::<F>(n, 1) } else { few::<F>(n) };
    let to = destinations::<F>(&routes, Traffic::Uniform, PACKETS, 2)
        .into_iter()
        .map(Into::into)
        .collect();
    Table { routes: routes.iter().map(|r| (r.prefix.to_string(), r.hop)).collect(), to }
}

/// A few stand side by side.
fn few<F: Internet>(n: usize) -> Vec<testkit::internet::Route<F::Addr>> {
    let first = F::bits(F::space()[1].addr());
    let one = |i: usize| {
        let bits = first + ((i as u128) << (128 - F::CLUSTER));
        let prefix = Prefix::new(<F as Internet>::addr(bits), F::CLUSTER)?;
        Some(testkit::internet::Route { prefix, hop: i as u16 % testkit::internet::HOPS })
    };
    (0..n).filter_map(one).collect()
}

/// The neighbour of this number on `pgN`.
pub fn hop(ip6: bool, port: usize, number: u16) -> IpAddr {
    let port = port as u16;
    if ip6 {
        Ipv6Addr::new(0xfd00, 0, 0, port, 0, 0, 0, 2 + number).into()
    } else {
        Ipv4Addr::from_bits(0x0a00_0002 + u32::from(port) * 0x1_0000 + u32::from(number)).into()
    }
}

/// The address of `pgN`.
pub fn address(ip6: bool, port: usize) -> String {
    if ip6 { format!("fd00:0:0:{port}::1/64") } else { format!("10.{port}.0.1/16") }
}

/// A next hop of next hops, and an address that no table holds.
pub fn far(ip6: bool) -> IpAddr {
    if ip6 {
        Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 0, 9).into()
    } else {
        Ipv4Addr::new(192, 0, 2, 9).into()
    }
}

/// A packet of the smallest size with two ports, the flows' numbers in them.
pub fn packet(to: IpAddr, flow: u16, mac: MacAddr) -> Vec<u8> {
    let ether = pkt::ether(MacAddr([2, 0, 0, 0, 0, 1]), mac);
    let ip = match to {
        IpAddr::V4(to) => ether.ip4(Ipv4Addr::new(10, 0, 0, 2), to),
        IpAddr::V6(to) => ether.ip6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2), to),
    };
    let payload = if to.is_ipv4() { 18 } else { 12 };
    ip.udp(1024 + flow, 2000).payload(vec![0; payload]).build()
}
