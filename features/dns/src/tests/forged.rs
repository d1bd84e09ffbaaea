// SPDX-License-Identifier: Apache-2.0
//! Responses that nobody asked for (RFC 5452 9).

use super::*;
use std::collections::BTreeSet;

#[suite::test]
fn a_response_counts_only_if_all_fits() {
    let mut rig = rig();
    rig.cli("dns name-server 10.9.0.9");
    let asked = one(pass(&mut rig, &ask(2, 7, "www.example.com", RecordType::A)));
    let good = response(&asked, 0, &[a("www.example.com", 60, [1, 2, 3, 4])], None);
    let with = |change: &dyn Fn(&mut Datagram)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad
    };
    let other_port = {
        let ports = rig.world().get::<crate::control::Dns>().state().ports.clone();
        ports.into_iter().find(|port| *port != asked.from.port()).expect("another port")
    };
    for (bad, counter) in [
        (with(&|d| d.message[1] ^= 1), None),
        (with(&|d| d.to.set_port(other_port)), None),
        (with(&|d| d.from.set_ip("10.9.0.9".parse().expect("an address"))), None),
        (with(&|d| d.to.set_ip("10.0.0.1".parse().expect("an address"))), None),
        (with(&|d| d.message[13] ^= 1), None),
        (with(&|d| d.message[30] ^= 3), None),
        (with(&|d| d.message.truncate(40)), None),
        (with(&|d| d.from.set_port(54)), Some("No unresolved entry for pkt")),
        (
            with(&|d| d.from.set_ip("10.0.1.3".parse().expect("an address"))),
            Some("No unresolved entry for pkt"),
        ),
        (with(&|d| d.message[2] &= 0x7f), Some("DNS format errors")),
        (with(&|d| d.message.resize(513, 0)), Some("DNS format errors")),
    ] {
        let before = counter.map(|counter| rig.count("dns46_reply", counter));
        rig.receive_all(1, &[bad.frame()]);
        assert_eq!(sent(&rig), [], "{bad:?}");
        let after = counter.map(|counter| rig.count("dns46_reply", counter));
        assert_eq!(before.map(|n| n + 1), after);
    }
    let ignored =
        |what: &str| rig.world().stats.simple(&format!("/net/dns/received/{what}")).sum(0);
    assert_eq!((ignored("unexpected"), ignored("malformed")), (6, 1));
    // In any case of letters.
    let good = with(&|d| d.message[13] ^= 0x20);
    assert_eq!(addresses(&one(pass(&mut rig, &good))).0.len(), 1);
}

#[suite::test]
fn ids_and_ports_are_different_each_time() {
    let mut rig = rig();
    let (mut ids, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for host in 2..=129u8 {
        let asked = pass(&mut rig, &ask(host, 7, &format!("h{host}.example"), RecordType::A));
        for asked in asked.into_iter().filter(|asked| asked.port == 1) {
            ids.insert(asked.id());
            ports.insert(asked.from.port());
        }
    }
    assert!(ids.len() > 120 && ports.len() > 20, "{} {}", ids.len(), ports.len());
}
