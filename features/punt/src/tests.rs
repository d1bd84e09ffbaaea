// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use crate::control::find_reason;
use crate::reasons;
use crate::state::Key;
use ::graph::drive::Bench;
use ::graph::{Cx, Next, Node, Plugin, SwIfIndex, World};
use buffer::Buffer;
use msg::Call;
use net::drive::ethernet;
use net::{Addresses, Interfaces, Neighbor, Neighbors};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use testkit::pkt;
use wire::{Ip4, Ip6, MacAddr};

mod redirect;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &icmp::PLUGIN,
    &tcp::PLUGIN,
    &PLUGIN,
];

/// Frames sent by interfaces, each with its interface.
#[derive(Default)]
struct Sent(Mutex<Vec<(u32, Vec<u8>)>>);

impl ::graph::Shared for Sent {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

struct Tx(u32, Arc<Sent>);

#[derive(Next, Clone, Copy)]
enum To {
    #[free]
    Sent,
}

impl Node for Tx {
    const NAME: &'static str = "test-tx";
    type Next = To;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        let bytes = b.segments().flatten().copied().collect();
        self.1.0.lock().expect("no panic").push((self.0, bytes));
        To::Sent
    }
}

const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

/// A router with 10.0.0.1/24 and 2001:db8::1/64 on `t0`, 10.0.1.1/24 on `t1`, and a client's
/// socket.
struct Rig {
    bench: Bench,
    client: UnixDatagram,
    dir: TempDir,
}

impl Rig {
    fn new() -> Self {
        let bench = Bench::new(PLUGINS);
        let world = bench.world.clone();
        world.declare::<Sent>();
        for i in 0..2 {
            let new = ethernet(format!("t{i}"), ROUTER);
            let tx = |world: &World, _, sw_if: SwIfIndex| Tx(sw_if.0, world.get());
            let sw_if = world.get::<Interfaces>().create(&world, new, tx).expect("created");
            world.get::<Interfaces>().set_admin(&world, sw_if, true).expect("up");
            let prefix = format!("10.0.{i}.1/24").parse().expect("a prefix");
            world.get::<Addresses<Ip4>>().add(&world, sw_if, prefix).expect("added");
            let known = Neighbor::new(sw_if, Ipv4Addr::new(10, 0, i, 9).into(), HOST);
            world.get::<Neighbors>().set(&world, known).expect("set");
        }
        let prefix = "2001:db8::1/64".parse().expect("a prefix");
        world.get::<Addresses<Ip6>>().add(&world, SwIfIndex(1), prefix).expect("added");
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("punt.sock");
        crate::serve(&world, UnixDatagram::bind(&path).expect("a socket"), &path).expect("served");
        let client = UnixDatagram::bind(dir.path().join("client.sock")).expect("a socket");
        client.set_nonblocking(true).expect("possible");
        Self { bench, client, dir }
    }

    fn client(&self) -> PathBuf {
        self.dir.path().join("client.sock")
    }

    fn run(&mut self, line: &str) -> String {
        self.bench.cli(line).unwrap_or_else(|e| panic!("{line}: {e}"))
    }

    fn call<R: Call>(&self, request: R) -> Result<R::Reply, i32> {
        self.bench.api().call(request)
    }

    fn register(&self, key: Key) -> Result<PuntSocketRegisterReply, i32> {
        let pathname = (*self.client().to_string_lossy()).into();
        self.call(PuntSocketRegister { header_version: 1, punt: Punt::of(key), pathname })
    }

    /// A frame comes in by `t0`.
    fn receive(&mut self, frame: &[u8]) {
        self.bench.send("ethernet-input", frame, |b| b.rx_if = 1);
    }

    /// Returns the packet that the client got: interface, action, packet.
    fn got(&self) -> Option<(u32, u32, Vec<u8>)> {
        let mut bytes = vec![0; 70_000];
        let len = self.client.recv(&mut bytes).ok()?;
        let word = |at: usize| u32::from_ne_bytes(*bytes[at..].first_chunk().expect("a word"));
        Some((word(0), word(4), bytes[8..len].to_vec()))
    }

