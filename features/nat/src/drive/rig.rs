// SPDX-License-Identifier: Apache-2.0
//! The rig of kinds that translate IPv4: users are behind port 0, the world is behind port 1.

use super::{ETHERNET, Logs, Seen, Threads, logs, seen};
use crate::key::{spread, spread_of};
use crate::packet::ports_of;
use graph::Plugin;
use net::drive::{Recorded, Rig, peer_mac, port_mac};
use net::{Neighbor, Neighbors};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testkit::mutate::Mutator;
use testkit::pkt::{self, Packet};
use wire::{Header, Icmp4Type, IpHeader, IpProtocol, Ipv4Header, TcpFlags};

/// The address that users get in most tests.
pub const PUBLIC: &str = "192.0.2.7";
/// Packets that [`receive_broken`] receives.
pub const BROKEN: usize = 100_000;

/// Ports N with 10.0.N.1/24 and 2001:db8:N::1/64, each with neighbours .2 to .89 and ::2 to ::59
/// that are known.
///
/// # Panics
/// If there is no such instance.
pub fn bare(plugins: &'static [&'static Plugin], ports: usize) -> Rig {
    let mut rig = Rig::new(plugins, ports);
    rig.networks();
    let world = rig.world();
    for (i, port) in rig.ports.iter().enumerate() {
        for host in 3..90 {
            let peers: [IpAddr; 2] = [
                Ipv4Addr::new(10, 0, i as u8, host).into(),
                Ipv6Addr::new(0x2001, 0xdb8, i as u16, 0, 0, 0, 0, host.into()).into(),
            ];
            for peer in peers {
                let peer = Neighbor::new(*port, peer, peer_mac(i));
                let peer = Neighbor { is_static: true, ..peer };
                world.get::<Neighbors>().set(&world, peer).expect("set");
            }
        }
    }
    rig
}

/// A packet that comes in by a port, without its upper layer.
pub fn packet(port: usize, from: &str, to: &str) -> Packet {
    pkt::ether(peer_mac(port), port_mac(port)).ip4(from, to)
}

/// A SYN.
pub fn syn(packet: Packet, from: u16, to: u16) -> Packet {
    packet.tcp(from, to).segment(TcpFlags::SYN, 1, 0)
}

/// Sends a packet; returns the packets that have left.
pub fn sent(rig: &mut Rig, port: usize, packet: &Packet) -> Vec<Seen> {
    rig.pass(port, &packet.build()).iter().map(seen).collect()
}

/// Sends a packet; returns the packet that has left.
///
/// # Panics
/// If it isn't one packet.
#[track_caller]
pub fn one(rig: &mut Rig, port: usize, packet: &Packet) -> Seen {
    let all = sent(rig, port, packet);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]
}

/// True if a packet leaves nowhere.
pub fn is_dropped(rig: &mut Rig, port: usize, packet: &Packet) -> bool {
    sent(rig, port, packet).is_empty()
}

