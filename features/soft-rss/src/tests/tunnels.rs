// SPDX-License-Identifier: Apache-2.0
//! Packets from tunnels, which are one flow outside.

mod kinds;

use self::kinds::{Carries, Kind, kinds};
use super::*;
use net::drive::{ethernet, peer_mac, port_mac};
use net::{IfCounters, Interfaces, Neighbor, Neighbors};
use std::net::IpAddr;
use wire::Ipv4Header;

/// Notes the thread and the interface of packets behind `soft-rss-tunnel-…`.
struct Inside(Arc<Wire>);

#[derive(Next, Clone, Copy)]
enum InsideTo {
    #[next_feature]
    On,
}

impl Build for Inside {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Node for Inside {
    const NAME: &'static str = "test-inside";
    type Next = InsideTo;
    type Trace = ();

    fn packet<const T: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, T>) -> InsideTo {
        self.0.inside.lock().expect("no panic inside").push((cx.thread().0, b.rx_if));
        InsideTo::On
    }
}

/// Keeps what a port sends, with its thread.
struct Sent(Arc<Wire>);

impl Node for Sent {
    const NAME: &'static str = "test-tx";
    type Next = BehindTo;
    type Trace = ();

    fn packet<const T: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, T>) -> BehindTo {
        self.0.keep(b, cx.thread());
        BehindTo::Seen
    }
}

const fn inside(
    arc: &'static str,
    before: &'static [&'static str],
    after: &'static [&'static str],
) -> Feature {
    Feature { arc, node: "test-inside", before, after }
}

static TUNNELS: Plugin = Plugin {
    name: "test-tunnels",
    state: &[StateDef::of::<Wire>()],
    nodes: &[NodeDef::input::<TestInput>(), NodeDef::of::<Inside>()],
    features: &[
        inside("tunnel-input-ethernet", &["super-path"], &["soft-rss-tunnel-ethernet"]),
        inside("tunnel-input-ip4", &["super-path-ip4"], &["soft-rss-tunnel-ip4"]),
        inside("tunnel-input-ip6", &["super-path-ip6"], &["soft-rss-tunnel-ip6"]),
    ],
    ..Plugin::EMPTY
};

static ALL: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &mfib::PLUGIN,
    &teib::PLUGIN,
    &l2::PLUGIN,
    &super_path::PLUGIN,
    &vxlan::PLUGIN,
    &geneve::PLUGIN,
    &gtpu::PLUGIN,
    &gre::PLUGIN,
    &ipip::PLUGIN,
    &l2tp::PLUGIN,
    &pppoe::PLUGIN,
    &PLUGIN,
    &TUNNELS,
];

/// Threads that have instances: a main one and three workers.
const THREADS: usize = 4;
/// Inner flows, and packets.
const FLOWS: u8 = 40;
const PACKETS: u8 = 200;

/// Ports p0 and p1 with networks and neighbours; p2.
fn ports() -> Rig {
    let mut rig = Rig::with(ALL, THREADS);
    for i in 0..3 {
        let new = ethernet(format!("p{i}"), port_mac(i));
        let made = rig
            .world
            .get::<Interfaces>()
            .create(&rig.world, new, |world, _, _| Sent(world.get()))
            .expect("created");
        rig.cli(&format!("set interface state p{i} up")).expect("up");
        if i == 2 {
            continue;
        }
        for (address, peer) in [
            (format!("10.0.{i}.1/24"), format!("10.0.{i}.2")),
            (format!("2001:db8:{i}::1/64"), format!("2001:db8:{i}::2")),
        ] {
            rig.cli(&format!("set interface ip address p{i} {address}")).expect("set");
            let peer: IpAddr = peer.parse().expect("an address");
            let known = Neighbor { is_static: true, ..Neighbor::new(made, peer, peer_mac(i)) };
            rig.world.get::<Neighbors>().set(&rig.world, known).expect("set");
        }
    }
    rig.lines(&[
        "ip route add 30.0.0.0/8 via 10.0.1.2 p1",
        "ip route add 2004::/16 via 2001:db8:1::2 p1",
    ]);
    rig.turns(10);
    rig
}

impl Rig {
    fn lines(&mut self, lines: &[&str]) {
        lines.iter().for_each(|line| _ = self.cli(line).unwrap_or_else(|e| panic!("{line}: {e}")));
        self.turns(10);
    }

