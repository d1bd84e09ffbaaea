// SPDX-License-Identifier: Apache-2.0
//! Clients that mean harm. After each the daemon lives and isn't fat, and another client was served
//! all the while.
//!
//! Covers: bin/ferrovia.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fixture::api::{ApiClient, frame, header, hello};
use fixture::{Router, eventually};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testkit::{Rng, lab};

use crate::witness::Witness;

/// Maximum growth of the daemon's memory in bytes, under any attack.
const GROWTH: u64 = 64 << 20;

/// A daemon, and what is known of it before.
struct Victim {
    router: Router,
    socket: PathBuf,
    before: u64,
    witness: Witness,
}

impl Victim {
    fn new() -> Option<Victim> {
        let lab = lab::require(&["root"])?;
        let router = Router::start(&lab.netns("router"), "");
        let socket = router.file("api.sock");
        let witness = Witness::start(socket.clone());
        let mut victim = Victim { router, socket, before: 0, witness };
        victim.served();
        victim.before = victim.resident();
        Some(victim)
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.socket).expect("the daemon listens")
    }

    fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.router.id());
        let status = std::fs::read_to_string(path).expect("the daemon lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
        let number = line.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
        number.expect("a number") << 10
    }

    /// The client that behaves gets answers now.
    #[track_caller]
    fn served(&self) {
        let before = self.witness.served();
        eventually("an answer to the client that behaves", || {
            (self.witness.served() > before + 2).then_some(())
        });
    }

    /// The daemon isn't fat.
    #[track_caller]
    fn slim(&self) {
        let now = self.resident();
        let grown = now.saturating_sub(self.before);
        assert!(grown < GROWTH, "{} KiB became {} KiB", self.before >> 10, now >> 10);
    }

    /// All that has to hold at the end; gives the daemon's log.
    #[track_caller]
    fn well(self) -> String {
        self.served();
        self.slim();
        // A new client is let in, once those that are gone are seen to be.
        eventually("a welcome", || {
            let mut stream = self.connect();
            stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
            let sent = stream.write_all(&hello("afterwards"));
            sent.and_then(|()| stream.read_exact(&mut [0; 16])).ok()
        });
        self.witness.finish();
        let log = self.router.stop();
        assert!(!log.contains("panicked"), "{log}");
        log
    }
}

/// Reads until the server has closed the connection.
#[track_caller]
fn closed(mut stream: UnixStream) {
    stream.set_read_timeout(Some(fixture::PATIENCE)).expect("a timeout");
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::ConnectionReset => return,
            Err(e) => panic!("the connection isn't closed: {e}"),
        }
    }
}

#[test]
fn random_bytes() {
    let Some(victim) = Victim::new() else { return };
    let mut rng = Rng::new(1);
    for round in 0..300 {
        let mut bytes = vec![0; 1 + rng.below(20_000)];
        rng.fill(&mut bytes);
        let mut stream = victim.connect();
        if round % 3 == 0 {
            stream.write_all(&hello("random")).expect("a greeting");
        }
        // It may be thrown out in the middle of it.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        closed(stream);
    }
    victim.well();
}

#[test]
fn random_bodies_and_wrong_numbers() {
    let Some(victim) = Victim::new() else { return };
    let mut rng = Rng::new(2);
    let mut client = ApiClient::connect(&victim.socket, "numbers");
    let most = client.ids.values().copied().max().expect("messages");
    let leave = client.id("sockclnt_delete");
    for round in 0..3000_u32 {
        let id = match rng.below(8) {
            0 => rng.next() as u16,
            1 => 0,
            2 => most + 1 + rng.below(9) as u16,
            _ => 1 + rng.below(usize::from(most)) as u16,
        };
        if id == leave {
            continue;
        }
        let mut body = vec![0; rng.below(300)];
        rng.fill(&mut body);
        client.send(&frame(id, &body));
        if round % 100 == 99 {
            client.ping(round).expect("the same connection is served");
        }
    }
    drop(client);
    victim.well();
}

