// SPDX-License-Identifier: Apache-2.0
//! DPDK's driver net_memif with zero copy, as the client: it shares all of its memory, which
//! isn't sealed. The program sends back what it receives.

use super::pair::{frame, is_up, layout, rig, two_servers, until};
use super::peer::{Dir, Peer, wanted};
use testkit::lab::{self, Background, Netns};

fn testpmd(netns: &Netns, path: &str) -> Background {
    let device =
        format!("net_memif0,role=client,id=1,socket={path},socket-abstract=no,zero-copy=yes");
    // Two threads of any core.
    let own = ["--lcores", "0@0,1@0", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry"];
    let what =
        ["--forward-mode=io", "--auto-start", "--total-num-mbufs=4096", "--stats-period", "3600"];
    let prefix = format!("ferrovia-memif-zc-{}", std::process::id());
    netns
        .command("dpdk-testpmd")
        .args(own)
        .args(["--single-file-segments", "--file-prefix", &prefix, "--vdev", &device, "--"])
        .args(what)
        .spawn()
}

#[suite::test]
fn dpdk_is_a_client_with_zero_copy() {
    if lab::require(&["root", "dpdk-testpmd"]).is_none() {
        return;
    }
    let Some((_lab, netns, rig)) = rig(1) else { return };
    let dir = Dir::new("zero-copy");
    two_servers(&rig, &dir.path("a"));
    let mut peer = Peer::client(&dir.address("a"), wanted(2, layout(1, 6))).expect("connected");
    rig.wire("memif1/1", "memif1/2");
    for _ in 0..2 {
        let dpdk = testpmd(&netns, &dir.path("a"));
        until("both links", || is_up(&rig, "memif1/1") && is_up(&rig, "memif1/2"));
        until("frames come back", || {
            peer.send(0, &[frame(0, 60)]);
            std::thread::sleep(std::time::Duration::from_millis(50));
            !peer.take().is_empty()
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        peer.take();
        for round in 0..20 {
            let lengths = [60, 64, 128, 590, 1024, 1500, 1514];
            let sent: Vec<_> =
                lengths.iter().enumerate().map(|(n, len)| frame(round * 10 + n, *len)).collect();
            assert_eq!(peer.send(0, &sent), []);
            assert_eq!(peer.receive(sent.len()), sent, "{:?}", rig.drops());
        }
        let shown = rig.cli("show memif memif1/1").expect("shown");
        assert!(!shown.contains("num-regions 1\n"), "{shown}");
        drop(dpdk.kill());
        until("DPDK is gone", || !is_up(&rig, "memif1/1"));
    }
    drop(peer);
    rig.finish();
}
