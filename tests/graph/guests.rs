// SPDX-License-Identifier: Apache-2.0
//! A link type, a table and a kind of adjacency of their own: labels, which nothing but this file
//! knows of. Routes of labels and of IPv4 lead over each other and over tunnels.

use buffer::Buffer;
use cli::Error;
use daemon::plugins;
use graph::drive::Bench;
use graph::{Build, Cx, Next, Node, NodeDef, NodeIndex, Plugin, Shared, StateDef};
use graph::{ThreadIndex, World, name_of};
use net::drive::{Rig, peer_mac, port_mac};
use net::fib::{Lookup, NewTable, RouteKey};
use net::{
    AdjIndex, AdjKind, Adjacencies, Fib, IpMeta, Link, LinkType, Links, MtuKind, ObjectType,
    Objects, Path, PathKind, PathState, RouteIndex, RouteTables, Source, TableIndex, TableRef,
    TableUsage, Tracked,
};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, OnceLock};
use sync::Slots;
use tables::{Full, Leaf, ResultKind};
use testkit::pkt;
use wire::{EtherType, Ip4, IpProtocol, Ipv4Header};

static GUEST: Plugin = Plugin {
    name: "guest",
    about: "Labels",
    nodes: &[NodeDef::of::<Input>(), NodeDef::of::<Rewrite>(), NodeDef::of::<Impose>()],
    state: &[StateDef::of::<Labels>()],
    start: |world| {
        world.get::<Objects>().register(&IMPOSITION);
        ethernet::register_ethertype(world, EtherType::MPLS, Input::NAME)
    },
    ..Plugin::EMPTY
};

/// The number of a label in an entry of a stack (RFC 3032 2.1).
fn number(entry: [u8; 4]) -> u32 {
    u32::from_be_bytes(entry) >> 12
}

/// The lookup table: labels are keys of 20 bits.
struct LabelTable {
    adjacencies: Slots<AdjIndex>,
    routes: Mutex<BTreeMap<RouteKey, RouteIndex>>,
}

impl LabelTable {
    fn enter(&self, key: RouteKey, leaf: Leaf) {
        self.adjacencies.set(key.bits as u32, AdjIndex(leaf.hop));
        self.routes.lock().expect("no panic").insert(key, RouteIndex(leaf.route));
    }
}

impl Lookup for LabelTable {
    fn width(&self) -> u8 {
        20
    }
    fn get(&self, key: RouteKey) -> Option<RouteIndex> {
        self.routes.lock().expect("no panic").get(&key).copied()
    }
    fn covering(&self, bits: u128, len: u8) -> Option<(RouteKey, RouteIndex)> {
        let key = RouteKey { bits, len };
        Some((key, self.get(key)?))
    }
    fn insert(&self, key: RouteKey, leaf: Leaf) -> Result<(), Full> {
        self.enter(key, leaf);
        Ok(())
    }
    fn insert_all(&self, leaves: &[(RouteKey, Leaf)]) -> usize {
        leaves.iter().for_each(|(key, leaf)| self.enter(*key, *leaf));
        leaves.len()
    }
    fn remove(&self, key: RouteKey) {
        self.adjacencies.clear(key.bits as u32);
        self.routes.lock().expect("no panic").remove(&key);
    }
    fn walk(&self, after: Option<RouteKey>, f: &mut dyn FnMut(RouteKey, RouteIndex) -> bool) {
        let all = self.routes.lock().expect("no panic").clone();
        let mut rest = all.into_iter().filter(|(key, _)| after.is_none_or(|after| *key > after));
        let _ = rest.all(|(key, route)| f(key, route));
    }
    fn count(&self) -> usize {
        self.routes.lock().expect("no panic").len()
    }
    fn usage(&self) -> TableUsage {
        TableUsage { tables: 1, routes: self.count(), ..TableUsage::default() }
    }
    fn set_wanted(&self, _: ResultKind) {}
    fn text(&self, key: RouteKey) -> String {
        key.bits.to_string()
    }
    fn bound_interface(&self, _: &World, _: TableIndex, _: Option<u32>) -> Option<String> {
        None
    }
    fn forget(&self, _: &World, _: TableIndex, _: Option<u32>) {}
}

