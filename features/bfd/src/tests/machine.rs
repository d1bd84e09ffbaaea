// SPDX-License-Identifier: Apache-2.0
//! The state machine: the table of the RFC, and two sessions back to back over a link that loses
//! and delays packets, with random changes at both ends.

use crate::auth::{Auth, AuthType};
use crate::packet::{Control, Diag, MAX_LEN, State};
use crate::session::{SLOW, Sending, Session, Settings};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

fn settings(tx: u32, rx: u32, detect_mult: u8) -> Settings {
    Settings { desired_min_tx: tx, required_min_rx: rx, detect_mult }
}

/// The packet that a session sends, as bytes.
fn bytes(session: &mut Session, answer: bool) -> Vec<u8> {
    let (packet, mut to) = (session.control(answer), [0; MAX_LEN]);
    let len = packet.write(&mut to);
    session.auth.iter().for_each(|auth| auth.sign(&mut to));
    to[..len].to_vec()
}

/// RFC 5880 6.8.6: the state that follows from ours and the peer's.
#[suite::test]
fn states_follow_the_table() {
    use State::*;
    // Ours; then what follows from AdminDown, Down, Init, Up.
    let table = [
        (AdminDown, [AdminDown; 4]),
        (Down, [Down, Init, Up, Down]),
        (Init, [Down, Init, Up, Up]),
        (Up, [Down, Down, Up, Up]),
    ];
    for (ours, follows) in table {
        for (theirs, next) in [AdminDown, Down, Init, Up].into_iter().zip(follows) {
            let mut session = Session::new(settings(1, 1, 3), false, 1, None, 0);
            session.enter(ours, Diag::NONE, 0);
            let packet = Control {
                state: theirs,
                my_disc: 2,
                your_disc: 1,
                detect_mult: 3,
                ..Control::default()
            };
            let taken = session.take(&packet, 0);
            assert_eq!(
                (session.state, taken.is_err()),
                (next, ours == AdminDown),
                "{ours} {theirs}"
            );
            let diag = match (ours, next) {
                (Init | Up, Down) => Diag::NEIGHBOR_DOWN,
                _ => Diag::NONE,
            };
            assert_eq!(session.diag, diag, "{ours} {theirs}");
        }
    }
}

/// A link with a session at each end.
struct Link {
    now: u64,
    ends: [Session; 2],
    /// Packets under way to an end, by time.
    flying: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    /// Packets of which none of 100 are lost, in each direction.
    loss: [u64; 2],
    delay: u64,
    random: u64,
    sent: [Vec<u64>; 2],
    /// Each change of state, with its time and end.
    changes: Vec<(u64, usize, State)>,
}

impl Link {
    fn new(a: Settings, b: Settings, auth: Option<Auth>) -> Self {
        let session = |settings, disc| Session::new(settings, false, disc, auth, disc);
        Self {
            now: 0,
            ends: [session(a, 7), session(b, 9)],
            flying: BTreeMap::new(),
            loss: [0; 2],
            delay: MS,
            random: 1,
            sent: Default::default(),
            changes: Vec::new(),
        }
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn send(&mut self, from: usize, answer: bool) {
        let packet = bytes(&mut self.ends[from], answer);
        let number = self.random();
        if number % 100 >= self.loss[from] {
            self.flying.insert((self.now + self.delay, number), (1 - from, packet));
        }
    }

    /// Notes a change of state, which has to be one of the protocol.
    fn note(&mut self, end: usize, before: State) {
        let after = self.ends[end].state;
        if before != after {
            use State::*;
            assert!(
                matches!((before, after), (Down, Init | Up) | (Init, Up) | (Init | Up, Down)),
                "{before} {after}"
            );
            self.changes.push((self.now, end, after));
        }
    }

    fn run(&mut self, milliseconds: u64) {
        let until = self.now + milliseconds * MS;
        loop {
            let arrival = self.flying.first_key_value().map(|((at, _), _)| *at);
            let due = self.ends.iter().filter_map(Session::due).chain(arrival).min();
            match due.filter(|due| *due <= until) {
                None => return self.now = until,
                Some(due) => self.now = self.now.max(due),
            }
            let now = self.now;
            while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= now) {
                let (to, packet) = entry.remove();
                let before = self.ends[to].state;
                let (control, read) = Control::read(&packet).expect("a packet");
                let received = self.ends[to].receive(&control, read, now);
                self.note(to, before);
                if received.is_ok_and(|received| received.answer) {
                    self.send(to, true);
                }
            }
            for end in [0, 1] {
                let before = self.ends[end].state;
                self.ends[end].expire(now);
                self.note(end, before);
                let random = self.random();
                if self.ends[end].next_packet(now, random) == Some(Sending::Control) {
                    self.sent[end].push(now);
                    self.send(end, false);
                }
            }
        }
    }

