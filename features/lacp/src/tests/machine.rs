// SPDX-License-Identifier: Apache-2.0
//! The machines of one member, and the bytes of its data units.

use super::*;
use crate::machine::*;
use crate::pdu::{PduError, SlowPdu};
use crate::select::{reference, select};
use bond::Stage;
use proptest::prelude::*;

const US: Participant = Participant {
    system_priority: 0xffff,
    system: MacAddr([2, 0xfe, 1, 2, 3, 4]),
    key: 5,
    port_priority: 0xff,
    port: 1,
    state: State::from_bits_retain(7),
};

/// Runs a member that is alone in its bond, as the process does.
fn step(port: &mut Port, now: u64) -> Option<Pdu> {
    port.step(now);
    let partner = reference(std::iter::once(&*port));
    select(std::iter::once(&mut *port), partner);
    port.step(now);
    port.transmit(now)
}

/// A member that has a partner and carries frames, at the time that is returned.
fn up(actor: Participant) -> (Port, u64) {
    let mut port = Port::new(actor);
    let mut now = SECOND;
    port.set_enabled(true, now);
    while port.stage() != Stage::Distributing {
        let partner = Participant { state: port.actor.state, ..actor };
        port.receive(&Pdu { actor: peer(9, 0x3f), partner }, now);
        step(&mut port, now);
        now += SECOND / 2;
        assert!(now < 10 * SECOND, "{port:?}");
    }
    (port, now)
}

