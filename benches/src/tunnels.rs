// SPDX-License-Identifier: Apache-2.0
//! Packets that go into tunnels, and packets that come out of them.

use crate::scenario::Table;
use crate::side::PACKETS;
use crate::site::Site;
use net::{Neighbor, Neighbors};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::pkt;
use wire::{EtherType, Geneve, Gtpu, Ipv4Header, MacAddr, Vxlan, VxlanGpe};
use zerocopy::IntoBytes;

/// A kind of tunnels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    IpIp,
    Gre,
    /// Frames are cross-connected with the tunnel.
    Vxlan,
    /// As for VXLAN.
    Geneve,
    /// IP packets are routed.
    Gtpu,
    /// As for GTP-U.
    VxlanGpe,
    /// L2TPv3: as for VXLAN, behind a header of IPv6.
    L2tp,
    /// Sessions of one client. IP packets are routed.
    Pppoe,
}

/// A measurement of tunnels: a direction and a number of tunnels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunnels {
    pub kind: Kind,
    /// Packets come out of the tunnels, instead of going in.
    pub out: bool,
}

impl Kind {
    /// Its packets are frames, cross-connected with a port.
    pub fn is_switched(self) -> bool {
        matches!(self, Self::Vxlan | Self::Geneve | Self::L2tp)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::IpIp => "ipip",
            Self::Gre => "gre",
            Self::Vxlan => "vxlan",
            Self::Geneve => "geneve",
            Self::Gtpu => "gtpu",
            Self::VxlanGpe => "vxlan-gpe",
            Self::L2tp => "l2tpv3",
            Self::Pppoe => "pppoe",
        }
    }
}

const LOCAL: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);

/// The other end of a tunnel.
fn remote(tunnel: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0b00_0002 + tunnel as u32)
}

const LOCAL6: Ipv6Addr = Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, 1);

/// The other end of a session of L2TPv3.
fn remote6(tunnel: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0xb, 0, 0, 0, 0, 0, 2 + tunnel as u16)
}

/// Cookie of all sessions of L2TPv3, in both directions.
const COOKIE: u64 = 0x1122_3344_5566_7788;

/// The identifier of a session of PPPoE.
fn session(tunnel: usize) -> u16 {
    1 + tunnel as u16
}

/// An address whose route leads into a tunnel.
fn inside(tunnel: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x1400_0000 + ((tunnel as u32) << 8) + 9)
}

fn station(n: u8) -> MacAddr {
    MacAddr([2, 0xaa, 0, 0, 0, n])
}

/// As many tunnels as the table has routes, over the output, and a route into each.
pub fn set_up(site: &mut Site, tunnels: Tunnels) -> Result<(), String> {
    let output = site.outputs[0];
    for line in [
        "set interface ip address pg1 10.1.0.1/16",
        "set interface ip address pg2 192.168.2.1/24",
        "ip route add 11.0.0.0/8 via 10.1.0.2 pg1",
        "ip route add 30.0.0.0/8 via 10.1.0.2 pg1",
        "set interface ip address pg1 fd00:1::1/64",
        "enable ip6 interface pg2",
        "ip route add fd00:b::/32 via fd00:1::2 pg1",
    ] {
        site.command(line)?;
    }
    for ip in [IpAddr::from([10, 1, 0, 2]), Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, 2).into()] {
        let known = Neighbor { is_static: true, ..Neighbor::new(output, ip, station(9)) };
        site.world.get::<Neighbors>().set(&site.world, known).map_err(|e| e.to_string())?;
    }
    let kind = tunnels.kind;
    for i in 0..site.table.routes {
        let remote = remote(i);
        let (line, name) = match kind {
            Kind::IpIp | Kind::Gre => {
                let kind = kind.name();
                (format!("create {kind} tunnel src {LOCAL} dst {remote}"), format!("{kind}{i}"))
            }
            Kind::Vxlan => {
                let line = format!("create vxlan tunnel src {LOCAL} dst {remote} vni 13");
                (line, format!("vxlan_tunnel{i}"))
            }
            Kind::Geneve => {
                let line = format!("create geneve tunnel local {LOCAL} remote {remote} vni 13");
                (line, format!("geneve_tunnel{i}"))
            }
            Kind::Gtpu => {
                let ends = format!("src {LOCAL} dst {remote}");
                (
                    format!("create gtpu tunnel {ends} teid 13 decap-next ip4"),
                    format!("gtpu_tunnel{i}"),
                )
            }
            Kind::VxlanGpe => {
                let line = format!("create vxlan-gpe tunnel local {LOCAL} remote {remote} vni 13");
                (line, format!("vxlan_gpe_tunnel{i}"))
            }
            Kind::L2tp => {
                let ends = format!("client {} our {LOCAL6}", remote6(i));
                let cookies = format!("local-cookie {COOKIE:x} remote-cookie 0x{COOKIE:x}");
                (
                    format!(
                        "create l2tpv3 tunnel {ends} {cookies} local-session 13 remote-session 13"
                    ),
                    format!("l2tpv3_tunnel{i}"),
                )
            }
            Kind::Pppoe => {
                // The client is behind the port that packets leave or come in by.
                let port = if tunnels.out { "pg2" } else { "pg1" };
                let client = format!("client-ip {remote} client-mac {}", station(1));
                (
                    format!(
                        "create pppoe session {client} session-id {} interface {port}",
                        session(i)
                    ),
                    format!("pppoe_session{i}"),
                )
            }
        };
        site.command(&line)?;
        if kind.is_switched() {
            // One of the two ways ends at the port that the packets of the other one come by.
            let (from, to) = if tunnels.out { (&*name, "pg1") } else { ("pg2", &*name) };
            site.command(&format!("set interface l2 xconnect {from} {to}"))?;
            site.command(&format!("set interface l2 xconnect {to} {from}"))?;
            site.command(&format!("set interface state {name} up"))?;
        } else {
            site.command(&format!("set interface unnumbered {name} use pg2"))?;
            site.command(&format!("set interface state {name} up"))?;
            site.command(&format!("ip route add {}/24 via {name}", inside(i)))?;
        }
    }
    Ok(())
}