    /// The client sends a packet.
    fn answer(&mut self, to: &Path, sw_if: u32, action: u32, packet: &[u8]) {
        let bytes = [&sw_if.to_ne_bytes()[..], &action.to_ne_bytes(), packet].concat();
        self.client.send_to(&bytes, to).expect("there is a socket");
        for _ in 0..3 {
            self.bench.settle();
        }
    }

    fn sent(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut self.bench.world.get::<Sent>().0.lock().expect("no panic"))
    }

    fn lines(&self) -> Vec<String> {
        let all = self.bench.world.running_config().into_iter().map(|line| line.text);
        all.filter(|line| line.contains("punt")).collect()
    }
}

fn udp(port: u16) -> Vec<u8> {
    pkt::ether(HOST, ROUTER).ip4("10.0.0.9", "10.0.0.1").udp(1000, port).payload_len(64).build()
}

fn udp6(port: u16) -> Vec<u8> {
    pkt::ether(HOST, ROUTER)
        .ip6("2001:db8::9", "2001:db8::1")
        .udp(1000, port)
        .payload_len(64)
        .build()
}

fn tcp(port: u16) -> Vec<u8> {
    pkt::ether(HOST, ROUTER).ip4("10.0.0.9", "10.0.0.1").tcp(1000, port).build()
}

const UDP: fn(Option<u16>) -> Key = |port| Key::Udp { v6: false, port };

#[suite::test]
fn a_port_is_punted_to_a_socket_and_the_answer_is_routed() {
    let mut rig = Rig::new();
    let server = rig.register(UDP(Some(5000))).expect("registered").pathname;
    let server = PathBuf::from(server.as_str());
    assert_eq!(server, rig.dir.path().join("punt.sock"));
    rig.receive(&udp(5000));
    assert_eq!(rig.got(), Some((1, 0, udp(5000))), "with its Ethernet header");
    rig.receive(&udp(5001));
    assert_eq!(rig.got(), None);
    assert_eq!(rig.sent().len(), 1, "port unreachable");
    // Routed, as a frame, and what makes no sense.
    let reply = pkt::ip4("10.0.0.1", "10.0.1.9").ttl(64).udp(5000, 1000).build();
    rig.answer(&server, 1, 1, &reply);
    let want =
        [pkt::ether(ROUTER, HOST).build()[..12].to_vec(), vec![8, 0], reply.clone()].concat();
    assert_eq!(rig.sent(), [(2, want)], "as it was, to the other interface");
    rig.answer(&server, 2, 0, &udp(7));
    assert_eq!(rig.sent(), [(2, udp(7))]);
    for (sw_if, action, packet) in
        [(77, 1, &reply[..]), (1, 9, &reply), (1, 1, &reply[..19]), (1, 2, &reply), (1, 0, &[])]
    {
        rig.answer(&server, sw_if, action, packet);
    }
    assert_eq!(rig.sent(), []);
    let stats = rig.run("show punt stats");
    for line in [
        "sent                       1",
        "received                   2",
        "malformed                  5",
    ] {
        assert!(stats.contains(line), "{stats}");
    }
    assert!(stats.contains("by port or protocol        1"), "{stats}");
    // Once more elsewhere, then nowhere.
    std::fs::remove_file(rig.client()).expect("it was there");
    rig.client = UnixDatagram::bind(rig.client()).expect("a socket");
    rig.client.set_nonblocking(true).expect("possible");
    rig.receive(&udp(5000));
    assert!(rig.got().is_some());
    assert!(rig.call(PuntSocketDeregister { punt: Punt::of(UDP(Some(5000))) }).is_ok());
    rig.receive(&udp(5000));
    assert_eq!(rig.got(), None);
}

