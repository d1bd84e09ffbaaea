// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::tests::{STATEFUL, add, add_ip};
use crate::{AdjKind, Fib, Interfaces, NextHop, Path, PathKind, Source, TableIndex};
use graph::drive::Bench;
use graph::{ThreadIndex, WorldConfig};
use wire::{Ip4, Prefix};

const SECOND: u64 = 1_000_000_000;

/// The probes sent and the events reported.
struct Log {
    probes: Mutex<Vec<IpAddr>>,
    events: Mutex<Vec<String>>,
}

impl Shared for Log {
    fn make(_: &World) -> Self {
        Self { probes: Mutex::default(), events: Mutex::default() }
    }
}

struct Rig {
    bench: Bench,
    neighbors: Arc<Neighbors>,
    log: Arc<Log>,
    a: SwIfIndex,
}

fn rig() -> Rig {
    rig_of(&WorldConfig::default())
}

fn rig_of(config: &WorldConfig) -> Rig {
    let bench = Bench::configured(config, STATEFUL);
    let a = add(&bench, "a").expect("added");
    bench.world.get::<Interfaces>().set_admin(&bench.world, a, true).expect("up");
    let neighbors: Arc<Neighbors> = bench.world.get();
    bench.world.declare::<Log>();
    let log: Arc<Log> = bench.world.get();
    let told = log.clone();
    neighbors.subscribe(move |_, event| {
        let text = match event {
            NeighborEvent::Set { new, old: None } => format!("+{} {}", new.ip, new.mac),
            NeighborEvent::Set { new, old: Some(old) } => {
                format!("={} {} was {}", new.ip, new.mac, old.mac)
            }
            NeighborEvent::Gone { gone, why } => format!("-{} {why:?}", gone.ip),
        };
        told.events.lock().expect("no panic inside").push(text);
    });
    neighbors.start(&bench.world, false, |world, due| {
        world.get::<Log>().probes.lock().expect("no panic inside").extend(due.iter().map(|n| n.ip));
    });
    Rig { bench, neighbors, log, a }
}

impl Rig {
    fn events(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.events.lock().expect("no panic inside"))
    }

    fn probes(&self) -> usize {
        std::mem::take(&mut *self.log.probes.lock().expect("no panic inside")).len()
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.bench.world.clock.adjust(SECOND);
            self.bench.settle();
        }
    }

    fn learn(&self, ip: u8, mac: u8, evidence: Evidence) -> LearnResult {
        self.neighbors.learn(&self.bench.world, self.a, address(ip), station(mac), evidence)
    }

    /// Counts a packet sent to the neighbour.
    fn send_to(&self, ip: u8) {
        let adjs: Arc<Adjacencies> = self.bench.world.get();
        let adj = adjs.find_neighbor(self.a, address(ip)).expect("there");
        adjs.counters.lane(ThreadIndex(0).at()).add(adj.at(), 1, 100);
    }

    fn known(&self) -> Vec<IpAddr> {
        self.neighbors.list(false, None).iter().map(|n| n.ip).collect()
    }

    fn kind(&self, ip: u8) -> Option<AdjKind> {
        let adjs: Arc<Adjacencies> = self.bench.world.get();
        Some(adjs.info(adjs.find_neighbor(self.a, address(ip))?)?.adj.kind)
    }
}

fn address(ip: u8) -> IpAddr {
    [10, 0, 0, ip].into()
}

fn station(mac: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, mac])
}

/// As VPP's clients expect them: one for each message that an entry is learned from.
#[suite::test]
fn each_message_is_an_event_with_the_behaviour_of_vpp() {
    for (compat_vpp, events) in [(false, 1), (true, 3)] {
        let r = rig_of(&WorldConfig { compat_vpp, ..WorldConfig::default() });
        for _ in 0..3 {
            r.learn(2, 7, Evidence::Request);
        }
        assert_eq!(r.events().len(), events);
    }
}

