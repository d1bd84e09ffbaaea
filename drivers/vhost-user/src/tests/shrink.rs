// SPDX-License-Identifier: Apache-2.0
//! Front-ends that shrink the files of their memory while it is used.

use super::pair::{A, B, cross, frame, guests, is_up, rig, wanted, warm};
use super::peer::{Dir, FrontEnd, Guest, GuestMemory, plain, until};
use crate::proto::Features;
use rustix::fs::ftruncate;

const C: &str = "VirtualEthernet0/0/2";

/// Mappings of guests' memory.
fn maps() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("a list");
    maps.lines().filter(|line| line.contains("memfd:guest")).count()
}

#[suite::test]
fn a_front_end_that_shrinks_its_memory_loses_its_connection_only() {
    // All of it is taken away; the ring by which the guest sends; only the buffers of that ring.
    const CUTS: [u64; 3] = [0, 0x8_0000, 0xa_0000];
    for features in [plain(), plain() | Features::RING_PACKED] {
        let Some((_lab, _netns, rig)) = rig(1) else { return };
        let dir = Dir::new("shrink");
        let like = wanted(features, 1, 64, 1, false);
        let (mut a, mut b) = guests(&rig, &dir, like, like, "packed");
        let path = dir.path("c");
        rig.script(&format!(
            "create vhost-user socket {path} server packed
             set interface state {C} up"
        ));
        // It sends to itself: both of its rings are used.
        rig.wire(C, C);
        warm(&mut a, &mut b);
        let before = maps();
        for (n, cut) in CUTS.into_iter().cycle().take(2 * CUTS.len()).enumerate() {
            let mut bad = Guest::new(FrontEnd::connect(&path), like);
            until("the link is up", || is_up(&rig, C));
            until("a frame comes back", || {
                bad.send(0, &[frame(5, 700)]);
                bad.take().contains(&frame(5, 700))
            });
            until("all were taken", || bad.is_taken());
            // The file shrinks while frames are copied.
            bad.send(0, &(0..20).map(|n| frame(n, 1500)).collect::<Vec<_>>());
            ftruncate(&bad.memory.files[0], cut).expect("shrinks");
            // The last buffer of its ring. The descriptors are there yet after the last cut.
            bad.tx[0].send_raw(GuestMemory::guest(0xb_f000), 1500, 0);
            until("the link is down", || {
                bad.tx[0].kick.raise();
                !is_up(&rig, C)
            });
            assert_eq!(bad.front.read(), None, "it is closed");
            let shown = rig.cli(&format!("show vhost-user {C}")).expect("shown");
            let reason =
                "memory region at guest address 0x100000 is gone: the front-end has shrunk";
            assert!(shown.contains(reason), "{shown}");
            assert!(shown.contains(&format!("memory taken away: {} times", n + 1)), "{shown}");
            drop(bad);
            assert_eq!(maps(), before, "nothing of its memory is left");
            cross(&rig, &mut a, &mut b);
        }
        // It comes again, and behaves.
        let mut good = Guest::new(FrontEnd::connect(&path), like);
        until("the link is up", || is_up(&rig, C));
        until("a frame comes back", || {
            good.send(0, &[frame(5, 700)]);
            good.take().contains(&frame(5, 700))
        });
        for name in [A, B] {
            let shown = rig.cli(&format!("show vhost-user {name}")).expect("shown");
            assert!(!shown.contains("taken away"), "{shown}");
        }
        drop((good, a, b));
        rig.finish();
    }
}
