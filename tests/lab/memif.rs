// SPDX-License-Identifier: Apache-2.0
//! memif between two daemons, and with DPDK's driver at the other end.
//!
//! host `left` — 10.0.1.0/24 — router a — memif — router b — 10.0.2.0/24 — host `right`
//!
//! Covers: drivers/memif.

use std::path::Path;

use fixture::{Router, eventually};
use testkit::lab::{Background, Lab, Netns, require};

use crate::host::transfer;

/// Two daemons with a host each, connected by one memif.
struct MemifPair {
    left: Netns,
    right: Netns,
    a: Router,
    b: Router,
}

/// Words of `create interface memif` for both ends.
struct Words {
    both: &'static str,
    a: &'static str,
    b: &'static str,
}

/// The interfaces' names.
const A: &str = "memif1/0";
const B: &str = "memif0/0";

/// Returns true if an interface is connected to its peer.
fn is_connected(router: &Router) -> bool {
    router.json("show memif")["interfaces"][0]["connected"] == true
}

#[track_caller]
fn connected(routers: &[&Router]) {
    eventually("both ends are connected", || routers.iter().all(|r| is_connected(r)).then_some(()));
}

/// A namespace for a daemon, with a cable to a host in another one.
pub fn beside(lab: &Lab, name: &str, network: u8) -> (Netns, Netns) {
    let (host, netns) = (lab.netns(name), lab.netns(&format!("r{name}")));
    netns.sysctl("net/ipv6/conf/all/disable_ipv6", "1");
    lab.veth((&host, "eth0"), (&netns, "port"));
    netns.up("port");
    host.up("eth0");
    host.addr("eth0", &format!("10.0.{network}.2/24"));
    host.route("default", &format!("10.0.{network}.1"));
    (host, netns)
}

pub fn configure(router: &Router, network: u8) {
    router.script(&format!(
        "create host-interface name port
         set interface state host-port up
         set interface ip address host-port 10.0.{network}.1/24"
    ));
}

impl MemifPair {
    fn new(lab: &Lab, workers: usize, words: &Words) -> MemifPair {
        let ((left, first), (right, second)) = (beside(lab, "left", 1), beside(lab, "right", 2));
        let cpu = format!("cpu {{ workers {workers} }}");
        let (a, b) = (Router::start(&first, &cpu), Router::start(&second, &cpu));
        configure(&a, 1);
        configure(&b, 2);
        let two = MemifPair { left, right, a, b };
        two.create_a(words);
        two.create_b(words);
        two
    }

    /// The client.
    fn create_a(&self, words: &Words) {
        self.a.script(&format!(
            "create memif socket id 1 filename {}
             create interface memif socket-id 1 slave {} {}
             set interface ip address {A} 10.0.9.1/30
             ip route add 10.0.2.0/24 via 10.0.9.2 {A}
             set interface state {A} up",
            self.b.dir().join("memif.sock").display(),
            words.both,
            words.a,
        ));
    }

    /// The server.
    fn create_b(&self, words: &Words) {
        self.b.script(&format!(
            "create interface memif master {} {}
             set interface ip address {B} 10.0.9.2/30
             ip route add 10.0.1.0/24 via 10.0.9.1 {B}
             set interface state {B} up",
            words.both, words.b,
        ));
    }

    #[track_caller]
    fn works(&self) {
        connected(&[&self.a, &self.b]);
        // The first packets may wait for neighbours.
        eventually("packets pass", || {
            self.left
                .command("ping")
                .args(["-n", "-c1", "-W1", "10.0.2.2"])
                .run()
                .success()
                .then_some(())
        });
        self.left.pings("-c5 -i0.01 -s1400", "10.0.2.2");
    }
}

#[test]
fn two_routers_forward_in_all_modes() {
    let Some(lab) = require(&["root", "ping", "/usr/bin/python3"]) else { return };
    let kinds = [
        (0, Words { both: "", a: "", b: "" }),
        (
            1,
            Words {
                both: "secret sesame",
                a: "ring-size 64 rx-queues 3 tx-queues 2 buffer-size 256",
                b: "",
            },
        ),
        (1, Words { both: "mode ip", a: "rx-queues 2", b: "" }),
    ];
    for (workers, words) in kinds {
        let two = MemifPair::new(&lab, workers, &words);
        for mode in ["polling", "interrupt", "adaptive"] {
            two.a.run(&format!("set interface rx-mode {A} {mode}"));
            two.b.run(&format!("set interface rx-mode {B} {mode}"));
            two.works();
        }
        transfer(&two.left, &two.right, "10.0.2.2", 4);
        // Down and up: the connection stays.
        two.a.script(&format!(
            "set interface state {A} down
             set interface state {A} up"
        ));
        two.works();
        // The client is made anew, with other queues.
        two.a.run(&format!("delete interface memif {A}"));
        eventually("the server sees it go", || (!is_connected(&two.b)).then_some(()));
        let reason = &two.b.json("show memif")["interfaces"][0]["remote_disconnect_reason"];
        assert_eq!(reason, "interface deleted");
        two.create_a(&words);
        two.works();
        for log in [two.a.stop(), two.b.stop()] {
            assert!(!log.contains("panicked"), "{log}");
        }
    }
}