#[suite::test]
fn entries_complete_their_adjacency_and_let_it_go() {
    let r = rig();
    let world = &r.bench.world;
    let adjs: Arc<Adjacencies> = world.get();
    let route = adjs.neighbor(world, r.a, address(2)).expect("a route's");
    assert_eq!(r.kind(2), Some(AdjKind::Incomplete));
    assert_eq!(r.learn(2, 7, Evidence::Reply), LearnResult::Refused(Refusal::Unsolicited));
    r.neighbors.note_solicitation(world, r.a, address(2));
    assert_eq!(r.learn(2, 7, Evidence::Reply), LearnResult::Added { gone: None });
    assert_eq!(r.kind(2), Some(AdjKind::Rewrite));
    assert_eq!(r.learn(2, 7, Evidence::Reply), LearnResult::Confirmed { asked: false });
    assert_eq!(
        r.learn(2, 8, Evidence::Announcement { create: false }),
        LearnResult::Moved { from: station(7) }
    );
    assert_eq!(adjs.info(route).map(|i| i.adj.rewrite()[..6] == station(8).0), Some(true));
    r.neighbors.remove(world, r.a, address(2)).expect("there");
    assert_eq!(r.kind(2), Some(AdjKind::Incomplete), "the route still holds it");
    adjs.release(route);
    assert_eq!(r.kind(2), None, "the entry has let go");
    assert_eq!(r.neighbors.remove(world, r.a, address(2)).expect_err("gone").code(), -6);
    let want = [
        "+10.0.0.2 02:00:00:00:00:07",
        "=10.0.0.2 02:00:00:00:00:08 was 02:00:00:00:00:07",
        "-10.0.0.2 Removed",
    ];
    assert_eq!(r.events(), want);
}

#[suite::test]
fn what_is_set_by_hand_stays() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let new = Neighbor {
        is_static: true,
        no_fib_entry: true,
        ..Neighbor::new(r.a, address(3), station(3))
    };
    r.neighbors.set(&world, new).expect("set");
    assert_eq!(r.neighbors.get(r.a, address(3)).map(|n| n.flags()), Some("SN".to_string()));
    assert_eq!(r.learn(3, 9, Evidence::Request), LearnResult::Refused(Refusal::Static));
    r.neighbors.configure(false, NeighborConfig { age: 1, ..r.neighbors.config(false) });
    r.learn(4, 4, Evidence::Request);
    r.pass(10);
    assert_eq!(
        r.neighbors.list(false, None).iter().map(|n| n.ip).collect::<Vec<_>>(),
        [address(3)]
    );
    let ifs: Arc<Interfaces> = world.get();
    r.learn(5, 5, Evidence::Request);
    ifs.set_admin(&world, r.a, false).expect("down");
    assert_eq!(r.neighbors.len(false), 1);
    assert_eq!(r.learn(5, 5, Evidence::Request), LearnResult::Refused(Refusal::Down));
    ifs.delete(&world, r.a).expect("deleted");
    assert!(r.neighbors.is_empty(false));
    for bad in [
        Neighbor::new(SwIfIndex(9), address(3), station(3)),
        Neighbor::new(r.a, [224, 0, 0, 1].into(), station(3)),
        Neighbor::new(r.a, address(3), MacAddr::BROADCAST),
    ] {
        assert!(r.neighbors.set(&world, bad).is_err(), "{bad:?}");
    }
    let tun = add_ip(&r.bench, "tun").expect("added");
    assert_eq!(
        r.neighbors.set(&world, Neighbor::new(tun, address(3), station(3))).expect_err("no").kind(),
        cli::ErrorKind::Unsupported
    );
}