    fn states(&self) -> [State; 2] {
        [self.ends[0].state, self.ends[1].state]
    }
}

#[suite::test]
fn a_silent_peer_is_detected_within_the_detection_time() {
    let mut link = Link::new(settings(50_000, 50_000, 3), settings(20_000, 100_000, 5), None);
    link.run(5000);
    assert_eq!(link.states(), [State::Up; 2]);
    // Each end sends at the slower of what it likes and what the other takes (6.8.7), with jitter.
    for (end, nominal) in [(0, 100 * MS), (1, 50 * MS)] {
        let last = &link.sent[end][link.sent[end].len() - 20..];
        for pair in last.windows(2) {
            let interval = pair[1] - pair[0];
            assert!((nominal * 3 / 4..=nominal).contains(&interval), "{end}: {interval}");
        }
        let total = last[19] - last[0];
        assert!(total > nominal * 19 * 8 / 10 && total < nominal * 19 * 95 / 100, "{total}");
    }
    // Nothing is left to poll for, and the times to detect silence are as of 6.8.4.
    let times = [0, 1].map(|i| link.ends[i].detection_time());
    assert_eq!(times, [5 * 50 * MS, 3 * 100 * MS]);
    let before = link.changes.len();
    link.loss[0] = 100;
    let cut = link.now;
    link.run(1000);
    assert_eq!(link.changes[before..].len(), 2);
    let [(at, 1, State::Down), (heard, 0, State::Down)] = link.changes[before..] else {
        panic!("{:?}", link.changes)
    };
    assert!(at - cut <= times[1] + MS && at - cut > times[1] - 101 * MS, "{}", at - cut);
    assert!(heard - at <= 2 * MS + 50 * MS, "the peer is told: {}", heard - at);
    assert_eq!(link.ends[1].diag, Diag::EXPIRED);
    assert_eq!(link.ends[0].diag, Diag::NEIGHBOR_DOWN);
    assert_eq!((link.ends[1].remote.disc, link.ends[1].remote.min_rx), (0, 1));
    // While a session is down, packets are slow (6.8.3).
    assert!(link.ends.iter().all(|end| end.desired_min_tx() == SLOW));
    link.loss[0] = 0;
    link.run(3000);
    assert_eq!(link.states(), [State::Up; 2]);
}

/// RFC 5880 6.8.1: the peer's discriminator is 0 after a detection time without packets.
#[suite::test]
fn a_silent_peer_is_forgotten_while_the_session_is_down() {
    for state in [State::AdminDown, State::Down] {
        let mut session = Session::new(settings(50_000, 50_000, 3), false, 1, None, 0);
        session.enter(state, Diag::NONE, 0);
        let packet = Control {
            state: State::AdminDown,
            my_disc: 2,
            your_disc: 1,
            detect_mult: 3,
            ..Control::default()
        };
        assert_eq!(session.take(&packet, MS).is_err(), state == State::AdminDown);
        let end = MS + 3 * u64::from(SLOW) * 1000;
        for (now, disc) in [(end, 2), (end + 1, 0)] {
            session.expire(now);
            assert_eq!((session.state, session.control(false).your_disc), (state, disc), "{now}");
        }
    }
}