#[test]
fn either_end_may_be_killed() {
    let Some(lab) = require(&["root", "ping"]) else { return };
    let words = Words { both: "", a: "", b: "" };
    let mut two = MemifPair::new(&lab, 0, &words);
    two.works();
    two.b.kill();
    eventually("the client sees it", || (!is_connected(&two.a)).then_some(()));
    two.b.restart();
    configure(&two.b, 2);
    two.create_b(&words);
    two.works();
    two.a.kill();
    eventually("the server sees it", || (!is_connected(&two.b)).then_some(()));
    two.a.restart();
    configure(&two.a, 1);
    two.create_a(&words);
    two.works();
}

/// DPDK's driver in a program that answers ARP and echo requests to whatever address.
fn testpmd(netns: &Netns, role: &str, socket: &Path, more: &str) -> Background {
    let socket = socket.display();
    let device = format!("net_memif0,role={role},socket={socket},socket-abstract=no,id=0{more}");
    // Two threads of any core.
    let own = ["--lcores", "0@0,1@0", "--no-huge", "-m", "128", "--no-pci", "--no-telemetry"];
    let what = [
        "--forward-mode=icmpecho",
        "--auto-start",
        "--total-num-mbufs=2048",
        "--stats-period",
        "3600",
    ];
    let prefix = format!("ferrovia-{}-{role}", std::process::id());
    netns
        .command("dpdk-testpmd")
        .args(own)
        .args(["--file-prefix", &prefix, "--vdev", &device, "--"])
        .args(what)
        .spawn()
}

#[test]
fn dpdk_is_a_peer_in_both_roles() {
    let Some(lab) = require(&["root", "ping", "dpdk-testpmd"]) else { return };
    let (host, netns) = beside(&lab, "left", 1);
    let router = Router::start(&netns, "cpu { workers 0 }");
    configure(&router, 1);
    let [ours, theirs] = ["ours.sock", "theirs.sock"].map(|name| router.dir().join(name));
    router.script(&format!(
        "create memif socket id 1 filename {}
         create memif socket id 2 filename {}
         create interface memif socket-id 1 master
         create interface memif socket-id 2 slave ring-size 256 rx-queues 1 tx-queues 1
         set interface ip address memif1/0 10.0.3.1/24
         set interface ip address memif2/0 10.0.4.1/24
         set interface state memif1/0 up
         set interface state memif2/0 up",
        ours.display(),
        theirs.display()
    ));
    for (n, role, socket, to) in
        [(0, "client", &ours, "10.0.3.2"), (1, "server", &theirs, "10.0.4.2")]
    {
        // A peer that goes away and comes again.
        for _ in 0..2 {
            let peer = testpmd(&netns, role, socket, "");
            let interface = || router.json("show memif")["interfaces"][n].clone();
            eventually("DPDK is connected", || (interface()["connected"] == true).then_some(()));
            assert!(
                interface()["connection"]["remote_name"]
                    .as_str()
                    .is_some_and(|name| name.starts_with("DPDK"))
            );
            eventually("DPDK answers", || {
                host.command("ping").args(["-n", "-c1", "-W1", to]).run().success().then_some(())
            });
            // The bytes that come back are those that were sent.
            host.pings("-c20 -i0.01 -s1400", to);
            // Frames of several buffers.
            let answer = router.run(&format!("ping {to} size 6000 repeat 3 interval 0.01"));
            assert!(answer.contains("3 received"), "{answer}");
            drop(peer.kill());
            if role == "server" {
                // DPDK doesn't take over the file of a dead one.
                std::fs::remove_file(socket).expect("removed");
            }
            eventually("DPDK is gone", || (interface()["connected"] == false).then_some(()));
        }
    }
    let log = router.stop();
    assert!(!log.contains("panicked"), "{log}");
}
