// SPDX-License-Identifier: Apache-2.0
//! Tunnels of several kinds whose MTU is tracked: senders of inner packets learn of what the path
//! carries.

use graph::Plugin;
use net::drive::{Rig, peer_mac, port_mac};
use net::{Interfaces, MtuKind, Neighbor, Neighbors};
use serde_json::Value;
use testkit::pkt::{self, Packet};
use wire::{Icmp4Type, Icmp6Type};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &path_mtu::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &track_mtu::PLUGIN,
    &teib::PLUGIN,
    &udp::PLUGIN,
    &ipip::PLUGIN,
    &gre::PLUGIN,
    &vxlan::PLUGIN,
    &geneve::PLUGIN,
];

/// A kind of tunnel: its interface, the line that makes it, the bytes in front of inner packets.
struct Kind {
    name: &'static str,
    create: &'static str,
    overhead: usize,
    /// Its interface is Ethernet-like, and needs a neighbour.
    frames: bool,
}

const fn kind(name: &'static str, create: &'static str, overhead: usize, frames: bool) -> Kind {
    Kind { name, create, overhead, frames }
}

const KINDS: [Kind; 7] = [
    kind("ipip0", "create ipip tunnel src 10.0.1.1 dst 30.0.0.1 encap-set-df", 20, false),
    kind("ipip0", "create ipip tunnel src 2001:db8:1::1 dst 3000::1", 40, false),
    kind("gre0", "create gre tunnel src 10.0.1.1 dst 30.0.0.1 encap-set-df", 24, false),
    kind("gre0", "create gre tunnel src 2001:db8:1::1 dst 3000::1 key 7", 48, false),
    kind("gre0", "create gre tunnel src 10.0.1.1 dst 30.0.0.1 teb encap-set-df", 38, true),
    kind(
        "vxlan_tunnel0",
        "create vxlan tunnel src 10.0.1.1 dst 30.0.0.1 vni 7 l3 encap-set-df",
        36,
        false,
    ),
    kind(
        "geneve_tunnel0",
        "create geneve tunnel local 2001:db8:1::1 remote 3000::1 vni 7",
        70,
        true,
    ),
];

impl Kind {
    fn rig(&self) -> Rig {
        let mut rig = Rig::new(PLUGINS, 2);
        rig.networks();
        let Self { name, create, frames, .. } = self;
        for line in [
            "ip route add 30.0.0.0/8 via 10.0.1.2 p1".to_string(),
            "ip route add 3000::/16 via 2001:db8:1::2 p1".into(),
            format!("{create} track-mtu"),
            format!("set interface state {name} up"),
            format!("set interface ip address {name} 10.9.0.1/24"),
            format!("set interface ip address {name} 2001:db8:9::1/64"),
            format!("ip route add 20.0.0.0/8 via 10.9.0.2 {name}"),
            format!("ip route add 2002::/16 via 2001:db8:9::2 {name}"),
        ] {
            rig.cli(&line);
        }
        if *frames {
            let world = rig.world();
            let sw_if = world.get::<Interfaces>().find(name).expect("it was made");
            for peer in ["10.9.0.2", "2001:db8:9::2"] {
                let peer = peer.parse().expect("an address");
                let known = Neighbor { is_static: true, ..Neighbor::new(sw_if, peer, peer_mac(9)) };
                world.get::<Neighbors>().set(&world, known).expect("set");
            }
        }
        rig
    }

    fn is_v6(&self) -> bool {
        self.create.contains("3000::1")
    }

    /// An inner packet of so many bytes goes out whole, behind headers.
    fn passes(&self, rig: &mut Rig, inner: &[u8]) -> Vec<u8> {
        let sent = rig.route(inner);
        let [(1, outer)] = &sent[..] else { panic!("{}: {sent:?}", self.create) };
        assert_eq!(outer.len(), inner.len() + self.overhead, "{}", self.create);
        let at = self.overhead;
        assert_eq!(outer[at + 40..], inner[40..], "{}", self.create);
        outer.clone()
    }

