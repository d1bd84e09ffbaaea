// SPDX-License-Identifier: Apache-2.0
mod cache;
mod clients;
mod forged;
mod limits;
mod mutated;
mod requests;
mod servers;

use crate::PLUGIN;
use graph::Plugin;
use net::drive::{Recorded, Rig, peer_mac, port_mac};
use net::{Neighbor, Neighbors, TableIndex};
use std::net::{IpAddr, SocketAddr};
use udp::origin::{Ends, datagram};
use wire::U16;
use wire::dns::{
    DnsHeader, Message, Name, Question, RecordData, RecordType, put_question, put_record,
};
use zerocopy::IntoBytes;

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &icmp::PLUGIN, &PLUGIN];
const MS: u64 = 1_000_000;

/// An instance with clients behind port 0 and name servers behind port 1: 10.0.1.2, and 10.9.0.9
/// beyond it. Name resolution is enabled, with the first as the name server. The clock runs on its
/// own, too: tests let some seconds' room.
fn rig() -> Rig {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    rig.cli("ip route add 10.9.0.0/24 via 10.0.1.2 p1");
    for host in 3..=129 {
        let ip = IpAddr::from([10, 0, 0, host]);
        let known = Neighbor { is_static: true, ..Neighbor::new(rig.ports[0], ip, peer_mac(0)) };
        let world = rig.world();
        world.get::<Neighbors>().set(&world, known).expect("set");
    }
    rig.cli("dns name-server 10.0.1.2");
    rig.cli("dns enable");
    rig.seconds(5);
    rig.sent();
    rig
}

fn name(text: &str) -> Name {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn question(text: &str, kind: RecordType) -> Question {
    Question { name: name(text), kind, class: 1 }
}

/// A datagram that was sent, or is received.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Datagram {
    port: usize,
    from: SocketAddr,
    to: SocketAddr,
    message: Vec<u8>,
}

fn at(ip: &str, port: u16) -> SocketAddr {
    SocketAddr::new(ip.parse::<IpAddr>().expect("an address"), port)
}

impl Datagram {
    /// The frame in which it is received.
    fn frame(&self) -> Vec<u8> {
        let Self { port, from, to, message } = self;
        let ends = Ends { from: *from, to: *to, table: TableIndex::DEFAULT, checksum: true };
        let packet = datagram(&ends, 7, message).expect("a datagram");
        let kind: [u8; 2] = if from.is_ipv6() { [0x86, 0xdd] } else { [8, 0] };
        [&port_mac(*port).0[..], &peer_mac(*port).0, &kind, &packet].concat()
    }

    /// The datagram in a frame that was sent.
    fn of(port: usize, frame: &[u8]) -> Self {
        let (from, to, end): (IpAddr, IpAddr, usize) = match frame[14] >> 4 {
            4 => {
                let [from, to] = [26, 30].map(|at| <[u8; 4]>::try_from(&frame[at..at + 4]));
                (from.expect("4").into(), to.expect("4").into(), 34)
            }
            _ => {
                let [from, to] = [22, 38].map(|at| <[u8; 16]>::try_from(&frame[at..at + 16]));
                (from.expect("16").into(), to.expect("16").into(), 54)
            }
        };
        assert_eq!(wire::l4::verify(&frame[14..]), Ok(wire::l4::Verdict::Valid), "{frame:02x?}");
        let [from_port, to_port] =
            [0, 2].map(|at| u16::from_be_bytes([frame[end + at], frame[end + at + 1]]));
        let (from, to) = (SocketAddr::new(from, from_port), SocketAddr::new(to, to_port));
        Self { port, from, to, message: frame[end + 8..].to_vec() }
    }

    /// The way back, with another message.
    fn back(&self, message: Vec<u8>) -> Self {
        Self { port: self.port, from: self.to, to: self.from, message }
    }

    fn parsed(&self) -> Message {
        Message::parse(&self.message).unwrap_or_else(|e| panic!("{e}: {:02x?}", self.message))
    }

    fn id(&self) -> u16 {
        self.parsed().header.id.get()
    }
}

