// SPDX-License-Identifier: Apache-2.0
mod reader;

use crate::api::{
    IpfixAllExporterGet, IpfixExporterCreateDelete, IpfixExporterDump, IpfixFlush, SetIpfixExporter,
};
use crate::stream::{FIRST_ID, Limits, Now, Refused, Stream, WAIT};
use crate::template::iana;
use crate::{
    DEFAULT, Drained, Element, Ipfix, PERIOD, PLUGIN, Reports, SourceId, StreamName, Template,
};
use graph::{Plugin, Sleep};
use net::drive::{Recorded, Rig};
use proptest::prelude::*;
use reader::Reader;
use std::cell::RefCell;

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &::ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &PLUGIN];

/// Bytes of the headers of Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
const NAME: StreamName = StreamName { domain: 7, source_port: 4739 };
const LIMITS: Limits = Limits { message: 100, templates: 10_000_000_000 };
const SHORT: Template = Template { name: "short", elements: &[iana::PROTOCOL, iana::SOURCE_PORT] };
const LONG: Template = Template {
    name: "long",
    elements: &[
        iana::SOURCE_IP6,
        iana::DESTINATION_IP6,
        Element { id: 5, len: 4, enterprise: Some(0x0102_0304) },
    ],
};
const EXPORTER: &str = "set ipfix exporter collector 10.0.1.2 src 10.0.0.1 template-interval 10";

fn now(clock: u64) -> Now {
    Now { clock, day: 0x5000_0001 }
}

fn router() -> Rig {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    rig
}

/// The payloads that have left by port 1, in their order.
fn sent(rig: &mut Rig) -> Vec<Vec<u8>> {
    rig.bench.settle();
    let frames = rig.world().get::<Recorded>().take();
    let payload = |(port, frame): (u32, Vec<u8>)| {
        assert_eq!(port, rig.ports[1].0);
        frame[HEADERS..].to_vec()
    };
    frames.into_iter().map(payload).collect()
}

fn open(rig: &Rig) -> SourceId {
    let ipfix = rig.world().get::<Ipfix>();
    ipfix.open((DEFAULT, NAME), &[SHORT, LONG]).expect("opened")
}

fn record(rig: &Rig, id: SourceId, port: u16) {
    let world = rig.world();
    let [a, b] = port.to_be_bytes();
    world.get::<Ipfix>().record(&world, id, 0, &[17, a, b]);
}

#[suite::test]
fn bytes_of_templates_and_records() {
    let mut stream = Stream::new(NAME);
    let ids = [stream.add(SHORT), stream.add(LONG)];
    assert_eq!(ids, [FIRST_ID, FIRST_ID + 1]);
    let mut out = Vec::new();
    stream.record((ids[0], &[6, 0, 80]), (now(0), LIMITS), &mut out).expect("taken");
    stream.record((ids[0], &[17, 0, 53]), (now(0), LIMITS), &mut out).expect("taken");
    assert!(out.is_empty());
    stream.flush(now(0), LIMITS, &mut out);
    let head =
        |len: u8, sequence: u8| vec![0, 10, 0, len, 0x50, 0, 0, 1, 0, 0, 0, sequence, 0, 0, 0, 7];
    let short = [&head(32, 0)[..], &[0, 2, 0, 16, 1, 0, 0, 2, 0, 4, 0, 1, 0, 7, 0, 2]].concat();
    let long = [
        &head(40, 0)[..],
        &[0, 2, 0, 24, 1, 1, 0, 3, 0, 27, 0, 16, 0, 28, 0, 16, 0x80, 5, 0, 4, 1, 2, 3, 4],
    ];
    let data = [&head(26, 0)[..], &[1, 0, 0, 10, 6, 0, 80, 17, 0, 53]].concat();
    assert_eq!(out, [short, long.concat(), data]);
    // RFC 7011 3.1: the sequence counts records in front of the message, and no templates.
    out.clear();
    stream.record((ids[0], &[6, 0, 1]), (now(0), LIMITS), &mut out).expect("taken");
    stream.flush(now(0), LIMITS, &mut out);
    assert_eq!(out, [[&head(23, 2)[..], &[1, 0, 0, 7, 6, 0, 1]].concat()]);
}

