// SPDX-License-Identifier: Apache-2.0
//! Limits of users and sessions.

use super::*;

fn limited(words: &str) -> Rig {
    let mut rig = bare(2);
    rig.cli(&format!("nat44 ei plugin enable {words}"));
    rig.cli("set interface nat44 ei in p0 out p1");
    rig.cli("nat44 ei add address 192.0.2.7");
    rig
}

fn ask(user: u8, port: u16) -> Packet {
    packet(0, &format!("10.0.0.{user}"), "10.0.1.2").udp(port, 53)
}

/// A user who has as many sessions as a user may have loses the one used least lately.
#[suite::test]
fn users_lose_what_they_use_least() {
    let mut rig = limited("user-sessions 3");
    let ports: Vec<_> = (1..4)
        .map(|port| {
            let seen = one(&mut rig, 0, &ask(2, port));
            rig.seconds(2);
            seen.from.1
        })
        .collect();
    one(&mut rig, 0, &ask(2, 1));
    one(&mut rig, 0, &ask(2, 4));
    assert_eq!(stat(&rig, "total-sessions", 0), 3);
    let back = |port| packet(1, "10.0.1.2", PUBLIC).udp(53, port);
    assert!(is_dropped(&mut rig, 1, &back(ports[1])), "the second was used least lately");
    assert_eq!(one(&mut rig, 1, &back(ports[0])).to, end("10.0.0.2", 1));
    // One of a static mapping stays.
    rig.cli("nat44 ei add static mapping udp local 10.0.0.2 9 external 192.0.2.7 9");
    one(&mut rig, 0, &ask(2, 9));
    (20..30).for_each(|port| _ = one(&mut rig, 0, &ask(2, port)));
    assert_eq!(one(&mut rig, 1, &back(9)).to, end("10.0.0.2", 9));
    assert_eq!(stat(&rig, "total-sessions", 0), 3);
    check(&mut rig);
}

#[suite::test]
fn users_are_limited() {
    let mut rig = limited("users 2");
    one(&mut rig, 0, &ask(2, 1));
    one(&mut rig, 0, &ask(3, 1));
    assert!(is_dropped(&mut rig, 0, &ask(4, 1)));
    assert_eq!(rig.count(SLOW, "cannot create NAT user"), 1);
    assert_eq!(stat(&rig, "user-limit-reached", 0), 1);
    one(&mut rig, 0, &ask(3, 2));
    rig.cli("nat44 ei del user 10.0.0.2");
    one(&mut rig, 0, &ask(4, 1));
    assert_eq!(stat(&rig, "total-users", 0), 2);
    check(&mut rig);
}

/// Hosts behind an interface use up no more than its part of the users.
#[suite::test]
fn interfaces_have_equal_parts_of_the_users() {
    let mut rig = bare(3);
    rig.cli("nat44 ei plugin enable users 4");
    rig.cli("set interface nat44 ei in p0 out p1");
    rig.cli("set interface nat44 ei in p2");
    rig.cli("nat44 ei add address 192.0.2.7");
    let of_other = |user: u8| packet(2, &format!("10.0.2.{user}"), "10.0.1.2").udp(1, 53);
    (2..6).for_each(|user| _ = one(&mut rig, 0, &ask(user, 1)));
    assert!(is_dropped(&mut rig, 0, &ask(6, 1)));
    for (n, user) in [2, 3].into_iter().enumerate() {
        let seen = one(&mut rig, 2, &of_other(user));
        let back = packet(1, "10.0.1.2", PUBLIC).udp(53, seen.from.1);
        let back = one(&mut rig, 1, &back);
        assert_eq!((back.port, back.to), (2, end(&format!("10.0.2.{user}"), 1)));
        assert_eq!(rig.count(SLOW, "sessions ended for users with fewer"), n as u64 + 1);
        check(&mut rig);
    }
    // Both have half: no interface gets more.
    assert!(is_dropped(&mut rig, 2, &of_other(4)));
    assert!(is_dropped(&mut rig, 0, &ask(2, 1)));
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "user-limit-reached", 0)), (4, 3));
    let shown = rig.cli("show nat44 ei sessions");
    for user in 2..6 {
        let is_there = shown.contains(&format!("  10.0.0.{user}: 1 dynamic"));
        assert_eq!(is_there, user > 3, "the first two have given way: {shown}");
    }
    check(&mut rig);
}

