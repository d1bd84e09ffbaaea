// SPDX-License-Identifier: Apache-2.0
//! Tunnels in UDP datagrams, all kinds by the same tests: which tunnel a datagram belongs to, what
//! comes out of a tunnel that was put in, and broken datagrams.

mod dissected;
mod identity;
mod members;
mod mutated;
mod search;

use std::net::IpAddr;
use std::sync::OnceLock;

use daemon::plugins;
use graph::Plugin;
use net::drive::Rig;
use testkit::pkt::{self, Checksum};

/// A kind of tunnels, as one that carries frames or as one that carries IP packets.
pub struct Kind {
    /// The names of its interfaces begin with it.
    pub prefix: &'static str,
    /// The names of its nodes that take headers off, with `#` for the IP version.
    pub input: &'static str,
    /// Its name in `set interface ip …-bypass`.
    pub bypass: &'static str,
    /// The UDP port.
    pub port: u16,
    /// Its tunnels carry IP packets.
    pub layer3: bool,
    /// The command that makes a tunnel, with `L`, `R`, `I` for ends and number.
    pub create: &'static str,
    /// The word in front of the address of the other end.
    pub remote: &'static str,
    /// The header in front of a payload of some bytes.
    pub header: fn(id: u32, payload: &[u8]) -> Vec<u8>,
}

fn vni(first: [u8; 4], id: u32) -> Vec<u8> {
    [&first[..], &(id << 8).to_be_bytes()].concat()
}

fn gtpu(teid: u32, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    [&[0x30, 255, high, low][..], &teid.to_be_bytes()].concat()
}

pub const KINDS: &[Kind] = &[
    Kind {
        prefix: "vxlan_tunnel",
        input: "vxlan#-input",
        bypass: "vxlan",
        port: 4789,
        layer3: false,
        create: "create vxlan tunnel src L R vni I",
        remote: "dst",
        header: |id, _| vni([8, 0, 0, 0], id),
    },
    Kind {
        prefix: "vxlan_tunnel",
        input: "vxlan#-input",
        bypass: "vxlan",
        port: 4789,
        layer3: true,
        create: "create vxlan tunnel src L R vni I l3",
        remote: "dst",
        header: |id, _| vni([8, 0, 0, 0], id),
    },
    Kind {
        prefix: "geneve_tunnel",
        input: "geneve#-input",
        bypass: "geneve",
        port: 6081,
        layer3: false,
        create: "create geneve tunnel local L R vni I",
        remote: "remote",
        header: |id, _| vni([0, 0, 0x65, 0x58], id),
    },
    Kind {
        prefix: "gtpu_tunnel",
        input: "gtpu#-input",
        bypass: "gtpu",
        port: 2152,
        layer3: false,
        create: "create gtpu tunnel src L R teid I",
        remote: "dst",
        header: gtpu,
    },
    Kind {
        prefix: "gtpu_tunnel",
        input: "gtpu#-input",
        bypass: "gtpu",
        port: 2152,
        layer3: true,
        create: "create gtpu tunnel src L R teid I decap-next ip4 qfi 9",
        remote: "dst",
        header: |id, payload| {
            // A number, a port and a PDU session container in front.
            let chain = [0, 1, 0, 0x40, 1, 8, 0x68, 0x85, 1, 0, 9, 0];
            let mut header = gtpu(id, &[&chain[..], payload].concat());
            header[0] = 0x36;
            [&header[..], &chain].concat()
        },
    },
    Kind {
        prefix: "vxlan_gpe_tunnel",
        input: "vxlan#-gpe-input",
        bypass: "vxlan-gpe",
        port: 4790,
        layer3: false,
        create: "create vxlan-gpe tunnel local L R vni I next-ethernet",
        remote: "remote",
        header: |id, _| vni([0xc, 0, 0, 3], id),
    },
    Kind {
        prefix: "vxlan_gpe_tunnel",
        input: "vxlan#-gpe-input",
        bypass: "vxlan-gpe",
        port: 4790,
        layer3: true,
        create: "create vxlan-gpe tunnel local L R vni I",
        remote: "remote",
        header: |id, payload| {
            let next = if payload.first().is_some_and(|first| first >> 4 == 6) { 2 } else { 1 };
            vni([0xc, 0, 0, next], id)
        },
    },
];

impl Kind {
    /// The command that makes a tunnel. `to` is an address, or a group and the interface by which
    /// datagrams to it leave.
    pub fn create(&self, local: &str, to: &str, id: u32) -> String {
        let word = if to.contains(' ') { "group" } else { self.remote };
        let words = self.create.split(' ').map(|word_or_hole| match word_or_hole {
            "L" => local.to_string(),
            "R" => format!("{word} {to}"),
            "I" => id.to_string(),
            other => other.to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Reads a counter of the node for datagrams of an IP version.
    pub fn count(&self, rig: &Rig, is_v6: bool, counter: &str) -> u64 {
        rig.count(&self.input.replace('#', if is_v6 { "6" } else { "4" }), counter)
    }

    /// A datagram around a payload.
    pub fn datagram(&self, from: &str, to: &str, id: u32, payload: &[u8]) -> Vec<u8> {
        let payload = [&(self.header)(id, payload)[..], payload].concat();
        if from.contains(':') {
            return pkt::ip6(from, to).udp(7, self.port).payload(payload).build();
        }
        pkt::ip4(from, to).udp(7, self.port).checksum(Checksum::Value(0)).payload(payload).build()
    }
}

/// A router with ports; networks as [`Rig::networks`] has them. Without the plugins that send
/// packets of their own.
fn rig(ports: usize) -> Rig {
    const QUIET: [&str; 7] = ["interface", "ethernet", "fib", "ip", "mfib", "l2", "ip-reassembly"];
    const OURS: [&str; 6] = ["vxlan", "geneve", "gtpu", "vxlan-gpe", "l2tp", "pppoe"];
    static PLUGINS: OnceLock<Vec<&'static Plugin>> = OnceLock::new();
    let is_here = |p: &&Plugin| QUIET.contains(&p.name) || OURS.contains(&p.name);
    let plugins = PLUGINS.get_or_init(|| plugins::ALL.iter().copied().filter(is_here).collect());
    let mut rig = Rig::new(plugins, ports);
    rig.networks();
    rig
}

fn is_v6(address: &str) -> bool {
    address.parse::<IpAddr>().expect("an address").is_ipv6()
}