/// The link type, its table, and the object that puts labels in front of IPv4 packets.
struct Labels {
    link: Link,
    table: Arc<LabelTable>,
    over: OnceLock<Tracked>,
}

impl Shared for Labels {
    fn make(world: &World) -> Self {
        let mpls = LinkType {
            name: "mpls",
            ethertype: EtherType::MPLS,
            mtu: MtuKind::Mpls,
            nodes: &[(AdjKind::Rewrite, Rewrite::NAME)],
        };
        let table = Arc::new(LabelTable {
            adjacencies: Slots::new(world.qsbr.clone()),
            routes: Mutex::default(),
        });
        Self { link: world.get::<Links>().add(mpls), table, over: OnceLock::new() }
    }
}

/// Length of the header that is put in front of a packet: IPv4 and UDP headers, padding, and three
/// labels.
const HEADER: usize = 90;

fn header(ttl: u8, payload: usize) -> Vec<u8> {
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(30, 0, 0, 1));
    let stack: Vec<u8> = [100u32, 200, 300].iter().flat_map(|l| (l << 12).to_be_bytes()).collect();
    let body = [vec![0xee; HEADER - 20 - 12], stack].concat();
    let packet = pkt::ip4(src, dst).ttl(ttl).df().protocol(IpProtocol::MPLS);
    packet.payload([body, vec![0; payload]].concat()).build()[..HEADER].to_vec()
}

static IMPOSITION: ObjectType = ObjectType {
    name: "imposition",
    words: "impose",
    node: |world, link, _| {
        let node = world.node(name_of::<Impose>()).filter(|_| link == Link::IP4);
        node.ok_or_else(|| Error::unsupported("labels are put in front of IPv4 only"))
    },
    over: |world, _| world.get::<Labels>().over.get().copied(),
    header: |_, _| header(64, 0),
    ..ObjectType::PLAIN
};

#[derive(Next, Clone, Copy, PartialEq, Eq, Debug)]
enum To {
    #[dynamic]
    Node(NodeIndex),
    /// nothing is known of the label
    #[drop]
    Nothing,
}

/// Looks labels up.
struct Input {
    labels: Arc<Labels>,
    adjacencies: Arc<Adjacencies>,
}

impl Build for Input {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self { labels: world.get(), adjacencies: world.get() }
    }
}

impl Node for Input {
    const NAME: &'static str = "labels-input";
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let Some(entry) = b.bytes::<4>(0) else { return To::Nothing };
        let mut found = self.labels.table.adjacencies.get(number(*entry), cx.turn).copied();
        loop {
            let Some(index) = found else { return To::Nothing };
            let Some(adj) = self.adjacencies.get(index, cx.turn) else { return To::Nothing };
            if adj.kind == AdjKind::LoadBalance {
                found = self.adjacencies.buckets(adj, cx.turn).first().copied();
                continue;
            }
            b.set_scratch(IpMeta::of(index, 0));
            return if adj.kind.forwards() { To::Node(adj.next) } else { To::Nothing };
        }
    }
}

/// Puts the layer-2 header in front of labels.
struct Rewrite(Arc<Adjacencies>);

impl Build for Rewrite {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.get())
    }
}

impl Node for Rewrite {
    const NAME: &'static str = "labels-rewrite";
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta: IpMeta = b.scratch();
        let Some(adj) = self.0.get(meta.adj(), cx.turn) else { return To::Nothing };
        b.tx_if = adj.tx_if;
        if adj.put(b) { To::Node(adj.output) } else { To::Nothing }
    }
}

/// Puts the header of the object in front, and sends the packet by the object's route.
struct Impose {
    adjacencies: Arc<Adjacencies>,
    onward: ip::Onward<Ip4>,
}

impl Build for Impose {
    fn build(world: &World, thread: ThreadIndex) -> Self {
        Self { adjacencies: world.get(), onward: ip::Onward::new(world, thread) }
    }
}

