// SPDX-License-Identifier: Apache-2.0
//! Peers by sockets: one zebra after the other, several at once, and hostile ones.

use super::frr::{CAPTURE, ip};
use super::message::{To, frame, route};
use super::rig;
use crate::settings::{Listen, Settings};
use net::drive::Rig;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use testkit::Rng;
use testkit::mutate::Mutator;

fn shown(rig: &mut Rig) -> Value {
    serde_json::from_str(&rig.cli("show fpm -j")).expect("JSON")
}

/// Enables FPM at a port that the system chooses.
fn enable(rig: &mut Rig, words: &str) -> SocketAddr {
    rig.cli(&format!("fpm enable listen 127.0.0.1:0 {words}"));
    shown(rig)["listener"].as_str().and_then(|text| text.parse().ok()).expect("an address")
}

fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    stream
}

/// Runs the instance until a value of `show fpm` is as wanted.
#[track_caller]
fn until(rig: &mut Rig, name: &str, wanted: impl Into<Value>) -> Value {
    let wanted = wanted.into();
    for _ in 0..20_000 {
        rig.bench.settle();
        let now = shown(rig);
        if now[name] == wanted {
            return now;
        }
        std::thread::yield_now();
    }
    panic!("{name}: expected {wanted}, not {}", shown(rig));
}

/// Stale routes go in so many seconds. Real time goes on too, a little.
#[track_caller]
fn near(now: &Value, seconds: u64) {
    let is = now["sweep_in_s"].as_u64().expect("a number");
    assert!((seconds - 14..=seconds).contains(&is), "expected {seconds}: {now}");
}

fn routes(n: std::ops::Range<u8>) -> Vec<u8> {
    let one = |n| route((ip(&format!("192.0.{n}.0")), 24), 254, &To::Blackhole);
    n.flat_map(|n| frame(&[one(n)])).collect()
}

#[suite::test]
fn routes_of_a_lost_peer_stay_for_a_time() {
    let (mut rig, _) = rig(1);
    let at = enable(&mut rig, "stale-time 120 settle-time 30");
    rig.cli("ip route add 192.0.1.0/24 via 10.0.0.2 p0");
    let mut peer = connect(at);
    peer.write_all(&routes(0..10)).expect("written");
    until(&mut rig, "ip4_routes", 10);
    drop(peer);
    let now = until(&mut rig, "stale", 10);
    assert_eq!(now["peer"], Value::Null);
    near(&now, 120);
    // Visitors that say nothing don't make it longer.
    rig.seconds(60);
    drop(connect(at));
    until(&mut rig, "connections", 2);
    let now = until(&mut rig, "peer", Value::Null);
    assert_eq!(now["stale"], 10);
    near(&now, 60);
    rig.seconds(40);
    assert_eq!(shown(&mut rig)["ip4_routes"], 10);
    rig.seconds(21);
    let now = shown(&mut rig);
    assert_eq!((&now["ip4_routes"], &now["swept"]), (&0.into(), &10.into()));
    // The operator's route of one of the prefixes stays.
    assert!(rig.cli("show ip fib 192.0.1.0/24").contains("CLI"));
}

#[suite::test]
fn a_new_peer_keeps_what_it_sets_again() {
    let (mut rig, _) = rig(1);
    let at = enable(&mut rig, "");
    let mut peer = connect(at);
    peer.write_all(&routes(0..10)).expect("written");
    until(&mut rig, "ip4_routes", 10);
    drop(peer);
    until(&mut rig, "stale", 10);
    let mut peer = connect(at);
    // It has nothing yet: its daemons come later.
    let now = until(&mut rig, "connections", 2);
    assert_eq!((&now["ip4_routes"], &now["stale"]), (&10.into(), &10.into()));
    rig.seconds(60);
    peer.write_all(&routes(0..6)).expect("written");
    let now = until(&mut rig, "stale", 4);
    near(&now, 30);
    // A route that is fresh already is no progress of the walk.
    rig.seconds(15);
    peer.write_all(&routes(0..1)).expect("written");
    let now = until(&mut rig, "set", 17);
    near(&now, 15);
    rig.seconds(16);
    let now = shown(&mut rig);
    assert_eq!(
        (&now["ip4_routes"], &now["stale"], &now["swept"]),
        (&6.into(), &0.into(), &4.into())
    );
    assert!(now["peer"].is_string());
    // Disabled: all go, and the listener too.
    rig.cli("fpm disable");
    rig.seconds(1);
    assert_eq!(shown(&mut rig)["ip4_routes"], 0);
    assert!(TcpStream::connect(at).is_err());
}

