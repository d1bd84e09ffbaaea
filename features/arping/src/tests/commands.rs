// SPDX-License-Identifier: Apache-2.0
//! The command: its words, its answer, its frames.

use super::*;
use cli::{OutputPiece, Runner, Tree};
use std::time::Duration;

/// A command that runs, step by step.
struct Running {
    runner: Runner,
    tree: Tree<graph::World>,
    said: Vec<OutputPiece>,
    result: Option<cli::Result<()>>,
}

impl Running {
    fn start(rig: &mut Rig, line: &str) -> Self {
        let commands = rig.bench.world.plugins().iter().flat_map(|p| p.cli);
        let tree = Tree::new(commands).expect("commands that fit together");
        let mut running = Self { runner: Runner::default(), tree, said: Vec::new(), result: None };
        running.runner.line(&running.tree, &rig.bench.world, line, false, &mut running.said);
        running.go_on(rig, Duration::ZERO);
        running
    }

    /// Lets time go by, then everything that is due.
    fn go_on(&mut self, rig: &mut Rig, time: Duration) {
        rig.bench.world.clock.adjust(time.as_nanos() as u64);
        for _ in 0..10 {
            let now = Duration::from_nanos(rig.bench.world.clock.now());
            let done = self.runner.poll(&self.tree, &rig.bench.world, now, &mut self.said);
            self.result = self.result.take().or(done);
            rig.bench.settle();
        }
    }

    /// The answer.
    fn end(mut self, rig: &mut Rig) -> String {
        for _ in 0..100 {
            if self.result.is_some() {
                break;
            }
            self.go_on(rig, Duration::from_secs(1));
        }
        self.result.expect("an end").expect("success");
        let texts = self.said.into_iter().map(|piece| match piece {
            OutputPiece::Answer(text) | OutputPiece::Chunk(text) => text,
        });
        texts.collect()
    }
}

/// The request for an address of network 0.
fn request(host: u8) -> Vec<u8> {
    let own = (port_mac(0), [10, 0, 0, 1]);
    arp_frame(ArpOp::REQUEST, own, (MacAddr::ZERO, [10, 0, 0, host]), MacAddr::BROADCAST)
}

#[suite::test]
fn requests_go_out_at_the_interval_and_replies_are_counted() {
    let mut rig = rig(1);
    let mut running = Running::start(&mut rig, "arping 10.0.0.9 p0 repeat 3 interval 0.5");
    assert_eq!(rig.sent(), [(0, request(9))], "the first at once");
    rig.receive_all(0, &[reply(OTHER, [10, 0, 0, 9]), reply(OTHER, [10, 0, 0, 8])]);
    running.go_on(&mut rig, Duration::from_millis(400));
    assert_eq!(rig.sent(), []);
    running.go_on(&mut rig, Duration::from_millis(100));
    assert_eq!(rig.sent(), [(0, request(9))]);
    running.go_on(&mut rig, Duration::from_millis(500));
    assert_eq!(rig.sent(), [(0, request(9))]);
    rig.receive_all(0, &[reply(OTHER, [10, 0, 0, 9])]);
    running.go_on(&mut rig, Duration::from_millis(499));
    assert!(running.result.is_none(), "the last reply is waited for");
    assert_eq!(
        running.end(&mut rig),
        "Sending 1 ARP Request to 10.0.0.9\nSending 2 ARP Request to 10.0.0.9\n\
         Sending 3 ARP Request to 10.0.0.9\n\
         Received 2 ARP Replies from 02:09:09:09:09:09 (10.0.0.9)\n"
    );
    assert_eq!(rig.count("arping-input", "no error"), 2);
    // ARP gets the replies, too; the node is off the arc now.
    assert_eq!(rig.world().stats.simple("/net/arp/rx/replies").sum(rig.ports[0].at()), 3);
    let arc = rig.bench.world.arc("arp").expect("an arc");
    assert!(!rig.bench.world.features_of(arc, rig.ports[0]).contains(&"arping-input"));
    assert_eq!(
        rig.cli("arping 10.0.0.9 p0"),
        "Sending 1 ARP Request to 10.0.0.9\nReceived 0 Reply\n"
    );
}

