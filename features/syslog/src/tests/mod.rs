// SPDX-License-Identifier: Apache-2.0
mod parser;

use crate::api::{
    SyslogGetFilter, SyslogGetSender, SyslogSetFilter, SyslogSetSender, SyslogSeverity,
};
use crate::message::{LOCAL0, Message, Severity, is_name};
use crate::sender::Syslog;
use crate::{PLUGIN, Server};
use graph::Plugin;
use net::api::Ip4Address;
use net::drive::Rig;
use parser::parse;
use proptest::prelude::*;
use std::net::UdpSocket;
use std::time::{Duration, UNIX_EPOCH};

static PLUGINS: &[&Plugin] =
    &[&interface::PLUGIN, &::ethernet::PLUGIN, &fib::PLUGIN, &ip::PLUGIN, &PLUGIN];

/// Bytes of the headers of Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
const SENDER: &str = "set syslog sender collector 10.0.1.2 src 10.0.0.1";

fn router() -> Rig {
    let mut rig = Rig::new(PLUGINS, 2);
    rig.networks();
    rig
}

fn message(text: &str) -> Message {
    let at = UNIX_EPOCH + Duration::from_micros(1_772_323_205_000_007);
    Message::new((LOCAL0, Severity::Informational), at, "NAT", "SADD").text(text)
}

/// The messages that have left by port 1.
fn sent(rig: &mut Rig) -> Vec<String> {
    rig.bench.settle();
    let frames = rig.sent();
    let text = |(port, frame): (usize, Vec<u8>)| {
        assert_eq!(port, 1);
        String::from_utf8(frame[HEADERS..].to_vec()).expect("text")
    };
    frames.into_iter().map(text).collect()
}

#[suite::test]
fn a_message_has_the_form_of_rfc_5424() {
    let message = message("two words")
        .element("nsess")
        .param("ISADDR", "10.0.0.2")
        .param("tag", "a \"b\" \\ [c]")
        .element("other");
    let pid = std::process::id();
    assert_eq!(
        message.encode("10.0.0.1", 480).line,
        format!(
            "<134>1 2026-03-01T00:00:05.000007Z 10.0.0.1 NAT {pid} SADD [nsess ISADDR=\"10.0.0.2\" \
             tag=\"a \\\"b\\\" \\\\ [c\\]\"][other] two words"
        )
    );
    // Text of UTF-8 has a byte order mark (RFC 5424 6.4).
    assert_eq!(
        Message::new((3, Severity::Error), UNIX_EPOCH, "a", "b").text("é").encode("h", 480).line,
        format!("<27>1 1970-01-01T00:00:00.000000Z h a {pid} b - \u{feff}é")
    );
    let bare = Message::new((3, Severity::Error), UNIX_EPOCH, "", "with space");
    assert_eq!(
        bare.encode("not a name", 480).line,
        format!("<27>1 1970-01-01T00:00:00.000000Z - - {pid} - -")
    );
}

#[suite::test]
fn what_does_not_fit_is_left_out() {
    let message = message("grüße").element("a").param("p", 1).element("b").param("q", 2);
    let whole = message.encode("h", 480);
    assert!(!whole.is_cut);
    let len = whole.line.len();
    // Each limit leaves a message that parses, and never more bytes.
    for most in 60..=len {
        let encoded = message.encode("h", most);
        assert!(encoded.line.len() <= most, "{most}: {}", encoded.line);
        assert_eq!(encoded.is_cut, most < len, "{most}");
        let parsed = parse(&encoded.line).expect("a message");
        assert!(parsed.elements.iter().all(|(id, _)| id == "a" || id == "b"));
        assert!("grüße".starts_with(parsed.text.as_str()), "{}", parsed.text);
    }
}

#[suite::test]
fn messages_read_back_as_they_were_made() {
    let word = "[!-~]{1,32}";
    let value = "[ -~\u{e4}\u{20ac}\n]{0,40}";
    let input = (0_u8..24, 0_usize..8, word, word, value, proptest::collection::vec(value, 0..4));
    proptest!(|((facility, severity, app, id, text, values) in input)| {
        let severity = Severity::ALL[severity];
        let mut message = Message::new((facility, severity), UNIX_EPOCH, app.clone(), id.clone());
        for value in &values {
            message = message.element("e@1").param("v", value);
        }
        let message = message.text(text.clone());
        let parsed = parse(&message.encode("10.0.0.1", 4096).line).expect("a message");
        prop_assert_eq!(parsed.priority, u32::from(facility) * 8 + severity as u32);
        prop_assert_eq!((parsed.app, parsed.id), (app, id));
        prop_assert_eq!(parsed.text, text);
        let expected: Vec<_> = values
            .iter()
            .map(|value| ("e@1".to_string(), vec![("v".to_string(), value.clone())]))
            .collect();
        prop_assert_eq!(parsed.elements, expected);
    });
}

#[suite::test]
fn a_message_leaves_as_a_datagram() {
    let mut rig = router();
    rig.cli(SENDER);
    let world = rig.world();
    world.get::<Syslog>().send(&world, &message("hello"));
    rig.bench.settle();
    let frames = rig.sent();
    let line = message("hello").encode("10.0.0.1", 480).line;
    let (port, frame) = &frames[0];
    assert_eq!((frames.len(), *port, frame.len()), (1, 1, HEADERS + line.len()));
    let ip = &frame[14..];
    assert_eq!(ip[9], 17);
    assert_eq!((&ip[12..16], &ip[16..20]), (&[10, 0, 0, 1][..], &[10, 0, 1, 2][..]));
    assert_eq!(ip[20..26], [2, 2, 2, 2, 0, (line.len() + 8) as u8]);
    assert!(matches!(wire::l4::verify(ip), Ok(wire::l4::Verdict::Valid)));
    assert_eq!(&ip[28..], line.as_bytes());
    assert_eq!(world.get::<Syslog>().counts.sent(), 1);
}

