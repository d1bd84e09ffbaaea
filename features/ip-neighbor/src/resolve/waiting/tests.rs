// SPDX-License-Identifier: Apache-2.0
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::net::Ipv6Addr;

type Items = Waiting<Ipv6Addr, u32>;

fn on(sw_if: u32, n: u32) -> Target<Ipv6Addr> {
    Target { sw_if, ip: Ipv6Addr::from((0x2001_0db8 << 96) + u128::from(n)) }
}

fn target(n: u32) -> Target<Ipv6Addr> {
    on(n % 3, n)
}

fn slot(w: &mut Items, target: Target<Ipv6Addr>) -> usize {
    w.find(target).unwrap_or_else(|| w.claim(target, |_| {}))
}

fn add(w: &mut Items, n: u32, item: u32) -> bool {
    let at = slot(w, target(n));
    w.reserve(at, false, |_| {}).is_some_and(|place| w.put(place, item).is_ok())
}

fn all(w: &mut Items, n: u32) -> Vec<u32> {
    let mut out = Vec::new();
    w.release(target(n), |item| out.push(item));
    out
}

#[suite::test]
fn a_neighbour_is_asked_three_times_and_given_up() {
    let mut w = Items::default();
    let at = slot(&mut w, target(1));
    assert!(w.may_request(at, None, 0));
    w.note_request(at, None, true, 0);
    assert!(!w.may_request(at, None, EXTRA_INTERVAL - 1), "throttled");
    for i in 1..=u64::from(EXTRA) {
        assert!(w.may_request(at, None, i * EXTRA_INTERVAL));
        w.note_request(at, None, true, i * EXTRA_INTERVAL);
    }
    assert!(!w.may_request(at, None, INTERVAL - 1), "enough");
    assert_eq!(w.due(at, INTERVAL), None, "nothing waits");
    assert!(add(&mut w, 1, 7));
    assert_eq!(w.due(at, INTERVAL), Some(Due::Ask(target(1))));
    w.note_request(at, None, true, INTERVAL);
    assert_eq!(w.due(at, INTERVAL), None);
    w.note_request(at, None, true, 2 * INTERVAL);
    assert_eq!(w.due(at, 3 * INTERVAL), Some(Due::GiveUp(target(1))));
    assert_eq!(all(&mut w, 1), [7]);
    assert_eq!((w.taken(), w.due(at, 3 * INTERVAL)), (0, None));
    w.note_request(at, None, true, 3 * INTERVAL);
    assert!(add(&mut w, 1, 8));
    assert_eq!(w.due(at, 4 * INTERVAL), Some(Due::Ask(target(1))), "from the start");
    w.give_up_on(target(1).sw_if);
    assert_eq!(w.due(at, 0), Some(Due::Abandon(target(1))));
    assert_eq!(all(&mut w, 1), [8]);
    w.give_up_on(target(1).sw_if);
    w.note_request(at, None, true, 5 * INTERVAL);
    assert!(add(&mut w, 1, 9));
    assert_eq!(w.due(at, 6 * INTERVAL), Some(Due::Ask(target(1))));
    // A neighbour that could not be asked each time is not reported as silent.
    w.note_request(at, None, false, 6 * INTERVAL);
    w.note_request(at, None, true, 7 * INTERVAL);
    assert_eq!(w.due(at, 8 * INTERVAL), Some(Due::Abandon(target(1))));
    assert_eq!(all(&mut w, 1), [9]);
    w.note_request(at, None, true, 9 * INTERVAL);
    assert!(add(&mut w, 1, 10));
    w.note_request(at, None, true, 10 * INTERVAL);
    w.note_request(at, None, true, 11 * INTERVAL);
    assert_eq!(w.due(at, 12 * INTERVAL), Some(Due::GiveUp(target(1))));
}

