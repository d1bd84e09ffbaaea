// SPDX-License-Identifier: Apache-2.0
//! Processes that are killed while their guests' packets pass, and connections that are lost.

use super::pair::{A, B, PLUGINS, cross, frame, guests, is_up, rig, wanted, warm};
use super::peer::{Dir, FrontEnd, Guest, plain, until};
use crate::proto::Features;
use driver::rig::Rig;
use testkit::lab::{self, Background, Netns};

/// Of the process: its namespace and its socket.
const PLACE: [&str; 2] = ["FERROVIA_VHOST_NETNS", "FERROVIA_VHOST_SOCKET"];

/// A process that sends a guest's packets back to it, until it is killed.
#[suite::test]
#[ignore = "helper: the process that the next test kills"]
fn killed_process() {
    let [Ok(netns), Ok(path)] = PLACE.map(std::env::var) else { return };
    let rig = Rig::new(&netns, PLUGINS, 1);
    rig.script(&format!(
        "create vhost-user socket {path} server packed event-idx
         set interface state {A} up"
    ));
    rig.wire(A, A);
    loop {
        std::thread::park();
    }
}

fn start(netns: &Netns, path: &str) -> Background {
    let program = std::env::current_exe().expect("this program");
    let command = netns.command(program.to_str().expect("a path"));
    let name = suite::name!("killed_process");
    let command = command.args(["--exact", &name, "--ignored"]);
    command.env(PLACE[0], netns.name().expect("it has one")).env(PLACE[1], path).spawn()
}

/// Chains by which a guest has sent come back once, in order, when its device is killed; its frames
/// are whole.
#[suite::test(netns)]
fn netns_a_killed_process_goes_on_where_it_was() {
    let Some(lab) = lab::require(&["root"]) else { return };
    let netns = lab.netns("k");
    let packed = plain() | Features::RING_PACKED;
    for features in [plain(), packed, packed | Features::EVENT_IDX] {
        let dir = Dir::new("killed");
        let path = dir.path("s");
        let mut process = start(&netns, &path);
        let mut guest = Guest::logged(FrontEnd::connect(&path), wanted(features, 1, 64, 1, false));
        let warm = frame(0, 60);
        for round in 0..6 {
            until("frames come back", || {
                guest.send(0, std::slice::from_ref(&warm));
                !guest.take().is_empty()
            });
            until("the ring is empty", || guest.is_taken());
            guest.take();
            // It dies at work, each time at another place.
            let (mut sent, mut came) = (Vec::new(), Vec::new());
            for n in 0..40 + 31 * round {
                sent.push(frame(n, 64 + 17 * n % 3000));
                guest.send(0, &sent[n..]);
                came.extend(guest.take());
            }
            until("it is at work", || {
                came.extend(guest.take());
                came.len() > 10
            });
            drop(process.kill());
            came.extend(guest.take());
            process = start(&netns, &path);
            guest.again(FrontEnd::connect(&path));
            // All of its chains come back, in order, which the ring checks.
            until("the ring is empty", || guest.is_taken());
            let last = frame(round, 61);
            until("frames come back", || {
                guest.send(0, std::slice::from_ref(&last));
                came.extend(guest.take());
                came.last() == Some(&last)
            });
            // Frames of the dead one's last turn may be lost, or come twice. All are whole.
            let mine = |frame| sent.contains(frame) || *frame == warm || *frame == last;
            assert!(came.iter().all(mine), "a frame is broken");
        }
        drop(process.kill());
    }
}

/// A connection that is lost under traffic is made again with the log, in both roles.
#[suite::test(netns)]
fn netns_rings_go_on_after_a_lost_connection() {
    for features in [plain() | Features::EVENT_IDX, plain() | Features::RING_PACKED] {
        let Some((_lab, _netns, rig)) = rig(1) else { return };
        let dir = Dir::new("lost");
        let like = wanted(features, 2, 64, 2, false);
        let (mut a, mut b) = guests(&rig, &dir, like, like, "packed event-idx");
        drop(std::mem::replace(&mut a, Guest::logged(FrontEnd::connect(&dir.path("a")), like)));
        until("the links are up", || is_up(&rig, A) && is_up(&rig, B));
        warm(&mut a, &mut b);
        warm(&mut b, &mut a);
        let shown = rig.cli(&format!("show vhost-user {A}")).expect("shown");
        assert!(shown.contains("inflight log: 4 rings of 64 in"), "{shown}");
        assert!(shown.contains("VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD (12)"), "{shown}");
        for round in 0..8 {
            cross(&rig, &mut a, &mut b);
            for ring in 0..2 {
                a.send(ring, &[frame(round, 700), frame(round + 1, 1400)]);
            }
            a.again(FrontEnd::connect(&dir.path("a")));
            until("the link is up", || is_up(&rig, A));
            until("all were taken", || a.is_taken());
            warm(&mut a, &mut b);
            warm(&mut b, &mut a);
            b.take();
        }
        // The log is taken away.
        let (_, file) = a.log.as_ref().expect("a log");
        assert!(rustix::fs::ftruncate(file, 0).is_err(), "this end has sealed it");
        drop((a, b));
        rig.finish();
    }
}