    /// An inner packet is refused by an error to its sender with this MTU.
    fn refused(&self, rig: &mut Rig, inner: &[u8], mtu: usize) {
        let sent = rig.route(inner);
        let [(0, error)] = &sent[..] else { panic!("{}: {sent:?}", self.create) };
        let (head, class) = if inner[0] >> 4 == 4 { (20, [3, 4]) } else { (40, [2, 0]) };
        assert_eq!(error[head..head + 2], class, "{}", self.create);
        let says = error[head + 4..head + 8].first_chunk().expect("four bytes");
        assert_eq!(u32::from_be_bytes(*says) as usize, mtu, "{}", self.create);
        let (from, to) = if head == 20 { (12..16, 16..20) } else { (8..24, 24..40) };
        assert_eq!(error[to], inner[from], "to the sender of the inner packet");
        // The quoted packet is the inner one.
        assert_eq!(error[head + 8 + head..][..8], inner[head..][..8], "{}", self.create);
        assert_eq!(wire::l4::verify(error), Ok(wire::l4::Verdict::Valid));
    }

    /// A router on the path refuses an outer packet.
    fn report(&self, rig: &mut Rig, outer: &[u8], mtu: u16) {
        let frame = self.error(outer, mtu);
        assert_eq!(rig.pass(1, &frame), []);
        rig.seconds(2);
    }

    /// The frame with this error.
    fn error(&self, outer: &[u8], mtu: u16) -> Vec<u8> {
        let quote = &outer[..outer.len().min(68)];
        let mtu = mtu.into();
        let (error, ethertype) = if self.is_v6() {
            let ip = pkt::ip6("2001:db8:1::2", "2001:db8:1::1");
            (ip.icmp6(Icmp6Type::PACKET_TOO_BIG, 0, mtu), [0x86, 0xdd])
        } else {
            (pkt::ip4("10.0.1.2", "10.0.1.1").icmp(Icmp4Type::UNREACHABLE, 4, mtu), [8, 0])
        };
        let packet = error.payload(quote).build();
        [&port_mac(1).0[..], &peer_mac(1).0, &ethertype, &packet].concat()
    }

    fn noted(&self, rig: &Rig) -> u64 {
        let node = if self.is_v6() { "ip6-tunnel-error" } else { "ip4-tunnel-error" };
        rig.count(node, "good")
    }
}

fn four(len: usize) -> Vec<u8> {
    sized(pkt::ip4("10.0.0.2", "20.0.0.1").df(), len - 28)
}

fn six(len: usize) -> Vec<u8> {
    sized(pkt::ip6("2001:db8::2", "2002::1"), len - 48)
}

fn sized(ip: Packet, payload: usize) -> Vec<u8> {
    ip.ttl(9).udp(1, 2000).payload_len(payload).build()
}

fn shown(rig: &mut Rig) -> Value {
    serde_json::from_str(&rig.cli("show tunnel mtu -j")).expect("JSON")
}

#[suite::test]
fn inner_senders_learn_of_the_path() {
    for kind in &KINDS {
        let mut rig = kind.rig();
        let fits = |mtu: usize| mtu - kind.overhead;
        // The egress has 1500.
        for make in [four, six] {
            kind.refused(&mut rig, &make(fits(1500) + 1), fits(1500));
            kind.passes(&mut rig, &make(fits(1500)));
        }
        // A link further on has 1400.
        let outer = kind.passes(&mut rig, &four(fits(1500)));
        kind.report(&mut rig, &outer, 1400);
        assert_eq!(kind.noted(&rig), 1, "{}", kind.create);
        for make in [four, six] {
            kind.refused(&mut rig, &make(fits(1500)), fits(1400));
            kind.passes(&mut rig, &make(fits(1400)));
        }
        let row = shown(&mut rig)[0].clone();
        assert_eq!(row["interface"], kind.name);
        assert_eq!((&row["egress"], &row["path"]), (&1500.into(), &1400.into()), "{row}");
        assert_eq!(row["mtu"], fits(1400), "{row}");
        // Ten minutes later a larger one is tried.
        rig.seconds(601);
        rig.seconds(2);
        kind.passes(&mut rig, &four(fits(1500)));
        // The egress changes.
        rig.cli("set interface mtu packet 1450 p1");
        rig.seconds(2);
        kind.refused(&mut rig, &four(fits(1500)), fits(1450));
        kind.passes(&mut rig, &six(fits(1450)));
        // The operator's own MTU counts, if it is less.
        rig.cli(&format!("set interface mtu packet 1300 {}", kind.name));
        kind.refused(&mut rig, &four(fits(1450)), 1300);
    }
}