#[suite::test]
fn a_question_that_differs_need_not_wait() {
    let mut w = Items::default();
    let at = slot(&mut w, target(1));
    let source = |n: u16| Some(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, n));
    assert!(w.may_request(at, source(1), 0));
    w.note_request(at, source(1), true, 0);
    assert!(add(&mut w, 1, 7));
    assert!(!w.may_request(at, source(1), 1) && w.may_request(at, source(2), 1));
    for (i, n) in (1..).zip([2, 1, 2]) {
        assert!(w.may_request(at, source(n), i));
        w.note_request(at, source(n), true, i);
    }
    assert!(!w.may_request(at, source(1), 4) && !w.may_request(at, source(3), 4), "not for ever");
    assert_eq!((w.due(at, INTERVAL - 1), w.due(at, INTERVAL)), (None, Some(Due::Ask(target(1)))));
    w.note_request(at, None, true, INTERVAL);
    w.note_request(at, None, true, 2 * INTERVAL);
    w.renew(target(2).sw_if);
    assert!(!w.may_request(at, None, 2 * INTERVAL), "another interface");
    w.renew(target(1).sw_if);
    assert_eq!(w.due(at, 2 * INTERVAL), None, "only a packet asks");
    assert!(w.may_request(at, None, 2 * INTERVAL));
    w.note_request(at, None, true, 2 * INTERVAL + 1);
    assert!(!w.may_request(at, None, 2 * INTERVAL + 2));
    assert!(
        w.may_request(at, None, 2 * INTERVAL + 1 + EXTRA_INTERVAL),
        "it may be another station"
    );
    assert_eq!(
        w.due(at, 3 * INTERVAL),
        Some(Due::GiveUp(target(1))),
        "the end comes when it would have"
    );
}

#[suite::test]
fn packets_that_keep_coming_do_not_put_off_the_end() {
    /// With sources in turn, asks when that is allowed; `late`: the timer runs behind each packet.
    fn ends(sources: &[Option<Ipv6Addr>], late: u64) -> (u8, Vec<(Due<Ipv6Addr>, u64)>) {
        let mut w = Items::default();
        let (mut asked, mut ends) = (0, Vec::new());
        for (i, now) in (0..4 * INTERVAL).step_by(INTERVAL as usize / 10).enumerate() {
            let at = slot(&mut w, target(1));
            let source = sources[i % sources.len()];
            if w.may_request(at, source, now) {
                w.note_request(at, source, true, now);
                asked += 1;
            }
            add(&mut w, 1, 7);
            if (i as u64).is_multiple_of(late)
                && let Some(due) = w.due(at, now)
            {
                ends.push((due, now));
                all(&mut w, 1);
            }
        }
        (asked, ends)
    }
    let (asked, given_up) = ends(&[None], 1);
    let end = (Due::GiveUp(target(1)), u64::from(QUESTIONS) * INTERVAL);
    assert_eq!(given_up, [end]);
    // All three of EXTRA in the first second, and twice more for those that came afterwards.
    assert_eq!(
        asked,
        (QUESTIONS + EXTRA) + (1 + EXTRA),
        "and again for those that came afterwards"
    );
    // Routes of two tables, each with its own source; the timer comes once a second.
    let (_, given_up) = ends(&[None, Some(Ipv6Addr::LOCALHOST)], 10);
    assert_eq!(given_up, [end]);
}

#[suite::test]
fn a_neighbour_and_a_thread_have_so_many_places() {
    let mut w = Items::default();
    let taken = (0..100).filter(|i| add(&mut w, 1, *i)).count();
    assert_eq!(taken, usize::from(PER_NEIGHBOR));
    let others = (2..5000).filter(|n| add(&mut w, *n, *n)).count();
    assert_eq!((w.taken(), w.len()), (CELLS, SLOTS));
    assert!(others > CELLS / 2, "{others}");
}