#[suite::test]
fn two_stations_with_one_address_are_both_named() {
    let mut rig = rig(1);
    let running = Running::start(&mut rig, "arping 10.0.0.9 p0 -j");
    let third = MacAddr([2, 3, 3, 3, 3, 3]);
    let nobody = MacAddr([1, 3, 3, 3, 3, 3]);
    let all = [OTHER, third, third, nobody, port_mac(0)].map(|mac| reply(mac, [10, 0, 0, 9]));
    rig.receive_all(0, &all);
    let json: serde_json::Value = serde_json::from_str(&running.end(&mut rig)).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!({
            "address": "10.0.0.9", "sent": 1, "replies": 4,
            "stations": [
                { "mac": "02:09:09:09:09:09", "replies": 1 },
                { "mac": "02:03:03:03:03:03", "replies": 2 },
            ],
        })
    );
    // More stations than are told apart.
    let running = Running::start(&mut rig, "arping 10.0.0.9 p0");
    let many: Vec<_> = (0..20).map(|i| reply(MacAddr([2, 7, 7, 7, 7, i]), [10, 0, 0, 9])).collect();
    rig.receive_all(0, &many);
    assert_eq!(running.end(&mut rig).matches("Received 1 ARP Replies from").count(), 8);
}

#[suite::test]
fn announcements_have_the_address_twice() {
    let mut rig = rig(1);
    let text = rig.cli("arping gratuitous 10.0.0.77 p0 repeat 2 interval 0.01");
    assert_eq!(text, "Sending 1 GARP to 10.0.0.77\nSending 2 GARP to 10.0.0.77\n");
    let who = (port_mac(0), [10, 0, 0, 77]);
    let garp = arp_frame(ArpOp::REQUEST, who, (MacAddr::ZERO, who.1), MacAddr::BROADCAST);
    assert_eq!(rig.sent(), [(0, garp.clone()), (0, garp)]);
    rig.cli("arping gratuitous 2001:db8::77 p0 interval 0.01");
    let na = compose::announcement(port_mac(0), "2001:db8::77".parse().expect("an address"));
    assert_eq!(rig.sent(), [(0, na.clone())]);
    // To all nodes, from the address itself, with override and its link-layer address.
    assert_eq!((&na[..6], na[21], na[54]), (&[0x33, 0x33, 0, 0, 0, 1][..], 255, 136));
    assert_eq!((&na[22..38], &na[62..78]), (&na[62..78], &na[22..38]));
    assert_eq!((na[58] & 0x60, &na[78..]), (0x20, &[&[2, 1][..], &port_mac(0).0].concat()[..]));
}

#[suite::test]
fn neighbours_of_ip6_are_solicited_from_the_address_in_their_network() {
    let mut rig = rig(1);
    let running = Running::start(&mut rig, "arping 2001:db8::9 p0 repeat 1 interval 2");
    let [own, target] = ["2001:db8::1", "2001:db8::9"].map(|ip| ip.parse().expect("an address"));
    let solicitation = compose::solicitation(port_mac(0), own, target, None).to_vec();
    assert_eq!(rig.sent(), [(0, solicitation)]);
    let mut bad = advertisement(OTHER, "2001:db8::9", true);
    bad[60] ^= 1;
    rig.receive_all(
        0,
        &[
            advertisement(OTHER, "2001:db8::9", true),
            advertisement(OTHER, "2001:db8::9", false),
            advertisement(OTHER, "2001:db8::8", true),
            advertisement(port_mac(0), "2001:db8::9", true),
            bad,
        ],
    );
    assert_eq!(
        running.end(&mut rig),
        "Sending 1 Neighbor Solicitation to 2001:db8::9\n\
         Received 2 ICMP6 neighbor advertisements from 02:09:09:09:09:09 (2001:db8::9)\n"
    );
    assert_eq!(rig.count("arping6-input", "no error"), 2);
    rig.sent();
    // A host of the link is asked from our address of the link.
    rig.cli("arping fe80::9 p0 interval 0.01");
    assert_eq!(rig.sent()[0].1[22..24], [0xfe, 0x80]);
}