/// An address.
///
/// # Panics
/// The text is no address.
pub fn addr(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

/// An address with a port.
///
/// # Panics
/// If the text is no address.
pub fn end(text: &str, port: u16) -> (Ipv4Addr, u16) {
    (addr(text), port)
}

/// The logs that collectors have received since the last call, of [`super::log_all`].
pub fn received(rig: &mut Rig) -> Logs {
    rig.cli("ipfix flush");
    rig.bench.settle();
    logs(&rig.world().get::<Recorded>().take())
}

/// The ends of the packet that a sent error of ICMP quotes.
///
/// # Panics
/// If it quotes none, or the checksum of the quotation is wrong.
pub fn quoted(frame: &[u8]) -> [(Ipv4Addr, u16); 2] {
    let bytes = &frame[ETHERNET + 28..];
    let ip = Ipv4Header::view(bytes).expect("a quoted packet");
    assert!(Ipv4Header::checksum_ok_at(bytes), "IP checksum of the quotation");
    let l4 = ports_of(bytes).expect("its ports");
    [(ip.src(), l4.src_port), (ip.dst(), l4.dst_port)]
}

/// An error of ICMP about a packet of IP.
pub fn error(port: usize, from: &str, to: &str, about: &[u8]) -> Packet {
    packet(port, from, to).icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(about)
}

/// Fails unless errors of the world, whole and cut, find the user 10.0.0.2, with the packet that
/// the user has sent. These are six errors.
///
/// # Panics
/// One of these packets is sent, dropped or changed otherwise.
pub fn check_errors_of_the_world(rig: &mut Rig) {
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    for ask in [syn(out(), 5000, 80), out().udp(5000, 80).payload_len(30), out().icmp_echo(5000, 1)]
    {
        let left = rig.pass(0, &ask.build());
        for (from, len) in [("10.0.1.2", 1000), ("10.0.1.9", 28)] {
            let about = &left[0].1[ETHERNET..];
            let about = &about[..about.len().min(len)];
            let back = rig.pass(1, &error(1, from, PUBLIC, about).build());
            assert_eq!(back.len(), 1);
            let outer = seen(&back[0]);
            assert_eq!((outer.port, outer.from.0, outer.to.0), (0, addr(from), addr("10.0.0.2")));
            let [source, destination] = quoted(&back[0].1);
            assert_eq!((source, destination.0), (end("10.0.0.2", 5000), addr("10.0.1.2")));
        }
    }
}

/// Fails unless errors about a packet of the world, of a user and of another host inside, have the
/// address that the world knows. The packet is from 10.0.1.2 with this port, to this port of
/// [`PUBLIC`].
///
/// # Panics
/// One of these packets is sent, dropped or changed otherwise.
pub fn check_errors_of_users(rig: &mut Rig, of_world: &Packet, (from_port, to_port): (u16, u16)) {
    let left = rig.pass(1, &of_world.build());
    for from in ["10.0.0.2", "10.0.0.77"] {
        let back = rig.pass(0, &error(0, from, "10.0.1.2", &left[0].1[ETHERNET..]).build());
        let outer = seen(&back[0]);
        assert_eq!((outer.port, outer.from.0, outer.to.0), (1, addr(PUBLIC), addr("10.0.1.2")));
        assert_eq!(quoted(&back[0].1), [end("10.0.1.2", from_port), end(PUBLIC, to_port)]);
    }
}

/// Fails unless an error about a packet of 10.0.0.2 passes with trailing bytes, and is dropped if
/// it is damaged, cut, or about another port of [`PUBLIC`], which is unknown.
///
/// # Panics
/// One of these packets is sent, dropped or changed otherwise.
pub fn check_damaged_errors(rig: &mut Rig, unknown: u16) {
    let left = rig.pass(0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 80).build());
    let about = &left[0].1[ETHERNET..];
    let good = error(1, "10.0.1.2", PUBLIC, about);
    let mut trailer = good.build();
    trailer.extend([1, 2, 3, 4, 5]);
    let (with_trailer, plain) = (rig.pass(1, &trailer), rig.pass(1, &good.build()));
    assert_eq!((with_trailer.len(), plain.len()), (1, 1));
    assert!(with_trailer[0].1.starts_with(&plain[0].1), "trailing bytes don't matter");
    let mut bad = good.build();
    bad[ETHERNET + 50] ^= 1;
    assert!(rig.pass(1, &bad).is_empty());
    let unknown = pkt::ip4(PUBLIC, "10.0.1.2").udp(unknown, 80).build();
    assert!(is_dropped(rig, 1, &error(1, "10.0.1.2", PUBLIC, &unknown)));
    assert!(is_dropped(rig, 1, &error(1, "10.0.1.2", PUBLIC, &about[..10])));
}

/// Packets by a port, of the session of port 5000 of 10.0.0.2, which has port `own` of [`PUBLIC`],
/// and of others.
pub fn bases(port: usize, own: u16) -> Vec<Vec<u8>> {
    let (from, to) = if port == 0 { ("10.0.0.2", "10.0.1.2") } else { ("10.0.1.2", PUBLIC) };
    let of = || packet(port, from, to);
    let inner = match port {
        0 => pkt::ip4("10.0.1.2", "10.0.0.2").udp(53, 5000).payload_len(30).build(),
        _ => pkt::ip4(PUBLIC, "10.0.1.2").udp(own, 53).payload_len(30).build(),
    };
    let (a, b, id) = if port == 0 { (5000, 53, 5000) } else { (53, own, own) };
    vec![
        of().udp(a, b).payload_len(40).build(),
        syn(of(), a, b).build(),
        of().tcp(a, b).segment(TcpFlags::ACK, 1, 1).payload_len(9).build(),
        of().icmp_echo(id, 1).payload_len(20).build(),
        of().icmp_echo_reply(id, 1).payload_len(20).build(),
        of().icmp(Icmp4Type::UNREACHABLE, 3, 0).payload(&inner).build(),
        of().icmp(Icmp4Type::TIME_EXCEEDED, 0, 0).payload(&inner[..28]).build(),
        of().gre().payload_len(20).build(),
        of().options([7, 3, 4, 1]).udp(a, b).build(),
        of().id(7).fragment(0, true).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
        of().id(7).fragment(64, false).protocol(IpProtocol::UDP).payload(vec![1; 64]).build(),
    ]
}

