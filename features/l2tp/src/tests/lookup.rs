// SPDX-License-Identifier: Apache-2.0
//! Sessions by each field of received packets.

use super::*;
use testkit::Rng;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Known {
    our: &'static str,
    client: &'static str,
    session: u32,
}

const OURS: [&str; 3] = ["2001:db8:0::1", "2001:db8:1::1", "2001:db8:2::1"];
const CLIENTS: [&str; 4] = ["2001:db8:1::2", "2001:db8:1::3", "2001:db8:2::2", "2001:db8:2::3"];
const SESSIONS: [u32; 5] = [1, 2, 3, 0xffff_fffe, u32::MAX];

impl Known {
    fn any(rng: &mut Rng) -> Self {
        Self {
            our: rng.pick::<&str>(&OURS),
            client: rng.pick::<&str>(&CLIENTS),
            session: *rng.pick::<u32>(&SESSIONS),
        }
    }

    /// Both have the same value of the field that counts.
    fn is_like(&self, other: &Self, lookup: &str) -> bool {
        match lookup {
            "v6-src" => self.client == other.client,
            "v6-dst" => self.our == other.our,
            _ => self.session == other.session,
        }
    }

    fn line(&self) -> String {
        let Self { our, client, session } = self;
        format!(
            "create l2tpv3 tunnel client {client} our {our} local-session {session} local-cookie 1122334455667788"
        )
    }
}

/// Of random sessions, each packet is received by the one that a search through all finds, also
/// after the field has changed.
#[suite::test]
fn packets_are_received_by_the_session_that_a_search_finds() {
    let mut rig = rig(&[]);
    let mut rng = Rng::new(11);
    let mut all: Vec<(Known, String)> = Vec::new();
    let mut lookup = "v6-dst";
    let (mut taken, mut refused, mut changed) = (0, 0, 0);
    for round in 0..6000 {
        if round % 20 == 0 {
            let known = Known::any(&mut rng);
            let same = all.iter().position(|(other, _)| *other == known);
            if let Some(at) = same {
                rig.cli(&format!("{} del", known.line()));
                all.remove(at);
            } else if all.iter().any(|(other, _)| other.is_like(&known, lookup)) {
                assert_eq!(rig.refused(&known.line()).0, -7, "{known:?} {lookup}");
                refused += 1;
            } else {
                let name = rig.cli(&known.line()).trim().to_string();
                rig.cli(&format!("set interface state {name} up"));
                all.push((known, name));
            }
            let wanted: &str = rng.pick::<&str>(&["v6-src", "v6-dst", "session-id"]);
            let clash = all
                .iter()
                .enumerate()
                .any(|(i, (a, _))| all[..i].iter().any(|(b, _)| a.is_like(b, wanted)));
            let line = format!("set l2tpv3 lookup {wanted}");
            if clash {
                assert_eq!(rig.refused(&line).0, -7);
            } else {
                rig.cli(&line);
                changed += u32::from(lookup != wanted);
                lookup = wanted;
            }
        }
        let sent = Known::any(&mut rng);
        let payload = [l2tp(sent.session, LOCAL, &[]), frame(2, 20)].concat();
        let packet = outer(sent.client, sent.our, 64, &payload);
        let found = all.iter().find(|(other, _)| {
            other.is_like(&sent, lookup) && other.our == sent.our && other.session == sent.session
        });
        let counters = rig.world().get::<net::IfCounters>();
        let interfaces = rig.world().get::<net::Interfaces>();
        let received = |name: &str| counters.rx.sum(interfaces.find(name).expect("there").at()).0;
        let before: Vec<u64> = all.iter().map(|(_, name)| received(name)).collect();
        rig.route(&packet);
        for ((known, name), before) in all.iter().zip(before) {
            let expected = found.is_some_and(|(_, of)| of == name);
            assert_eq!(received(name), before + u64::from(expected), "{known:?} {sent:?} {lookup}");
        }
        taken += u32::from(found.is_some());
    }
    assert!(taken > 500 && refused > 50 && changed > 10, "{taken} {refused} {changed}");
}

/// One address with many sessions: each packet finds its own.
#[suite::test]
fn many_sessions_share_an_address() {
    const MANY: u32 = 3000;
    let mut rig = rig(&["set l2tpv3 lookup session-id"]);
    let line = |n: u32| {
        format!(
            "create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 local-session {n} local-cookie {n:x}"
        )
    };
    for n in 1..=MANY {
        let name = rig.cli(&line(n));
        rig.cli(&format!("set interface state {} up", name.trim()));
    }
    // In no other way can they be told apart.
    for lookup in ["v6-src", "v6-dst"] {
        assert_eq!(rig.refused(&format!("set l2tpv3 lookup {lookup}")).0, -7);
    }
    for n in (1..=MANY).step_by(2) {
        rig.cli(&format!("{} del", line(n)));
    }
    for n in 1..=MANY {
        rig.route(&received(&l2tp(n, n.into(), &[]), &frame(2, 20)));
    }
    let (taken, unknown) = (rig.count(NODE, DECAPSULATED), rig.count(NODE, NO_SESSION));
    assert_eq!((taken, unknown), (u64::from(MANY / 2), u64::from(MANY / 2)));
}

/// A packet that comes by an interface of another table isn't the session's.
#[suite::test]
fn tables_have_sessions_of_their_own() {
    let mut rig = rig(&[
        "ip6 table add 7",
        "create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 local-cookie 1 fib-id 7",
        "create l2tpv3 tunnel client 2001:db8:1::2 our 2001:db8:1::1 local-cookie 2",
        "set interface state l2tpv3_tunnel0 up",
        "set interface state l2tpv3_tunnel1 up",
    ]);
    for (cookie, counter) in [(1, COOKIE_MISMATCH), (2, DECAPSULATED)] {
        rig.route(&received(&l2tp(1, cookie, &[]), &frame(2, 20)));
        assert_eq!(rig.count(NODE, counter), 1, "{counter}");
    }
    // And a table stays as long as a session in it.
    assert!(
        rig.cli("show l2tpv3 -j").contains("\"table\":7")
            || rig.cli("show l2tpv3 -j").contains("\"table\": 7")
    );
}