/// A user whom the world hasn't answered gives way after a while; one that it has answered stays.
#[suite::test]
fn users_without_an_answer_give_way() {
    let mut rig = limited("users 2");
    let back = |port| packet(1, "10.0.1.2", PUBLIC).udp(53, port);
    let answered = one(&mut rig, 0, &ask(2, 1)).from.1;
    assert_eq!(one(&mut rig, 1, &back(answered)).to, end("10.0.0.2", 1));
    let unanswered = one(&mut rig, 0, &ask(3, 1)).from.1;
    for user in [4, 5] {
        assert!(is_dropped(&mut rig, 0, &ask(user, 1)), "the last one may still be answered");
        rig.seconds(6);
        one(&mut rig, 0, &ask(user, 1));
        check(&mut rig);
    }
    assert_eq!(rig.count(SLOW, "sessions ended for users with fewer"), 2);
    assert_eq!(one(&mut rig, 1, &back(answered)).to, end("10.0.0.2", 1));
    let last = one(&mut rig, 0, &ask(5, 1)).from.1;
    assert!(last == unanswered || is_dropped(&mut rig, 1, &back(unanswered)));
    assert_eq!(one(&mut rig, 1, &back(last)).to, end("10.0.0.5", 1));
    rig.seconds(6);
    assert!(is_dropped(&mut rig, 0, &ask(6, 1)), "both are answered");
    check(&mut rig);
}

/// One packet ends no more than some sessions of the user who gives way.
#[suite::test]
fn users_with_many_sessions_give_way_in_parts() {
    let mut rig = limited("users 1");
    (1..=100).for_each(|port| _ = one(&mut rig, 0, &ask(2, port)));
    rig.seconds(6);
    assert!(is_dropped(&mut rig, 0, &ask(3, 1)));
    assert_eq!(stat(&rig, "total-sessions", 0), 36);
    check(&mut rig);
    one(&mut rig, 0, &ask(3, 1));
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (1, 1));
    check(&mut rig);
}

/// A full table takes a session of a user who has few, from the one who has most.
#[suite::test]
fn no_user_has_all_sessions() {
    let mut rig = limited("sessions 10");
    (1..11).for_each(|port| _ = one(&mut rig, 0, &ask(2, port)));
    // This user has as many as a user may have: the oldest goes.
    one(&mut rig, 0, &ask(2, 11));
    one(&mut rig, 0, &ask(3, 1));
    assert_eq!(rig.count(SLOW, "sessions ended for users with fewer"), 1);
    (2..6).for_each(|port| _ = one(&mut rig, 0, &ask(3, port)));
    assert!(is_dropped(&mut rig, 0, &ask(3, 6)), "both have half");
    assert_eq!(rig.count(SLOW, "maximum sessions exceeded"), 1);
    assert_eq!(stat(&rig, "total-sessions", 0), 10);
    check(&mut rig);
}

/// More users than there are lists at first.
#[suite::test]
fn many_users_have_a_list_each() {
    let mut rig = limited("users 3000 user-sessions 2");
    let frame = |n: u16, port| {
        let user = Ipv4Addr::new(10, 9, (n >> 8) as u8, n as u8);
        pkt::ether(peer_mac(0), port_mac(0)).ip4(user, "10.0.1.2").udp(port, 53).build()
    };
    for first in (0..1500).step_by(250) {
        for port in 1..4 {
            let frames: Vec<_> = (first..first + 250).map(|n| frame(n, port)).collect();
            assert_eq!(rig.pass_all(0, &frames).len(), 250);
        }
    }
    assert_eq!((stat(&rig, "total-users", 0), stat(&rig, "total-sessions", 0)), (1500, 3000));
    check(&mut rig);
}