/// Receives [`BROKEN`] mutations of packets by both ports, each with its own packets.
pub fn receive_broken(rig: &mut Rig, bases: &[Vec<Vec<u8>>; 2]) {
    let mut mutator = Mutator::new(9);
    let mut came = 0;
    while came < BROKEN {
        let port = mutator.rng().below(2);
        let frames = mutator.vector(&bases[port], 128, ETHERNET);
        came += frames.len();
        rig.receive_all(port, &frames);
        rig.sent();
        rig.bench.world.clock.adjust(3_000_000);
    }
}

/// Packets that the counters of a kind have as translated, and as dropped: see
/// [`crate::counters::Paths`].
pub fn translated_and_drops(rig: &Rig, kind: &str) -> (u64, u64) {
    let (mut translated, mut drops) = (0, 0);
    for direction in ["in2out", "out2in"] {
        for path in ["fastpath", "slowpath"] {
            for of in ["tcp", "udp", "icmp", "other", "drops"] {
                let name = format!("/{kind}/{direction}/{path}/{of}");
                let simple = rig.bench.world.stats.simple(&name);
                let n = rig.ports.iter().map(|port| simple.sum(port.at())).sum::<u64>();
                *if of == "drops" { &mut drops } else { &mut translated } += n;
            }
        }
    }
    (translated, drops)
}

/// Workers of the instances below.
pub const WORKERS: usize = 3;

/// Sessions of a thread, of a kind.
pub fn sessions_of(all: &Threads, kind: &str, thread: usize) -> u64 {
    all.world.stats.simple(&format!("/{kind}/total-sessions")).of_thread(thread, 0)
}

/// A packet of a user, without its upper layer.
fn of_user(user: Ipv4Addr) -> Packet {
    pkt::ether(peer_mac(0), port_mac(0)).ip4(user, "10.0.1.2")
}

/// Fails unless 30 users behind port 0 have their sessions on the worker of VPP's formula, with
/// ports out of its block, whichever thread receives the packets of both directions. The blocks
/// have so many ports; `node` hands the packets of the world off.
///
/// # Panics
/// One of these packets is sent, dropped or changed otherwise.
pub fn check_workers_of_users(all: &mut Threads, (kind, node): (&str, &str), block: usize) {
    for n in 0..30 {
        let user = Ipv4Addr::new(10, 0, 0, 2 + n as u8);
        let worker = 1 + (spread_of(user).wrapping_add(spread(0)) as usize) % WORKERS;
        let before = sessions_of(all, kind, worker);
        let left = all.pass(1 + n % WORKERS, 0, &of_user(user).udp(5000, 53).build());
        assert_eq!(left.len(), 1, "{user}");
        assert_eq!(sessions_of(all, kind, worker), before + 1, "{user}");
        let port = left[0].from.1;
        assert_eq!((usize::from(port) - 1024) / block, worker - 1, "{user} has {port}");
        for thread in 1..=WORKERS {
            let answer = packet(1, "10.0.1.2", PUBLIC).udp(53, port);
            let back = all.pass(thread, 1, &answer.build());
            assert_eq!((back.len(), back[0].to), (1, (user, 5000)));
        }
    }
    assert_eq!((0..=WORKERS).map(|thread| sessions_of(all, kind, thread)).sum::<u64>(), 30);
    assert_eq!(sessions_of(all, kind, 0), 0, "the main thread has none");
    assert_eq!((all.count(node, "same worker"), all.count(node, "do handoff")), (30, 60));
}

/// Fails unless 20 users have their sessions on workers 0 and 2, which were chosen, alone;
/// packets come by all threads, also by the main one.
///
/// # Panics
/// One of these packets is sent, dropped or changed otherwise.
pub fn check_chosen_workers(all: &mut Threads, kind: &str) {
    for n in 0..20 {
        let user = Ipv4Addr::new(10, 0, 0, 2 + n);
        let ask = of_user(user).icmp_echo(5000, 53);
        assert_eq!(all.pass(usize::from(n) % 4, 0, &ask.build()).len(), 1);
    }
    let of = |thread| sessions_of(all, kind, thread);
    assert_eq!((of(0), of(2), of(1) + of(3)), (0, 0, 20));
}
