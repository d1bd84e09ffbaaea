// SPDX-License-Identifier: Apache-2.0
//! Limits, and whose they are.

use super::*;
use crate::control::Dns;
use crate::pending::MOST;

fn waiting(rig: &Rig) -> usize {
    rig.world().get::<Dns>().state().table.pending.len()
}

#[suite::test]
fn a_client_has_a_share_of_the_questions_that_wait() {
    let mut rig = rig();
    for i in 0..32 {
        let sent = pass(&mut rig, &ask(2, i, &format!("n{i}.example"), RecordType::A));
        assert_eq!(one(sent).port, 1);
    }
    let refused = one(pass(&mut rig, &ask(2, 99, "more.example", RecordType::A)));
    assert_eq!((refused.port, refused.parsed().header.rcode().0), (0, 2));
    assert_eq!(one(pass(&mut rig, &ask(3, 99, "more.example", RecordType::A))).port, 1);
    // An answer makes room.
    let asked = wait(&mut rig, 1000);
    let answer = response(&asked[0], 3, &[], None);
    assert_eq!(one(pass(&mut rig, &answer)).to.ip(), at("10.0.0.2", 0).ip());
    assert_eq!(one(pass(&mut rig, &ask(2, 99, "last.example", RecordType::A))).port, 1);
}

#[suite::test]
fn a_client_with_few_questions_gets_room_of_one_with_many() {
    let mut rig = rig();
    for host in 2..10u8 {
        for i in 0..32 {
            pass(&mut rig, &ask(host, i, &format!("h{host}n{i}.example"), RecordType::A));
        }
    }
    assert_eq!(waiting(&rig), MOST);
    let got = pass(&mut rig, &ask(20, 1, "new.example", RecordType::A));
    assert_eq!(got.len(), 2, "one that lost, one that is asked");
    assert_eq!((got[0].port, got[0].parsed().header.rcode().0), (0, 2));
    assert_eq!((got[1].port, waiting(&rig)), (1, MOST));
    // All end, and no share is left behind.
    for _ in 0..10 {
        wait(&mut rig, 8000);
    }
    assert_eq!(waiting(&rig), 0);
    for i in 0..32 {
        assert_eq!(
            one(pass(&mut rig, &ask(2, i, &format!("z{i}.example"), RecordType::A))).port,
            1
        );
    }
}

#[suite::test]
fn a_flood_of_one_client_leaves_the_queues_of_others() {
    let mut rig = rig();
    rig.cli("dns cache add a.example 1.2.3.4");
    let flood: Vec<_> = (0..100).map(|i| ask(2, i, "a.example", RecordType::A).frame()).collect();
    for frame in flood {
        rig.bench.arrive(rig.ports[0], &frame);
    }
    for host in 3..40 {
        rig.bench.arrive(rig.ports[0], &ask(host, 1, "a.example", RecordType::A).frame());
    }
    rig.bench.settle();
    let hosts =
        sent(&rig).iter().map(|sent| sent.to.ip()).collect::<std::collections::BTreeSet<_>>();
    assert!(hosts.len() > 25, "{hosts:?}");
    assert!(rig.count("dns4-request", "busy") > 60);
}
