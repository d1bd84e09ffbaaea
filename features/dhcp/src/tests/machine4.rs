// SPDX-License-Identifier: Apache-2.0
//! Properties of the DHCPv4 client's state machine, under any order of messages and times.

use super::client4::answer;
use crate::lifetime::SECOND;
use crate::v4::machine::{Action, Machine, State};
use crate::v4::message::{Message, MessageType};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Event {
    Wait(u64),
    Offer { right: bool },
    Ack { lease: u32, right: bool },
    Nak { right: bool },
    LinkUp,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0u64..400).prop_map(|tenths| Event::Wait(tenths * SECOND / 10)),
        2 => any::<bool>().prop_map(|right| Event::Offer { right }),
        3 => (1u32..200, any::<bool>()).prop_map(|(lease, right)| Event::Ack { lease, right }),
        1 => any::<bool>().prop_map(|right| Event::Nak { right }),
        1 => Just(Event::LinkUp),
    ]
}

/// After ten renewals half of the time until rebinding passes between two, a minute at least (RFC
/// 2131 4.4.5).
#[suite::test]
fn a_silent_server_gets_fewer_and_fewer_renewals() {
    let mut machine = Machine::new(0, 7 << 32);
    machine.run(0, 0);
    // A lease of 4096 seconds, T1 after 1000 seconds, T2 after 2009.
    let options = [51, 4, 0, 0, 16, 0, 58, 4, 0, 0, 3, 232, 59, 4, 0, 0, 7, 217];
    for (kind, number) in [(MessageType::Offer, 2), (MessageType::Ack, 5)] {
        let bytes = answer(number, 7, [10, 0, 0, 9], &options);
        let message = Message::read(&bytes).expect("a message");
        machine.receive(message, kind, 0, 0).expect("taken");
    }
    let mut sent = Vec::new();
    while let Some(due) = machine.due().filter(|due| *due <= 2009 * SECOND) {
        for action in machine.run(due, 0) {
            let Action::Send(message) = action else { panic!("{action:?}") };
            sent.push((due / SECOND, message.unicast.is_some()));
        }
    }
    let mut want: Vec<_> = (1000..1010).map(|second| (second, true)).collect();
    want.extend([1509, 1759, 1884, 1946, 2006].map(|second| (second, true)));
    want.push((2009, false));
    assert_eq!(sent, want);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// An address is in use exactly while the state has a lease, never beyond its end; there is
    /// always a next event; no time is left in the past; messages are at most one a second.
    #[suite::test]
    fn an_address_is_used_only_within_its_lease(
        events in proptest::collection::vec(event(), 1..80),
        seed: u64,
    ) {
        let mut now = SECOND;
        let mut random = seed;
        let mut machine = Machine::new(now, random);
        let (mut in_use, mut xid) = (None, 0);
        let note = |actions: Vec<Action>, xid: &mut u32, in_use: &mut Option<_>| {
            let mut sent = 0;
            for action in actions {
                match action {
                    Action::Send(message) => {
                        *xid = message.xid;
                        sent += 1;
                        // A server is named only without an address in use (RFC 2131 4.3.2), and
                        // gets a message by unicast only with one.
                        let is_in_use = !message.ciaddr.is_unspecified();
                        assert!(message.server.is_none() || !is_in_use);
                        assert!(message.unicast.is_none() || is_in_use);
                    }
                    Action::Bind(grant) => *in_use = Some(grant.address),
                    Action::Unbind => assert!(in_use.take().is_some(), "nothing was in use"),
                }
            }
            assert!(sent <= 1, "one message at a time");
        };
        for event in events {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let bytes = |kind, right: bool, xid: u32, lease: u32| {
                let mut options = vec![1, 4, 255, 255, 255, 0, 51, 4];
                options.extend(lease.to_be_bytes());
                answer(kind, if right { xid } else { xid ^ 0x55 }, [10, 0, 0, 9], &options)
            };
            let (kind, message) = match event {
                Event::Wait(time) => {
                    let end = now + time;
                    while let Some(due) = machine.due().filter(|due| *due <= end) {
                        now = now.max(due);
                        note(machine.run(now, random), &mut xid, &mut in_use);
                        prop_assert!(machine.due().is_none_or(|next| next > now), "time passes");
                    }
                    now = end;
                    continue;
                }
                Event::LinkUp => {
                    machine.link_up(now);
                    continue;
                }
                Event::Offer { right } => (MessageType::Offer, bytes(2, right, xid, 60)),
                Event::Ack { lease, right } => (MessageType::Ack, bytes(5, right, xid, lease)),
                Event::Nak { right } => (MessageType::Nak, bytes(6, right, xid, 60)),
            };
            let message = Message::read(&message).expect("a message");
            if let Ok(actions) = machine.receive(message, kind, now, random) {
                prop_assert!(message.xid() == xid || message.xid() == 0);
                note(actions, &mut xid, &mut in_use);
            }
            let lease = match machine.state() {
                State::Bound(lease) => Some(lease.grant.address),
                _ => None,
            };
            prop_assert_eq!(lease, in_use);
            if let State::Bound(lease) = machine.state() {
                prop_assert!(lease.expires.is_none_or(|end| machine.due().is_some_and(|due| due <= end)));
            }
            prop_assert!(machine.due().is_some());
        }
    }
}
