// SPDX-License-Identifier: Apache-2.0
//! Copies of sessions between two routers, against the bytes of the wire.

use super::*;
use crate::api::*;
use crate::ha::wire::{ACK, EVENT, HEADER, Header as HaHeader};
use ::net::api::Ip4Address;

/// The other router, on the third port.
const OTHER: &str = "10.0.2.2";
const OWN: &str = "10.0.2.1";

/// With ports to users, to the world and to the other router.
fn routers(lines: &[&str]) -> Rig {
    let mut rig = bare(3);
    for line in [
        "nat44 ei plugin enable",
        "set interface nat44 ei in p0 out p1",
        "nat44 ei add address 192.0.2.7",
        "nat44 ei ha listener 10.0.2.1:12345 path-mtu 512",
    ]
    .iter()
    .chain(lines)
    {
        rig.cli(line);
    }
    rig
}

fn active() -> Rig {
    routers(&["nat44 ei ha failover 10.0.2.2:12346 refresh-interval 10"])
}

fn count(rig: &Rig, name: &str) -> u64 {
    stat(rig, &format!("ha/{name}"), 0)
}

/// The datagrams of frames that have left to the other router: header, and events.
fn datagrams(frames: &[(usize, Vec<u8>)]) -> Vec<(HaHeader, Vec<Vec<u8>>)> {
    let all = frames.iter().filter(|(port, _)| *port == 2);
    all.map(|of| {
        let seen = seen(of);
        assert_eq!((seen.from, seen.to), (end(OWN, 12345), end(OTHER, 12346)));
        let ip = Ipv4Header::view(&of.1[ETHERNET..]).expect("an IP header");
        let payload = &of.1[ETHERNET + 28..ETHERNET + ip.packet_len()];
        let header = HaHeader::read(payload).expect("a header");
        let events = payload[HEADER..].chunks(EVENT).map(<[u8]>::to_vec).collect();
        (header, events)
    })
    .collect()
}

/// Frames that leave by a command.
fn sent_by(rig: &mut Rig, line: &str) -> Vec<(usize, Vec<u8>)> {
    rig.cli(line);
    rig.sent()
}

/// A datagram of the other router.
fn from_other(payload: &[u8]) -> Packet {
    packet(2, OTHER, OWN).udp(12346, 12345).payload(payload)
}

fn ack(of: &HaHeader) -> Packet {
    from_other(&HaHeader { flags: ACK, ..*of }.bytes())
}

