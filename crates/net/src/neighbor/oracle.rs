// SPDX-License-Identifier: Apache-2.0
//! Compares the table with a slow reference model that scans all entries each time.

use super::model::Key;
use super::table::{Due, PROBES, Table, Usage};
use super::{Evidence, LearnResult, Neighbor, NeighborConfig, NeighborState, Refusal};
use graph::SwIfIndex;
use proptest::prelude::*;
use wire::MacAddr;

const SECOND: u64 = 1_000_000_000;

#[derive(Clone, Copy)]
struct Entry {
    n: Neighbor,
    /// The time of the last check or probe.
    checked: u64,
    /// The time when the MAC address became doubtful, if there was no check since.
    stale: Option<u64>,
    /// True if it is known to be used.
    used: bool,
}

#[derive(Default)]
struct Slow {
    config: NeighborConfig,
    entries: Vec<Entry>,
    asked: Vec<(Key, u64)>,
}

impl Slow {
    fn at(&self, key: Key) -> Option<usize> {
        self.entries.iter().position(|e| e.n.key() == key)
    }

    /// Dynamic entries on an interface.
    fn held(&self, sw_if: SwIfIndex) -> usize {
        self.entries.iter().filter(|e| !e.n.is_static && e.n.sw_if == sw_if).count()
    }

    fn oldest(
        &self,
        sw_if: SwIfIndex,
        used: bool,
        spare: impl Fn(&Neighbor) -> bool,
    ) -> Option<usize> {
        let of = |e: &Entry| !e.n.is_static && e.n.sw_if == sw_if && e.used == used && !spare(&e.n);
        let all = self.entries.iter().enumerate().filter(|(_, e)| of(e));
        all.min_by_key(|(_, e)| (e.n.updated, e.n.key())).map(|(i, _)| i)
    }

    fn idle(&mut self, sw_if: SwIfIndex) -> Option<usize> {
        loop {
            let i = self.oldest(sw_if, false, |_| false)?;
            if !sent(&self.entries[i].n) && !leads(&self.entries[i].n) {
                return Some(i);
            }
            self.entries[i].used = true;
        }
    }

    fn room(&mut self, key: Key, wanted: bool) -> Result<Option<Neighbor>, Refusal> {
        if self.entries.len() < self.config.limit as usize {
            return Ok(None);
        }
        let dynamic = self.entries.iter().filter(|e| !e.n.is_static);
        let largest =
            dynamic.map(|e| (self.held(e.n.sw_if), e.n.sw_if)).max().ok_or(Refusal::Full)?.1;
        let below = self.held(largest) > self.held(key.sw_if) + 1;
        let entitled = wanted || self.config.recycle;
        let mut victim = (entitled || below).then(|| self.idle(largest)).flatten();
        if entitled {
            victim = victim.or_else(|| (!below).then(|| self.idle(key.sw_if)).flatten());
            victim = victim.or_else(|| self.oldest(largest, true, leads));
            victim = victim.or_else(|| self.oldest(largest, true, |_| false));
        }
        Ok(Some(self.entries.remove(victim.ok_or(Refusal::Full)?).n))
    }

    fn put(&mut self, n: Neighbor, used: bool, now: u64) {
        self.asked.retain(|(k, _)| *k != n.key());
        let at = self.at(n.key());
        let stale = (n.state == NeighborState::Stale && at.is_some()).then_some(now);
        let entry = Entry { n, checked: n.updated, stale, used };
        match at {
            Some(i) => self.entries[i] = entry,
            None => self.entries.push(entry),
        }
    }

    fn learn(&mut self, key: Key, mac: MacAddr, evidence: Evidence, now: u64) -> LearnResult {
        let asked = self.asked.iter().any(|(k, until)| *k == key && *until > now);
        self.asked.retain(|(k, _)| *k != key);
        match self.at(key) {
            Some(i) => {
                let old = self.entries[i].n;
                if old.is_static {
                    return LearnResult::Refused(Refusal::Static);
                }
                let mut new = evidence.applied(old, true, mac, now);
                let was_asked = asked || matches!(old.state, NeighborState::Probing(_));
                if was_asked && is_answer(evidence) && new.mac == mac {
                    new.answers = true;
                }
                if (new.state, new.updated, new.mac) == (old.state, old.updated, old.mac) {
                    self.entries[i].n = new;
                } else {
                    let used = asked || self.entries[i].used;
                    self.put(new, used, now);
                }
                if new.mac != mac {
                    return LearnResult::Refused(Refusal::Kept);
                }
                if old.mac == mac {
                    LearnResult::Confirmed { asked }
                } else {
                    LearnResult::Moved { from: old.mac }
                }
            }
            None => {
                let refused = match evidence {
                    Evidence::Reply | Evidence::Advertisement { .. } => Some(Refusal::Unsolicited),
                    Evidence::Announcement { create: false } => Some(Refusal::Unknown),
                    _ => None,
                };
                if let Some(refusal) = refused.filter(|_| !asked) {
                    return LearnResult::Refused(refusal);
                }
                match self.room(key, asked) {
                    Ok(gone) => {
                        let answers = asked && is_answer(evidence);
                        let new = Neighbor {
                            updated: now,
                            answers,
                            ..Neighbor::new(key.sw_if, key.ip, mac)
                        };
                        self.put(evidence.applied(new, false, mac, now), asked, now);
                        LearnResult::Added { gone }
                    }
                    Err(refusal) => LearnResult::Refused(refusal),
                }
            }
        }
    }

