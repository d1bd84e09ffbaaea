// SPDX-License-Identifier: Apache-2.0
//! Limits of one user.

use super::*;
use crate::flows::SESSIONS;
use ::nat::drive::{log_all, logs};
use net::drive::Recorded;

/// A user with all of its sessions gets an error for one more, and doesn't hinder others.
#[suite::test]
fn a_user_has_a_thousand_sessions() {
    let mut rig = router();
    rig.cli("set det44 timeouts udp 20");
    let ask = |user: &str, n: u32| {
        let to = format!("10.0.1.{}", 2 + n / 100);
        packet(0, user, &to).udp(2000 + (n % 100) as u16, 53).build()
    };
    let frames: Vec<_> = (0..SESSIONS).map(|n| ask("10.0.0.2", n)).collect();
    for frames in frames.chunks(100) {
        assert_eq!(rig.pass_all(0, frames).len(), frames.len());
    }
    let refused = rig.pass(0, &ask("10.0.0.2", SESSIONS));
    assert_eq!(rig.count(IN2OUT, "maximum sessions per user exceeded"), 1);
    let error = &refused[0];
    assert_eq!((error.0, seen(error).to.0), (0, addr("10.0.0.2")));
    assert_eq!(error.1[ETHERNET + 20..ETHERNET + 22], [3, 1], "host unreachable");
    assert_eq!(error.1[ETHERNET + 28..], ask("10.0.0.2", SESSIONS)[ETHERNET..]);
    // Known sessions go on, and so do others' users.
    assert_eq!(rig.pass(0, &ask("10.0.0.2", 7)).len(), 1);
    assert_eq!(rig.pass(0, &ask("10.0.0.3", SESSIONS)).len(), 1);
    assert_eq!(total(&rig), u64::from(SESSIONS) + 1);
    rig.seconds(22);
    assert_eq!(total(&rig), 0);
    assert_eq!(rig.pass(0, &ask("10.0.0.2", SESSIONS))[0].0, 1, "room again");
}

/// With the last port towards a remote end in use, other remote ends are still reached.
#[suite::test]
fn the_last_port_is_given() {
    let mut rig = bare(2);
    for line in [
        "det44 plugin enable",
        // 64 ports each.
        "det44 add in 10.0.0.0/22 out 192.0.2.7/32",
        "set interface det44 inside p0 outside p1",
    ] {
        rig.cli(line);
    }
    let ask = |own: u16, to: &str| packet(0, "10.0.0.2", to).udp(own, 53);
    let mut ports: Vec<_> =
        (0..63).map(|n| one(&mut rig, 0, &ask(4000 + n * 7, "10.0.1.2")).from.1).collect();
    ports.sort_unstable();
    let first = 1024 + 63 * 2;
    assert_eq!(ports, (first..first + 63).collect::<Vec<_>>());
    assert!(is_dropped(&mut rig, 0, &ask(9, "10.0.1.2")));
    assert_eq!(rig.count(IN2OUT, "Out of ports"), 1);
    one(&mut rig, 0, &ask(9, "10.0.1.3"));
    // Closing one gives its port back.
    rig.cli("det44 close session in 10.0.0.2:4007 10.0.1.2:53");
    one(&mut rig, 0, &ask(9, "10.0.1.2"));
}

/// Operators learn once a second of users with too many sessions, and of which.
#[suite::test]
fn a_user_with_too_many_sessions_is_told() {
    let mut rig = router();
    log_all(&mut rig);
    let received = |rig: &mut Rig| {
        rig.cli("ipfix flush");
        rig.bench.settle();
        logs(&rig.world().get::<Recorded>().take())
    };
    let ask = |n: u32| {
        let to = format!("10.0.1.{}", 2 + n / 100);
        packet(0, "10.0.0.2", &to).udp(2000 + (n % 100) as u16, 53).build()
    };
    let frames: Vec<_> = (0..SESSIONS + 3).map(ask).collect();
    frames.chunks(100).for_each(|frames| rig.receive_all(0, frames));
    let seen = received(&mut rig);
    assert_eq!(seen.templates.len(), 7);
    let record = vec![13, 0, 0, 0, 3, 0, 0, 3, 0xe8, 10, 0, 0, 2];
    assert_eq!((seen.records, seen.messages), (vec![(262, record)], vec![]));
    rig.receive_all(0, &[ask(SESSIONS)]);
    assert_eq!(received(&mut rig).records, []);
    rig.seconds(1);
    rig.receive_all(0, &[ask(SESSIONS)]);
    assert_eq!(received(&mut rig).records.len(), 1);
}