#[suite::test]
fn records_wait_for_a_while_and_templates_come_again() {
    const SECOND: u64 = 1_000_000_000;
    let mut stream = Stream::new(NAME);
    let id = stream.add(SHORT);
    let mut out = Vec::new();
    stream.record((id, &[6, 0, 80]), (now(5), LIMITS), &mut out).expect("taken");
    assert_eq!((stream.next(), stream.waiting()), (Some(WAIT + 5), 1));
    stream.run(now(WAIT + 4), LIMITS, &mut out);
    assert!(out.is_empty());
    stream.run(now(WAIT + 5), LIMITS, &mut out);
    assert_eq!((out.len(), stream.waiting()), (2, 0));
    assert_eq!(stream.next(), Some(WAIT + 10 * SECOND + 5));
    stream.run(now(WAIT + 10 * SECOND + 5), LIMITS, &mut out);
    assert_eq!(out.len(), 3);
    assert_eq!(out[2][16..18], [0, 2]);
    assert_eq!(stream.next(), Some(WAIT + 20 * SECOND + 5));
}

#[suite::test]
fn records_that_fit_nowhere_are_refused() {
    let mut stream = Stream::new(NAME);
    let (short, long) = (stream.add(SHORT), stream.add(LONG));
    let mut out = Vec::new();
    let limits = Limits { message: 16 + 4 + 35, ..LIMITS };
    let mut put = |id: u16, bytes: &[u8]| stream.record((id, bytes), (now(0), limits), &mut out);
    assert_eq!(put(long, &[0; 36]), Err(Refused::TooLong));
    assert_eq!(put(short, &[0; 4]), Err(Refused::Malformed));
    assert_eq!(put(999, &[0; 3]), Err(Refused::Malformed));
    assert_eq!(put(short, &[0; 3]), Ok(()));
}

#[suite::test]
fn templates_are_shared_and_go_with_their_last_use() {
    let mut stream = Stream::new(NAME);
    let id = stream.add(SHORT);
    assert_eq!(stream.add(SHORT), id);
    let other = stream.add(LONG);
    assert!(!stream.remove(other));
    assert!(!stream.remove(id));
    // The number of a template that is gone isn't given again at once.
    assert_eq!(stream.add(LONG), other + 1);
    assert!(!stream.remove(other + 1));
    assert!(stream.remove(id));
}

#[suite::test]
fn a_reader_of_templates_reads_all_records_in_order() {
    let step = prop_oneof![
        (any::<u8>(), any::<u16>()).prop_map(|(a, b)| (0, vec![a, (b >> 8) as u8, b as u8])),
        proptest::collection::vec(any::<u8>(), 36).prop_map(|bytes| (1, bytes)),
        (0_u8..30).prop_map(|tenths| (2, vec![tenths])),
    ];
    let steps = proptest::collection::vec(step, 0..200);
    proptest!(|(steps in steps, message in 60_usize..300)| {
        let limits = Limits { message, templates: 3_000_000_000 };
        let mut stream = Stream::new(NAME);
        let ids = [stream.add(SHORT), stream.add(LONG)];
        let (mut out, mut clock) = (Vec::new(), 0);
        let mut expected = [Vec::new(), Vec::new()];
        for (kind, bytes) in steps {
            if kind == 2 {
                clock += u64::from(bytes[0]) * 100_000_000;
                stream.run(now(clock), limits, &mut out);
                continue;
            }
            let of = (ids[kind], &bytes[..]);
            stream.record(of, (now(clock), limits), &mut out).expect("taken");
            expected[kind].push(bytes);
        }
        stream.flush(now(clock), limits, &mut out);
        let mut reader = Reader::default();
        for bytes in &out {
            prop_assert!(bytes.len() <= message.max(40));
            reader.read(bytes);
        }
        let n = expected.iter().map(Vec::len).sum::<usize>();
        prop_assert_eq!(reader.sequence as usize, n);
        for (id, records) in ids.iter().zip(expected) {
            prop_assert_eq!(reader.records.remove(id).unwrap_or_default(), records);
        }
    });
}