/// Waiting and displaced items, in total, are all that came.
#[suite::test]
fn a_scan_displaces_its_own_oldest() {
    let mut w = Items::default();
    let mut displaced = Vec::new();
    let came = |w: &mut Items, target, item, asked, displaced: &mut Vec<u32>| {
        let at = w.find(target).unwrap_or_else(|| w.claim(target, |old| displaced.push(old)));
        if asked {
            w.note_request(at, None, true, 0);
        }
        let place = w.reserve(at, asked, |old| displaced.push(old));
        place.is_some_and(|place| w.put(place, item).is_ok())
    };
    // Some neighbours on another interface that have not answered yet.
    for n in 0..100 {
        assert!(came(&mut w, on(2, n), n, true, &mut displaced));
    }
    for n in 0..100_000 {
        assert!(
            came(&mut w, on(1, n), 1000 + n, true, &mut displaced),
            "{n}: the youngest has a place"
        );
        if n % 1000 == 999 {
            // The packets of a neighbour on another interface find places, though none of them
            // causes a request.
            assert!(came(&mut w, on(3, 7), n, false, &mut displaced) || n / 1000 >= 32);
        }
    }
    assert!(displaced.iter().all(|item| *item >= 1000), "nobody on another interface");
    assert!(displaced.is_sorted(), "the oldest first");
    for n in 0..100 {
        let mut out = Vec::new();
        w.release(on(2, n), |item| out.push(item));
        assert_eq!(out, [n]);
    }
    // Neighbours requested in the last second are known, and aren't requested again.
    let recent =
        (100_000 - SLOTS as u32 + 200..100_000).filter(|n| w.find(on(1, *n)).is_none()).count();
    assert_eq!(recent, 0);
}

#[suite::test]
fn a_place_is_void_once_its_slot_is_given_up() {
    let mut w = Items::default();
    let at = slot(&mut w, on(1, 0));
    let place = w.reserve(at, true, |_| {}).expect("a place");
    for n in 1..=SLOTS as u32 {
        slot(&mut w, on(1, n));
    }
    assert_eq!(w.find(on(1, 0)), Some(at), "others that nothing waits for go first");
    for n in 1..=CELLS as u32 {
        let at = slot(&mut w, on(1, n));
        w.reserve(at, true, |_| {}).expect("a place");
    }
    assert_eq!(w.put(place, 7), Err(7), "another neighbour may have the slot");
    assert_eq!(w.taken(), CELLS);
}

#[suite::test]
fn nobody_outside_knows_who_shares_a_bucket() {
    let (a, b) = (Items::default(), Items::default());
    let places = |w: &Items| (0..64).map(|n| w.seed.bucket(on(1, n), SLOTS)).collect::<Vec<_>>();
    assert_ne!(places(&a), places(&b));
    assert_eq!(places(&a), places(&a));
}

proptest! {
    #[suite::test]
    fn order_is_kept_and_nothing_lost(steps in prop::collection::vec((0u32..6, any::<bool>()), 0..3000)) {
        let (mut w, mut model) = (Items::default(), HashMap::<u32, Vec<u32>>::new());
        for (i, (n, release)) in steps.into_iter().enumerate() {
            if release && i % 7 == 0 {
                prop_assert_eq!(all(&mut w, n), model.remove(&n).unwrap_or_default());
            } else {
                let list = model.entry(n).or_default();
                let room = list.len() < usize::from(PER_NEIGHBOR);
                prop_assert_eq!(add(&mut w, n, i as u32), room);
                if room {
                    list.push(i as u32);
                }
            }
            prop_assert_eq!(w.taken(), model.values().map(Vec::len).sum::<usize>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// In any order of arrival, each item is waiting, was displaced, or was rejected; counts and
    /// lists hold.
    #[suite::test]
    fn things_are_displaced_once(steps in prop::collection::vec((0u32..3, 0u32..9000, any::<bool>()), 1..20_000)) {
        let (mut w, mut out, mut inside) = (Items::default(), Vec::new(), 0usize);
        for (i, (sw_if, n, asked)) in steps.iter().enumerate() {
            let (before, target) = (out.len(), on(*sw_if, *n));
            let at = w.find(target).unwrap_or_else(|| w.claim(target, |old| out.push(old)));
            prop_assert_eq!(w.find(target), Some(at));
            let place = w.reserve(at, *asked, |old| out.push(old));
            inside -= out.len() - before;
            if let Some(place) = place {
                prop_assert_eq!(w.put(place, i as u32), Ok(()));
                inside += 1;
            }
            prop_assert_eq!(w.taken(), inside);
        }
        let cells: usize = w.shares.iter().map(|s| usize::from(s.cells)).sum();
        let slots: usize = w.shares.iter().map(|s| usize::from(s.slots)).sum();
        prop_assert_eq!((cells, slots), (w.taken(), w.len()));
        for at in 0..w.len() {
            w.release_at(at, |old| out.push(old));
        }
        let n = out.len();
        out.sort_unstable();
        out.dedup();
        prop_assert_eq!((out.len(), w.taken()), (n, 0));
    }
}
