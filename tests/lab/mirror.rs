// SPDX-License-Identifier: Apache-2.0
//! Port mirroring and cross-connects of layer 3 between Linux hosts.
//!
//! Covers: features/span, features/l3xc.

use fixture::{PATIENCE, eventually};
use testkit::lab::require;

use crate::star::Star;

/// A third host sees what two others say to each other, with the bytes of both directions.
#[test]
fn a_host_watches_two_others() {
    let Some(lab) = require(&["root", "ping", "tcpdump"]) else { return };
    let star = Star::new(&lab, &[("left", 1, 0), ("right", 2, 0), ("watcher", 3, 0)]);
    let [left, right, watcher] = &star.spokes[..] else { unreachable!("three") };
    star.router.run(&format!("set interface span {} destination {} both", left.port, watcher.port));
    let capture =
        watcher.host.command("tcpdump").args("-i eth0 -l -n -x icmp or icmp6".split(' ')).spawn();
    eventually("tcpdump listens", || capture.stderr().contains("listening").then_some(()));
    for to in right.addresses() {
        left.host.pings("-c2 -i0.05 -s 200 -p 5a", &to);
    }
    eventually("both directions are seen", || {
        let text = capture.stdout();
        ["echo request", "echo reply"]
            .iter()
            .all(|what| text.matches(what).count() == 4)
            .then_some(())
    });
    let text = capture.stop(PATIENCE).stdout;
    // 200 bytes of the pattern in each of eight packets, of which the first carry the time.
    assert!(text.matches("5a5a 5a5a").count() > 8 * 20, "{text}");
    let [own4, _] = watcher.addresses();
    assert!(!text.contains(&format!("{own4} >")), "nobody answers for others");
    star.router
        .run(&format!("set interface span {} destination {} disable", left.port, watcher.port));
    assert!(!star.router.run("show interface span").contains(&left.port));
}

/// Packets of a cross-connected interface take its path, whatever their destination.
#[test]
fn packets_of_a_cross_connected_interface_are_not_routed() {
    let Some(lab) = require(&["root", "ping"]) else { return };
    let star = Star::new(&lab, &[("left", 1, 0), ("right", 2, 0), ("far", 3, 0)]);
    let [left, right, far] = &star.spokes[..] else { unreachable!("three") };
    let ([to, to6], [by, by6]) = (far.addresses(), right.addresses());
    // The host on the right has these addresses too: who answers tells the way.
    for (address, len) in [(&to, 32), (&to6, 128)] {
        right.host.addr("eth0", &format!("{address}/{len}"));
    }
    let requests =
        |spoke: &crate::star::Spoke| crate::host::counter(&spoke.host, "Icmp", "InEchos");
    let before = [requests(right), requests(far)];
    for to in [&to, &to6] {
        left.host.pings("-c2 -i0.05", to);
    }
    assert_eq!([requests(right), requests(far)], [before[0], before[1] + 2], "routed");
    for by in [&by, &by6] {
        star.router.run(&format!("l3xc add {} via {by} {}", left.port, right.port));
    }
    for to in [&to, &to6] {
        left.host.pings("-c2 -i0.05", to);
    }
    assert_eq!([requests(right), requests(far)], [before[0] + 2, before[1] + 2], "cross-connected");
    star.router.run(&format!("l3xc del {} ip4", left.port));
    star.router.run(&format!("l3xc del {} ip6", left.port));
    left.host.pings("-c2 -i0.05", &to);
    assert_eq!([requests(right), requests(far)], [before[0] + 2, before[1] + 4], "routed again");
}