#[suite::test]
fn messages_leave_as_datagrams() {
    let mut rig = router();
    rig.cli(&EXPORTER.replace("interval 10", "interval 15"));
    let id = open(&rig);
    assert!(sent(&mut rig).is_empty());
    record(&rig, id, 80);
    assert!(sent(&mut rig).is_empty());
    rig.seconds(11);
    let messages = sent(&mut rig);
    assert_eq!(messages.len(), 3);
    let mut reader = Reader::default();
    messages.iter().for_each(|message| reader.read(message));
    assert_eq!(reader.records[&256], [[17, 0, 80]]);
    assert_eq!(reader.domain, 7);
    // Templates come again, without records.
    rig.seconds(16);
    assert_eq!(sent(&mut rig).len(), 2);
    record(&rig, id, 81);
    rig.cli("ipfix flush");
    rig.bench.settle();
    let frames = rig.sent();
    let (_, frame) = &frames[0];
    assert_eq!(frames.len(), 1);
    let ip = &frame[14..];
    assert_eq!((ip[9], &ip[12..16], &ip[16..20]), (17, &[10, 0, 0, 1][..], &[10, 0, 1, 2][..]));
    // From the stream's port to 4739, without a checksum.
    assert_eq!(ip[20..28], [0x12, 0x83, 0x12, 0x83, 0, 8 + 23, 0, 0]);
    assert!(rig.cli("show ipfix exporters").contains("records 2, lost: no collector 0,"));
    let streams = rig.cli("show ipfix streams");
    assert!(streams.contains("domain 7 source port 4739: records sent 2, waiting 0"), "{streams}");
    assert!(streams.contains("template 257 long"), "{streams}");
}

/// A message that is full leaves at once, and not with the next templates.
#[suite::test]
fn full_messages_leave_at_once() {
    let mut rig = router();
    // A record of the long template fills a message.
    let mtu = 28 + crate::stream::HEADER + crate::stream::SET + LONG.record_len();
    rig.cli(&EXPORTER.replace("interval 10", &format!("interval 3600 path-mtu {mtu}")));
    let (id, world) = (open(&rig), rig.world());
    record(&rig, id, 80);
    rig.cli("ipfix flush");
    assert_eq!(sent(&mut rig).len(), 3);
    let bytes: Vec<u8> = (0..36).collect();
    world.get::<Ipfix>().record(&world, id, 1, &bytes);
    rig.seconds(1);
    let messages = sent(&mut rig);
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0][20..], bytes);
}

/// A shorter template interval holds from now on.
#[suite::test]
fn a_shorter_template_interval_holds_at_once() {
    let mut rig = router();
    rig.cli(&EXPORTER.replace("interval 10", "interval 3600"));
    let id = open(&rig);
    record(&rig, id, 80);
    rig.cli("ipfix flush");
    assert_eq!(sent(&mut rig).len(), 3);
    rig.cli(&EXPORTER.replace("interval 10", "interval 5"));
    assert!(sent(&mut rig).is_empty());
    rig.seconds(6);
    let messages = sent(&mut rig);
    assert!(messages.iter().all(|message| message[16..18] == [0, 2]));
    assert_eq!(messages.len(), 2);
    // The sequence of the collector goes on.
    record(&rig, id, 81);
    rig.cli("ipfix flush");
    assert_eq!(sent(&mut rig)[0][8..12], [0, 0, 0, 1]);
}

