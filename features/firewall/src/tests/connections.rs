// SPDX-License-Identifier: Apache-2.0
//! TCP connections through the router.

use super::*;
use wire::TcpFlags;

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;
const RST: TcpFlags = TcpFlags::RST;
const FIN: TcpFlags = TcpFlags::FIN;

/// Connections of port 1000 behind `lan` to port 80 behind `wan`.
struct Talk {
    rig: Rig,
}

impl Talk {
    fn new(options: &str) -> Self {
        let mut rig = zones(false);
        rig.cli(&format!("firewall policy from lan to wan default accept {options}"));
        Self { rig }
    }

    fn packet(from: usize, flags: TcpFlags, seq: u32, ack: u32, len: usize) -> Packet {
        let (source, destination) = if from == 0 { (1000, 80) } else { (80, 1000) };
        let packet = from_to(false, from, 1 - from).tcp(source, destination);
        packet.segment(flags, seq, ack).window(1000).payload_len(len)
    }

    /// Sends a segment without data; true if it has passed.
    fn passes(&mut self, from: usize, flags: TcpFlags, seq: u32, ack: u32) -> bool {
        self.sends(from, flags, seq, ack, 0)
    }

    fn sends(&mut self, from: usize, flags: TcpFlags, seq: u32, ack: u32, len: usize) -> bool {
        let packet = Self::packet(from, flags, seq, ack, len);
        passes(&mut self.rig, from, 1 - from, &packet)
    }

    fn open(&mut self) {
        assert!(self.passes(0, SYN, 100, 0) && self.passes(1, SYN | ACK, 500, 101));
        assert!(self.passes(0, ACK, 101, 501));
        assert_eq!(self.state(), "established");
    }

    fn state(&mut self) -> String {
        let json = self.rig.cli("show firewall sessions -j");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        json["sessions"][0]["state"].as_str().unwrap_or("none").to_string()
    }

    fn count(&self, counter: &str) -> u64 {
        self.rig.count(OUT, counter)
    }
}

#[suite::test]
fn a_connection_opens_and_closes() {
    let mut talk = Talk::new("");
    assert!(!talk.passes(0, ACK, 101, 501), "nobody has asked");
    assert!(!talk.passes(1, SYN | ACK, 500, 101));
    assert!(talk.passes(0, SYN, 100, 0));
    assert_eq!(talk.state(), "syn-sent");
    assert!(!talk.passes(1, SYN | ACK, 500, 99), "another request is acknowledged");
    assert!(!talk.passes(0, ACK, 101, 501), "before the answer");
    assert!(talk.passes(1, SYN | ACK, 500, 101));
    assert_eq!(talk.state(), "syn-received");
    assert!(talk.passes(0, ACK, 101, 501));
    assert!(talk.sends(0, ACK, 101, 501, 400) && talk.passes(1, ACK, 501, 501));
    assert!(talk.passes(1, FIN | ACK, 501, 501));
    assert_eq!(talk.state(), "fin-wait");
    assert!(talk.passes(0, ACK, 501, 502));
    assert_eq!(talk.state(), "close-wait");
    assert!(talk.sends(0, ACK, 501, 502, 10) && talk.passes(1, ACK, 502, 511));
    assert!(talk.passes(0, FIN | ACK, 511, 502));
    assert_eq!(talk.state(), "last-ack");
    assert!(talk.passes(1, ACK, 502, 512));
    assert_eq!(talk.state(), "time-wait");
    // Another connection between the same ports.
    assert!(talk.passes(0, SYN, 9000, 0));
    assert_eq!(talk.state(), "syn-sent");
    talk.rig.seconds(32);
    assert_eq!(talk.state(), "none", "without an answer it ends soon");
}