#[suite::test]
fn one_peer_counts_some_wait_and_more_are_refused() {
    let (mut rig, _) = rig(1);
    let at = enable(&mut rig, "");
    let mut first = connect(at);
    first.write_all(&routes(0..1)).expect("written");
    until(&mut rig, "ip4_routes", 1);
    let mut others: Vec<_> = (0..4).map(|_| connect(at)).collect();
    until(&mut rig, "waiting", 4);
    others[1].write_all(&routes(5..9)).expect("written");
    for n in 1..=10 {
        let mut refused = connect(at);
        until(&mut rig, "connections_refused", n);
        assert_eq!(refused.read(&mut [0; 1]).unwrap_or(0), 0, "closed at once");
    }
    assert_eq!(shown(&mut rig)["ip4_routes"], 1, "a peer that waits isn't read");
    // One that gives up makes room; the next one's turn comes when the first ends.
    drop(others.remove(0));
    until(&mut rig, "waiting", 3);
    drop(first);
    let now = until(&mut rig, "ip4_routes", 5);
    assert_eq!((&now["waiting"], &now["stale"]), (&2.into(), &1.into()));
}

#[suite::test]
fn bytes_that_are_no_frames_end_the_connection() {
    let (mut rig, _) = rig(1);
    let at = enable(&mut rig, "");
    let long = [&[1, 1, 0, 24][..], &100u32.to_ne_bytes(), &[24, 0, 0, 0], &[0; 12]].concat();
    let short = [&[1, 1, 0, 8][..], &4u32.to_ne_bytes()].concat();
    let bad: [(&[u8], bool); 7] = [
        (&[2, 1, 0, 8], false),
        (&[1, 2, 0, 8], false),
        (&[1, 1, 0, 3], false),
        (&long, false),
        (&short, false),
        (b"GET / HTTP/1.1\r\n\r\n", false),
        // The peer ends within a frame.
        (&[1, 1, 0, 200, 7, 7], true),
    ];
    for (n, (bytes, ends)) in (1..).zip(bad) {
        let mut peer = connect(at);
        peer.write_all(&routes(0..2)).expect("written");
        peer.write_all(bytes).expect("written");
        if ends {
            peer.shutdown(Shutdown::Write).expect("shut");
        }
        until(&mut rig, "connections_broken", n);
        assert_eq!(peer.read(&mut [0; 1]).unwrap_or(0), 0, "closed");
        let now = until(&mut rig, "peer", Value::Null);
        assert_eq!((&now["ip4_routes"], &now["stale"]), (&2.into(), &2.into()), "{bytes:?}");
    }
}

#[suite::test]
fn ten_thousand_connections() {
    let (mut rig, _) = rig(1);
    let at = enable(&mut rig, "");
    let mut first = connect(at);
    first.write_all(&routes(0..3)).expect("written");
    until(&mut rig, "ip4_routes", 3);
    let mut rng = Rng::new(7);
    let mut held = std::collections::VecDeque::new();
    for n in 0..10_000 {
        let mut peer = connect(at);
        // A refused peer's writes may fail.
        let bytes: Vec<u8> = (0..rng.below(64)).map(|_| rng.below(256) as u8).collect();
        let _ = peer.write_all(&bytes);
        held.push_back(peer);
        if held.len() > 100 {
            held.pop_front();
        }
        if n % 50 == 0 {
            rig.bench.settle();
        }
    }
    drop(held);
    let now = until(&mut rig, "waiting", 0);
    let number = |name: &str| now[name].as_u64().unwrap_or_default();
    assert_eq!((number("connections"), number("ip4_routes"), number("stale")), (1, 3, 0));
    assert!(number("connections_refused") > 9000, "{now}");
    // The first one goes on as if nothing had been.
    first.write_all(&routes(3..5)).expect("written");
    until(&mut rig, "ip4_routes", 5);
}

/// A peer that is hostile by itself, one after the other.
#[suite::test]
fn random_bytes_one_peer_after_the_other() {
    let (mut rig, _) = rig(1);
    let at = enable(&mut rig, "max-routes 50");
    let mut rng = Rng::new(3);
    for n in 1..=300u64 {
        let mut peer = connect(at);
        let bytes: Vec<u8> = (0..rng.below(3000)).map(|_| rng.below(256) as u8).collect();
        let _ = peer.write_all(&CAPTURE[..rng.below(CAPTURE.len())]);
        let _ = peer.write_all(&bytes);
        let _ = peer.shutdown(Shutdown::Both);
        until(&mut rig, "connections", n);
        until(&mut rig, "peer", Value::Null);
    }
    let now = shown(&mut rig);
    assert!(now["ip4_routes"].as_u64().unwrap_or_default() <= 50, "{now}");
}

