// SPDX-License-Identifier: Apache-2.0
//! BFD with BIRD, and routes that leave a neighbour whose session goes down.
//!
//! Covers: features/bfd, crates/net.

use fixture::eventually;
use serde_json::Value;
use std::path::PathBuf;
use testkit::lab::{Background, Lab, Netns, Signal, require};

use crate::star::{Spoke, Star, both};

/// BIRD with a BFD session for each address of the router, until it is dropped.
struct Bird {
    daemon: Background,
    netns: Netns,
    socket: PathBuf,
}

impl Bird {
    /// On a host at network `network`; `interface` is the settings of its sessions, `neighbors`
    /// their lines.
    fn start(star: &Star, spoke: &Spoke, id: &str, interface: &str, neighbors: &str) -> Self {
        let dir = star.router.dir();
        let (file, socket) = (dir.join(format!("{id}.conf")), dir.join(format!("{id}.ctl")));
        let config = format!(
            "log stderr all; router id {id};\nprotocol device {{ scan time 1; }}\n\
             protocol bfd {{ interface \"*\" {{ {interface} }}; multihop {{ {interface} }};\n{neighbors} }}\n"
        );
        std::fs::write(&file, config).expect("written");
        let words = ["-f", "-c", &file.to_string_lossy(), "-s", &socket.to_string_lossy()];
        let daemon = spoke.host.command("bird").args(words).spawn();
        Self { daemon, netns: spoke.host.clone(), socket }
    }

    /// Waits until BIRD shows a session with an address in a state.
    fn shows(&self, address: &str, state: &str) {
        let socket = self.socket.to_string_lossy();
        eventually("BIRD shows the state", || {
            let words = ["-s", &socket, "show", "bfd", "sessions"];
            let shown = self.netns.command("birdc").args(words).run();
            let mut lines = shown.stdout.lines();
            lines.any(|line| line.starts_with(address) && line.contains(state)).then_some(())
        });
    }
}

/// The session of the router with an address.
fn session(star: &Star, peer: &str) -> Value {
    let all = star.router.json("show bfd sessions");
    let found = all.as_array().into_iter().flatten().find(|session| session["peer"] == peer);
    found.cloned().unwrap_or_default()
}

fn is(star: &Star, peer: &str, state: &str) {
    eventually("the session has the state", || {
        (session(star, peer)["state"] == state).then_some(())
    });
}

fn star(lab: &Lab) -> Star {
    Star::new(lab, &[("left", 1, 0), ("right", 2, 0), ("client", 3, 0)])
}

const TIMERS: &str = "desired-min-tx 100000 required-min-rx 100000 detect-mult 3";
const INTERFACE: &str = "interval 100 ms; idle tx interval 1000 ms; multiplier 3;";

#[test]
fn routes_leave_a_neighbor_that_bird_no_longer_serves() {
    let Some(lab) = require(&["root", "ping", "bird", "birdc"]) else { return };
    let star = star(&lab);
    let [left, right, client] = &star.spokes[..] else { panic!("three") };
    let (gateways, neighbors) = (left.gateways(), left.addresses());
    // Each address is at one of both hosts.
    for (address, host) in [("192.0.2.1/32", left), ("2001:db8:f::1/128", left)] {
        host.host.addr("lo", address);
    }
    for (address, host) in [("192.0.2.2/32", right), ("2001:db8:f::2/128", right)] {
        host.host.addr("lo", address);
    }
    let [other4, other6] = right.addresses();
    for (ip, prefix, first, second) in [
        ("ip", "192.0.2.0/24", &neighbors[0], &other4),
        ("ip", "2001:db8:f::/48", &neighbors[1], &other6),
    ] {
        star.router.run(&format!("{ip} route add {prefix} via {first} host-left"));
        star.router.run(&format!("{ip} route add {prefix} via {second} host-right preference 1"));
    }
    let by = |left: bool| {
        let [here, there] = if left { ["1", "2"] } else { ["2", "1"] };
        for network in ["192.0.2.", "2001:db8:f::"] {
            // The first packet to a host waits for its MAC address, and may be lost on a busy
            // machine.
            _ = client.host.ping("-c1 -W5", &format!("{network}{here}"));
            client.host.pings("-c3 -i0.05", &format!("{network}{here}"));
            assert!(!client.host.ping("-c1 -W1", &format!("{network}{there}")).success());
        }
    };
    by(true);
    let words = |i: usize| {
        format!("interface host-left local-addr {} peer-addr {}", gateways[i], neighbors[i])
    };
    (0..2).for_each(|i| _ = star.router.run(&format!("bfd udp session add {} {TIMERS}", words(i))));
    // No session yet: the other next hop is used.
    by(false);
    let lines: String = (0..2)
        .map(|i| format!("neighbor {} dev \"eth0\" local {};\n", gateways[i], neighbors[i]))
        .collect();
    let bird = Bird::start(&star, left, "10.0.1.2", INTERFACE, &lines);
    for i in [0, 1] {
        is(&star, &neighbors[i], "Up");
        bird.shows(&gateways[i], "Up");
    }
    by(true);
    let shown = session(&star, &neighbors[0]);
    assert_eq!(
        (&shown["tx_interval_us"], &shown["remote"]["detect_mult"]),
        (&100_000.into(), &3.into())
    );
    // BIRD doesn't get time any more: only the timers can detect that.
    bird.daemon.signal(Signal::STOP);
    for i in [0, 1] {
        is(&star, &neighbors[i], "Down");
    }
    assert_eq!(session(&star, &neighbors[0])["diagnostic"], "Control Detection Time Expired");
    by(false);
    bird.daemon.signal(Signal::CONT);
    for i in [0, 1] {
        is(&star, &neighbors[i], "Up");
        bird.shows(&gateways[i], "Up");
    }
    by(true);
    // An operator holds a session down; BIRD learns of it.
    star.router.run(&format!("bfd udp session set-flags {} admin down", words(0)));
    bird.shows(&gateways[0], "Down");
    star.router.run(&format!("bfd udp session set-flags {} admin up", words(0)));
    bird.shows(&gateways[0], "Up");
    // New intervals are agreed on by a poll, and the sessions stay.
    star.router.run(&format!(
        "bfd udp session mod {} desired-min-tx 200000 required-min-rx 50000 detect-mult 5",
        words(0)
    ));
    eventually("the poll has ended", || {
        let shown = session(&star, &neighbors[0]);
        (shown["poll"] == "not needed" && shown["tx_interval_us"] == 200_000).then_some(())
    });
    is(&star, &neighbors[0], "Up");
    bird.daemon.kill();
    is(&star, &neighbors[1], "Down");
    by(false);
}

