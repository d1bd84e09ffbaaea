// SPDX-License-Identifier: Apache-2.0
//! Errors of ICMP.

use super::*;
use ::nat::drive::{check_damaged_errors, check_errors_of_the_world, check_errors_of_users};

/// Errors of the world find the user, with the packet that the user has sent.
#[suite::test]
fn errors_of_the_world_find_the_user() {
    check_errors_of_the_world(&mut router());
}

/// Errors of users, and of routers among them, have the address that the world knows.
#[suite::test]
fn errors_of_users_have_the_address_of_the_world() {
    let mut rig = router();
    let port = port_of(2, 5000);
    one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(5000, 53));
    let of_world = packet(1, "10.0.1.2", PUBLIC).udp(53, port).payload_len(9);
    check_errors_of_users(&mut rig, &of_world, (53, port));
}

/// A damaged error, and one about nothing known, is dropped; trailing bytes don't matter.
#[suite::test]
fn damaged_errors_are_dropped() {
    let mut rig = router();
    check_damaged_errors(&mut rig, port_of(2, 5001));
    assert_eq!(rig.count(OUT2IN, "damaged ICMP error"), 1);
    assert_eq!(rig.count(OUT2IN, "No translation"), 2);
}