impl Node for Impose {
    const NAME: &'static str = "labels-impose";
    type Next = To;
    type Trace = ();

    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, cx: &mut Cx<'_, TRACED>) -> To {
        let meta: IpMeta = b.scratch();
        let Some(adj) = self.adjacencies.get(meta.adj(), cx.turn) else { return To::Nothing };
        let len = b.packet_len() + HEADER;
        if !adj.put(b) {
            return To::Nothing;
        }
        b.data_mut()[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        Ipv4Header::set_checksum_at(b.data_mut());
        let next = self.onward.go(b, adj.over, TableIndex::DEFAULT, cx.turn);
        next.map_or(To::Nothing, To::Node)
    }
}

fn rig() -> Rig {
    let all: Vec<&'static Plugin> = plugins::ALL.iter().copied().chain([&GUEST]).collect();
    let mut rig = Rig::of(Bench::new(all.leak()), 3);
    rig.networks();
    for line in [
        "create ipip tunnel src 10.0.0.1 dst 40.0.0.1",
        "set interface state ipip0 up",
        "ip route add 30.0.0.0/8 via ipip0",
        "ip route add 40.0.0.1/32 via 10.0.1.2 p1",
        "ip route add 40.0.0.1/32 via 10.0.2.2 p2",
    ] {
        rig.cli(line);
    }
    rig
}

/// Receives a frame on port 0; returns the frames sent of this EtherType, without the router's own
/// reports to IPv6 groups.
fn pass(rig: &mut Rig, frame: &[u8], ethertype: EtherType) -> Vec<(usize, Vec<u8>)> {
    let mut sent = rig.pass(0, frame);
    sent.retain(|(_, frame)| frame[12..14] == ethertype.0.to_be_bytes());
    sent
}

/// The same for IPv4 packets.
fn route(rig: &mut Rig, packet: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let header = pkt::ether(peer_mac(0), port_mac(0)).ethertype(EtherType::IP4);
    let sent = pass(rig, &header.payload(packet).build(), EtherType::IP4);
    sent.into_iter().map(|(port, frame)| (port, frame[14..].to_vec())).collect()
}

fn labels_of(world: &World) -> TableRef {
    let labels = world.get::<Labels>();
    let lookup: Arc<dyn Lookup> = labels.table.clone();
    let new = NewTable { id: 0, name: "labels", of_link: false, lookup, routes: Vec::new() };
    let (index, _) = world.get::<RouteTables>().add_table(world, labels.link, new).expect("made");
    TableRef { link: labels.link, index }
}

/// Packets of a route get three labels in a header of 90 bytes, which go through a tunnel whose
/// packets are spread over two next hops.
#[test]
fn an_object_lies_over_a_tunnel_over_two_next_hops() {
    let mut rig = rig();
    let world = rig.world();
    let over = Tracked::new(&world, 0, Ipv4Addr::new(30, 0, 0, 1).into()).expect("followed");
    world.get::<Labels>().over.set(over).expect("once");
    let fib = world.get::<Fib<Ip4>>();
    let prefix = "20.0.0.0/8".parse().expect("a prefix");
    let paths = [Path::new(PathKind::Object(&IMPOSITION, 0))];
    fib.set(&world, TableIndex::DEFAULT, prefix, Source::Api, &paths).expect("set");
    let mut ports = BTreeMap::<usize, usize>::new();
    for i in 0..64 {
        let inner = pkt::ip4("10.0.0.2", "20.0.0.1").udp(1000 + i, 9).payload_len(40).build();
        let sent = route(&mut rig, &inner);
        let [(port, packet)] = &sent[..] else { panic!("{i}: {sent:?}") };
        *ports.entry(*port).or_default() += 1;
        assert_eq!((packet[9], &packet[12..20]), (4, &[10, 0, 0, 1, 40, 0, 0, 1][..]));
        assert_eq!(packet[20..], [header(63, inner.len()), inner].concat(), "{i}");
    }
    // The flow is the outer packet's: of one tunnel, one.
    assert_eq!(ports.values().sum::<usize>(), 64);
    // The route below moves, and no packet notices.
    let [port] = ports.keys().copied().collect::<Vec<_>>()[..] else { panic!("{ports:?}") };
    rig.cli(&format!("set interface state p{port} down"));
    let inner = pkt::ip4("10.0.0.2", "20.0.0.1").udp(1, 9).payload_len(40).build();
    let sent = route(&mut rig, &inner);
    assert_eq!((sent.len(), sent[0].0), (1, 3 - port), "{sent:?}");
    // Without any route below, the path isn't usable; and a route below that leads back to it is
    // named.
    let state = || fib.route(TableIndex::DEFAULT, prefix).expect("there").sources[0].states.clone();
    rig.cli("ip route del 30.0.0.0/8");
    assert_eq!(state(), [PathState::Unresolved]);
    let answers = route(&mut rig, &inner);
    assert!(answers.iter().all(|(port, _)| *port == 0), "nothing but ICMP errors: {answers:?}");
    rig.cli("ip route add 30.0.0.0/8 via 20.0.0.9");
    assert_eq!(state(), [PathState::Looped]);
    rig.cli("ip route del 30.0.0.0/8");
    rig.cli("ip route add 30.0.0.0/8 via ipip0");
    assert_eq!((state(), route(&mut rig, &inner).len()), (vec![PathState::Resolved], 1));
    fib.remove(&world, TableIndex::DEFAULT, prefix, Source::Api, &[]).expect("removed");
    over.release(&world);
}