#[suite::test]
fn blanks_may_be_missing_where_a_word_ends_anyway() {
    let mut rig = rig(1);
    for line in [
        "arping 10.0.0.9p0 repeat 2 interval 0.01",
        "arping gratuitous10.0.0.9p0 repeat 2 interval 0.01",
        "arping gratuitous 10.0.0.9p0 repeat 2 interval 0.01",
        "arping gratuitous10.0.0.9 p0 repeat 2 interval 0.01",
        "arping 2001:db8::9p0 repeat 2 interval 0.01",
        "arping gratuitous2001:db8::9p0 repeat 2 interval 0.01",
    ] {
        rig.cli(line);
        let sent = rig.sent();
        assert_eq!(sent.len(), 2, "{line}");
        let is_announcement = match sent[0].1[12..14] {
            [8, 6] => sent[0].1[28..32] == [10, 0, 0, 9],
            _ => sent[0].1[54] == 136,
        };
        assert_eq!(is_announcement, line.contains("gratuitous"), "{line}");
    }
    // A name that could be part of the address.
    rig.cli("set interface name p0 eth0");
    rig.cli("arping 2001:db8::9eth0 interval 0.01");
    assert_eq!(rig.sent()[0].1[62..78], "2001:db8::9".parse::<Ipv6Addr>().expect("ip").octets());
}

#[suite::test]
fn wrong_words_are_named() {
    let mut rig = rig(2);
    rig.cli("create loopback interface");
    for (line, code, part) in [
        ("arping 10.0.0.300 p0", None, "expecting IP4/IP6 address, not `10.0.0.300'"),
        ("arping 10.0.0.3", None, "expecting an interface"),
        ("arping 10.0.0.3p7", None, "unknown interface `p7'"),
        ("arping 10.0.0.3 p7", Some(-2), "p7"),
        ("arping 10.0.0.3 local0", Some(-151), "no Ethernet frames"),
        ("arping 10.0.0.3 loop0", Some(-74), "loop0 is down"),
        ("arping 224.0.0.1 p0", Some(-58), "multicast"),
        ("arping 255.255.255.255 p0", Some(-58), "broadcast"),
        ("arping gratuitous ff02::1 p0", Some(-58), "multicast"),
        ("arping 10.0.0.3 p0 interval -1", Some(-7), "interval"),
        ("arping 10.0.0.3 p0 repeat -1", None, "-1"),
    ] {
        let (retval, text) = rig.refused(line);
        assert!(text.contains(part), "{line}: {text}");
        assert!(code.is_none_or(|code| code == retval), "{line}: {retval}");
    }
    rig.cli("set interface ip address del p1 10.0.1.1/24");
    let (retval, text) = rig.refused("arping 10.0.1.3 p1");
    assert_eq!(retval, -57);
    assert!(text.contains("no source address for egress interface p1"), "{text}");
    assert_eq!(rig.sent(), []);
    assert_eq!(rig.cli("arping 10.0.0.3 p0 repeat 0"), "Received 0 Reply\n");
}

#[suite::test]
fn an_interface_has_one_arping_at_a_time_and_may_go_meanwhile() {
    let mut rig = rig(2);
    let mut running = Running::start(&mut rig, "arping 10.0.0.9 p0 repeat 9 interval 5");
    let (retval, text) = rig.refused("arping 2001:db8::9 p0");
    assert_eq!((retval, text.contains("another arping")), (-7, true), "{text}");
    rig.cli("arping 10.0.1.9 p1 interval 0.01");
    running.runner.cancel();
    assert!(running.end(&mut rig).ends_with("Received 0 Reply\n"));
    let mut running = Running::start(&mut rig, "arping 10.0.0.9 p0 repeat 9 interval 5");
    rig.delete_port(0);
    rig.add_port(0);
    running.go_on(&mut rig, Duration::from_secs(5));
    let error = running.result.expect("an end").expect_err("an error");
    assert!(error.to_string().contains("deleted"), "{error}");
    rig.cli("set interface ip address p0 10.0.0.1/24");
    rig.cli("arping 10.0.0.9 p0 interval 0.01");
}