/// A packet of 46 bytes: 64 as a frame with its check sequence.
fn small(to: Ipv4Addr) -> Vec<u8> {
    pkt::ip4("192.168.2.2", to).udp(1000, 2000).payload([0; 18]).build()
}

/// The packets that come in by the port with this address.
pub fn packets(table: Table, tunnels: Tunnels, mac: MacAddr) -> Vec<Vec<u8>> {
    let n = table.routes;
    // A factor without a divisor in common with the numbers of tunnels.
    let count = if n == 1 { 1 } else { PACKETS };
    let one = |i: usize| {
        let tunnel = i * 7919 % n;
        let (ethertype, packet) = match (tunnels.kind, tunnels.out) {
            (kind, false) if kind.is_switched() => {
                return pkt::ether(station(1), station(2))
                    .ip4("192.168.0.2", "10.0.0.1")
                    .udp(1000, 2000)
                    .payload([0; 18])
                    .build();
            }
            (_, false) => (EtherType::IP4, small(inside(tunnel))),
            (Kind::L2tp, true) => (EtherType::IP6, outer(Kind::L2tp, tunnel)),
            (Kind::Pppoe, true) => (EtherType::PPPOE_SESSION, outer(Kind::Pppoe, tunnel)),
            (kind, true) => (EtherType::IP4, outer(kind, tunnel)),
        };
        [&mac.0[..], &station(1).0, &ethertype.0.to_be_bytes(), &packet].concat()
    };
    (0..count).map(one).collect()
}

/// A packet from the other end of a tunnel.
fn outer(kind: Kind, tunnel: usize) -> Vec<u8> {
    let inner = small(Ipv4Addr::new(30, 0, 0, 1));
    let frame = || [&station(2).0[..], &station(1).0, &[8, 0], &inner].concat();
    let (port, payload) = match kind {
        Kind::IpIp => return behind(tunnel, 4, inner),
        Kind::Gre => return behind(tunnel, 47, [&[0, 0, 8, 0][..], &inner].concat()),
        Kind::Vxlan => (4789, [Vxlan::new(13).as_bytes(), &frame()].concat()),
        Kind::Geneve => (6081, [Geneve::new(13).as_bytes(), &frame()].concat()),
        Kind::Gtpu => (2152, [Gtpu::new(13).as_bytes(), &inner].concat()),
        Kind::L2tp => {
            let own = [&13u32.to_be_bytes()[..], &COOKIE.to_be_bytes()].concat();
            return behind6(tunnel, 115, [&own[..], &frame()].concat());
        }
        Kind::Pppoe => {
            let ([s0, s1], [l0, l1]) =
                (session(tunnel).to_be_bytes(), (2 + inner.len() as u16).to_be_bytes());
            // RFC 2516 4, and the protocol number of IPv4 (RFC 1332 3).
            return [&[0x11, 0, s0, s1, l0, l1, 0, 0x21][..], &inner].concat();
        }
        Kind::VxlanGpe => (4790, [VxlanGpe::new(13, VxlanGpe::IP4).as_bytes(), &inner].concat()),
    };
    let outer = pkt::ip4(remote(tunnel), LOCAL).udp(1000, port);
    outer.checksum(pkt::Checksum::Value(0)).payload(payload).build()
}

/// A payload behind an IP header.
fn behind(tunnel: usize, protocol: u8, payload: Vec<u8>) -> Vec<u8> {
    let mut header = pkt::ip4(remote(tunnel), LOCAL).build();
    header.truncate(20);
    header[9] = protocol;
    header[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    Ipv4Header::set_checksum_at(&mut header);
    [header, payload].concat()
}

/// A payload behind a header of IPv6.
fn behind6(tunnel: usize, protocol: u8, payload: Vec<u8>) -> Vec<u8> {
    let mut packet = pkt::ip6(remote6(tunnel), LOCAL6).payload(payload).build();
    packet[6] = protocol;
    packet
}
