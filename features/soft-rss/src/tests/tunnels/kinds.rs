// SPDX-License-Identifier: Apache-2.0
//! Kinds of tunnels, with the packets of their other end.

use testkit::pkt::{self, Checksum};
use wire::Ipv4Header;

/// The network identifier, key or session of all tunnels.
const NUMBER: u8 = 13;

/// A kind of tunnel, between 10.0.0.1 and 10.0.0.2 or 2001:db8:0::1 and ::2.
pub struct Kind {
    pub name: &'static str,
    /// Its interface.
    pub tunnel: &'static str,
    pub create: &'static str,
    pub carries: Carries,
    /// Puts the headers around a frame or packet, as the other end does.
    pub wrap: fn(&[u8]) -> Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// Frames, which are switched.
    Bridged,
    /// Frames, which are routed.
    Frames,
    /// IP packets.
    Packets,
}
use Carries::{Bridged, Frames, Packets};

const VXLAN: &str = "create vxlan tunnel src 10.0.0.1 dst 10.0.0.2 vni 13";
const GENEVE: &str = "create geneve tunnel local 10.0.0.1 remote 10.0.0.2 vni 13";

fn kind(
    name: &'static str,
    tunnel: &'static str,
    create: &'static str,
    carries: Carries,
    wrap: fn(&[u8]) -> Vec<u8>,
) -> Kind {
    Kind { name, tunnel, create, carries, wrap }
}

pub fn kinds() -> Vec<Kind> {
    const L2TP: &str = "create l2tpv3 tunnel client 2001:db8:0::2 our 2001:db8:0::1 local-cookie 1122334455667788 \
                        remote-cookie 0x8877665544332211 local-session 13 remote-session 6";
    let gre = "create gre tunnel src 10.0.0.1 dst 10.0.0.2";
    vec![
        kind("VXLAN, switched", "vxlan_tunnel0", VXLAN, Bridged, vxlan),
        kind("VXLAN, routed", "vxlan_tunnel0", VXLAN, Frames, vxlan),
        kind(
            "VXLAN, layer 3",
            "vxlan_tunnel0",
            "create vxlan tunnel src 10.0.0.1 dst 10.0.0.2 vni 13 l3",
            Packets,
            vxlan,
        ),
        kind(
            "VXLAN, next node",
            "vxlan_tunnel0",
            "create vxlan tunnel src 10.0.0.1 dst 10.0.0.2 vni 13 decap-next node ethernet-input",
            Bridged,
            vxlan,
        ),
        kind("GENEVE, switched", "geneve_tunnel0", GENEVE, Bridged, |inner| {
            udp(6081, &[0, 0, 0x65, 0x58, 0, 0, NUMBER, 0], inner)
        }),
        kind("GRE", "gre0", gre, Packets, |inner| {
            let protocol = if inner[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
            outer4(47, &[&[0, 0], &protocol[..], inner].concat())
        }),
        kind(
            "GRE, frames",
            "gre0",
            "create gre tunnel src 10.0.0.1 dst 10.0.0.2 teb",
            Bridged,
            |inner| outer4(47, &[&[0, 0, 0x65, 0x58], inner].concat()),
        ),
        kind("IPIP", "ipip0", "create ipip tunnel src 10.0.0.1 dst 10.0.0.2", Packets, ipip),
        kind(
            "GTP-U",
            "gtpu_tunnel0",
            "create gtpu tunnel src 10.0.0.1 dst 10.0.0.2 teid 13 decap-next ip4",
            Packets,
            |inner| {
                let [high, low] = (inner.len() as u16).to_be_bytes();
                udp(2152, &[0x30, 255, high, low, 0, 0, 0, NUMBER], inner)
            },
        ),
        kind("L2TPv3", "l2tpv3_tunnel0", L2TP, Bridged, |inner| {
            let cookie = 0x1122_3344_5566_7788u64.to_be_bytes();
            outer6(115, &[&[0, 0, 0, NUMBER], &cookie[..], inner].concat())
        }),
        kind(
            "PPPoE",
            "pppoe_session0",
            "create pppoe session client-ip 100.64.0.1 session-id 13 client-mac 02:fe:00:00:01:00 interface p0",
            Packets,
            |inner| {
                let [high, low] = (inner.len() as u16 + 2).to_be_bytes();
                let ppp = if inner[0] >> 4 == 6 { 0x57 } else { 0x21 };
                [&[0x11, 0, 0, NUMBER, high, low, 0, ppp], inner].concat()
            },
        ),
    ]
}

fn outer4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut outer = pkt::ip4("10.0.0.2", "10.0.0.1").payload(payload).build();
    outer[9] = protocol;
    Ipv4Header::set_checksum_at(&mut outer);
    outer
}

fn outer6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut outer = pkt::ip6("2001:db8:0::2", "2001:db8:0::1").payload(payload).build();
    outer[6] = protocol;
    outer
}

fn udp(port: u16, header: &[u8], inner: &[u8]) -> Vec<u8> {
    let payload = [header, inner].concat();
    let packet = pkt::ip4("10.0.0.2", "10.0.0.1").udp(7, port).checksum(Checksum::Value(0));
    packet.payload(payload).build()
}

fn vxlan(inner: &[u8]) -> Vec<u8> {
    udp(4789, &[8, 0, 0, 0, 0, 0, NUMBER, 0], inner)
}

fn ipip(inner: &[u8]) -> Vec<u8> {
    outer4(if inner[0] >> 4 == 6 { 41 } else { 4 }, inner)
}
