// SPDX-License-Identifier: Apache-2.0
//! Answers to messages.

use super::*;

/// A message that was sent by us, in a packet of an answer.
fn answer4(to_port: u16, message: &[u8]) -> Vec<u8> {
    let packet = pkt::ip4("10.0.1.1", "10.0.1.2").ttl(64).df().id(0);
    packet.udp(2152, to_port).payload(message).build()
}

fn answer6(to_port: u16, message: &[u8]) -> Vec<u8> {
    let packet = pkt::ip6("2001:db8:2::1", "2001:db8:2::2").ttl(64).udp(2152, to_port);
    packet.payload(message).build()
}

/// TS 29.281 7.2.2: the response has the request's sequence number and goes to its port.
#[suite::test]
fn echo_requests_are_answered_if_that_is_wanted() {
    let mut rig = two();
    let request = header(0x32, 1, 0, &[0x12, 0x34, 0, 0], 0);
    let response = [0x32, 2, 0, 6, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 14, 0];
    assert_eq!(rig.route(&from4(&request, &[])), []);
    let counter = "packets with message type < 255 in gtpu header";
    assert_eq!(rig.count("gtpu4-input", counter), 1);
    rig.cli("set gtpu answer echo enable");
    assert_eq!(rig.route(&from4(&request, &[])), [(1, answer4(7, &response))]);
    assert_eq!(rig.route(&from6(&request, &[9; 40])), [(2, answer6(7, &response))]);
    assert_eq!(rig.count("gtpu4-answer", "echo_response"), 1);
    assert_eq!(rig.count("gtpu6-answer", "echo_response"), 1);
    // Other messages aren't, nor are requests without a sequence number, or cut ones.
    assert_eq!(rig.route(&from4(&header(0x32, 2, 0, &[0x12, 0x34, 0, 0], 0), &[])), []);
    assert_eq!(rig.route(&from4(&header(0x30, 1, 0, &[], 0), &[])), []);
    assert_eq!(rig.count("gtpu4-answer", "no_sequence"), 1);
    assert_eq!(rig.route(&from4(&header(0x32, 1, 0, &[1], 0), &[])), []);
    assert_eq!(rig.count("gtpu4-answer", "too_short"), 1);
    // Nobody multiplies answers by a request to all hosts of a network.
    let to_all = pkt::ip4("10.0.1.2", "10.0.1.255").udp(7, 2152).payload(&request).build();
    assert_eq!(rig.route(&to_all), []);
    // User data of unknown endpoints is something else.
    assert_eq!(rig.route(&from4(&header(0x30, 255, 99, &[], 0), &inner("30.0.0.1", 9))), []);
    // A forward comes first.
    rig.cli("create gtpu forward dst 10.0.2.2 unknown-type");
    assert_eq!(rig.route(&from4(&request, &[]))[0].0, 2);
    rig.cli("create gtpu forward dst 10.0.2.2 unknown-type del");
    rig.cli("set gtpu answer echo disable");
    assert_eq!(rig.route(&from4(&request, &[])), []);
}

/// TS 29.281 7.3.1: the endpoint that the data was for, and our address; the port that it came
/// from in an extension header; to the registered port.
#[suite::test]
fn senders_to_unknown_endpoints_are_told() {
    let mut rig = two();
    rig.cli("set gtpu answer error-indication enable");
    let unknown = header(0x30, 255, 0x0102_0304, &[], 0);
    let head = |len: u8| [0x36, 26, 0, len, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 7, 0];
    let teid = [16, 1, 2, 3, 4];
    let error = [&head(20)[..], &teid, &[133, 0, 4, 10, 0, 1, 1]].concat();
    let datagram = from4(&unknown, &inner("30.0.0.1", 9));
    assert_eq!(rig.route(&datagram), [(1, answer4(2152, &error))]);
    let own: std::net::Ipv6Addr = "2001:db8:2::1".parse().expect("an address");
    let error = [&head(32)[..], &teid, &[133, 0, 16], &own.octets()].concat();
    let datagram = from6(&unknown, &inner("30.0.0.1", 9));
    assert_eq!(rig.route(&datagram), [(2, answer6(2152, &error))]);
    assert_eq!(rig.count("gtpu6-answer", "error_indication"), 1);
    // Not about echo requests, bad headers, or another error indication.
    for (flags, message) in [(0x32, 1), (0x50, 255), (0x36, 26)] {
        let other = header(flags, message, 99, &[0; 4], 0);
        assert_eq!(rig.route(&from4(&other, &[])), [], "{message}");
    }
    // A tunnel takes its datagrams all the same.
    let good = from4(&header(0x30, 255, 13, &[], 0), &inner("30.0.0.1", 9));
    assert_eq!(rig.route(&good), [(2, inner("30.0.0.1", 8))]);
    // As many as errors of ICMP, then no more.
    let datagram = from4(&unknown, &inner("30.0.0.1", 9));
    let sent: usize = (0..2000).map(|_| rig.route(&datagram).len()).sum();
    assert!((10..1500).contains(&sent), "{sent}");
    let limited = rig.count("gtpu4-answer", "rate_limited");
    assert_eq!(limited + sent as u64, 2000);
}

#[suite::test]
fn settings_are_shown_and_saved() {
    let mut rig = two();
    assert_eq!(rig.cli("show gtpu answer"), "echo disabled\nerror-indication disabled\n");
    rig.cli("set gtpu answer echo enable");
    assert_eq!(rig.cli("show gtpu answer"), "echo enabled\nerror-indication disabled\n");
}