#[suite::test]
fn losses_are_counted_by_their_reason() {
    let mut rig = router();
    let id = open(&rig);
    record(&rig, id, 1);
    let shown = |rig: &mut Rig| rig.cli("show ipfix exporters");
    assert!(shown(&mut rig).contains("no collector 1, too long 0"));
    rig.cli("set ipfix exporter collector 172.16.0.1 src 10.0.0.1 path-mtu 70");
    let world = rig.world();
    world.get::<Ipfix>().record(&world, id, 1, &[0; 36]);
    world.get::<Ipfix>().record(&world, id, 0, &[0; 36]);
    record(&rig, id, 2);
    rig.cli("ipfix flush");
    assert!(sent(&mut rig).is_empty());
    let text = shown(&mut rig);
    assert!(text.contains("records 1, lost: no collector 1, too long 1, malformed 1"), "{text}");
    assert!(text.contains("datagrams 0, not sent: unreachable 3, no buffer 0"), "{text}");
    assert_eq!(world.stats.simple("/ipfix/records/too-long").sum(DEFAULT as usize), 1);
    assert_eq!(world.stats.simple("/ipfix/datagrams/unreachable").sum(DEFAULT as usize), 3);
}

#[suite::test]
fn another_collector_gets_templates_and_a_new_sequence() {
    let mut rig = router();
    rig.cli(EXPORTER);
    let id = open(&rig);
    record(&rig, id, 1);
    // Records that wait still go to the old one.
    rig.cli("set ipfix exporter collector 10.0.1.3 src 10.0.0.1");
    assert_eq!(sent(&mut rig).len(), 3);
    record(&rig, id, 2);
    rig.cli("ipfix flush");
    let messages = sent(&mut rig);
    // The neighbour 10.0.1.3 isn't known: requests for its address leave instead.
    assert!(messages.iter().all(|message| message.len() < 40));
    let streams = rig.cli("show ipfix streams");
    assert!(streams.contains("records sent 1, waiting 0"), "{streams}");
    rig.world().get::<Ipfix>().close(&rig.world(), id);
    assert_eq!(rig.cli("show ipfix streams"), "");
}

/// Templates for an exporter that is deleted go with it: another one with its number has none.
#[suite::test]
fn templates_go_with_their_exporter() {
    let mut rig = router();
    let add = "ipfix exporter add collector 10.0.1.2 src 10.0.0.1";
    rig.cli(add);
    let (world, ipfix) = (rig.world(), rig.world().get::<Ipfix>());
    let id = ipfix.open((1, NAME), &[SHORT]).expect("opened");
    rig.cli("ipfix exporter del collector 10.0.1.2");
    rig.cli(add);
    ipfix.record(&world, id, 0, &[17, 0, 80]);
    ipfix.close(&world, id);
    rig.cli("ipfix flush");
    assert!(sent(&mut rig).is_empty());
    let text = rig.cli("show ipfix exporters");
    assert!(text.contains("exporter 1: collector 10.0.1.2 src 10.0.0.1\n  records 0,"), "{text}");
    assert!(rig.cli("show ipfix streams").is_empty());
}

#[suite::test]
fn a_collector_goes_with_its_table() {
    let mut rig = router();
    rig.cli("ip table add 7");
    rig.cli(&format!("{EXPORTER} fib-id 7"));
    let id = open(&rig);
    (0..3).for_each(|port| record(&rig, id, port));
    rig.cli("ip table del 7");
    // The records that waited are lost; another collector gets none of them.
    assert!(rig.cli("show ipfix exporters").contains("records 3, lost: no collector 3,"));
    rig.cli(EXPORTER);
    rig.cli("ipfix flush");
    assert!(sent(&mut rig).iter().all(|message| message[16..18] == [0, 2]));
    rig.cli("set ipfix exporter off");
    assert!(rig.cli("show ipfix exporters").contains("no collector\n"));
    for line in ["fib-id 9", "path-mtu 67", "path-mtu 1451", "port 0", "template-interval 0"] {
        rig.refused(&format!("set ipfix exporter collector 10.0.1.2 src 10.0.0.1 {line}"));
    }
    rig.refused("set ipfix exporter collector 10.0.1.2 src 2001:db8::1");
}