    /// Makes a tunnel, and lets what comes from it go to a port.
    fn tunnel(&mut self, kind: &Kind) -> SwIfIndex {
        let tunnel = kind.tunnel;
        let up = format!("set interface state {tunnel} up");
        self.lines(&[kind.create, &up]);
        if kind.carries == Carries::Bridged {
            let bridge = |name: &str| format!("set interface l2 bridge {name} 7");
            self.lines(&[&bridge(tunnel), &bridge("p2")]);
        } else {
            let unnumbered = format!("set interface unnumbered {tunnel} use p1");
            self.lines(&[&unnumbered, &format!("enable ip6 interface {tunnel}")]);
        }
        self.find(tunnel)
    }

    fn find(&self, name: &str) -> SwIfIndex {
        self.world.get::<Interfaces>().find(name).expect(name)
    }

    /// Turns spreading on for an interface, with workers only.
    fn spread(&mut self, name: &str) {
        self.lines(&[&format!("soft-rss config {name}"), &format!("soft-rss enable {name}")]);
    }

    fn inside(&self) -> Vec<(u16, u32)> {
        let wire: Arc<Wire> = self.world.get();
        std::mem::take(&mut *wire.inside.lock().expect("no panic inside"))
    }
}

/// A packet from the other side of a tunnel; every other flow is of IPv6.
fn inner(flow: u8, n: u8, ttl: u8) -> Vec<u8> {
    let ip = if flow % 2 == 1 {
        pkt::ip6("2001:db8:9::9", "2004::1")
    } else {
        pkt::ip4("10.9.9.9", "30.0.0.1")
    };
    let payload = [&[flow, n][..], &[n; 38]].concat();
    ip.ttl(ttl).udp(1000 + u16::from(flow), 53).payload(payload).build()
}

fn ethertype(packet: &[u8]) -> [u8; 2] {
    if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] }
}

fn framed(to: [u8; 6], from: [u8; 6], packet: &[u8]) -> Vec<u8> {
    [&to[..], &from, &ethertype(packet), packet].concat()
}

/// The frame that p0 receives, and the frame that is to leave.
fn in_and_out(rig: &Rig, kind: &Kind, flow: u8, n: u8) -> (Vec<u8>, Vec<u8>) {
    let packet = |ttl| inner(flow, n, ttl);
    let (content, out) = match kind.carries {
        Carries::Bridged => {
            let frame = framed([2, 0, 0, 0, 9, 1], [2, 0, 0, 0, 9, 2], &packet(64));
            (frame.clone(), frame)
        }
        Carries::Frames | Carries::Packets => {
            let out = framed(peer_mac(1).0, port_mac(1).0, &packet(63));
            let own = rig.world.get::<Interfaces>().get(rig.find(kind.tunnel)).expect("there").mac;
            let content = match kind.carries {
                Carries::Frames => framed(own.0, [2, 0, 0, 0, 9, 2], &packet(64)),
                _ => packet(64),
            };
            (content, out)
        }
    };
    (outer_frame(kind, &content), out)
}

fn outer_frame(kind: &Kind, content: &[u8]) -> Vec<u8> {
    let outer = (kind.wrap)(content);
    if kind.name == "PPPoE" {
        return [&port_mac(0).0[..], &peer_mac(0).0, &[0x88, 0x64], &outer].concat();
    }
    framed(port_mac(0).0, peer_mac(0).0, &outer)
}

/// Checks that all frames are there, each flow of them on one thread and in order. Returns the
/// thread of each flow.
fn homes(seen: &[(u16, Vec<u8>)], want: &[Vec<u8>], name: &str) -> BTreeMap<u8, u16> {
    let mut bytes: Vec<_> = seen.iter().map(|(_, frame)| frame.clone()).collect();
    let mut want = want.to_vec();
    bytes.sort();
    want.sort();
    assert_eq!(bytes.len(), want.len(), "{name}: all leave");
    assert!(bytes == want, "{name}: with their bytes");
    let (mut homes, mut last) = (BTreeMap::new(), BTreeMap::new());
    for (thread, frame) in seen {
        let [flow, n] = *frame[frame.len() - 40..].first_chunk().expect("the payload");
        assert_eq!(*homes.entry(flow).or_insert(*thread), *thread, "{name}: one thread a flow");
        let before = last.insert(flow, n);
        assert!(before.is_none_or(|before| before < n), "{name}: in order within the flow");
    }
    homes
}