/// The bytes of an event, written out.
fn event(kind: u8, protocol: u8, outside: u16, counters: (u32, u64)) -> Vec<u8> {
    let mut bytes = vec![kind, protocol, 0, 0];
    bytes.extend([10, 0, 0, 2]);
    bytes.extend([192, 0, 2, 7]);
    bytes.extend(5000_u16.to_be_bytes());
    bytes.extend(outside.to_be_bytes());
    bytes.extend([10, 0, 1, 2]);
    bytes.extend([10, 0, 1, 2]);
    bytes.extend(53_u16.to_be_bytes());
    bytes.extend(53_u16.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(counters.0.to_be_bytes());
    bytes.extend(counters.1.to_be_bytes());
    bytes
}

fn message(sequence: u32, events: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![1, 0];
    bytes.extend((events.len() as u16).to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(events.concat());
    bytes
}

/// The active router tells of new, ended and used sessions, in the bytes of the wire.
#[suite::test]
fn the_active_router_tells_of_its_sessions() {
    let mut rig = active();
    let out = || packet(0, "10.0.0.2", "10.0.1.2");
    let ports: Vec<_> = [out().tcp(5000, 53).segment(TcpFlags::SYN, 1, 0), out().udp(5000, 53)]
        .iter()
        .map(|packet| one(&mut rig, 0, packet).from.1)
        .collect();
    let id = one(&mut rig, 0, &out().icmp_echo(5000, 1)).from.1;
    let left = datagrams(&sent_by(&mut rig, "nat44 ei ha flush"));
    assert_eq!((left.len(), count(&rig, "add-event-send")), (1, 3));
    let (header, events) = &left[0];
    assert_eq!((header.version, header.flags, header.count, header.thread), (1, 0, 3, 0));
    assert_eq!(events[0], event(1, 2, ports[0], (0, 0)));
    assert_eq!(events[1], event(1, 1, ports[1], (0, 0)));
    assert_eq!((events[2][1], &events[2][14..16]), (3, &id.to_be_bytes()[..]));
    assert!(is_dropped(&mut rig, 2, &ack(header)));
    assert_eq!(count(&rig, "ack-recv"), 1);
    // Without an acknowledgement it is sent again, three times, and then given up.
    rig.cli("nat44 ei del session in 10.0.0.2:5000 tcp");
    let first = sent_by(&mut rig, "nat44 ei ha flush");
    let deleted = datagrams(&first);
    assert_eq!((deleted.len(), count(&rig, "del-event-send")), (1, 1));
    assert!(deleted[0].0.sequence > header.sequence);
    assert_eq!(deleted[0].1, [event(2, 2, ports[0], (1, 40))]);
    rig.bench.world.clock.adjust(12_000_000_000);
    rig.bench.settle();
    let again = rig.sent();
    assert_eq!(again, [&first[..]; 3].concat(), "the same bytes");
    assert_eq!((count(&rig, "retry-count"), count(&rig, "missed-count")), (3, 1));
    // Counters are told every ten seconds, if packets come.
    let back = || packet(1, "10.0.1.2", PUBLIC);
    for _ in 0..3 {
        assert_eq!(one(&mut rig, 1, &back().udp(53, ports[1])).port, 0);
    }
    assert_eq!(one(&mut rig, 1, &back().icmp_echo_reply(id, 1)).port, 0);
    let left = datagrams(&sent_by(&mut rig, "nat44 ei ha flush"));
    assert_eq!(count(&rig, "refresh-event-send"), 2);
    assert_eq!(left[0].1[0], event(3, 1, ports[1], (2, 56)));
}

/// A batch goes out when it is full, or a second after its first event.
#[suite::test]
fn batches_go_out_by_themselves() {
    let mut rig = active();
    let ask = |n: u16| packet(0, "10.0.0.2", "10.0.1.2").udp(n, 53).build();
    // (512 - 28 - 12) / 44 events.
    let frames: Vec<_> = (1..=23).map(ask).collect();
    let left = rig.pass_all(0, &frames);
    let full: Vec<_> = datagrams(&left).iter().map(|(header, _)| header.count).collect();
    assert_eq!(full, [10, 10]);
    assert!(left.iter().all(|(_, frame)| frame.len() <= ETHERNET + 512));
    let of: Vec<_> = datagrams(&left).iter().map(|(header, _)| header.sequence).collect();
    assert_eq!(of[0].abs_diff(of[1]), 1, "{of:?}");
    rig.seconds(1);
    let rest: Vec<_> = datagrams(&rig.sent()).iter().map(|(header, _)| header.count).collect();
    assert_eq!(rest, [3]);
}

/// The passive router takes sessions over, and acknowledges; packets then find them.
#[suite::test]
fn the_passive_router_takes_sessions_over() {
    let mut rig = routers(&[]);
    let add = message(1, &[event(1, 2, 4000, (0, 0)), event(1, 1, 4001, (0, 0))]);
    let left = rig.pass(2, &from_other(&add).build());
    let mut reply = left[0].1[ETHERNET + 28..].to_vec();
    reply.truncate(HEADER);
    assert_eq!(reply, [1, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0], "the header with its flag");
    assert_eq!(seen(&left[0]).to, end(OTHER, 12346));
    assert_eq!((count(&rig, "ack-send"), count(&rig, "add-event-recv")), (1, 2));
    assert_eq!(rig.count("nat44-ei-ha", "pkts-processed"), 1);
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (1, 2));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, 4001));
    assert_eq!(seen.to, end("10.0.0.2", 5000));
    let delete = message(2, &[event(2, 1, 4001, (0, 0))]);
    assert_eq!(rig.pass(2, &from_other(&delete).build()).len(), 1);
    assert_eq!((count(&rig, "del-event-recv"), stat(&rig, "total-sessions", 0)), (1, 1));
    let refresh = message(3, &[event(3, 2, 4000, (2, 1024))]);
    assert_eq!(rig.pass(2, &from_other(&refresh).build()).len(), 1);
    assert_eq!((count(&rig, "refresh-event-recv"), count(&rig, "ack-send")), (1, 3));
    {
        let world = rig.world();
        let mut client = msg::Loopback::new(&*world, &world.api);
        let dump = Nat44EiUserSessionDump { ip_address: Ip4Address([10, 0, 0, 2]), vrf_id: 0 };
        let sessions = client.dump_while(dump, || rig.bench.settle());
        assert_eq!((sessions[0].total_pkts, sessions[0].total_bytes), (2, 1024));
    }
    let syn = packet(1, "10.0.1.2", PUBLIC).tcp(53, 4000).segment(TcpFlags::ACK, 1, 1);
    assert_eq!(one(&mut rig, 1, &syn).to, end("10.0.0.2", 5000));
    assert_eq!(count(&rig, "add-event-send"), 0, "the other router knows them");
    check(&mut rig);
}

