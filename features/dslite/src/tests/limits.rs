// SPDX-License-Identifier: Apache-2.0
//! Limits of one B4, and of ports.

use super::*;
use crate::flows::SESSIONS;

/// One session more than a B4 may have takes the place of its oldest, and of nobody else's.
#[suite::test]
fn a_b4_has_a_thousand_sessions() {
    let mut rig = with_pool();
    one(&mut rig, 0, &of_user("2001:db8::3", USER, HOST).udp(9, 9));
    let ask = |n: u32| of_user(B4, USER, HOST).udp(2000 + n as u16, 53).build();
    let frames: Vec<_> = (0..SESSIONS).map(ask).collect();
    for frames in frames.chunks(100) {
        assert_eq!(rig.pass_all(0, frames).len(), frames.len());
    }
    assert_eq!(total(&rig, "sessions"), u64::from(SESSIONS) + 1);
    assert_eq!(rig.pass(0, &ask(SESSIONS)).len(), 1);
    assert_eq!((total(&rig, "b4s"), total(&rig, "sessions")), (2, u64::from(SESSIONS) + 1));
    let shown = rig.cli("show dslite sessions");
    assert!(!shown.contains(" port 2000 out") && shown.contains(" port 2001 out"));
    assert!(shown.contains("B4 2001:db8::3\n"));
}

/// B4s get other addresses of the pool when the ports of one are used up, and lacks are told.
#[suite::test]
fn b4s_without_addresses_are_told() {
    let mut rig = router(&[]);
    log_all(&mut rig);
    (0..3).for_each(|i| rig.receive_all(0, &[of_user(B4, USER, HOST).udp(5000 + i, 53).build()]));
    rig.cli("ipfix flush");
    rig.bench.settle();
    let told = logs(&rig.world().get::<Recorded>().take());
    assert_eq!(told.records, [(257, vec![3, 0, 0, 0, 0])]);
    assert_eq!(rig.count("dslite-in2out-slowpath", "out of ports"), 3);
}

/// A B4 keeps its address, and B4s are spread over the pool.
#[suite::test]
fn b4s_keep_their_address() {
    let mut rig = router(&["dslite add pool address 192.0.2.0 - 192.0.2.31"]);
    let mut used = std::collections::BTreeSet::new();
    for host in 2..60 {
        let b4 = format!("2001:db8::{host:x}");
        let ask = |port| of_user(&b4, USER, HOST).udp(port, 53);
        let first = one(&mut rig, 0, &ask(5000)).seen.from.0;
        for port in 5001..5005 {
            assert_eq!(one(&mut rig, 0, &ask(port)).seen.from.0, first);
        }
        used.insert(first);
    }
    assert!(used.len() > 16, "{used:?}");
}

/// B4s of one network that take all ports leave some to those of another one.
#[suite::test]
fn a_network_cannot_take_all_ports() {
    let mut rig = with_pool();
    let ask = |b4: &str, port: u16| of_user(b4, USER, HOST).udp(port, 53).build();
    'all: for host in 2.. {
        let b4 = format!("2001:db8::{host:x}");
        for first in (1000..2000).step_by(250) {
            let frames: Vec<_> = (first..first + 250).map(|port| ask(&b4, port)).collect();
            if rig.pass_all(0, &frames).len() < frames.len() {
                break 'all;
            }
        }
    }
    assert_eq!(total(&rig, "sessions"), 64_512);
    let before = rig.count("dslite-in2out-slowpath", "out of ports");
    for port in 0..100 {
        assert_eq!(rig.pass(0, &ask("2001:db8:7::9", 3000 + port)).len(), 1, "{port}");
    }
    assert_eq!(rig.count("dslite-in2out-slowpath", "out of ports"), before);
    assert_eq!(total(&rig, "sessions"), 64_512);
}