#[test]
fn bird_authenticates_sessions() {
    let Some(lab) = require(&["root", "ping", "bird", "birdc"]) else { return };
    let star = star(&lab);
    let [left, right, _] = &star.spokes[..] else { panic!("three") };
    star.router.script(
        "bfd key set conf-key-id 1 type meticulous-keyed-sha1 secret 7365637265742d31\n\
         bfd key set conf-key-id 2 type keyed-sha1 secret 7365637265742d32\n\
         bfd key set conf-key-id 3 type keyed-sha1 secret 00\n",
    );
    let cases =
        [(left, "left", "meticulous keyed sha1", 1, 1), (right, "right", "keyed sha1", 2, 2)];
    let birds = cases.map(|(spoke, name, kind, key, network)| {
        let ([own, _], [peer, _]) = (spoke.gateways(), spoke.addresses());
        star.router.run(&format!(
            "bfd udp session add interface host-{name} local-addr {own} peer-addr {peer} {TIMERS} conf-key-id {key} bfd-key-id 9"
        ));
        let interface = format!("{INTERFACE} authentication {kind}; password \"secret-{key}\" {{ id 9; }};");
        let line = format!("neighbor {own} dev \"eth0\" local {peer};");
        Bird::start(&star, spoke, &format!("10.0.{network}.2"), &interface, &line)
    });
    for ((spoke, ..), bird) in cases.iter().zip(&birds) {
        is(&star, &spoke.addresses()[0], "Up");
        bird.shows(&spoke.gateways()[0], "Up");
    }
    // With another secret the session goes down.
    let ([own, _], [peer, _]) = (right.gateways(), right.addresses());
    star.router.run(&format!(
        "bfd udp session auth activate interface host-right local-addr {own} peer-addr {peer} conf-key-id 3 bfd-key-id 9"
    ));
    is(&star, &peer, "Down");
    assert!(star.router.run("show errors").contains("failed-verification"));
    is(&star, &left.addresses()[0], "Up");
}

#[test]
fn bird_several_hops_away() {
    let Some(lab) = require(&["root", "ping", "bird", "birdc"]) else { return };
    let star = star(&lab);
    let [left, ..] = &star.spokes[..] else { panic!("three") };
    // The session is with an address that only a route leads to, from one on another interface.
    left.host.addr("lo", "192.0.2.9/32");
    let ([own, _], [via, _]) = (both(2, 1), left.addresses());
    star.router.script(&format!(
        "ip route add 192.0.2.9/32 via {via} host-left\n\
         ip route add 198.51.100.0/24 via 192.0.2.9\n\
         bfd udp session add multihop local-addr {own} peer-addr 192.0.2.9 {TIMERS}\n"
    ));
    let line = format!("neighbor {own} local 192.0.2.9 multihop;");
    let bird = Bird::start(&star, left, "10.0.1.2", INTERFACE, &line);
    is(&star, "192.0.2.9", "Up");
    bird.shows(&own, "Up");
    let usable = || !star.router.run("show ip fib 198.51.100.0/24").contains("next-hop down");
    assert!(usable());
    bird.daemon.signal(Signal::STOP);
    is(&star, "192.0.2.9", "Down");
    assert!(!usable());
    bird.daemon.signal(Signal::CONT);
    is(&star, "192.0.2.9", "Up");
    assert!(usable());
}
