// SPDX-License-Identifier: Apache-2.0
//! An instance as a host.

use super::*;
use crate::packet::Numbers;
use crate::router::Query;

/// The records of reports that were sent.
fn reported(rig: &Rig) -> Vec<(u8, String, Vec<String>)> {
    let mut all = Vec::new();
    // Neighbour discovery reports groups of its own.
    let of_ip4 = |frame: &Vec<u8>| frame[12..14] == [8, 0];
    for frame in sent(rig).into_iter().filter(of_ip4) {
        assert_eq!(frame[..6], [0x01, 0, 0x5e, 0, 0, 22]);
        let records = wire::igmp::Igmp3Report::records(&frame[38..]).expect("whole");
        all.extend(records.map(|(r, sources)| {
            let sources = sources.iter().map(|s| Ipv4Addr::from(*s).to_string()).collect();
            (r.kind, r.group().to_string(), sources)
        }));
    }
    all
}

fn one(kind: u8, group: &str, sources: &[&str]) -> (u8, String, Vec<String>) {
    (kind, group.into(), sources.iter().map(ToString::to_string).collect())
}

fn ask(rig: &mut Rig, group: &str, sources: &[&str]) {
    let numbers = Numbers { response: 50, interval: 125 };
    let query = Query { group: ip(group), sources: set(sources) };
    let query = Some(&query).filter(|query| !query.group.is_unspecified());
    let frames = packet::queries(peer(0), 1500, numbers, query);
    rig.receive_all(0, &frames);
}

#[suite::test]
fn changes_are_reported_twice() {
    let mut rig = rig(1);
    rig.cli("igmp enable host p0");
    rig.cli("igmp listen int p0 saddr 10.9.0.1 gaddr 232.1.1.1");
    let joined = one(Kind::ALLOW, "232.1.1.1", &["10.9.0.1"]);
    assert_eq!(reported(&rig), std::slice::from_ref(&joined));
    rig.seconds(2);
    assert_eq!(reported(&rig), [joined]);
    rig.seconds(5);
    assert_eq!(reported(&rig), []);
    rig.cli("igmp listen int p0 saddr 10.9.0.2 gaddr 232.1.1.1");
    rig.cli("igmp listen disable int p0 saddr 10.9.0.1 gaddr 232.1.1.1");
    rig.seconds(3);
    let all = reported(&rig);
    assert!(all.contains(&one(Kind::BLOCK, "232.1.1.1", &["10.9.0.1"])), "{all:?}");
    assert!(all.contains(&one(Kind::ALLOW, "232.1.1.1", &["10.9.0.2"])), "{all:?}");
    assert_eq!(listed(&rig, 0), [(ip("232.1.1.1"), ip("10.9.0.2"))]);
    // All sources, then none.
    rig.cli("igmp listen int p0 gaddr 239.1.1.1");
    rig.seconds(3);
    assert_eq!(reported(&rig), vec![one(Kind::TO_EXCLUDE, "239.1.1.1", &[]); 2]);
    rig.cli("igmp listen disable int p0 gaddr 239.1.1.1");
    rig.seconds(3);
    assert_eq!(reported(&rig), vec![one(Kind::TO_INCLUDE, "239.1.1.1", &[]); 2]);
    rig.cli("igmp disable host p0");
    assert_eq!(reported(&rig), [one(Kind::BLOCK, "232.1.1.1", &["10.9.0.2"])]);
    assert!(listed(&rig, 0).is_empty());
}

#[suite::test]
fn queries_are_answered_in_time_with_what_they_ask_for() {
    let mut rig = rig(1);
    rig.cli("igmp enable host p0");
    rig.cli("igmp listen int p0 saddr 10.9.0.1 saddr 10.9.0.2 gaddr 239.1.1.1");
    rig.cli("igmp listen int p0 saddr 10.9.0.1 gaddr 239.1.1.2 exclude");
    rig.seconds(5);
    sent(&rig);
    let included = one(Kind::IS_INCLUDE, "239.1.1.1", &["10.9.0.1", "10.9.0.2"]);
    let excluded = one(Kind::IS_EXCLUDE, "239.1.1.2", &["10.9.0.1"]);
    for (group, sources, answers) in [
        ("0.0.0.0", &[][..], vec![included.clone(), excluded.clone()]),
        ("239.1.1.1", &[], vec![included]),
        (
            "239.1.1.1",
            &["10.9.0.2", "10.9.0.3"],
            vec![one(Kind::IS_INCLUDE, "239.1.1.1", &["10.9.0.2"])],
        ),
        ("239.1.1.1", &["10.9.0.3"], vec![]),
        (
            "239.1.1.2",
            &["10.9.0.1", "10.9.0.3"],
            vec![one(Kind::IS_INCLUDE, "239.1.1.2", &["10.9.0.3"])],
        ),
        ("239.1.1.2", &[], vec![excluded]),
        ("239.1.1.3", &[], vec![]),
    ] {
        ask(&mut rig, group, sources);
        rig.seconds(5);
        assert_eq!(reported(&rig), answers, "{group} {sources:?}");
    }
    // Two questions at once are answered together.
    ask(&mut rig, "239.1.1.1", &["10.9.0.3"]);
    ask(&mut rig, "239.1.1.1", &["10.9.0.1"]);
    rig.seconds(5);
    assert_eq!(reported(&rig), [one(Kind::IS_INCLUDE, "239.1.1.1", &["10.9.0.1"])]);
    // The link comes up: everything is reported again.
    rig.cli("set interface state p0 down");
    ask(&mut rig, "0.0.0.0", &[]);
    rig.seconds(6);
    assert_eq!(reported(&rig), []);
    rig.cli("set interface state p0 up");
    rig.seconds(3);
    assert_eq!(reported(&rig).len(), 4);
    rig.cli("clear igmp int p0");
    rig.seconds(3);
    assert_eq!(reported(&rig).len(), 4);
    assert!(listed(&rig, 0).is_empty());
}

#[suite::test]
fn queries_for_many_sources_are_answered_for_all() {
    use crate::filter::Filter;
    use crate::host::Host;
    let group = ip("239.1.1.1");
    let mut host = Host::default();
    host.set(0, group, &Filter::include(set(&["10.9.0.1"])), 1);
    assert_eq!(host.take_changes(0, 1).len(), 1);
    let others = |from: u32| (from..from + 300).map(|n| Ipv4Addr::from(0x0a00_0000 + n)).collect();
    // Three queries are for sources that it doesn't listen to.
    for n in 0..3 {
        host.query(0, group, others(300 * n), 100);
    }
    assert_eq!(host.take_answers(100), []);
    // More than 1024 sources aren't kept.
    for n in 0..10 {
        host.query(100, group, others(300 * n), 100);
    }
    assert_eq!(host.take_answers(200), [record(Kind::IS_INCLUDE, "239.1.1.1", &["10.9.0.1"])]);
    assert_eq!(host.due(), None);
}