#[suite::test]
fn the_old_are_asked_and_the_silent_removed() {
    let mut r = rig();
    r.neighbors
        .configure(false, NeighborConfig { age: 20, confirm: 0, ..NeighborConfig::default() });
    for i in [2, 3] {
        r.neighbors.note_solicitation(&r.bench.world, r.a, address(i));
        r.learn(i, i, Evidence::Reply);
    }
    r.learn(4, 4, Evidence::Request);
    r.pass(19);
    assert_eq!(r.probes(), 0);
    r.pass(2);
    assert!(r.probes() >= 2);
    assert!(r.events().contains(&"-10.0.0.4 Aged".to_string()), "nothing was ever sent to it");
    r.neighbors.note_solicitation(&r.bench.world, r.a, address(2));
    assert_eq!(r.learn(2, 2, Evidence::Reply), LearnResult::Confirmed { asked: true });
    r.pass(5);
    assert_eq!(
        r.neighbors.list(false, Some(r.a)).iter().map(|n| n.ip).collect::<Vec<_>>(),
        [address(2)]
    );
    assert_eq!(r.events().last().map(String::as_str), Some("-10.0.0.3 Unanswered"));
    assert_eq!(r.kind(3), None);
}

#[suite::test]
fn those_in_use_are_asked_whether_they_are_still_there() {
    let mut r = rig();
    for i in [2, 3] {
        r.neighbors.note_solicitation(&r.bench.world, r.a, address(i));
        r.learn(i, i, Evidence::Reply);
    }
    r.pass(70);
    assert_eq!(r.probes(), 0, "idle ones are left alone");
    r.send_to(2);
    r.pass(36);
    assert_eq!(r.probes(), 3);
    assert_eq!(r.known(), [address(3)]);
}

/// Some test tools, and hosts behind some filters, send requests and never answer.
#[suite::test]
fn silence_of_one_that_never_answered_says_nothing() {
    let mut r = rig();
    r.neighbors.configure(false, NeighborConfig { age: 200, ..NeighborConfig::default() });
    r.learn(2, 2, Evidence::Request);
    r.send_to(2);
    r.pass(100);
    assert_eq!((r.probes(), r.kind(2)), (3, Some(AdjKind::Rewrite)), "asked once, and kept");
    // It sends a request, and is probed again.
    r.learn(2, 2, Evidence::Request);
    r.send_to(2);
    r.pass(30);
    assert_eq!(r.probes(), 1);
    assert_eq!(r.learn(2, 2, Evidence::Reply), LearnResult::Confirmed { asked: false });
    // Now it is known to answer.
    r.send_to(2);
    r.pass(36);
    assert_eq!((r.probes(), r.known()), (3, vec![]));
    assert_eq!(r.events().last().map(String::as_str), Some("-10.0.0.2 Unanswered"));
    // A neighbour that never answers is removed when it is too old.
    r.learn(3, 3, Evidence::Request);
    r.send_to(3);
    r.pass(199);
    assert_eq!(r.known(), [address(3)]);
    r.pass(6);
    assert_eq!((r.probes(), r.known()), (6, vec![]));
}

#[suite::test]
fn a_full_table_refuses_or_recycles() {
    let r = rig();
    let world = &r.bench.world;
    r.neighbors.configure(false, NeighborConfig { limit: 2, ..NeighborConfig::default() });
    r.learn(2, 2, Evidence::Request);
    r.learn(3, 3, Evidence::Request);
    assert_eq!(r.learn(4, 4, Evidence::Request), LearnResult::Refused(Refusal::Full));
    // Solicited and configured neighbours displace entries to which no packet was sent.
    r.send_to(2);
    r.neighbors.note_solicitation(world, r.a, address(4));
    assert!(
        matches!(r.learn(4, 4, Evidence::Reply), LearnResult::Added { gone: Some(n) } if n.ip == address(3))
    );
    let by_hand =
        |ip: u8| Neighbor { is_static: true, ..Neighbor::new(r.a, address(ip), station(ip)) };
    r.neighbors.set(world, by_hand(5)).expect("set");
    r.neighbors.set(world, by_hand(6)).expect("set");
    assert_eq!(r.known(), [address(5), address(6)]);
    assert_eq!(r.neighbors.set(world, by_hand(7)).expect_err("full").kind(), cli::ErrorKind::Limit);
    r.neighbors.note_solicitation(world, r.a, address(7));
    assert_eq!(r.learn(7, 7, Evidence::Reply), LearnResult::Refused(Refusal::Full));
    r.neighbors.remove(world, r.a, address(6)).expect("there");
    r.learn(2, 2, Evidence::Request);
    r.neighbors
        .configure(false, NeighborConfig { limit: 2, recycle: true, ..NeighborConfig::default() });
    assert!(matches!(r.learn(3, 3, Evidence::Request), LearnResult::Added { gone: Some(_) }));
    assert_eq!(r.known(), [address(3), address(5)]);
    assert!(r.events().contains(&"-10.0.0.2 Recycled".to_string()));
    assert_eq!(r.neighbors.flush(world, false, None), 1);
    assert_eq!(r.known(), [address(5)]);
}