    fn due_at(&self, e: &Entry) -> Option<u64> {
        let after = |from: u64, s: u32| (s > 0).then(|| from + u64::from(s) * SECOND);
        match e.n.state {
            _ if e.n.is_static => None,
            NeighborState::Probing(_) => Some(e.checked + SECOND),
            NeighborState::Stale if e.stale.is_some() => e.stale.map(|since| since + 5 * SECOND),
            NeighborState::Quiet => after(e.n.updated, self.config.age),
            NeighborState::Reachable | NeighborState::Stale => {
                let times =
                    [after(e.n.updated, self.config.age), after(e.checked, self.config.confirm)];
                times.into_iter().flatten().min()
            }
        }
    }

    fn take_due(&mut self, now: u64, used: impl Fn(&Neighbor) -> bool) -> Vec<Due> {
        let mut due: Vec<(u64, Key)> = self
            .entries
            .iter()
            .filter_map(|e| Some((self.due_at(e).filter(|t| *t <= now)?, e.n.key())))
            .collect();
        due.sort_unstable();
        let mut all = Vec::new();
        for (_, key) in due {
            let at = self.at(key).expect("is there");
            let e = &mut self.entries[at];
            e.checked = now;
            e.stale = None;
            let old =
                self.config.age > 0 && now >= e.n.updated + u64::from(self.config.age) * SECOND;
            match e.n.state {
                NeighborState::Probing(PROBES) if !e.n.answers && !old => {
                    e.n.state = NeighborState::Quiet
                }
                NeighborState::Probing(PROBES) => all.push(Due::Lost(self.entries.remove(at).n)),
                NeighborState::Probing(sent) => {
                    e.n.state = NeighborState::Probing(sent + 1);
                    all.push(Due::Probe(e.n));
                }
                NeighborState::Reachable | NeighborState::Stale | NeighborState::Quiet
                    if old || used(&e.n) =>
                {
                    if !used(&e.n) && !e.used && !leads(&e.n) {
                        all.push(Due::Aged(self.entries.remove(at).n));
                        continue;
                    }
                    e.used |= used(&e.n);
                    e.n.state = NeighborState::Probing(1);
                    all.push(Due::Probe(e.n));
                }
                NeighborState::Reachable | NeighborState::Stale | NeighborState::Quiet => {}
            }
        }
        all
    }
}

fn is_answer(evidence: Evidence) -> bool {
    matches!(evidence, Evidence::Reply | Evidence::Advertisement { solicited: true, .. })
}

#[derive(Clone, Debug)]
enum Step {
    Ask(u8),
    Learn(u8, u8, u8),
    Set(u8, u8, bool),
    Remove(u8),
    Pass(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0u8..12).prop_map(Step::Ask),
        6 => (0u8..12, 0u8..3, 0u8..11).prop_map(|(k, m, e)| Step::Learn(k, m, e)),
        2 => (0u8..12, 0u8..3, any::<bool>()).prop_map(|(k, m, s)| Step::Set(k, m, s)),
        1 => (0u8..12).prop_map(Step::Remove),
        6 => (0u16..7000).prop_map(Step::Pass),
    ]
}

fn key(k: u8) -> Key {
    Key { sw_if: SwIfIndex(u32::from(k % 2)), ip: [10, 0, 0, k].into() }
}

fn mac(m: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, m])
}

fn sent(n: &Neighbor) -> bool {
    n.mac == mac(1)
}

fn leads(n: &Neighbor) -> bool {
    n.ip == key(3).ip
}