#[suite::test]
fn messages_of_the_api() {
    let mut rig = router();
    {
        let client = RefCell::new(rig.bench.api());
        let addr = |text: &str| text.parse::<std::net::IpAddr>().expect("an address").into();
        let set = |change: fn(&mut SetIpfixExporter)| {
            let mut set = SetIpfixExporter {
                collector_address: addr("10.0.1.2"),
                collector_port: 4739,
                src_address: addr("10.0.0.1"),
                vrf_id: 0,
                path_mtu: 512,
                template_interval: 10,
                udp_checksum: false,
            };
            change(&mut set);
            client.borrow_mut().call(set)
        };
        assert_eq!(set(|set| set.path_mtu = 67), Err(-7));
        assert_eq!(set(|set| set.vrf_id = 9), Err(-3));
        set(|_| ()).expect("set");
        let all = client.borrow_mut().dump(IpfixExporterDump {});
        assert_eq!((all.len(), all[0].path_mtu, all[0].template_interval), (1, 512, 10));
        let make = |is_create| IpfixExporterCreateDelete {
            is_create,
            collector_address: addr("2001:db8:1::2"),
            collector_port: 4739,
            src_address: addr("2001:db8:0::1"),
            vrf_id: 0,
            path_mtu: u32::MAX,
            template_interval: u32::MAX,
            udp_checksum: false,
        };
        assert_eq!(client.borrow_mut().call(make(true)).expect("made").stat_index, 1);
        assert_eq!(client.borrow_mut().call(make(true)).map(|_| ()), Err(-81));
        let all = client.borrow_mut().dump(IpfixAllExporterGet { cursor: 0 });
        assert_eq!((all.len(), all[1].path_mtu, all[1].template_interval), (2, 512, 20));
        assert_eq!(client.borrow_mut().call(make(false)).expect("deleted").stat_index, 1);
        assert_eq!(client.borrow_mut().call(make(false)).map(|_| ()), Err(-6));
        client.borrow_mut().call(IpfixFlush {}).expect("sent");
        set(|set| {
            set.collector_address =
                "0.0.0.0".parse::<std::net::IpAddr>().expect("an address").into()
        })
        .expect("off");
    }
    assert!(rig.cli("show ipfix exporters").contains("exporter 0: no collector"));
}

#[suite::test]
fn a_full_ring_loses_and_counts() {
    let rig = router();
    let reports = Reports::new(4, rig.world().processes.signal());
    let (mut a, mut b) = (reports.reporter(), reports.reporter());
    (0..6).for_each(|i| a.post(i));
    b.post(10);
    let mut taken = Vec::new();
    // Equally many of each ring.
    let drained = |some, more| Drained { some, more };
    assert_eq!(reports.drain(4, |report| taken.push(report)), drained(true, true));
    assert_eq!(taken, [0, 1, 10]);
    assert_eq!(reports.drain(4, |report| taken.push(report)), drained(true, true));
    assert_eq!((taken, reports.lost()), (vec![0, 1, 10, 2, 3], 2));
    assert_eq!(reports.drain(4, |_| panic!("empty")), drained(false, false));
    // The process reads until nothing comes any more.
    assert_eq!(reports.sleep(7, drained(true, true)), Sleep::Until(7));
    assert_eq!(reports.sleep(7, drained(true, false)), Sleep::Until(7 + PERIOD));
    assert_eq!(reports.sleep(7, drained(false, false)), Sleep::Event);
    a.post(1);
    assert_eq!(reports.sleep(7, drained(false, false)), Sleep::Until(7));
}