/// All UDP datagrams that were sent, in order.
fn sent(rig: &Rig) -> Vec<Datagram> {
    let sent = rig.world().get::<Recorded>().take();
    let port = |sw_if: u32| rig.ports.iter().position(|port| port.0 == sw_if).expect("a port");
    // Not ICMP errors.
    let is_udp = |frame: &[u8]| {
        matches!(
            (frame[12], frame[14] >> 4, frame[20], frame[23]),
            (8, 4, _, 17) | (0x86, 6, 17, _)
        )
    };
    let sent = sent.iter().filter(|(_, frame)| is_udp(frame));
    sent.map(|(sw_if, frame)| Datagram::of(port(*sw_if), frame)).collect()
}

/// Receives a datagram, and returns all that are sent because of it.
fn pass(rig: &mut Rig, datagram: &Datagram) -> Vec<Datagram> {
    rig.receive_all(datagram.port, &[datagram.frame()]);
    sent(rig)
}

/// Lets time pass, and returns all datagrams that are sent meanwhile.
fn wait(rig: &mut Rig, ms: u64) -> Vec<Datagram> {
    rig.bench.world.clock.adjust(ms * MS);
    rig.bench.settle();
    sent(rig)
}

/// A query with an id, which wants recursion.
fn query(id: u16, question: &Question) -> Vec<u8> {
    let mut header = DnsHeader::of(id, DnsHeader::RECURSION_DESIRED);
    header.questions = U16::new(1);
    let mut message = header.as_bytes().to_vec();
    put_question(&mut message, question);
    message
}

/// The query of a host behind port 0 to our address there.
fn ask(host: u8, id: u16, text: &str, kind: RecordType) -> Datagram {
    let message = query(id, &question(text, kind));
    Datagram { port: 0, from: at(&format!("10.0.0.{host}"), 1234), to: at("10.0.0.1", 53), message }
}

type Given = (Name, u32, RecordData);

fn a(text: &str, ttl: u32, ip: [u8; 4]) -> Given {
    (name(text), ttl, RecordData::A(ip.into()))
}

fn alias(text: &str, ttl: u32, to: &str) -> Given {
    (name(text), ttl, RecordData::Cname(name(to)))
}

/// The response of a server to a query, with these flags and answers, and with a zone's start of
/// this TTL and minimum.
fn response(to: &Datagram, flags: u16, answers: &[Given], soa: Option<(u32, u32)>) -> Datagram {
    let asked = to.parsed();
    let mut header = DnsHeader::of(to.id(), 0x8180 | flags);
    header.questions = U16::new(1);
    header.answers = U16::new(answers.len() as u16);
    header.authority = U16::new(soa.is_some().into());
    let mut message = header.as_bytes().to_vec();
    put_question(&mut message, &asked.questions[0]);
    for (name, ttl, data) in answers {
        assert!(put_record(&mut message, name, *ttl, data));
    }
    if let Some((ttl, minimum)) = soa {
        message.extend([0, 0, 6, 0, 1]);
        message.extend(ttl.to_be_bytes());
        message.extend([0, 22, 0, 0]);
        [1, 2, 3, 4, minimum].iter().for_each(|n: &u32| message.extend(n.to_be_bytes()));
    }
    to.back(message)
}

/// The addresses in a response, and its least TTL.
fn addresses(datagram: &Datagram) -> (Vec<IpAddr>, Option<u32>) {
    let answers = datagram.parsed().answers;
    let ttl = answers.iter().map(|record| record.ttl).min();
    let ips = answers.into_iter().filter_map(|record| match record.data {
        RecordData::A(ip) => Some(ip.into()),
        RecordData::Aaaa(ip) => Some(ip.into()),
        _ => None,
    });
    (ips.collect(), ttl)
}

/// The one datagram.
#[track_caller]
fn one(datagrams: Vec<Datagram>) -> Datagram {
    let [one] = <[_; 1]>::try_from(datagrams).unwrap_or_else(|all| panic!("{all:?}"));
    one
}