#[suite::test]
fn filter_and_collector_decide_what_is_sent() {
    let mut rig = router();
    let world = rig.world();
    let syslog = world.get::<Syslog>();
    syslog.send(&world, &message("no collector"));
    assert!(sent(&mut rig).is_empty());
    assert!(!syslog.is_sent(Severity::Emergency));
    rig.cli(SENDER);
    assert!(syslog.is_sent(Severity::Informational) && !syslog.is_sent(Severity::Debug));
    rig.cli("set syslog filter severity notice");
    assert!(!syslog.is_sent(Severity::Informational));
    syslog.send(&world, &message("not urgent"));
    assert!(sent(&mut rig).is_empty());
    assert_eq!(syslog.filtered(), 1);
    rig.cli("test syslog local7 notice app kind sd-id x@1 sd-param a 'b c' sd-param d e sd-id y 'good day'");
    let lines = sent(&mut rig);
    let parsed = parse(&lines[0]).expect("a message");
    assert_eq!((parsed.priority, parsed.app.as_str(), parsed.id.as_str()), (189, "app", "kind"));
    let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
    assert_eq!(
        parsed.elements,
        [("x@1".into(), vec![pair("a", "b c"), pair("d", "e")]), ("y".into(), vec![])]
    );
    assert_eq!((parsed.text.as_str(), parsed.host.as_str()), ("good day", "10.0.0.1"));
    let shown = rig.cli("show syslog sender");
    assert!(shown.starts_with("collector 10.0.1.2:514, src address 10.0.0.1, max-msg-size 480\n"));
    assert_eq!(rig.cli("show syslog filter"), "severity-filter: notice\n");
    rig.cli("set syslog sender off");
    assert!(rig.refused("test syslog local7 notice app kind").1.contains("no collector"));
    assert_eq!(rig.cli("show syslog sender"), "syslog is disabled\n");
}

#[suite::test]
fn bad_words_are_refused() {
    let mut rig = router();
    rig.cli(SENDER);
    for line in [
        "test syslog local9 notice app kind",
        "test syslog local1 notice 'a b' kind",
        "test syslog local1 notice app kind sd-id a=b",
        "test syslog local1 notice app kind sd-id a sd-param x]y z",
        "test syslog local1 notice app kind sd-id a sd-id b sd-id a",
    ] {
        rig.refused(line);
    }
    assert!(sent(&mut rig).is_empty());
}

#[suite::test]
fn an_unreachable_collector_is_counted() {
    let mut rig = router();
    rig.cli("set syslog sender collector 172.16.0.1 src 10.0.0.1");
    let world = rig.world();
    world.get::<Syslog>().send(&world, &message("hello"));
    assert!(sent(&mut rig).is_empty());
    let counts = world.get::<Syslog>().counts.clone();
    assert_eq!((counts.unreachable(), counts.sent()), (1, 0));
    assert_eq!(world.stats.simple("/syslog/unreachable").sum(0), 1);
}

#[suite::test]
fn a_collector_goes_with_its_table() {
    let mut rig = router();
    rig.cli("ip table add 7");
    rig.cli(&format!("{SENDER} vrf-id 7"));
    rig.cli("ip table del 7");
    assert_eq!(rig.cli("show syslog sender"), "syslog is disabled\n");
}

#[suite::test]
fn messages_of_the_api() {
    let rig = router();
    let client = std::cell::RefCell::new(rig.bench.api());
    let set = |change: fn(&mut SyslogSetSender)| {
        let mut set = SyslogSetSender {
            src_address: Ip4Address([10, 0, 0, 1]),
            collector_address: Ip4Address([10, 0, 1, 2]),
            collector_port: 514,
            vrf_id: u32::MAX,
            max_msg_size: 480,
        };
        change(&mut set);
        client.borrow_mut().call(set)
    };
    assert_eq!(set(|set| set.max_msg_size = 479), Err(-7));
    assert_eq!(set(|set| set.collector_port = 0), Err(-7));
    assert_eq!(set(|set| set.collector_address = Ip4Address([0; 4])), Err(-7));
    assert_eq!(set(|set| set.src_address = Ip4Address([0; 4])), Err(-7));
    assert_eq!(set(|set| set.vrf_id = 9), Err(-3));
    set(|_| ()).expect("set");
    let got = client.borrow_mut().call(SyslogGetSender {}).expect("there");
    assert_eq!((got.collector_address.0, got.collector_port), ([10, 0, 1, 2], 514));
    assert_eq!((got.src_address.0, got.vrf_id, got.max_msg_size), ([10, 0, 0, 1], u32::MAX, 480));
    let filter = SyslogSetFilter { severity: SyslogSeverity::Emerg };
    client.borrow_mut().call(filter).expect("set");
    let got = client.borrow_mut().call(SyslogGetFilter {}).expect("there");
    assert_eq!(got.severity, SyslogSeverity::Emerg);
}

#[suite::test]
fn a_server_of_the_host_gets_messages() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    let server = Server::default();
    server.send(|| unreachable!("there is no server"));
    server.set(socket.local_addr().ok()).expect("a socket");
    server.send(|| message("hello"));
    let mut bytes = [0; 4096];
    let n = socket.recv(&mut bytes).expect("a message");
    let parsed = parse(std::str::from_utf8(&bytes[..n]).expect("text")).expect("a message");
    assert_eq!((parsed.text.as_str(), is_name(&parsed.host, 255)), ("hello", true));
}