#[suite::test]
fn packets_from_tunnels_are_spread_by_their_inner_flow() {
    for kind in kinds() {
        let name = kind.name;
        let mut rig = ports();
        let tunnel = rig.tunnel(&kind);
        let (frames, want): (Vec<_>, Vec<_>) =
            (0..PACKETS).map(|n| in_and_out(&rig, &kind, n % FLOWS, n)).unzip();
        let plain = homes(&rig.pass(1, &frames), &want, name);
        assert!(plain.values().all(|thread| *thread == 1), "{name}: where they came in");
        rig.spread(kind.tunnel);
        let note = |on: bool| {
            for arc in ["tunnel-input-ethernet", "tunnel-input-ip4", "tunnel-input-ip6"] {
                rig.world.set_feature(arc, "test-inside", tunnel, on).expect("set");
            }
        };
        note(true);
        let spread = homes(&rig.pass(1, &frames), &want, name);
        let threads: BTreeSet<_> = spread.values().copied().collect();
        assert_eq!(threads.into_iter().collect::<Vec<_>>(), [1, 2, 3], "{name}: the workers");
        let inside = rig.inside();
        assert_eq!(inside.len(), frames.len(), "{name}");
        assert!(
            inside.iter().all(|(_, rx_if)| *rx_if == tunnel.0),
            "{name}: received by the tunnel"
        );
        let received = rig.world.get::<IfCounters>().rx.sum(tunnel.at()).0;
        assert_eq!(received, 2 * u64::from(PACKETS), "{name}: counted once");
        // From another thread, and without the super-path, flows have the same threads.
        assert_eq!(homes(&rig.pass(3, &frames), &want, name), spread, "{name}");
        rig.lines(&["set super-path off"]);
        assert_eq!(homes(&rig.pass(1, &frames), &want, name), spread, "{name}: through the graph");
        rig.lines(&[&format!("soft-rss disable {}", kind.tunnel)]);
        let plain = homes(&rig.pass(2, &frames), &want, name);
        assert!(plain.values().all(|thread| *thread == 2), "{name}: where they came in");
        rig.end();
    }
}

/// The inner tunnel's packets are one flow of the outer one, and spread once more behind it.
#[suite::test]
fn tunnels_in_tunnels_are_spread_again() {
    let mut rig = ports();
    let all = kinds();
    let gre = all.iter().find(|kind| kind.name == "GRE").expect("a kind");
    rig.tunnel(gre);
    rig.lines(&[
        "ip route add 10.9.9.0/24 via gre0",
        "create ipip tunnel src 10.0.1.1 dst 10.9.9.9",
        "set interface state ipip0 up",
        "set interface unnumbered ipip0 use p1",
        "enable ip6 interface ipip0",
    ]);
    let make = |n: u8| {
        let packet = |ttl| inner(n % FLOWS, n, ttl);
        let mut middle = pkt::ip4("10.9.9.9", "10.0.1.1").payload(packet(64)).build();
        middle[9] = if packet(64)[0] >> 4 == 6 { 41 } else { 4 };
        Ipv4Header::set_checksum_at(&mut middle);
        (outer_frame(gre, &middle), framed(peer_mac(1).0, port_mac(1).0, &packet(63)))
    };
    let (frames, want): (Vec<_>, Vec<_>) = (0..PACKETS).map(make).unzip();
    let threads = |rig: &mut Rig| -> Vec<u16> {
        let homes = homes(&rig.pass(2, &frames), &want, "IPIP in GRE");
        homes.into_values().collect::<BTreeSet<_>>().into_iter().collect()
    };
    assert_eq!(threads(&mut rig), [2]);
    rig.spread("gre0");
    assert_eq!(threads(&mut rig).len(), 1, "one flow");
    rig.spread("ipip0");
    assert_eq!(threads(&mut rig), [1, 2, 3]);
    rig.lines(&["soft-rss disable gre0"]);
    assert_eq!(threads(&mut rig), [1, 2, 3]);
    rig.end();
}

/// Packets are between threads while their tunnel is deleted.
#[suite::test]
fn tunnels_are_deleted_under_traffic() {
    for kind in kinds() {
        let mut rig = ports();
        let tunnel = rig.tunnel(&kind);
        rig.spread(kind.tunnel);
        let (frames, want): (Vec<_>, Vec<_>) =
            (0..PACKETS).map(|n| in_and_out(&rig, &kind, n % FLOWS, n)).unzip();
        let wire: Arc<Wire> = rig.world.get();
        wire.feed.lock().expect("no panic inside").insert(1, frames.clone().into());
        rig.threads[1].turn(true);
        let interfaces = rig.world.get::<Interfaces>();
        interfaces.delete(&rig.world, tunnel).expect("deleted");
        rig.turns(10);
        std::mem::take(&mut *wire.seen.lock().expect("no panic inside"));
        assert!(rig.world.get::<crate::control::SoftRss>().list().is_empty(), "{}", kind.name);
        // The next tunnel with this number isn't spread.
        rig.tunnel(&kind);
        let homes = homes(&rig.pass(3, &frames), &want, kind.name);
        assert!(homes.values().all(|thread| *thread == 3), "{}", kind.name);
        rig.end();
    }
}