#[suite::test]
fn segments_outside_of_the_window_are_dropped() {
    let mut talk = Talk::new("");
    talk.open();
    assert!(talk.sends(0, ACK, 101, 501, 900));
    assert!(!talk.sends(0, ACK, 1200, 501, 10), "beyond what the receiver takes");
    assert!(
        !talk.sends(0, ACK, 101 + 5_000_000, 501, 10) && !talk.sends(0, ACK, 4_000_000_000, 501, 0)
    );
    assert_eq!(talk.count("tcp_window"), 3);
    assert!(!talk.passes(1, ACK, 501, 1100), "what was never sent is acknowledged");
    assert_eq!(talk.count("tcp_acknowledgment"), 1);
    assert!(talk.passes(1, ACK, 501, 1001) && talk.sends(0, ACK, 1200, 501, 10));
    for (flags, seq) in [
        (SYN | FIN, 101),
        (TcpFlags::empty(), 101),
        (FIN, 101),
        (SYN | RST, 101),
        (FIN | TcpFlags::PSH | TcpFlags::URG, 101),
    ] {
        assert!(!talk.passes(0, flags, seq, 0), "{flags}");
    }
    assert_eq!(talk.count("tcp_flags"), 5);
    assert_eq!(talk.state(), "established");
}

/// RFC 5961: a reset ends a connection only with the very next number.
#[suite::test]
fn resets_outside_of_the_window_are_dropped() {
    let mut talk = Talk::new("");
    talk.open();
    assert!(!talk.passes(1, RST, 90_000, 0) && !talk.passes(1, RST, 400, 0));
    assert_eq!(talk.count("tcp_reset"), 2);
    assert!(talk.passes(1, RST, 700, 0), "in the window: its receiver asks back");
    assert_eq!(talk.state(), "established");
    assert!(talk.sends(0, ACK, 101, 501, 10));
    assert!(talk.passes(1, RST, 501, 0));
    assert_eq!(talk.state(), "closed");
}

/// An end that has lost its connection asks for another one; its peer answers with a challenge, and
/// gets a reset (RFC 5961 4).
#[suite::test]
fn challenges_are_answered() {
    let mut talk = Talk::new("");
    talk.open();
    assert!(talk.passes(0, SYN, 77_000, 0) && talk.passes(1, ACK, 501, 101));
    assert!(talk.passes(0, RST, 101, 0));
    assert_eq!(talk.state(), "closed");
    // The router has lost it, too: the challenge has numbers that it doesn't know.
    assert!(talk.passes(0, SYN, 77_000, 0));
    assert!(talk.passes(1, ACK, 12_000, 3000));
    assert!(!talk.passes(0, RST, 2999, 0) && talk.passes(0, RST, 3000, 0));
    assert!(talk.passes(0, SYN, 77_000, 0) && talk.passes(1, SYN | ACK, 800, 77_001));
    assert!(talk.passes(0, ACK, 77_001, 801));
    assert_eq!(talk.state(), "established");
    // A request that is refused.
    talk.rig.cli("clear firewall sessions");
    assert!(talk.passes(0, SYN, 100, 0));
    assert!(!talk.passes(1, RST | ACK, 0, 99) && !talk.passes(1, RST, 101, 0));
    assert!(talk.passes(1, RST | ACK, 0, 101));
    assert_eq!(talk.state(), "closed");
}

/// With `loose`, connections are taken in their middle, and with one direction only.
#[suite::test]
fn loose_policies_take_what_they_have_not_seen_begin() {
    let mut talk = Talk::new("loose");
    assert!(talk.sends(0, ACK, 5000, 9000, 100));
    assert_eq!(talk.state(), "established");
    assert!(talk.passes(1, ACK, 9000, 5100) && talk.sends(1, ACK, 9000, 5100, 500));
    talk.rig.cli("clear firewall sessions");
    assert!(talk.passes(0, SYN, 100, 0));
    for n in 0..20 {
        assert!(talk.sends(0, ACK, 101 + n * 700, 501, 700), "answers go another way");
    }
    assert_eq!(talk.state(), "established");
    assert!(!passes(&mut talk.rig, 0, 1, &from_to(false, 0, 1).tcp(7, 80).segment(RST, 1, 0)));
}

/// ICMP errors quote numbers that are under way (RFC 5927).
#[suite::test]
fn errors_quote_a_number_under_way() {
    let mut talk = Talk::new("");
    talk.open();
    assert!(talk.sends(0, ACK, 101, 501, 900));
    let error = |seq| {
        let quoted = Talk::packet(0, ACK, seq, 501, 20).build()[14..].to_vec();
        // Fragmentation needed, to 1000 bytes.
        from_to(false, 1, 0).icmp(wire::Icmp4Type::UNREACHABLE, 4, 1000).payload(quoted)
    };
    assert!(passes(&mut talk.rig, 1, 0, &error(101)));
    assert!(!passes(&mut talk.rig, 1, 0, &error(5_000_000)));
}