/// Usage of neighbours as the packet path would report it.
const USAGE: Usage<'static> = Usage { sent: &sent, leads: &leads };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[suite::test]
    fn table_does_as_its_slow_twin(
        steps in prop::collection::vec(step(), 1..120),
        limit in 1u32..10, age in 0u32..8, confirm in 0u32..5, recycle in any::<bool>(),
    ) {
        let config = NeighborConfig { limit, age, recycle, confirm, ..NeighborConfig::default() };
        let (mut table, mut slow, mut now) = (Table::default(), Slow { config, ..Slow::default() }, 0u64);
        table.configure(config);
        for step in steps {
            now += 1;
            match step {
                Step::Ask(k) => {
                    table.note_solicitation(key(k), now);
                    slow.asked.retain(|(other, _)| *other != key(k));
                    slow.asked.push((key(k), now + 5 * SECOND));
                }
                Step::Learn(k, m, e) => {
                    let evidence = match e {
                        0 => Evidence::Request,
                        1 => Evidence::Reply,
                        2 | 3 => Evidence::Announcement { create: e == 2 },
                        4..7 => Evidence::Hint { router: [None, Some(false), Some(true)][usize::from(e) - 4] },
                        _ => {
                            let (solicited, replace) = (e & 1 != 0, e & 2 != 0);
                            Evidence::Advertisement { solicited, replace, router: solicited }
                        }
                    };
                    let learned = table.learn(key(k), mac(m), evidence, now, USAGE);
                    prop_assert_eq!(learned, slow.learn(key(k), mac(m), evidence, now));
                }
                Step::Set(k, m, is_static) => {
                    let new = Neighbor { is_static, updated: now, ..Neighbor::new(key(k).sw_if, key(k).ip, mac(m)) };
                    let room = if slow.at(key(k)).is_some() { Ok(None) } else { slow.room(key(k), true) };
                    prop_assert_eq!(table.set(new, USAGE), room);
                    if room.is_ok() {
                        slow.put(new, true, now);
                    }
                }
                Step::Remove(k) => {
                    let gone = slow.at(key(k)).map(|i| slow.entries.remove(i).n);
                    prop_assert_eq!(table.remove(key(k)), gone);
                }
                Step::Pass(milliseconds) => {
                    now += u64::from(milliseconds) * 1_000_000;
                    prop_assert_eq!(table.take_due(now, usize::MAX, sent, leads), slow.take_due(now, sent));
                }
            }
            let mut have: Vec<Neighbor> = table.iter().copied().collect();
            let mut want: Vec<Neighbor> = slow.entries.iter().map(|e| e.n).collect();
            have.sort_unstable_by_key(Neighbor::key);
            want.sort_unstable_by_key(Neighbor::key);
            prop_assert_eq!(have, want);
            let next = slow.entries.iter().filter_map(|e| slow.due_at(e)).min();
            prop_assert_eq!(table.next_due(), next);
        }
    }
}

#[suite::test]
fn open_questions_are_bounded_and_end() {
    let mut table = Table::default();
    let key =
        |sw_if, i: u32| Key { sw_if: SwIfIndex(sw_if), ip: std::net::Ipv4Addr::from(i).into() };
    table.note_solicitation(key(2, 1), 1);
    for i in 1..=20_000 {
        table.note_solicitation(key(1, i), u64::from(i));
    }
    let mut learn = |key, now| table.learn(key, mac(1), Evidence::Reply, now, USAGE);
    assert_eq!(
        learn(key(1, 1), 20_001),
        LearnResult::Refused(Refusal::Unsolicited),
        "made room for younger ones"
    );
    assert_eq!(
        learn(key(2, 1), 20_001),
        LearnResult::Added { gone: None },
        "another interface's stays"
    );
    assert_eq!(learn(key(1, 20_000), 20_001), LearnResult::Added { gone: None });
    let late = learn(key(1, 19_999), 19_999 + 5 * SECOND);
    assert_eq!(late, LearnResult::Refused(Refusal::Unsolicited), "came too late");
}