/// Datagrams that aren't the other router's, or are broken, change nothing.
#[suite::test]
fn foreign_datagrams_are_dropped() {
    let mut rig = active();
    let good = message(1, &[event(1, 2, 4000, (0, 0))]);
    let mut version = good.clone();
    version[0] = 2;
    assert!(rig.pass(2, &from_other(&version).build()).is_empty());
    assert_eq!(rig.count("nat44-ei-ha", "bad-version"), 1);
    let short = &good[..good.len() - 1];
    assert!(rig.pass(2, &from_other(short).build()).is_empty());
    assert!(rig.pass(2, &from_other(&good[..5]).build()).is_empty());
    assert_eq!(rig.count("nat44-ei-ha", "too-short"), 2);
    let mut thread = good.clone();
    thread[11] = 9;
    assert!(rig.pass(2, &from_other(&thread).build()).is_empty());
    assert_eq!(rig.count("nat44-ei-ha", "unknown-thread"), 1);
    let foreign = packet(2, "10.0.2.9", OWN).udp(12346, 12345).payload(&good);
    assert!(is_dropped(&mut rig, 2, &foreign));
    assert_eq!(rig.count("nat44-ei-ha", "unknown-sender"), 1);
    assert_eq!(stat(&rig, "total-sessions", 0), 0);
    let mut mutator = testkit::mutate::Mutator::new(4);
    let bases = [from_other(&good).build(), ack(&HaHeader::read(&good).expect("one")).build()];
    for _ in 0..80 {
        let frames = mutator.vector(&bases, 128, ETHERNET);
        rig.receive_all(2, &frames);
        rig.sent();
    }
    check(&mut rig);
}

/// Events that can't be applied are counted; those behind them are applied.
#[suite::test]
fn events_of_unknown_tables_are_dropped() {
    let mut rig = routers(&[]);
    let mut unknown = event(1, 1, 4001, (0, 0));
    unknown[28..32].copy_from_slice(&7_u32.to_be_bytes());
    let mut last = unknown.clone();
    last[28..32].copy_from_slice(&u32::MAX.to_be_bytes());
    let kind = event(9, 1, 4002, (0, 0));
    let all = [unknown, last, kind, event(1, 1, 4003, (0, 0))];
    assert_eq!(rig.pass(2, &from_other(&message(1, &all)).build()).len(), 1, "acknowledged");
    assert_eq!(rig.count("nat44-ei-ha", "unknown-table"), 2);
    assert_eq!(rig.count("nat44-ei-ha", "unknown-event"), 1);
    assert_eq!((count(&rig, "add-event-recv"), stat(&rig, "total-sessions", 0)), (1, 1));
    let seen = one(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, 4003));
    assert_eq!(seen.to, end("10.0.0.2", 5000));
    check(&mut rig);
}

/// All sessions go over at once; a client is told of the end, and of what was missed.
#[suite::test]
fn all_sessions_are_transferred() {
    for answers in [true, false] {
        let mut rig = routers(&[]);
        let ask = |n: u16| packet(0, "10.0.0.2", "10.0.1.2").udp(n, 53).build();
        let frames: Vec<_> = (1..=25).map(ask).collect();
        assert_eq!(rig.pass_all(0, &frames).len(), 25);
        rig.cli("nat44 ei ha failover 10.0.2.2:12346");
        let mut left = sent_by(&mut rig, "nat44 ei ha resync");
        assert!(rig.cli("show nat44 ei ha").contains("in progress"));
        assert!(refused(&mut rig, "nat44 ei ha resync").contains("already"));
        rig.seconds(1);
        left.extend(rig.sent());
        let all = datagrams(&left);
        let events: usize = all.iter().map(|(_, events)| events.len()).sum();
        assert_eq!(events, 25);
        if answers {
            all.iter().for_each(|(header, _)| assert!(is_dropped(&mut rig, 2, &ack(header))));
            rig.seconds(1);
            assert!(rig.cli("show nat44 ei ha").contains("completed (0 ACK missed)"));
        } else {
            rig.seconds(12);
            assert!(rig.cli("show nat44 ei ha").contains("completed (3 ACK missed)"));
        }
    }
}

/// A client that wants to know gets the end of a transfer as an event.
#[suite::test]
fn clients_learn_the_end_of_a_transfer() {
    let mut rig = active();
    one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53));
    let world = rig.world();
    let mut client = msg::Loopback::new(&*world, &world.api);
    let resync = Nat44EiHaResync { want_resync_event: 1, pid: 7 };
    assert_eq!(client.call(resync), Ok(()));
    rig.seconds(12);
    let events = client.events::<Nat44EiHaResyncCompletedEvent>();
    let missed: Vec<_> = events.iter().map(|(pid, event)| (*pid, event.missed_count)).collect();
    assert_eq!(missed, [(7, 1)]);
}