#[suite::test]
fn errors_about_other_packets_are_not_believed() {
    for kind in KINDS.iter().filter(|kind| !kind.frames) {
        let mut rig = kind.rig();
        let len = 1500 - kind.overhead;
        let outer = kind.passes(&mut rig, &four(len));
        let (from, protocol, port) = if kind.is_v6() { (24, 6, 42) } else { (16, 9, 22) };
        // Another destination; another protocol; another port of UDP.
        for (at, value) in [(from + 3, 77), (protocol, 6), (port, 0xee)] {
            let is_udp = outer[protocol] == 17;
            let mut other = outer.clone();
            other[at] ^= value;
            if at == port && !is_udp {
                continue;
            }
            kind.report(&mut rig, &other, 1400);
            kind.passes(&mut rig, &four(len));
        }
        // One that would have fitted, and one below the least.
        for mtu in [1500, 30] {
            kind.report(&mut rig, &outer, mtu);
            kind.passes(&mut rig, &four(len));
        }
        // Of a tunnel that was deleted.
        let sentence = match kind.create.split_once(" encap") {
            Some((create, _)) => create,
            None => kind.create,
        };
        let delete = if kind.name.starts_with("ipip") {
            "delete ipip tunnel ipip0".into()
        } else {
            format!("{sentence} del")
        };
        let before = kind.noted(&rig);
        rig.cli(&delete);
        kind.report(&mut rig, &outer, 1400);
        assert_eq!(kind.noted(&rig), before, "{delete}");
        assert_eq!(shown(&mut rig), Value::Array(Vec::new()));
    }
}

/// An error names one tunnel, but the path is that of all tunnels between the two ends: it counts
/// for all of them, also if there are more than are looked at in one go, and as long as one is
/// left.
#[suite::test]
fn tunnels_between_the_same_ends_have_one_path() {
    let kind = &KINDS[2];
    let mut rig = kind.rig();
    for key in 1..=1100 {
        rig.cli(&format!("create gre tunnel src 10.0.1.1 dst 30.0.0.1 key {key} track-mtu"));
    }
    let outer = kind.passes(&mut rig, &four(1476));
    kind.report(&mut rig, &outer, 1400);
    assert_eq!(kind.noted(&rig), 1);
    rig.cli("create gre tunnel src 10.0.1.1 dst 30.0.0.1 del");
    let all = shown(&mut rig);
    let all = all.as_array().expect("a list");
    assert_eq!(all.len(), 1100);
    assert!(all.iter().all(|row| row["path"] == 1400 && row["mtu"] == 1372), "{all:?}");
    let interfaces = rig.world().get::<Interfaces>();
    for name in ["gre1", "gre1100"] {
        let sw_if = interfaces.find(name).expect("it is there");
        let mtu = interfaces.get(sw_if).expect("it is there").mtu_of(MtuKind::Ip4);
        assert_eq!(mtu, 1372, "{name}");
    }
}

#[suite::test]
fn a_flood_of_errors_is_dropped_by_name() {
    for kind in KINDS.iter().filter(|kind| kind.name.starts_with("ipip")) {
        let mut rig = kind.rig();
        let outer = kind.passes(&mut rig, &four(1500 - kind.overhead));
        let errors = vec![kind.error(&outer, 1400); 100];
        rig.receive_all(1, &errors);
        let node = if kind.is_v6() { "ip6-tunnel-error" } else { "ip4-tunnel-error" };
        assert_eq!((rig.count(node, "good"), rig.count(node, "full")), (64, 36));
        rig.seconds(2);
        kind.refused(&mut rig, &four(1500 - kind.overhead), 1400 - kind.overhead);
    }
}

#[suite::test]
fn a_tunnel_without_it_keeps_its_mtu() {
    let kind = &KINDS[0];
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    for line in [
        "ip route add 30.0.0.0/8 via 10.0.1.2 p1",
        kind.create,
        "set interface state ipip0 up",
        "set interface unnumbered ipip0 use p0",
        "ip route add 20.0.0.0/8 via ipip0",
    ] {
        rig.cli(line);
    }
    let outer = kind.passes(&mut rig, &four(1480));
    kind.report(&mut rig, &outer, 1400);
    assert_eq!(kind.noted(&rig), 0);
    kind.passes(&mut rig, &four(1480));
}

#[suite::test]
fn tunnels_with_several_ends_are_refused() {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    let (_, said) = rig.refused("create ipip tunnel src 10.0.1.1 p2mp track-mtu");
    assert!(said.contains("one other end"), "{said}");
    rig.cli("create ipip tunnel src 10.0.1.1 dst 10.0.1.2 track-mtu");
    let lines = rig.world().running_config();
    assert!(lines.iter().any(|l| l.text.contains(" track-mtu ")), "{lines:?}");
}