/// 128,000 senders on one link, twice: neighbours on other links, and solicited ones on the same
/// link, are always added.
#[suite::test]
fn a_flood_of_senders_takes_no_room_that_others_need() {
    let unused = Usage { sent: &|_| false, leads: &|_| false };
    for hint in [Evidence::Request, Evidence::Hint { router: None }] {
        let key = |sw_if, i: u32| -> Key {
            let ip4 = std::net::Ipv4Addr::from(0x0a00_0000 + i);
            let ip =
                if hint == Evidence::Request { ip4.into() } else { ip4.to_ipv6_mapped().into() };
            Key { sw_if: SwIfIndex(sw_if), ip }
        };
        let (mut table, mut now) = (Table::default(), 0);
        let mut wanted = Vec::new();
        // Known before, and no packet was sent to them.
        for i in 0..100 {
            assert_eq!(
                table.learn(key(2, i), mac(2), hint, now, unused),
                LearnResult::Added { gone: None }
            );
        }
        for i in 0..256_000 {
            now += SECOND / 20_000;
            table.learn(key(1, i % 128_000), mac(2), hint, now, unused);
            if i % 8_000 == 0 {
                // A solicited neighbour on the same link, one on another link, and an unsolicited
                // one on a third link.
                for asked in [key(1, 200_000 + i), key(2, 200_000 + i)] {
                    table.note_solicitation(asked, now);
                    let answer = table.learn(asked, mac(2), Evidence::Reply, now, unused);
                    assert!(matches!(answer, LearnResult::Added { .. }), "{i}: {answer:?}");
                    wanted.push(asked);
                }
                let heard = table.learn(key(3, i), mac(2), hint, now, unused);
                assert!(matches!(heard, LearnResult::Added { .. }), "{i}: {heard:?}");
                wanted.push(key(3, i));
            }
        }
        assert!(wanted.iter().all(|key| table.get(*key).is_some()), "they stay");
        assert!((0..100).all(|i| table.get(key(2, i)).is_some()), "so do those known before");
        assert_eq!(table.len(), 50_000);
        // The flood's entries are removed once they have aged; solicited neighbours are probed.
        let (mut aged, mut asked) = (0, 0);
        now += 1_201 * SECOND;
        for due in table.take_due(now, usize::MAX, |_| false, |_| false) {
            match due {
                Due::Aged(_) => aged += 1,
                Due::Probe(_) => asked += 1,
                Due::Lost(n) => panic!("{n:?} wasn't asked"),
            }
        }
        assert_eq!((aged, asked, table.len()), (50_000 - 64, 64, 64));
    }
}

/// Senders that we have answered are used entries: an answer to our own solicitation displaces one
/// of these too, but no next hop of routes.
#[suite::test]
fn a_table_of_used_entries_takes_what_was_asked_for() {
    let nexthop = Key { sw_if: SwIfIndex(1), ip: [10, 0, 0, 0].into() };
    let busy = Usage { sent: &|_| true, leads: &|n| n.key() == nexthop };
    let mut table = Table::default();
    table.configure(NeighborConfig { limit: 1000, ..NeighborConfig::default() });
    let key =
        |i: u32| Key { sw_if: SwIfIndex(1), ip: std::net::Ipv4Addr::from(0x0a00_0000 + i).into() };
    for i in 0..1000 {
        table.learn(key(i), mac(2), Evidence::Request, u64::from(i), busy);
    }
    assert_eq!(
        table.learn(key(1000), mac(2), Evidence::Request, 1000, busy),
        LearnResult::Refused(Refusal::Full)
    );
    for i in 1001..3000 {
        table.note_solicitation(key(i), u64::from(i));
        let answer = table.learn(key(i), mac(2), Evidence::Reply, u64::from(i), busy);
        assert!(matches!(answer, LearnResult::Added { gone: Some(_) }), "{i}: {answer:?}");
    }
    assert!(table.get(nexthop).is_some());
    assert_eq!(table.len(), 1000);
}

/// RFC 4861, appendix C: state changes of an entry by neighbour advertisements and other messages.
#[suite::test]
fn states_are_as_the_rfc_has_them() {
    use NeighborState::{Probing, Reachable, Stale};
    let na = |solicited, replace| Evidence::Advertisement { solicited, replace, router: true };
    let hint = Evidence::Hint { router: None };
    let old = |state| Neighbor {
        state,
        updated: 1,
        ..Neighbor::new(SwIfIndex(1), [10, 0, 0, 1].into(), mac(1))
    };
    for (state, evidence, station, want) in [
        (Reachable, na(true, false), 1, (Reachable, 1, 9)),
        (Probing(2), na(true, false), 1, (Reachable, 1, 9)),
        (Stale, na(false, true), 1, (Stale, 1, 1)),
        (Probing(2), na(false, false), 1, (Probing(2), 1, 1)),
        (Reachable, na(true, false), 2, (Stale, 1, 1)),
        (Probing(2), na(true, false), 2, (Probing(2), 1, 1)),
        (Reachable, na(true, true), 2, (Reachable, 2, 9)),
        (Reachable, na(false, true), 2, (Stale, 2, 9)),
        (Probing(1), hint, 1, (Probing(1), 1, 1)),
        (Reachable, hint, 1, (Reachable, 1, 1)),
        (Reachable, hint, 2, (Stale, 2, 9)),
    ] {
        let new = evidence.applied(old(state), true, mac(station), 9);
        let (state_now, station_now, updated) = want;
        assert_eq!(
            (new.state, new.mac, new.updated),
            (state_now, mac(station_now), updated),
            "{state:?} {evidence:?}"
        );
    }
    for (evidence, want) in [(na(true, false), Reachable), (na(false, true), Stale), (hint, Stale)]
    {
        assert_eq!(evidence.applied(old(Reachable), false, mac(1), 9).state, want);
    }
    assert!(na(true, false).applied(old(Reachable), true, mac(1), 9).router);
}