#[suite::test]
fn intervals_change_by_polls() {
    let start = settings(100_000, 100_000, 3);
    let mut link = Link::new(start, start, None);
    link.run(4000);
    link.delay = 40 * MS;
    // A lower requirement, and a longer interval, wait until the peer knows them (6.8.3).
    link.ends[0].configure(settings(300_000, 50_000, 3), link.now);
    let in_force = |link: &Link| (link.ends[0].rx_in_force, link.ends[0].tx_in_force);
    assert_eq!(in_force(&link), (100_000, 100_000));
    link.run(30);
    // Another change is queued, and a round trip lies between both.
    link.ends[0].configure(settings(300_000, 60_000, 3), link.now);
    assert_eq!(link.ends[0].poll.text(), "in progress, another one queued");
    let (mut seen, mut queued) = (Vec::new(), false);
    for _ in 0..2000 {
        link.run(1);
        let text = link.ends[0].poll.text();
        if seen.last() != Some(&text) {
            seen.push(text);
        }
        if text == "queued" && !queued {
            queued = true;
            assert_eq!(
                in_force(&link),
                (100_000, 100_000),
                "the answer may be to the first change"
            );
        }
    }
    assert_eq!(seen, ["in progress, another one queued", "queued", "in progress", "not needed"]);
    assert_eq!(in_force(&link), (60_000, 300_000));
    assert_eq!(link.states(), [State::Up; 2]);
    assert!(link.changes.len() <= 4, "it never went down: {:?}", link.changes);
}

