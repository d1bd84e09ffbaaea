// SPDX-License-Identifier: Apache-2.0
//! Bytes of each kind of record and message; lacks; rings that are full.

use super::*;
use crate::drive::{Logs, log_all, logs};
use graph::Plugin;
use net::drive::{Recorded, Rig, peer_mac};
use net::{Neighbor, Neighbors};

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &fib::PLUGIN,
    &ip::PLUGIN,
    &syslog::PLUGIN,
    &ipfix_export::PLUGIN,
    &KIND,
];

/// The plugin of a kind.
static KIND: Plugin = Plugin {
    name: "kind",
    about: "A kind of translation",
    state: &[STATE],
    start: |world| {
        start(world);
        // Twice is once.
        start(world);
        Ok(())
    },
    ..Plugin::EMPTY
};

const UDP: IpProtocol = IpProtocol::UDP;

fn router() -> Rig {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    let world = rig.world();
    let collector = crate::drive::COLLECTOR.parse().expect("an address");
    let peer = Neighbor::new(rig.ports[1], collector, peer_mac(1));
    world.get::<Neighbors>().set(&world, Neighbor { is_static: true, ..peer }).expect("set");
    rig
}

fn flushed(rig: &mut Rig) -> Logs {
    rig.cli("ipfix flush");
    rig.bench.settle();
    logs(&rig.world().get::<Recorded>().take())
}

fn end(text: &str) -> End {
    End::parse(text).expect("an end")
}

fn session(external_inside: Option<End>) -> Session44 {
    Session44 {
        fib: 0,
        protocol: UDP,
        inside: end("10.0.0.2:258"),
        outside: end("192.0.2.7:772"),
        external: end("10.0.1.2:53"),
        external_inside,
    }
}

fn mapping(subscriber: Subscriber) -> PortMapping {
    let (inside, outside) = (end("10.0.0.2:258"), end("192.0.2.7:772"));
    PortMapping { subscriber, index: 5, protocol: UDP, inside, outside }
}

fn binding() -> Binding64 {
    let addr = "2001:db8::2".parse().expect("an address");
    Binding64 { fib: 0, protocol: UDP, inside: (addr, 258), outside: end("192.0.2.7:772") }
}

/// Address, address of the world, protocol, ports, of IPv4.
const SOURCE4: [u8; 13] = [10, 0, 0, 2, 192, 0, 2, 7, 17, 1, 2, 3, 4];
/// The same of IPv6.
const SOURCE6: [u8; 25] =
    [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 192, 0, 2, 7, 17, 1, 2, 3, 4];