/// Labels lead to neighbours, and over routes of IPv4 and IPv6, which they follow.
#[test]
fn labels_lead_over_routes_of_ip() {
    let mut rig = rig();
    let world = rig.world();
    let (tables, table) = (world.get::<RouteTables>(), labels_of(&world));
    let before = tables.usage().map(|usage| usage.used);
    let set = |label: u128, kind| {
        let at = (table, RouteKey { bits: label, len: 20 });
        tables.set(&world, at, Source::Api, &[Path::new(kind)]).expect("set");
    };
    let recursive = |nexthop: &str| PathKind::Recursive {
        table: TableIndex::DEFAULT,
        nexthop: nexthop.parse().expect("an address"),
    };
    set(
        100,
        PathKind::Neighbor { sw_if: rig.ports[1], nexthop: Ipv4Addr::new(10, 0, 1, 2).into() },
    );
    set(200, recursive("50.0.0.9"));
    set(300, recursive("2001:db8:2::2"));
    set(400, recursive("60.0.0.1"));
    let label = |n| pkt::ether(peer_mac(0), port_mac(0)).mpls(n).ip4("1.2.3.4", "5.6.7.8").build();
    let sent = |n, port| {
        let frame = pkt::ether(port_mac(port), peer_mac(port)).mpls(n).ip4("1.2.3.4", "5.6.7.8");
        vec![(port, frame.build())]
    };
    assert_eq!(pass(&mut rig, &label(100), EtherType::MPLS), sent(100, 1));
    assert_eq!(pass(&mut rig, &label(300), EtherType::MPLS), sent(300, 2));
    assert_eq!(pass(&mut rig, &label(200), EtherType::MPLS), [], "no route");
    rig.cli("ip route add 50.0.0.0/8 via 10.0.2.2 p2");
    assert_eq!(pass(&mut rig, &label(200), EtherType::MPLS), sent(200, 2));
    rig.cli("ip route add 50.0.0.9/32 via 10.0.1.2 p1");
    assert_eq!(pass(&mut rig, &label(200), EtherType::MPLS), sent(200, 1));
    rig.cli("set interface state p1 down");
    assert_eq!(pass(&mut rig, &label(200), EtherType::MPLS), []);
    rig.cli("ip route del 50.0.0.9/32");
    assert_eq!(pass(&mut rig, &label(200), EtherType::MPLS), sent(200, 2));
    // A route that looks up in a table of IPv4 is none for labels.
    rig.cli("ip table add 7");
    rig.cli("ip route add 60.0.0.0/8 via ip4-lookup-in-table 7");
    assert_eq!(pass(&mut rig, &label(400), EtherType::MPLS), []);
    rig.cli("set interface state p1 up");
    rig.cli("ip route del 60.0.0.0/8");
    rig.cli("ip table del 7");
    rig.cli("ip route del 50.0.0.0/8");
    for label in [100, 200, 300, 400] {
        let at = (table, RouteKey { bits: label, len: 20 });
        tables.remove(&world, at, Source::Api, &[]).expect("removed");
    }
    assert_eq!(tables.usage().map(|usage| usage.used), before);
}