impl Rig {
    /// Sets or removes a configured route with this next hop.
    fn route(&self, ip: u8, on: bool) {
        let (fib, t) = (self.bench.world.get::<Fib<Ip4>>(), TableIndex::DEFAULT);
        let prefix = Prefix::host([20, 0, 0, ip].into());
        let via = [Path::new(PathKind::Neighbor { sw_if: self.a, nexthop: address(ip) })];
        if on {
            fib.set(&self.bench.world, t, prefix, Source::Cli, &via).expect("set");
        } else {
            fib.remove(&self.bench.world, t, prefix, Source::Cli, &[]).expect("removed");
        }
    }

    fn down(&self) -> Vec<IpAddr> {
        self.bench.world.get::<NextHops>().list().into_iter().map(|(hop, _)| hop.ip).collect()
    }
}

#[suite::test]
fn a_next_hop_that_does_not_answer_is_down_until_it_does() {
    let mut r = rig();
    let world = r.bench.world.clone();
    r.route(2, true);
    assert_eq!(r.down(), [] as [IpAddr; 0], "who was never asked isn't silent");
    r.bench.settle();
    assert_eq!(r.probes(), 1, "a new one is asked for at once");
    // Solicited without an answer: a next hop is down, another neighbour is ignored.
    r.neighbors.unanswered(&world, r.a, address(2));
    r.neighbors.unanswered(&world, r.a, address(3));
    assert_eq!(r.down(), [address(2)]);
    // It is solicited again at a slow rate, and its answer is accepted.
    r.pass(4);
    assert_eq!(r.probes(), 0);
    r.pass(2);
    assert_eq!(r.probes(), 1);
    r.pass(10);
    assert_eq!(r.probes(), 2);
    assert_eq!(r.learn(2, 2, Evidence::Reply), LearnResult::Added { gone: None });
    assert_eq!(r.down(), [] as [IpAddr; 0]);
    r.pass(20);
    assert_eq!(r.probes(), 0);
    // A late report that it didn't answer is ignored.
    r.neighbors.unanswered(&world, r.a, address(2));
    assert_eq!(r.down(), [] as [IpAddr; 0]);
    // It is known and in use, and stops answering.
    r.send_to(2);
    r.events();
    r.pass(45);
    assert_eq!(
        (r.events().pop().as_deref(), r.down()),
        (Some("-10.0.0.2 Unanswered"), vec![address(2)])
    );
    // An unconfirmed hint: it is solicited at once.
    r.pass(1);
    r.probes();
    r.learn(2, 2, Evidence::Hint { router: None });
    assert_eq!(r.down(), [address(2)]);
    r.bench.settle();
    r.pass(1);
    assert_eq!(r.probes(), 1);
    assert_eq!(r.learn(2, 2, Evidence::Reply), LearnResult::Confirmed { asked: true });
    assert_eq!(r.down(), [] as [IpAddr; 0]);
}