#[suite::test]
fn bytes_of_records_and_messages() {
    let mut rig = router();
    log_all(&mut rig);
    let world = rig.world();
    world.get::<Log>().set_compose(|_, fib, addr| {
        Ipv6Addr::from_bits(u128::from(fib) << 32 | 0x0064_ff9b << 96 | u128::from(addr.to_bits()))
    });
    let mut logger = Logger::new(&world);
    use Change::{Created, Deleted};
    let b4 = "2001:db8::b4".parse().expect("an address");
    for event in [
        Event::Session44(Created, session(None)),
        Event::Session44(Deleted, session(Some(end("10.9.0.1:9")))),
        Event::Port(Created, mapping(Subscriber::Table(0))),
        Event::Port(Deleted, mapping(Subscriber::B4(b4))),
        Event::Binding64(Created, binding()),
        Event::Session64(Created, binding(), end("10.0.1.2:53")),
        Event::Session64(Deleted, binding(), end("10.0.1.2:53")),
        Event::Binding64(Deleted, binding()),
    ] {
        logger.post(|| event);
    }
    let user = "10.0.0.9".parse().expect("an address");
    for lack in [Lack::Addresses(0), Lack::Sessions(10), Lack::Bindings(20), Lack::OfUser(30, user)]
    {
        logger.lack(lack);
    }
    let logs = flushed(&mut rig);
    // The last one is declared when it is used.
    assert_eq!(logs.templates, [256, 257, 258, 259, 260, 261, 262]);
    let vrf = [0; 4];
    let session4 = |event: u8| (256, [&[event][..], &SOURCE4, &vrf].concat());
    let binding6 = |event: u8| (260, [&[event][..], &SOURCE6, &vrf].concat());
    let to: [u8; 24] =
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 1, 2, 10, 0, 1, 2, 0, 53, 0, 53];
    let session6 = |event: u8| (261, [&[event][..], &SOURCE6, &to, &vrf].concat());
    let mut records = logs.records.clone();
    // Records of one template are in order; templates have messages of their own.
    records.sort_by_key(|(template, _)| *template);
    assert_eq!(
        records,
        [
            session4(4),
            session4(5),
            session4(4),
            (257, vec![3, 0, 0, 0, 0]),
            (258, vec![13, 0, 0, 0, 1, 0, 0, 0, 10]),
            (259, vec![13, 0, 0, 0, 2, 0, 0, 0, 20]),
            binding6(10),
            binding6(11),
            session6(6),
            session6(7),
            (262, vec![13, 0, 0, 0, 3, 0, 0, 0, 30, 10, 0, 0, 9]),
        ]
    );
    let to = "XDADDR=\"10.0.1.2\" XDPORT=\"53\"";
    let source = |version: &str, addr: &str| {
        format!(
            "IATYP=\"{version}\" ISADDR=\"{addr}\" ISPORT=\"258\" XATYP=\"IPv4\" \
             XSADDR=\"192.0.2.7\" XSPORT=\"772\" PROTO=\"17\""
        )
    };
    let (four, six) = (source("IPv4", "10.0.0.2"), source("IPv6", "2001:db8::2"));
    assert_eq!(
        logs.messages,
        [
            format!("SADD [nsess SSUBIX=\"0\" SVLAN=\"0\" {four} {to}]"),
            format!(
                "SDEL [nsess SSUBIX=\"0\" SVLAN=\"0\" {four} {to} IDADDR=\"10.9.0.1\" IDPORT=\"9\"]"
            ),
            format!("APMADD [napmap SSUBIX=\"5\" SVLAN=\"0\" {four}]"),
            format!("APMDEL [napmap SSUBIX=\"5\" SV6ENC=\"2001:db8::b4\" {four}]"),
            format!("SADD [nsess SVLAN=\"0\" {six} {to}]"),
            format!("SDEL [nsess SVLAN=\"0\" {six} {to}]"),
        ]
    );
}

#[suite::test]
fn a_lack_is_told_once_a_second() {
    let mut rig = router();
    log_all(&mut rig);
    let world = rig.world();
    // Two threads.
    let mut loggers = [Logger::new(&world), Logger::new(&world)];
    let mut tell = |rig: &mut Rig| {
        for logger in &mut loggers {
            for lack in
                [Lack::Sessions(7), Lack::Sessions(7), Lack::Addresses(0), Lack::Addresses(1)]
            {
                logger.lack(lack);
            }
        }
        let mut events = flushed(rig).events();
        events.sort();
        events
    };
    // Each pool by itself.
    assert_eq!(tell(&mut rig), [3, 3, 13]);
    assert!(tell(&mut rig).is_empty());
    rig.seconds(2);
    assert_eq!(tell(&mut rig), [3, 3, 13]);
}

#[suite::test]
fn nothing_is_made_that_nobody_wants() {
    let mut rig = router();
    let world = rig.world();
    let mut logger = Logger::new(&world);
    logger.post(|| unreachable!("no log is on"));
    logger.lack(Lack::Sessions(1));
    log_all(&mut rig);
    rig.cli("set syslog filter severity error");
    logger.post(|| Event::Session44(Change::Created, session(None)));
    let seen = flushed(&mut rig);
    assert_eq!((seen.messages.len(), seen.records.len()), (0, 1));
    world.get::<Log>().set_ipfix(&world, None).expect("off");
    logger.post(|| unreachable!("no log is on"));
    rig.cli("set syslog filter severity informational");
    logger.post(|| Event::Session44(Change::Created, session(None)));
    // The process reads the ring by itself.
    rig.seconds(1);
    let seen = logs(&world.get::<Recorded>().take());
    assert_eq!((seen.messages.len(), seen.records.len()), (1, 0));
}

#[suite::test]
fn events_that_find_the_ring_full_are_counted() {
    let mut rig = router();
    log_all(&mut rig);
    let world = rig.world();
    let mut logger = Logger::new(&world);
    for _ in 0..WAITING + 10 {
        logger.post(|| Event::Binding64(Change::Created, binding()));
    }
    world.get::<Ipfix>().flush(&world);
    assert_eq!(world.get::<Log>().counts(), (WAITING as u64, 10));
}