/// A peer that doesn't read its answers isn't read either, and takes no memory.
#[suite::test]
fn a_peer_that_takes_no_answers_waits() {
    let (mut rig, _) = rig(1);
    let at = enable(&mut rig, "offload");
    let mut peer = connect(at);
    peer.set_nonblocking(true).expect("set");
    let one = routes(0..200);
    let mut written = 0usize;
    // Until the system's buffers of both sides are full.
    let mut idle = 0;
    while idle < 100 {
        match peer.write(&one[written % one.len()..]) {
            Ok(n) => (written, idle) = (written + n, 0),
            Err(_) => idle += 1,
        }
        rig.bench.settle();
    }
    let before = shown(&mut rig);
    rig.bench.settle();
    assert_eq!(shown(&mut rig)["set"], before["set"], "it isn't read any more");
    // It reads: all that it has sent is answered once, and the rest of it is read.
    let mut read = 0u64;
    let mut room = vec![0; 1 << 20];
    let mut idle = 0;
    while idle < 100 {
        match peer.read(&mut room) {
            Ok(n) => (read, idle) = (read + n as u64, 0),
            Err(_) => idle += 1,
        }
        rig.bench.settle();
    }
    let now = shown(&mut rig);
    assert_eq!(now["bytes"], written);
    let frame = one.len() as u64 / 200;
    assert_eq!(Some(read / frame), now["answers"].as_u64());
    assert_eq!(now["ip4_routes"], 200);
}

/// Bytes that a short write has left go out although the peer sends no more.
#[suite::test]
fn answers_that_wait_go_out_by_themselves() {
    const N: u32 = 12_000;
    let (mut rig, _) = rig(1);
    let path = std::env::temp_dir().join(format!("fpm-answers-{}", std::process::id()));
    rig.cli(&format!("fpm enable socket {} offload", path.display()));
    let mut peer = UnixStream::connect(&path).expect("connected");
    peer.set_nonblocking(true).expect("set");
    let one = |n: u32| {
        let addr = Ipv4Addr::from_bits(0x1400_0000 + 256 * n);
        frame(&[route((addr.into(), 24), 254, &To::Blackhole)])
    };
    // More than the system's buffers, less than what stops the peer from being read.
    let sent: Vec<u8> = (0..N).flat_map(one).collect();
    assert!((400_000..1 << 20).contains(&sent.len()), "{}", sent.len());
    let mut written = 0;
    while written < sent.len() {
        written += peer.write(&sent[written..]).unwrap_or(0);
        rig.bench.settle();
    }
    until(&mut rig, "ip4_routes", N);
    let mut got = Vec::new();
    let mut room = vec![0; 1 << 20];
    for _ in 0..1000 {
        match peer.read(&mut room) {
            Ok(n) => got.extend_from_slice(&room[..n]),
            Err(_) => rig.bench.settle(),
        }
    }
    assert_eq!(got.len(), sent.len());
}

/// A first peer that says nothing doesn't keep a second one from its turn.
#[suite::test]
fn a_silent_peer_gives_way() {
    let (mut rig, _) = rig(1);
    let at = enable(&mut rig, "");
    let silent = connect(at);
    until(&mut rig, "connections", 1);
    rig.seconds(20);
    assert!(shown(&mut rig)["peer"].is_string(), "nobody else waits");
    drop(silent);
    until(&mut rig, "peer", Value::Null);
    let mut silent = connect(at);
    until(&mut rig, "connections", 2);
    let mut second = connect(at);
    second.write_all(&routes(0..3)).expect("written");
    let now = until(&mut rig, "waiting", 1);
    assert_eq!(now["ip4_routes"], 0);
    rig.seconds(6);
    let now = until(&mut rig, "ip4_routes", 3);
    assert_eq!(now["connections_silent"], 1);
    assert_eq!(silent.read(&mut [0; 1]).unwrap_or(0), 0, "closed");
    // One that has sent something may be silent for as long as it likes.
    let _third = connect(at);
    until(&mut rig, "waiting", 1);
    rig.seconds(60);
    let now = shown(&mut rig);
    assert_eq!((&now["connections"], &now["connections_silent"]), (&3.into(), &1.into()));
}

/// A saved line whose address isn't there yet when the configuration is loaded.
#[suite::test]
fn a_saved_listener_is_tried_again() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let at = taken.local_addr().expect("an address");
    let mut rig = Rig::new(super::PLUGINS, 1);
    rig.cli(&format!("fpm enable listen {at}"));
    rig.bench.settle();
    let now = shown(&mut rig);
    assert!(now["failure"].is_string() && now["listener"].is_null(), "{now}");
    let lines = rig.world().running_config();
    assert!(lines.into_iter().any(|line| line.text == format!("fpm enable listen {at}")));
    drop(taken);
    crate::process::Fpm::loaded(&rig.world());
    rig.seconds(2);
    let now = shown(&mut rig);
    assert_eq!((&now["listener"], &now["failure"]), (&at.to_string().into(), &Value::Null));
}