#[test]
fn truncated_messages() {
    let Some(victim) = Victim::new() else { return };
    let mut client = ApiClient::connect(&victim.socket, "truncated");
    let requests: Vec<u16> = client.ids.values().copied().collect();
    let leave = client.id("sockclnt_delete");
    for id in requests.into_iter().filter(|id| *id != leave) {
        for length in 0..24 {
            client.send(&frame(id, &vec![0xff; length]));
        }
        client.ping(u32::from(id)).expect("the same connection is served");
    }
    drop(client);
    // And connections that end within a header, or within a message.
    let whole = hello("truncated");
    for length in 0..whole.len() {
        let mut stream = victim.connect();
        stream.write_all(&whole[..length]).expect("the daemon reads");
        let _ = stream.shutdown(Shutdown::Write);
        closed(stream);
    }
    victim.well();
}

#[test]
fn one_byte_at_a_time() {
    let Some(victim) = Victim::new() else { return };
    let mut stream = victim.connect();
    for byte in hello("slow") {
        stream.write_all(&[byte]).expect("the daemon reads");
    }
    stream.set_read_timeout(Some(fixture::PATIENCE)).expect("a timeout");
    stream.read_exact(&mut [0; 18]).expect("a reply");
    victim.well();
}

#[test]
fn lengths_beyond_reason() {
    let Some(victim) = Victim::new() else { return };
    for length in [u32::MAX, u32::MAX - 1, 1 << 31, 1 << 24, (1 << 20) + 1, 0, 1] {
        for greet in [false, true] {
            let mut stream = victim.connect();
            if greet {
                stream.write_all(&hello("lengths")).expect("a greeting");
            }
            stream.write_all(&header(length)).expect("a header");
            let _ = stream.write_all(&[0; 64]);
            closed(stream);
        }
    }
    // Lengths that may be for a client that has greeted, announced by many that haven't, with all
    // but the last byte.
    let before = victim.resident();
    let bytes = vec![7; (1 << 20) - 1];
    let held: Vec<_> = [1 << 20, 512]
        .into_iter()
        .flat_map(|length| std::iter::repeat_n(length, 200))
        .map(|length| {
            let mut stream = victim.connect();
            stream.write_all(&header(length)).expect("a header");
            // Most of them are thrown out at once; it takes what it takes of the others.
            stuff_at_once(&mut stream, &bytes[..length as usize - 1]);
            stream
        })
        .collect();
    victim.served();
    let grown = victim.resident().saturating_sub(before);
    // 4 KiB each, and what the allocator keeps besides.
    assert!(grown < 400 * (4 << 10) + (4 << 20), "{} KiB for 400 strangers", grown >> 10);
    drop(held);
    victim.well();
}

/// Writes what the daemon takes without a pause.
fn stuff_at_once(stream: &mut UnixStream, bytes: &[u8]) {
    stream.set_write_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    // It may be thrown out in the middle of it.
    let _ = stream.write_all(bytes);
}

/// Descriptors for `wanted` connections; how many there can be.
fn descriptors(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let current = most.min(wanted as u64 + 200).max(limit.current.unwrap_or(u64::MAX));
    setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: limit.maximum })
        .expect("a limit");
    wanted.min(current as usize - 200)
}

#[test]
fn thousands_of_connections() {
    let Some(victim) = Victim::new() else { return };
    let held: Vec<_> = (0..descriptors(2000))
        .map(|_| {
            let mut stream = victim.connect();
            // A connection that is turned away doesn't receive it.
            let _ = stream.write_all(&hello("one of many"));
            stream
        })
        .collect();
    victim.served();
    victim.slim();
    let mut thrown_out = 0;
    for stream in &held {
        stream.set_nonblocking(true).expect("a flag");
        let mut stream = stream;
        match stream.read(&mut [0; 1]) {
            Ok(0) => thrown_out += 1,
            Err(e) if e.kind() == ErrorKind::ConnectionReset => thrown_out += 1,
            _ => {}
        }
    }
    assert!(
        thrown_out > 0 && thrown_out < held.len(),
        "{thrown_out} of {} turned away",
        held.len()
    );
    drop(held);
    // As fast as can be, none held.
    for _ in 0..2000 {
        drop(victim.connect());
    }
    let log = victim.well();
    assert!(log.contains("turned away"), "{log}");
}

