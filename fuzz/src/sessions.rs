// SPDX-License-Identifier: Apache-2.0
//! Frames of PPPoE, and packets of L2TPv3, to a router with sessions of both: those of the sessions
//! are taken, and no others; frames leave as they came, and no buffer is lost.

use std::cell::RefCell;

use daemon::plugins;
use net::drive::{Rig, peer_mac, port_mac};

/// The client's session of PPPoE, and that of L2TPv3.
const SESSION: u8 = 7;
/// The cookie of the latter.
const COOKIE: [u8; 8] = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
/// Bytes of a frame at most.
const LONGEST: usize = 1400;

/// Clients are behind p0, the control plane of PPPoE behind p1; p2 is cross-connected with the
/// session of L2TPv3.
fn rig() -> Rig {
    let mut rig = Rig::new(plugins::ALL, 3);
    for line in [
        "set interface ip address p0 10.0.0.1/24",
        "set interface ip address p0 2001:db8::1/64",
        "create pppoe session client-ip 100.64.0.1 session-id 7 client-mac 02:fe:00:00:01:00 interface p0",
        "create pppoe cp cp-if-index p1",
        "create l2tpv3 tunnel client 2001:db8::2 our 2001:db8::1 local-cookie 1122334455667788 \
         remote-cookie 0x8877665544332211 local-session 7 remote-session 6",
        "set interface state l2tpv3_tunnel0 up",
        "set interface l2 xconnect l2tpv3_tunnel0 p2",
        "set interface l2 xconnect p2 l2tpv3_tunnel0",
    ] {
        rig.cli(line);
    }
    rig
}

thread_local! {
    static RIG: RefCell<Rig> = RefCell::new(rig());
}

/// One input: the first byte says which of them it is, and the headers in front are right.
pub fn run(input: &[u8]) {
    let Some((kind, bytes)) = input.split_first() else { return };
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    RIG.with_borrow_mut(|rig| {
        match kind % 3 {
            0 => discovery(rig, bytes),
            1 => pppoe(rig, bytes),
            _ => l2tp(rig, bytes),
        }
        assert_eq!(rig.bench.buffers_out(), 0, "buffers are held for ever");
    });
}

/// Passes a frame from the client with this payload. Returns the frames that leave by a port.
fn pass(rig: &mut Rig, ethertype: [u8; 2], payload: &[&[u8]], port: usize) -> Vec<Vec<u8>> {
    let frame = [&port_mac(0).0[..], &peer_mac(0).0, &ethertype, &payload.concat()].concat();
    let sent = rig.pass(0, &frame);
    sent.into_iter().filter(|(at, _)| *at == port).map(|(_, frame)| frame).collect()
}

/// Frames of discovery leave for the control plane with their payload, or not at all.
fn discovery(rig: &mut Rig, bytes: &[u8]) {
    for frame in pass(rig, [0x88, 0x63], &[bytes], 1) {
        assert!(frame.ends_with(bytes));
    }
}

/// Counts packets that the session's interface has received: RFC 2516 4, 6.
fn pppoe(rig: &mut Rig, bytes: &[u8]) {
    let of_session = match bytes {
        [0x11, 0, 0, SESSION, high, low, 0, 0x21 | 0x57, ..] => {
            let len = usize::from(u16::from_be_bytes([*high, *low]));
            (2..=bytes.len() - 6).contains(&len)
        }
        _ => false,
    };
    let counted = |rig: &Rig| rig.count("pppoe-input", "good packets decapsulated");
    let before = counted(rig);
    for frame in pass(rig, [0x88, 0x64], &[bytes], 1) {
        assert!(frame.ends_with(bytes) && !of_session);
    }
    assert_eq!(counted(rig) - before, u64::from(of_session));
}

/// The frame behind the header leaves by p2, if the session and its cookie are right: RFC 3931
/// 4.1.1.1.
fn l2tp(rig: &mut Rig, bytes: &[u8]) {
    let frame = match bytes.split_first_chunk::<12>() {
        Some(([0, 0, 0, SESSION, cookie @ ..], frame)) if *cookie == COOKIE => Some(frame),
        _ => None,
    };
    let len = (bytes.len() as u16).to_be_bytes();
    let address = |host| [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
    let header = [&[0x60, 0, 0, 0][..], &len, &[115, 64], &address(2), &address(1)].concat();
    let counted = |rig: &Rig| rig.count("l2tp-decap-local", "L2TP user (ip6) to L2 network pkts");
    let before = counted(rig);
    let sent = pass(rig, [0x86, 0xdd], &[&header, bytes], 2);
    assert_eq!(counted(rig) - before, u64::from(frame.is_some()));
    match frame {
        // A frame without a whole Ethernet header ends on its way.
        Some(frame) if frame.len() >= 14 => assert_eq!(sent, [frame]),
        _ => assert!(sent.is_empty()),
    }
}