#[suite::test]
fn a_peer_in_demand_mode_gets_polls_only() {
    let mut session = Session::new(settings(100_000, 100_000, 3), false, 1, None, 0);
    let packet = Control {
        state: State::Init,
        my_disc: 2,
        your_disc: 1,
        detect_mult: 3,
        desired_min_tx: 100_000,
        required_min_rx: 100_000,
        ..Control::default()
    };
    session.take(&packet, 0).expect("taken");
    let up = Control { state: State::Up, demand: true, ..packet };
    session.take(&up, MS).expect("taken");
    assert_eq!(session.state, State::Up);
    assert!(session.next_packet(MS, 0).is_some(), "it tells that it is up");
    assert_eq!(session.next_control(), None);
    session.configure(settings(100_000, 200_000, 3), 2 * MS);
    assert!(session.next_control().is_some() && session.control(false).poll);
    session.take(&Control { r#final: true, ..up }, 3 * MS).expect("taken");
    assert_eq!(session.next_control(), None);
    // Silence on request, also without demand mode (6.8.7).
    session.take(&Control { demand: false, ..up }, 4 * MS).expect("taken");
    assert!(session.next_control().is_some());
    session.take(&Control { demand: false, required_min_rx: 0, ..up }, 5 * MS).expect("taken");
    assert_eq!(session.next_control(), None);
}

fn key(kind: AuthType, secret: u8) -> Auth {
    Auth { kind, key_id: secret, secret: [secret; 20] }
}

#[suite::test]
fn replayed_packets_are_discarded() {
    let auth = key(AuthType::Meticulous, 1);
    let mut link =
        Link::new(settings(100_000, 100_000, 3), settings(100_000, 100_000, 3), Some(auth));
    link.run(4000);
    assert_eq!(link.states(), [State::Up; 2]);
    let old = bytes(&mut link.ends[0], false);
    link.run(1000);
    let mut refused = |packet: &[u8]| {
        let (control, read) = Control::read(packet).expect("a packet");
        let now = link.now;
        link.ends[1].receive(&control, read, now).is_err()
    };
    assert!(refused(&old), "an old packet");
    let mut next = bytes(&mut link.ends[0], false);
    let mut refused = |packet: &[u8]| {
        let (control, read) = Control::read(packet).expect("a packet");
        let now = link.now;
        link.ends[1].receive(&control, read, now).is_err()
    };
    next[MAX_LEN - 1] ^= 1;
    assert!(refused(&next), "a wrong digest");
    next[MAX_LEN - 1] ^= 1;
    assert!(!refused(&next));
    assert!(refused(&next), "the same again");
}

/// The peer changes its key later than we do, and the session stays up.
#[suite::test]
fn keys_change_while_the_session_is_up() {
    let steps = [
        Some(key(AuthType::Keyed, 1)),
        Some(key(AuthType::Meticulous, 2)),
        Some(key(AuthType::Keyed, 3)),
        None,
    ];
    let mut link = Link::new(settings(100_000, 100_000, 3), settings(100_000, 100_000, 3), None);
    link.run(4000);
    let changes = link.changes.len();
    for auth in steps {
        link.ends[0].set_auth(auth, true);
        link.run(1500);
        assert_ne!(link.ends[0].auth, auth, "the peer hasn't changed yet");
        // The peer takes both keys for a moment, as we do.
        link.ends[1].set_auth(auth, false);
        link.ends[1].next_auth = Some(link.ends[0].auth);
        link.run(1500);
        link.ends[1].set_auth(auth, false);
        link.run(1500);
        assert_eq!(link.ends[0].auth, auth);
    }
    assert_eq!(link.changes.len(), changes, "{:?}", link.changes);
}

#[derive(Clone, Debug)]
enum Event {
    Wait(u64),
    Lose(usize, u64),
    Configure(usize, u32, u32, u8),
    Admin(usize, bool),
    Delay(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (1u64..2000).prop_map(Event::Wait),
        (0usize..2, prop::sample::select(vec![0u64, 0, 30, 100]))
            .prop_map(|(end, loss)| Event::Lose(end, loss)),
        (0usize..2, 1u32..400_000, 0u32..400_000, 1u8..6)
            .prop_map(|(end, tx, rx, mult)| Event::Configure(end, tx, rx, mult)),
        (0usize..2, any::<bool>()).prop_map(|(end, up)| Event::Admin(end, up)),
        (0u64..80).prop_map(Event::Delay),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever happened before, sessions over a good link come up and stay up, nothing is left to
    /// poll for, and what is in force is what is announced.
    #[suite::test]
    fn sessions_recover(events in prop::collection::vec(event(), 1..40), auth in 0usize..3, seed in 1u64..) {
        let auth = [None, Some(key(AuthType::Keyed, 1)), Some(key(AuthType::Meticulous, 2))][auth];
        let mut link = Link::new(settings(50_000, 50_000, 3), settings(70_000, 30_000, 2), auth);
        link.random = seed;
        for event in events {
            match event {
                Event::Wait(ms) => link.run(ms),
                Event::Lose(end, loss) => link.loss[end] = loss,
                Event::Configure(end, tx, rx, mult) => {
                    let now = link.now;
                    link.ends[end].configure(settings(tx, rx, mult), now);
                }
                Event::Admin(end, up) => {
                    let now = link.now;
                    link.ends[end].set_admin(up, now);
                }
                Event::Delay(ms) => link.delay = ms * MS,
            }
        }
        (link.loss, link.delay) = ([0; 2], MS);
        let now = link.now;
        for end in [0, 1] {
            link.ends[end].set_admin(true, now);
            let mut config = link.ends[end].config;
            // Silence on request would be right for ever, and one lost packet may be a late one.
            config.required_min_rx = config.required_min_rx.max(1000);
            config.detect_mult = config.detect_mult.max(2);
            link.ends[end].configure(config, now);
        }
        link.run(20_000);
        prop_assert_eq!(link.states(), [State::Up; 2]);
        let changes = link.changes.len();
        link.run(20_000);
        prop_assert_eq!(link.changes.len(), changes);
        for end in &link.ends {
            prop_assert_eq!(end.poll.text(), "not needed");
            prop_assert_eq!(end.rx_in_force, end.required_min_rx());
            prop_assert_eq!(end.tx_in_force, end.desired_min_tx());
        }
    }
}
