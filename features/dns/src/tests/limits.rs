// SPDX-License-Identifier: Apache-2.0
//! Limits, and whose they are.

use super::*;
use crate::answer::Client;
use crate::control::Dns;
use crate::pending::{MOST, Table, Wait, Waiter};

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
fn one_client_does_not_take_a_name_from_others() {
    let mut rig = rig();
    let mut asked = one(pass(&mut rig, &ask(2, 0, "a.example", RecordType::A)));
    let mut refused = Vec::new();
    for (host, id) in (1..8).map(|id| (2, id)).chain((3..43).map(|host| (host, 1))) {
        for sent in pass(&mut rig, &ask(host, id, "a.example", RecordType::A)) {
            match sent.port {
                // The server is asked again after a second.
                1 => asked = sent,
                _ => refused.push((host, id, sent.parsed().header.rcode().0)),
            }
        }
    }
    assert_eq!(refused, [4, 5, 6, 7].map(|id| (2, id, 2)));
    let got = pass(&mut rig, &response(&asked, 0, &[a("a.example", 60, [1; 4])], None));
    assert!(got.iter().all(|got| got.port == 0 && addresses(got).0.len() == 1));
    let hosts = got.iter().map(|got| got.to.ip()).collect::<std::collections::BTreeSet<_>>();
    assert_eq!((got.len(), hosts.len()), (44, 41));
}

#[suite::test]
fn a_client_that_waits_for_few_gets_room_of_one_that_waits_for_many() {
    let mut table = Table::default();
    let mut wait = |host: u8, i: u16| {
        let question = question(&format!("n{i}.example"), RecordType::A);
        let client = Client {
            to: SocketAddr::new([10, 0, 0, host].into(), 99),
            own: [10, 0, 0, 1].into(),
            table: TableIndex::DEFAULT,
            id: i,
            echoed: 0,
            question: question.clone(),
        };
        let (wait, lost) = table.wait(&question, Waiter::Client(client));
        (wait, lost.len())
    };
    for host in 0..32 {
        for i in 0..32 {
            let new = if host == 0 { Wait::New } else { Wait::Joined };
            assert_eq!(wait(host, i), (new, 0), "{host} {i}");
        }
    }
    assert_eq!(wait(3, 99), (Wait::NoRoom, 1), "its own share");
    assert_eq!(wait(99, 0), (Wait::Joined, 1));
    assert_eq!(wait(99, 99), (Wait::New, 1));
    // All go, and no share is left behind.
    assert_eq!(table.remove(|_| true).len(), 1024);
    assert!(table.pending.is_empty());
    for i in 0..32 {
        let question = question(&format!("n{i}.example"), RecordType::A);
        let call = Waiter::Call(std::sync::Arc::default());
        assert_eq!(table.wait(&question, call).0, Wait::New);
    }
}

#[suite::test]
fn a_deleted_table_takes_those_who_wait_there() {
    let mut rig = rig();
    rig.cli("ip table add 7");
    rig.cli("set interface ip address del p0 10.0.0.1/24");
    rig.cli("set interface ip table p0 7");
    rig.cli("set interface ip address p0 10.0.0.1/24");
    assert_eq!(one(pass(&mut rig, &ask(2, 1, "a.example", RecordType::A))).port, 1);
    assert_eq!(waiting(&rig), 1);
    rig.cli("set interface ip address del p0 10.0.0.1/24");
    rig.cli("set interface ip table p0 0");
    rig.cli("ip table del 7");
    assert_eq!(waiting(&rig), 0);
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