#[test]
fn who_says_nothing_keeps_no_place() {
    let Some(victim) = Victim::new() else { return };
    let silent: Vec<_> = (0..descriptors(600)).map(|_| victim.connect()).collect();
    // Longer than a greeting may take while others wait.
    std::thread::sleep(Duration::from_millis(1500));
    let mut late = ApiClient::connect(&victim.socket, "late");
    assert_eq!(late.ping(1), Some(0));
    drop(silent);
    victim.well();
}

/// Writes until the daemon has taken nothing for a while.
fn stuff(stream: &mut UnixStream, bytes: &[u8], most: usize) -> usize {
    stream.set_nonblocking(true).expect("a flag");
    let (mut written, mut since) = (0, Instant::now());
    while written < most && since.elapsed() < Duration::from_millis(300) {
        match stream.write(&bytes[written % bytes.len()..]) {
            Ok(n) => (written, since) = (written + n, Instant::now()),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(5))
            }
            Err(_) => break,
        }
    }
    written
}

#[test]
fn readers_that_never_read() {
    let Some(victim) = Victim::new() else { return };
    // Each answer to these 26 bytes is some hundred KiB.
    let mut held = Vec::new();
    for _ in 0..20 {
        let mut client = ApiClient::connect(&victim.socket, "never reads");
        let request = client.request("get_api_json", 1, &[]);
        let written = stuff(&mut client.socket, &request.repeat(1000), 64 << 20);
        assert!(written < 64 << 20, "the daemon takes requests whose answers it can't send");
        held.push(client);
    }
    victim.served();
    victim.slim();
    drop(held);
    victim.well();
}

#[test]
fn subscribers_that_never_read() {
    let Some(victim) = Victim::new() else { return };
    let mut held = Vec::new();
    for _ in 0..20 {
        let mut client = ApiClient::connect(&victim.socket, "subscriber");
        let body = [1_u32.to_be_bytes(), 7_u32.to_be_bytes()].concat();
        let want = client.request("want_interface_events", 1, &body);
        client.send(&want);
        client.ping(2).expect("the daemon answers");
        held.push(client);
    }
    let mut other = ApiClient::connect(&victim.socket, "flips");
    let loopback = other.request("create_loopback", 1, &[0; 6]);
    other.send(&loopback);
    let (_, reply) = other.receive().expect("a reply");
    assert_eq!(reply[4..8], [0; 4], "a loopback");
    let index = &reply[8..12];
    let flip = |flags: u32| {
        other.request("sw_interface_set_flags", 3, &[index, &flags.to_be_bytes()].concat())
    };
    let both = [flip(1), flip(0)].concat();
    for round in 0..50 {
        other.send(&both.repeat(20));
        assert_eq!(other.ping(100 + round).expect("the daemon answers"), 40);
    }
    victim.slim();
    drop(held);
    victim.well();
}

#[test]
fn half_open_connections() {
    let Some(victim) = Victim::new() else { return };
    // A client that has shut down sending still gets the answers to its requests.
    let mut client = ApiClient::connect(&victim.socket, "half-open");
    let ping = client.request("control_ping", 7, &[]);
    client.send(&ping.repeat(100));
    client.socket.shutdown(Shutdown::Write).expect("a shutdown");
    let mut answers = 0;
    while let Some((id, _)) = client.receive() {
        assert_eq!(id, 24);
        answers += 1;
    }
    assert_eq!(answers, 100);
    // Clients that have shut down receiving, and send requests.
    let mut deaf: Vec<_> = (0..100)
        .map(|_| {
            let client = ApiClient::connect(&victim.socket, "deaf");
            client.socket.shutdown(Shutdown::Read).expect("a shutdown");
            client
        })
        .collect();
    for client in &mut deaf {
        let request = client.request("get_api_json", 1, &[]);
        let _ = client.socket.write_all(&request.repeat(100));
    }
    victim.served();
    drop(deaf);
    victim.well();
}