#[suite::test]
fn all_ports_tcp_protocols_and_ip6() {
    let mut rig = Rig::new();
    rig.register(UDP(None)).expect("registered");
    rig.register(Key::Udp { v6: true, port: Some(53) }).expect("registered");
    rig.register(Key::Tcp { v6: false, port: Some(179) }).expect("registered");
    rig.register(Key::Protocol { v6: false, protocol: 89 }).expect("registered");
    let ospf = pkt::ether(HOST, ROUTER).ip4("10.0.0.9", "10.0.0.1").protocol(wire::IpProtocol(89));
    for frame in [udp(1), udp(65_000), udp6(53), tcp(179), ospf.payload([1, 2, 3]).build()] {
        rig.receive(&frame);
        assert_eq!(rig.got(), Some((1, 0, frame)));
    }
    for frame in [udp6(54), tcp(180)] {
        rig.receive(&frame);
        assert_eq!(rig.got(), None);
    }
    assert_eq!(rig.bench.count("tcp4-reset", "rst_sent"), 1);
    let large =
        pkt::ether(HOST, ROUTER).ip4("10.0.0.9", "10.0.0.1").udp(1, 2).payload_len(8000).build();
    rig.receive(&large);
    assert_eq!(rig.got(), Some((1, 0, large)), "all segments");
    // Of a sub-interface: with its tags and their priority.
    rig.run("create sub-interfaces t0 7");
    rig.run("set interface state t0.7 up");
    rig.run("set interface ip address t0.7 10.7.0.1/24");
    let sub = rig.bench.world.get::<Interfaces>().find("t0.7").expect("made");
    let mut tagged = pkt::ether(HOST, ROUTER).vlan(7).ip4("10.7.0.9", "10.7.0.1").udp(1, 2).build();
    tagged[14] |= 0xa0;
    rig.receive(&tagged);
    assert_eq!(rig.got(), Some((sub.0, 0, tagged)));
}