/// More packets than a ring between two threads holds are dropped, and counted as congestion.
#[suite::test]
fn a_full_ring_drops() {
    let mut rig = ports();
    let kind = &kinds()[0];
    rig.tunnel(kind);
    rig.lines(&["soft-rss config vxlan_tunnel0 threads 2-3", "soft-rss enable vxlan_tunnel0"]);
    // All of one flow, for a thread that takes no turn.
    let (frame, want) = in_and_out(&rig, kind, 1, 1);
    let wire: Arc<Wire> = rig.world.get();
    for _ in 0..8 {
        wire.feed.lock().expect("no panic inside").insert(1, vec![frame.clone(); 250].into());
        rig.threads[1].turn(true);
    }
    rig.turns(20);
    let seen = std::mem::take(&mut *wire.seen.lock().expect("no panic inside"));
    assert!(seen.iter().all(|(_, bytes)| *bytes == want));
    let lost = rig.world.stats.simple(graph::counters::CONGESTION);
    let lost: u64 = (0..THREADS).map(|thread| lost.sum(thread)).sum();
    assert!(lost > 0 && seen.len() > 500, "{lost} lost, {} seen", seen.len());
    assert_eq!(seen.len() as u64 + lost, 2000);
    rig.end();
}

#[suite::test]
fn the_configuration_of_tunnels_is_kept() {
    let mut rig = ports();
    for kind in kinds().iter().filter(|kind| ["GRE", "VXLAN, switched"].contains(&kind.name)) {
        rig.tunnel(kind);
    }
    let refused = rig.cli("soft-rss config gre0 l2-offset 4").expect_err("no Ethernet header");
    assert!(refused.contains("l2-offset"), "{refused}");
    rig.lines(&[
        "soft-rss config gre0 type 2-tuple threads 1-2",
        "soft-rss enable gre0",
        "soft-rss config vxlan_tunnel0 l2-offset 4",
    ]);
    let lines = |rig: &Rig| -> Vec<String> {
        let all = rig.world.running_config().into_iter().map(|line| line.text);
        all.filter(|line| !line.contains(" p0") && !line.contains(" p1")).collect()
    };
    let saved = lines(&rig);
    for want in [
        "soft-rss config gre0 ipv4-type 2-tuple ipv6-type 2-tuple threads 1-2",
        "soft-rss enable gre0",
        "soft-rss config vxlan_tunnel0 l2-offset 4",
    ] {
        assert!(saved.iter().any(|line| line == want), "{want}: {saved:?}");
    }
    let mut again = ports();
    let had = lines(&again);
    let new: Vec<_> = saved.iter().filter(|line| !had.contains(line)).map(|s| &**s).collect();
    again.lines(&new);
    assert_eq!(lines(&again), saved);
    // A sub-interface's frames come by the tunnel.
    rig.lines(&["create sub-interfaces vxlan_tunnel0 5"]);
    let refused = rig.cli("soft-rss config vxlan_tunnel0.5").expect_err("a sub-interface");
    assert!(refused.contains("neither an Ethernet device nor a tunnel"), "{refused}");
    rig.end();
    again.end();
}

/// An operator may enable a node where nothing is configured: packets go on, and are counted.
#[suite::test]
fn packets_from_tunnels_without_a_configuration_go_on() {
    let all = kinds();
    for (name, layer, is_v6) in
        [("IPIP", "ip4", 0), ("IPIP", "ip6", 1), ("VXLAN, switched", "ethernet", 0)]
    {
        let mut rig = ports();
        let kind = all.iter().find(|kind| kind.name == name).expect("a kind");
        rig.tunnel(kind);
        let (arc, node) = (format!("tunnel-input-{layer}"), format!("soft-rss-tunnel-{layer}"));
        rig.lines(&[&format!("set interface feature {} {node} arc {arc}", kind.tunnel)]);
        let (frames, want): (Vec<_>, Vec<_>) =
            (0..10).map(|n| in_and_out(&rig, kind, 2 * n + is_v6, n)).unzip();
        let homes = homes(&rig.pass(3, &frames), &want, name);
        assert!(homes.values().all(|thread| *thread == 3));
        let reasons = rig.world.reasons();
        let is_it = |r: &graph::Reason| *r.node == *node && r.reason == "soft-rss not enabled";
        let at = reasons.iter().position(is_it).expect("there");
        assert_eq!(rig.world.stats.simple(graph::counters::ERRORS).sum(at), 10, "{node}");
        rig.end();
    }
}
