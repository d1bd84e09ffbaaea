// SPDX-License-Identifier: Apache-2.0
//! DPDK's driver net_virtio_user as the front-end and guest, in a program that sends back what it
//! receives.

use super::pair::{A, B, frame, is_up, rig, wanted};
use super::peer::{Dir, FrontEnd, Guest, plain, until};
use driver::rig::Rig;
use std::time::Duration;
use testkit::lab::{self, Background, Netns};

/// Parameters of DPDK's driver.
struct Words {
    /// The other end listens.
    listens: bool,
    queues: usize,
    packed: u8,
    mergeable: u8,
    more: &'static str,
}

fn testpmd(netns: &Netns, path: &str, words: &Words) -> Background {
    let Words { listens, queues, packed, mergeable, more } = words;
    let device = format!(
        "net_virtio_user0,path={path},server={},queues={queues},queue_size=256,packed_vq={packed},\
         mrg_rxbuf={mergeable}{more}",
        u8::from(*listens)
    );
    // Two threads of any core.
    let own = ["--lcores", "0@0,1@0", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry"];
    let what =
        ["--forward-mode=io", "--auto-start", "--total-num-mbufs=4096", "--stats-period", "3600"];
    let prefix = format!("ferrovia-vhost-{}", std::process::id());
    netns
        .command("dpdk-testpmd")
        .args(own)
        .args(["--file-prefix", &prefix, "--vdev", &device, "--"])
        .args(what)
        .args([format!("--rxq={queues}"), format!("--txq={queues}")])
        .spawn()
}

/// Sends frames until they come back, which they do once all of the way is there.
fn warm(guest: &mut Guest) {
    until("frames come back", || {
        guest.send(0, &[frame(0, 60)]);
        std::thread::sleep(Duration::from_millis(50));
        !guest.take().is_empty()
    });
    std::thread::sleep(Duration::from_millis(100));
    guest.take();
}

fn echoes(rig: &Rig, guest: &mut Guest, lengths: &[usize]) {
    for round in 0..20 {
        for ring in 0..guest.tx.len() {
            let frames = lengths.iter().enumerate();
            let sent: Vec<_> = frames.map(|(n, len)| frame(round * 100 + n, *len)).collect();
            guest.send(ring, &sent);
            let came = guest.receive(sent.len());
            assert_eq!(came, sent, "{:?}", rig.drops());
        }
    }
}

#[suite::test]
fn dpdk_is_a_peer_in_both_roles_and_formats() {
    if lab::require(&["root", "dpdk-testpmd"]).is_none() {
        return;
    }
    let kinds = [
        Words { listens: false, queues: 1, packed: 0, mergeable: 1, more: "" },
        Words { listens: true, queues: 2, packed: 0, mergeable: 1, more: "" },
        Words { listens: false, queues: 2, packed: 1, mergeable: 1, more: "" },
        Words { listens: true, queues: 1, packed: 1, mergeable: 0, more: "" },
        Words { listens: false, queues: 1, packed: 0, mergeable: 0, more: ",in_order=0" },
    ];
    for (n, words) in kinds.iter().enumerate() {
        let Some((_lab, netns, rig)) = rig(1) else { return };
        let dir = Dir::new(&format!("dpdk{n}"));
        let (server, path) = (if words.listens { "" } else { "server" }, dir.path("b"));
        rig.script(&format!(
            "create vhost-user socket {} server packed
             create vhost-user socket {path} {server} packed
             set interface state {A} up
             set interface state {B} up",
            dir.path("a")
        ));
        let like = wanted(plain(), 1, 64, 1, false);
        let mut guest = Guest::new(FrontEnd::connect(&dir.path("a")), like);
        until("the guest's link", || is_up(&rig, A));
        rig.wire(A, B);
        // A peer that goes away and comes again.
        for _ in 0..2 {
            let peer = testpmd(&netns, &path, words);
            until("DPDK's link", || is_up(&rig, B));
            warm(&mut guest);
            for mode in ["polling", "interrupt", "adaptive"] {
                rig.script(&format!("set interface rx-mode {B} {mode}"));
                echoes(&rig, &mut guest, &[60, 64, 128, 590, 1024, 1500, 1514]);
            }
            let shown = rig.cli(&format!("show vhost-user {B}")).expect("shown");
            let format = if words.packed == 1 { "packed, last" } else { "avail.flags" };
            assert!(shown.contains(format), "{shown}");
            let last = format!("Virtqueue {} (RX)", 2 * words.queues - 1);
            assert!(shown.contains(&last), "{shown}");
            drop(peer.kill());
            if words.listens {
                // DPDK doesn't take over the file of a dead one.
                std::fs::remove_file(&path).expect("removed");
            }
            until("DPDK is gone", || !is_up(&rig, B));
        }
        drop(guest);
        rig.finish();
    }
}