#[suite::test]
fn what_was_held_against_a_next_hop_is_forgotten() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let silent = |r: &Rig| {
        r.neighbors.unanswered(&world, r.a, address(2));
        assert_eq!(r.down(), [address(2)]);
    };
    r.route(2, true);
    // A static entry is configured.
    silent(&r);
    let n = Neighbor { is_static: true, ..Neighbor::new(r.a, address(2), station(2)) };
    r.neighbors.set(&world, n).expect("set");
    assert_eq!(r.down(), [] as [IpAddr; 0]);
    r.neighbors.remove(&world, r.a, address(2)).expect("removed");
    // The operator flushes the entries.
    silent(&r);
    r.neighbors.flush(&world, false, Some(r.a));
    assert_eq!(r.down(), [] as [IpAddr; 0]);
    // The link was down.
    let ifs: Arc<Interfaces> = world.get();
    silent(&r);
    ifs.set_link(&world, r.a, false).expect("down");
    r.neighbors.unanswered(&world, r.a, address(2));
    assert_eq!(r.down(), [] as [IpAddr; 0], "of a link that is down nobody expects an answer");
    ifs.set_link(&world, r.a, true).expect("up");
    // No route leads over it any more.
    silent(&r);
    r.bench.settle();
    r.probes();
    r.route(2, false);
    r.pass(6);
    assert_eq!((r.down(), r.probes()), (vec![], 0));
    // Routes ignore silence with `retry` 0.
    r.route(2, true);
    r.bench.settle();
    assert_eq!(r.probes(), 1);
    silent(&r);
    r.neighbors.configure(false, NeighborConfig { retry: 0, ..NeighborConfig::default() });
    r.pass(1);
    r.neighbors.unanswered(&world, r.a, address(2));
    assert_eq!((r.down(), r.probes()), (vec![], 0));
    assert!(!world.get::<NextHops>().is_down(NextHop { sw_if: r.a, ip: address(2) }));
}

#[suite::test]
fn a_host_that_has_left_is_no_next_hop() {
    let mut r = rig();
    let world = r.bench.world.clone();
    let addresses = world.get::<crate::Addresses<Ip4>>();
    addresses.add(&world, r.a, "10.0.0.1/24".parse().expect("a prefix")).expect("added");
    r.neighbors
        .configure(false, NeighborConfig { age: 20, confirm: 0, ..NeighborConfig::default() });
    r.route(3, true);
    for i in [2, 3] {
        r.learn(i, i, Evidence::Request);
        let host = Prefix::host([10, 0, 0, i].into());
        assert!(world.get::<Fib<Ip4>>().route(TableIndex::DEFAULT, host).is_some(), "a host route");
    }
    r.pass(26);
    assert!(r.neighbors.is_empty(false));
    assert_eq!(r.down(), [address(3)]);
}

#[suite::test]
fn the_silent_are_asked_at_a_bounded_rate() {
    let (mut table, key) = (Table::default(), |i: u8| Key { sw_if: SwIfIndex(1), ip: address(i) });
    assert!((0..100).all(|i| table.note_silent(key(i), 0)) && !table.note_silent(key(7), SECOND));
    assert_eq!(table.next_due(), Some(5 * SECOND));
    let mut asked = |now| table.take_silent(now, 60).len();
    assert_eq!(
        [0, 5, 5, 5, 9, 10, 10, 10].map(|s| asked(s * SECOND)),
        [0, 60, 40, 0, 0, 60, 40, 0]
    );
    // An answer to a solicitation is accepted, and there is one neighbour less to solicit.
    let usage = Usage { sent: &|_| false, leads: &|_| false };
    let answer = table.learn(key(3), station(3), Evidence::Reply, 11 * SECOND, usage);
    assert_eq!(answer, LearnResult::Added { gone: None });
    assert!(table.note_answer(key(3)) && !table.note_answer(key(3)));
    table.hurry(key(3), 11 * SECOND);
    table.hurry(key(4), 11 * SECOND);
    assert_eq!(table.take_silent(11 * SECOND, 60), [key(4)]);
    assert_eq!(table.take_silent(15 * SECOND, 200).len(), 98);
    let none = NeighborConfig { retry: 0, ..NeighborConfig::default() };
    table.configure(none);
    assert!(!table.note_silent(key(200), 20 * SECOND), "nobody wants to know");
}