#[suite::test]
fn a_data_unit_byte_by_byte() {
    let frame =
        pdu::frame(MacAddr([2, 0, 0, 0, 0, 9]), &Pdu { actor: US, partner: peer(0x1234, 0x3d) });
    let mut want = vec![1, 0x80, 0xc2, 0, 0, 2, 2, 0, 0, 0, 0, 9, 0x88, 0x09, 1, 1];
    want.extend([1, 20, 0xff, 0xff, 2, 0xfe, 1, 2, 3, 4, 0, 5, 0, 0xff, 0, 1, 7, 0, 0, 0]);
    want.extend([2, 20, 0x80, 0, 2, 0xbb, 0, 0, 0, 1, 0, 17, 0, 128, 0x12, 0x34, 0x3d, 0, 0, 0]);
    want.extend([3, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    want.resize(124, 0);
    assert_eq!(frame, want);
    let read = pdu::read(&frame[14..]);
    assert_eq!(read, Ok(SlowPdu::Lacp(Pdu { actor: US, partner: peer(0x1234, 0x3d) })));
}

/// IEEE 802.1AX-2014 6.4.12 to 6.4.16: from a link that comes up to one that carries frames.
#[suite::test]
fn a_link_comes_up() {
    let mut port = Port::new(US);
    assert_eq!(step(&mut port, 0), None, "disabled");
    assert_eq!((port.rx, port.periodic), (Rx::PortDisabled, Periodic::None));
    port.set_enabled(true, SECOND);
    let first = step(&mut port, SECOND).expect("at once");
    assert_eq!(
        first.actor.state.bits(),
        0xc7,
        "expired, defaulted, aggregation, short timeout, activity"
    );
    assert_eq!((port.rx, port.mux, port.periodic), (Rx::Expired, Mux::Detached, Periodic::Fast));
    // The partner doesn't know us yet.
    port.receive(&Pdu { actor: peer(9, 0x47), partner: Participant::default() }, SECOND);
    let second = step(&mut port, SECOND).expect("the partner has to be told of us");
    assert_eq!((second.actor.state.bits(), second.partner), (7, peer(9, 0x47)));
    assert_eq!((port.rx, port.mux, port.selected), (Rx::Current, Mux::Waiting, true));
    // aggregate_wait_time.
    assert_eq!(port.next(), Some(2 * SECOND), "the next data unit");
    port.receive(&Pdu { actor: peer(9, 0x0f), partner: second.actor }, 2 * SECOND);
    assert_eq!(
        step(&mut port, 2 * SECOND).map(|pdu| pdu.actor.state.bits()),
        Some(7),
        "the timer's"
    );
    assert_eq!(port.mux, Mux::Waiting);
    let third = step(&mut port, 3 * SECOND).expect("in sync");
    assert_eq!((port.mux, third.actor.state.bits()), (Mux::CollectingDistributing, 0x1f));
    assert_eq!(port.stage(), Stage::Collecting, "the partner takes no frames yet");
    port.receive(&Pdu { actor: peer(9, 0x3f), partner: third.actor }, 3 * SECOND);
    let fourth = step(&mut port, 4 * SECOND).expect("the timer's");
    assert_eq!((port.stage(), fourth.actor.state.bits()), (Stage::Distributing, 0x3f));
    // A partner that takes none any more, and stays in sync.
    port.receive(&Pdu { actor: peer(9, 0x0f), partner: fourth.actor }, 4 * SECOND);
    step(&mut port, 4 * SECOND);
    assert_eq!(port.stage(), Stage::Collecting);
}

#[suite::test]
fn a_partner_that_falls_silent_is_forgotten() {
    let (mut port, now) = up(US);
    let heard = now - SECOND / 2;
    step(&mut port, heard + SHORT_TIMEOUT - 1);
    assert_eq!(port.stage(), Stage::Distributing);
    step(&mut port, heard + SHORT_TIMEOUT);
    assert_eq!((port.rx, port.mux), (Rx::Expired, Mux::Attached), "no frames to nobody");
    assert_eq!(port.actor.state.bits(), 0x8f);
    step(&mut port, heard + 2 * SHORT_TIMEOUT);
    assert_eq!((port.rx, port.mux, port.selected), (Rx::Defaulted, Mux::Detached, false));
    assert_eq!((port.actor.state.bits(), port.partner.system), (0x47, MacAddr::ZERO));
    // It sends again.
    port.receive(&Pdu { actor: peer(9, 0x0f), partner: port.actor }, heard + 7 * SECOND);
    step(&mut port, heard + 7 * SECOND);
    assert_eq!((port.rx, port.mux), (Rx::Current, Mux::Waiting));
}

#[suite::test]
fn a_long_timeout_is_long_and_slow() {
    let (mut port, now) = up(Participant { state: State::from_bits_retain(5), ..US });
    let heard = now - SECOND / 2;
    assert_eq!(port.actor.state.bits(), 0x3d);
    // The partner wants data units each 30 seconds too.
    port.receive(&Pdu { actor: peer(9, 0x3d), partner: port.actor }, heard);
    step(&mut port, heard);
    assert_eq!(port.periodic, Periodic::Slow);
    let mut sent = Vec::new();
    for second in 1..90 {
        let now = heard + second * SECOND;
        sent.extend(step(&mut port, now).map(|_| second));
    }
    assert_eq!(port.stage(), Stage::Distributing);
    assert_eq!(sent.len(), 2 + usize::from(sent[0] < 30), "{sent:?}");
    step(&mut port, heard + LONG_TIMEOUT);
    assert_eq!(port.rx, Rx::Expired);
}

#[suite::test]
fn a_partner_that_wants_more_gets_it_at_once() {
    let (mut port, mut now) = up(US);
    port.receive(&Pdu { actor: peer(9, 0x3d), partner: port.actor }, now);
    for _ in 0..3 {
        step(&mut port, now);
        now += SECOND;
    }
    assert_eq!(port.periodic, Periodic::Slow);
    port.receive(&Pdu { actor: peer(9, 0x3f), partner: port.actor }, now);
    assert!(step(&mut port, now).is_some());
    assert_eq!(port.periodic, Periodic::Fast);
}

#[suite::test]
fn a_passive_member_waits_for_the_partner() {
    let mut port = Port::new(Participant { state: State::from_bits_retain(6), ..US });
    port.set_enabled(true, 0);
    let silent = (0..60).all(|second| step(&mut port, second * SECOND).is_none());
    assert!(silent && port.periodic == Periodic::None);
    port.receive(&Pdu { actor: peer(9, 7), partner: Participant::default() }, 60 * SECOND);
    assert!(step(&mut port, 60 * SECOND).is_some());
    // If both ends are passive neither sends, so the link doesn't last (6.4.9, recordPDU).
    port.receive(&Pdu { actor: peer(9, 0x0e), partner: port.actor }, 61 * SECOND);
    assert!(!port.partner.state.contains(State::SYNCHRONIZATION));
}

#[suite::test]
fn three_data_units_a_second_at_most() {
    let (mut port, now) = up(US);
    let start = now + 5 * SECOND;
    let mut sent = Vec::new();
    for ms in 0..2000 {
        let now = start + ms * SECOND / 1000;
        // Each contains an outdated state of this end.
        port.receive(&Pdu { actor: peer(9, 0x3f), partner: Participant::default() }, now);
        sent.extend(step(&mut port, now).map(|_| ms));
    }
    assert_eq!(sent.len(), 6, "{sent:?}");
    assert!(sent.windows(4).all(|w| w[3] - w[0] >= 1000), "{sent:?}");
}

#[suite::test]
fn a_partner_that_leaves_takes_the_link_down_at_once() {
    let (mut port, now) = up(US);
    for state in [0x0f & !8, 7] {
        port.receive(&Pdu { actor: peer(9, state), partner: port.actor }, now);
        step(&mut port, now);
        assert_eq!(port.mux, Mux::Attached);
    }
    port.set_enabled(false, now);
    step(&mut port, now);
    assert_eq!((port.rx, port.actor.state.bits() & 0x30), (Rx::PortDisabled, 0));
    port.receive(&Pdu { actor: peer(9, 0x3f), partner: port.actor }, now);
    assert_eq!(port.rx, Rx::PortDisabled, "a frame that was under way");
}

/// The first member's partner is the bond's, until that member is gone.
#[suite::test]
fn members_with_another_partner_are_not_selected() {
    let mut ports: Vec<Port> = (1..4).map(|port| Port::new(Participant { port, ..US })).collect();
    let other = Participant { key: 18, ..peer(3, 0x47) };
    let hear = |ports: &mut [Port], now: u64, who: [Participant; 3]| {
        for (port, actor) in ports.iter_mut().zip(who) {
            port.set_enabled(true, now);
            let partner = port.actor;
            port.receive(&Pdu { actor, partner }, now);
        }
        let partner = reference(ports.iter());
        select(ports.iter_mut(), partner);
        ports.iter().map(|port| port.selected).collect::<Vec<_>>()
    };
    assert_eq!(hear(&mut ports, 0, [peer(1, 0x47), other, peer(2, 0x47)]), [true, false, true]);
    // The others stay together when the first one is moved to another partner.
    assert_eq!(hear(&mut ports, 1, [other, other, peer(2, 0x47)]), [false, false, true]);
    // One that can't be aggregated is alone (6.3.6.1).
    let alone = |port| peer(port, 0x43);
    let mut ports: Vec<Port> = (1..4).map(|port| Port::new(Participant { port, ..US })).collect();
    assert_eq!(hear(&mut ports, 0, [alone(1), alone(2), peer(3, 0x47)]), [true, false, false]);
}

#[suite::test]
fn bad_data_units_are_named() {
    let good = pdu::frame(US.system, &Pdu { actor: US, partner: peer(1, 7) })[14..].to_vec();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        pdu::read(&bytes)
    };
    for at in [2, 3, 22, 23, 42, 43] {
        assert_eq!(with(at, 99), Err(PduError::TlvLength), "{at}");
    }
    assert_eq!(with(0, 10), Err(PduError::Unsupported));
    assert_eq!(with(1, 0), Err(PduError::Unsupported));
    assert!(with(1, 2).is_ok(), "a later version");
    for len in 0..110 {
        assert_eq!(pdu::read(&good[..len]), Err(PduError::TooSmall), "{len}");
    }
    let marker = |kind: u8, len: u8| {
        let mut bytes = vec![2, 1, kind, len];
        bytes.resize(110, 0);
        pdu::read(&bytes)
    };
    assert_eq!(marker(1, 16), Ok(SlowPdu::Marker));
    assert_eq!(marker(2, 16), Err(PduError::Unsupported), "an answer");
    assert_eq!(marker(1, 15), Err(PduError::TlvLength));
    assert_eq!(marker(3, 16), Err(PduError::TlvLength));
}

proptest! {
    /// After random data units, link events and pauses, a member collects only while its partner is
    /// current and in sync, and its next
    /// timer is in the future.
    #[suite::test]
    fn members_keep_their_word(events in prop::collection::vec((0u8..6, any::<u8>(), 0u64..4000), 1..80)) {
        let mut port = Port::new(US);
        let (mut now, mut sent) = (0, Vec::<u64>::new());
        for (what, state, ms) in events {
            now += ms * SECOND / 1000;
            match what {
                0 => port.set_enabled(state & 1 == 0, now),
                1 => {}
                n => {
                    let partner = if n == 2 { Participant::default() } else { port.actor };
                    port.receive(&Pdu { actor: peer(u16::from(n), state), partner }, now);
                }
            }
            sent.extend(step(&mut port, now).map(|_| now));
            let in_sync = port.partner.state.contains(State::SYNCHRONIZATION);
            prop_assert!(port.stage() == Stage::Idle || in_sync && port.selected && port.rx == Rx::Current);
            prop_assert!(port.stage() != Stage::Distributing || port.partner.state.contains(State::COLLECTING));
            prop_assert_eq!(port.stage() != Stage::Idle, port.actor.state.contains(State::COLLECTING));
            prop_assert!(port.next().is_none_or(|next| next > now), "{:?} at {}", port, now);
        }
        prop_assert!(sent.windows(4).all(|w| w[3] - w[0] >= SECOND));
    }

    #[suite::test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..3) {
        let mut bytes = bytes;
        bytes.iter_mut().take(1).for_each(|b| *b = kind);
        if let Ok(SlowPdu::Lacp(unit)) = pdu::read(&bytes) {
            prop_assert_eq!(pdu::read(&pdu::frame(US.system, &unit)[14..]), Ok(SlowPdu::Lacp(unit)));
        }
    }
}