#[suite::test]
fn clients_are_told_in_the_order_in_which_they_came() {
    let mut rig = Rig::new();
    let dump = |rig: &Rig, kind| {
        let all = rig.bench.api().dump(PuntSocketDump { r#type: kind }).into_iter();
        all.map(|d| d.punt.key().expect("as it was")).collect::<Vec<_>>()
    };
    let proto = |protocol| Key::Protocol { v6: false, protocol };
    for key in
        [proto(89), UDP(Some(9)), proto(88), UDP(Some(7)), Key::Udp { v6: true, port: Some(1) }]
    {
        rig.register(key).expect("registered");
    }
    assert_eq!(dump(&rig, PuntType::IpProto), [proto(89), proto(88)]);
    let udp6 = Key::Udp { v6: true, port: Some(1) };
    assert_eq!(dump(&rig, PuntType::L4), [UDP(Some(9)), UDP(Some(7)), udp6]);
    // A repeated registration keeps its place; a removed and added one is last.
    rig.register(proto(89)).expect("registered");
    assert_eq!(dump(&rig, PuntType::IpProto), [proto(89), proto(88)]);
    rig.run("punt socket deregister ip4 protocol 89");
    rig.register(proto(89)).expect("registered");
    assert_eq!(dump(&rig, PuntType::IpProto), [proto(88), proto(89)]);
}

#[suite::test]
fn reasons_are_those_of_the_graph() {
    let mut rig = Rig::new();
    let world = rig.bench.world.clone();
    let id = find_reason(&world, "ip4-icmp-input:unknown_type")
        .expect("ICMP punts what it doesn't know");
    let all = rig.bench.api().dump(PuntReasonDump { reason: PuntReason::default() });
    assert_eq!(all.len(), reasons(&world).len());
    let name = "ip4-icmp-input:unknown_type".to_string();
    let one =
        rig.bench.api().dump(PuntReasonDump { reason: PuntReason { id: 0, name: name.clone() } });
    assert_eq!(one[0].reason, PuntReason { id, name });
    rig.register(Key::Reason(id)).expect("registered");
    assert_eq!(rig.register(Key::Reason(9999)).err(), Some(-6));
    // Numbers begin at 1 and have no gaps: clients of VPP's count on the first few.
    assert!(reasons(&world).iter().enumerate().all(|(n, reason)| reason.id as usize == n));
    let stamp =
        pkt::ether(HOST, ROUTER).ip4("10.0.0.9", "10.0.0.1").icmp(wire::Icmp4Type(13), 0, 7);
    let stamp = stamp.payload_len(12).build();
    rig.receive(&stamp);
    assert_eq!(rig.got(), Some((1, 0, stamp.clone())));
    assert_eq!(rig.bench.count("exception-punt-socket", "Socket TX"), 1);
    assert!(rig.run("show punt stats").contains("ip4-icmp-input:unknown_type        1"));
    // Another one isn't taken.
    rig.run("set punt udp 7");
    rig.receive(&udp(7));
    assert_eq!((rig.got(), rig.bench.count("ip4-udp-punt", "udp port punt")), (None, 1));
    let line = format!(
        "punt socket register exception ip4-icmp-input:unknown_type socket {}",
        rig.client().display()
    );
    assert!(rig.lines().contains(&line), "{:?}", rig.lines());
    assert!(rig.run("show punt reasons").contains("udp port that is punted"));
    assert_eq!(rig.run("show punt client").lines().count(), 2);
    rig.run("punt socket deregister exception ip4-icmp-input:unknown_type");
    rig.receive(&stamp);
    assert_eq!(rig.got(), None);
    assert_eq!(rig.bench.count("punt-dispatch", "No registrations"), 2);
    let stats = rig.run("show punt stats");
    assert!(
        stats.contains("ip4-icmp-input:unknown_type        2"),
        "counted, taken or not: {stats}"
    );
}

fn esp(spi: u32) -> Vec<u8> {
    [&spi.to_be_bytes()[..], &3u32.to_be_bytes(), &[0xa5; 40]].concat()
}

#[suite::test]
fn esp_without_a_tunnel_goes_to_who_asks_for_it() {
    let mut rig = Rig::new();
    let names = [
        "ipsec4-no-such-tunnel",
        "ipsec4-spi-o-udp-0",
        "ipsec6-no-such-tunnel",
        "ipsec6-spi-o-udp-0",
    ];
    let ids: Vec<u32> = names.map(|name| find_reason(&rig.bench.world, name).expect(name)).to_vec();
    let bare = pkt::ether(HOST, ROUTER).ip4("10.0.0.9", "10.0.0.1").protocol(wire::IpProtocol::ESP);
    let bare = bare.payload(esp(99)).build();
    let inside = |payload| {
        pkt::ether(HOST, ROUTER).ip4("10.0.0.9", "10.0.0.1").udp(666, 4500).payload(payload)
    };
    let (ike, in_udp, alive) =
        (inside(esp(0)).build(), inside(esp(99)).build(), inside(vec![255]).build());
    let six =
        pkt::ether(HOST, ROUTER).ip6("2001:db8::9", "2001:db8::1").protocol(wire::IpProtocol::ESP);
    let six = six.payload(esp(7)).build();
    let take = |rig: &mut Rig, frame: &[u8]| {
        rig.receive(frame);
        (rig.got().map(|(_, _, packet)| packet), rig.sent().len())
    };
    for frame in [&bare, &ike, &in_udp] {
        assert_eq!(take(&mut rig, frame), (None, 1), "an ICMP error, as for all that nobody takes");
    }
    for id in &ids {
        rig.register(Key::Reason(*id)).expect("registered");
    }
    for frame in [&bare, &ike, &in_udp, &six] {
        assert_eq!(take(&mut rig, frame), (Some(frame.clone()), 0), "as it came");
    }
    assert_eq!(take(&mut rig, &alive), (None, 0), "what keeps a NAT's binding is nobody's");
    let counted = |rig: &Rig, id: u32| {
        rig.bench.world.get::<crate::state::Punt>().counters.sum(id as usize).0
    };
    assert_eq!(ids.iter().map(|id| counted(&rig, *id)).collect::<Vec<_>>(), [2, 1, 1, 0]);
    for name in names {
        rig.run(&format!("punt socket deregister exception {name}"));
    }
    for frame in [&bare, &ike, &in_udp] {
        assert_eq!(take(&mut rig, frame), (None, 1), "as before");
    }
    // The node that has the port already keeps it.
    rig.register(UDP(Some(4500))).expect("registered");
    assert_eq!(rig.register(Key::Reason(ids[1])).err(), Some(-81));
    assert_eq!(take(&mut rig, &ike), (Some(ike.clone()), 0));
    assert_eq!(counted(&rig, ids[1]), 1);
}

#[suite::test]
fn what_cannot_be_is_refused() {
    let mut rig = Rig::new();
    let set = |key, is_add| SetPunt { is_add, punt: Punt::of(key) };
    assert!(rig.call(set(UDP(Some(7)), true)).is_ok());
    assert!(rig.call(set(UDP(Some(7)), true)).is_ok(), "clients say again what they want");
    assert_eq!(rig.register(UDP(Some(7))).err(), Some(-81));
    assert_eq!(rig.call(PuntSocketDeregister { punt: Punt::of(UDP(Some(7))) }).err(), Some(-6));
    assert!(rig.call(set(UDP(Some(7)), false)).is_ok());
    assert_eq!(rig.call(set(UDP(Some(7)), false)).err(), Some(-6));
    assert!(rig.register(UDP(Some(7))).is_ok());
    let icmp = Key::Protocol { v6: false, protocol: 1 };
    assert_eq!(rig.register(icmp).err(), Some(-81));
    assert_eq!(rig.register(Key::Protocol { v6: false, protocol: 17 }).err(), Some(-126));
    let bad = |version, path: &str| PuntSocketRegister {
        header_version: version,
        punt: Punt::of(UDP(Some(8))),
        pathname: path.into(),
    };
    assert_eq!(rig.call(bad(2, "/tmp/x")).err(), Some(-7));
    assert_eq!(rig.call(bad(1, "x")).err(), Some(-7));
    let sctp = Punt { r#type: PuntType::L4, punt: PuntUnion([0, 132, 0, 1]) };
    assert_eq!(rig.call(SetPunt { is_add: true, punt: sctp }).err(), Some(-7));
    assert!(rig.bench.cli("ip punt policer 7").is_err());
    assert!(rig.bench.cli("punt socket register exception nothing socket /tmp/x").is_err());
    let dump = |rig: &Rig, kind| rig.bench.api().dump(PuntSocketDump { r#type: kind });
    let all = dump(&rig, PuntType::L4);
    assert_eq!((all.len(), all[0].punt.key()), (1, Ok(UDP(Some(7)))));
    assert_eq!(all[0].pathname.as_str(), rig.client().to_string_lossy());
    assert_eq!(dump(&rig, PuntType::Exception).len(), 0);
    rig.register(Key::Protocol { v6: false, protocol: 89 }).expect("registered");
    for (kind, there) in
        [("l4", [true, false]), ("ip", [false, true]), ("exception", [false, false])]
    {
        let shown = rig.run(&format!("show punt socket registrations {kind} -j"));
        assert_eq!([shown.contains("udp"), shown.contains("89")], there, "{shown}");
    }
    // Deregistering an absent client is no error.
    for _ in 0..2 {
        rig.run("punt socket deregister udp 7");
        rig.run("punt socket deregister protocol 89");
    }
    assert_eq!(rig.lines(), Vec::<String>::new());
}