#[suite::test]
fn listeners_are_set_saved_and_refused() {
    let (mut rig, _) = rig(1);
    let line = |rig: &mut Rig| {
        let mut all = rig.world().running_config().into_iter().map(|line| line.text);
        all.find(|line| line.starts_with("fpm"))
    };
    assert_eq!(line(&mut rig), None);
    let at = enable(&mut rig, "stale-time 7");
    assert_eq!(line(&mut rig).as_deref(), Some("fpm enable listen 127.0.0.1:0 stale-time 7"));
    let (_, text) = rig.refused(&format!("fpm enable listen {at}"));
    assert!(text.contains("can't listen on 127.0.0.1"), "{text}");
    assert_eq!(shown(&mut rig)["listener"], at.to_string(), "it goes on as before");
    for bad in ["listen 127.0.0.1:70000", "listen here", "socket relative", "netns not-there"] {
        rig.refused(&format!("fpm enable {bad}"));
    }
    // Other settings of the same listener keep the connection.
    let mut peer = connect(at);
    peer.write_all(&routes(0..1)).expect("written");
    until(&mut rig, "ip4_routes", 1);
    rig.cli("fpm enable listen 127.0.0.1:0 offload");
    assert_eq!(shown(&mut rig)["stale"], 0);
    // A Unix socket; the file of a process that is gone is taken over.
    let path = std::env::temp_dir().join(format!("fpm-{}", std::process::id()));
    drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
    rig.cli(&format!("fpm enable socket {}", path.display()));
    let mut peer = std::os::unix::net::UnixStream::connect(&path).expect("connected");
    peer.write_all(&routes(0..4)).expect("written");
    until(&mut rig, "ip4_routes", 4);
    rig.cli("fpm disable");
    assert!(!path.exists());
    assert_eq!(line(&mut rig), None);
}

/// Mutated frames of FRR: no panic, and no more routes and tables than are allowed.
fn mutated(n: usize) {
    let (mut rig, mut stream) = rig(2);
    let world = rig.world();
    stream.engine.most = 500;
    let mut kept = vec![CAPTURE.to_vec()];
    kept.extend(frames(CAPTURE));
    let mut mutator = Mutator::new(5);
    let mut input = Vec::new();
    let mut ended = 0;
    for i in 0..n {
        mutator.next_frame(&kept, &mut input);
        stream.engine.answers = i % 2 == 0;
        if stream.take(&world, &input).is_none() {
            ended += 1;
            stream.lose(&world);
        }
        if i % 5000 == 0 {
            let mut sweep = stream.engine.sweep(&world);
            while stream.engine.sweep_on(&world, &mut sweep, 64) {}
        }
    }
    assert!(ended > 0 && ended < n, "{ended} of {n}");
    let routes: usize = stream.engine.routes(&world).iter().map(|of| of.routes).sum();
    assert!(routes <= 500, "{routes}");
    // The table still works.
    stream.take(&world, CAPTURE);
    assert!(rig.cli("show ip fib 192.0.3.0/24").contains("drop"));
}

/// The frames of a capture, one by one.
fn frames(mut capture: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while let &[_, _, high, low, ..] = capture {
        let (one, rest) = capture.split_at(usize::from(u16::from_be_bytes([high, low])));
        all.push(one.to_vec());
        capture = rest;
    }
    all
}

#[suite::test]
fn mutated_messages_are_harmless() {
    mutated(20_000);
}

#[suite::test]
#[ignore = "long: a million mutated messages, minutes"]
fn long_mutated_messages_are_harmless() {
    mutated(1_000_000);
}

/// Indexes of interfaces mean those of the namespace where the peer is.
#[suite::test]
fn a_peers_interfaces_are_in_the_namespace_of_its_listener() {
    let (rig, _) = rig(1);
    let mut mirrors = rig.world().get::<linux_cp::Settings>().get();
    mirrors.default_namespace = Some("dataplane".into());
    let named = |namespace: Option<&str>| namespace.map(String::from);
    let tcp = Settings::default();
    let unix = Settings { listen: Listen::Unix("/run/fpm".into()), ..Settings::default() };
    for (listener, namespace, found) in [
        (&tcp, None, None),
        (&tcp, Some("frr"), Some("frr")),
        (&unix, None, Some("dataplane")),
        (&unix, Some("frr"), Some("frr")),
    ] {
        let listener = Settings { namespace: named(namespace), ..listener.clone() };
        assert_eq!(listener.peers_namespace(mirrors.clone()), named(found), "{listener:?}");
    }
}
