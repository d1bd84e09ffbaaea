// SPDX-License-Identifier: Apache-2.0
//! A daemon that is killed, and the one after it.
//!
//! Covers: bin/ferrovia, drivers/af_packet, drivers/tap.

use fixture::{Cable, RouterKind, Site, eventually};
use testkit::lab;

/// Kills the daemon while hosts talk through it, and starts it again in the same place.
fn taken_over(workers: usize, cable: Cable) {
    let Some(lab) = lab::require(&["root", "ping"]) else { return };
    let mut site = Site::new(&lab, RouterKind::Ferrovia(workers, cable));
    site.left.host.pings("-c2 -i0.05", site.right.address);
    for _ in 0..2 {
        let talk = site
            .left
            .host
            .command("ping")
            .args(["-n", "-i0.02", "-W1", site.right.address])
            .spawn();
        eventually("traffic", || talk.stdout().contains("icmp_seq=3 ").then_some(()));
        let mut router = site.router.take().expect("the daemon routes");
        let socket = router.file("cli.sock");
        router.kill();
        assert!(socket.exists(), "kill -9 leaves it");
        router.restart();
        site.router = Some(router);
        site.configure();
        if cable == Cable::Tap {
            // The hosts' interfaces went with the daemon, and their routes with these.
            site.sides().iter().for_each(|side| side.host.route("default", side.gateway));
        }
        // Hosts may still know the interface by the address that it had.
        for (from, to) in [(&site.left, &site.right), (&site.right, &site.left)] {
            eventually("traffic after the restart", || {
                from.host.ping("-c1", to.address).success().then_some(())
            });
        }
        drop(talk);
    }
    site.finish();
}

#[test]
fn a_killed_daemon_is_followed_by_another() {
    taken_over(0, Cable::Veth);
}

#[test]
fn a_killed_daemon_with_workers_is_followed_by_another() {
    taken_over(2, Cable::Veth);
}
