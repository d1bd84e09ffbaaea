// SPDX-License-Identifier: Apache-2.0
//! Collectors of NAT's events: nfcapd reads templates and records of IPFIX, and a plain receiver
//! the messages of syslog. The bindings of both are those of the router's table.
//!
//! Covers: features/nat, features/nat44-ed, features/nat64, features/ipfix-export, features/syslog,
//! features/udp.

#[path = "../../features/syslog/src/tests/parser.rs"]
mod parser;

use crate::six;
use fixture::{Router, Side, eventually};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use testkit::lab::require;

/// Appends each datagram to port 514 to a file, as a line.
const RECEIVE: &str = "
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 514))
with open(sys.argv[1], 'ab', buffering=0) as out:
    while True: out.write(s.recv(70000) + b'\\n')
";

/// Sends a datagram from each of so many ports.
const SEND: &str = "
import socket, sys
to, n = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ':' in to else socket.AF_INET
for port in range(20000, 20000 + n):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind(('', port))
    s.sendto(b'hello', (to, 9))
    s.close()
";

/// Sessions of each kind.
const SESSIONS: usize = 40;

/// A binding: the user with its port, and what the world sees.
type Binding = (String, u64, String, u64);

/// The bindings that nfdump tells of an event.
fn recorded(side: &Side, dir: &Path, event: &str) -> BTreeSet<Binding> {
    let dir = dir.display().to_string();
    let text = side.host.command("nfdump").args(["-q", "-R", &dir, "-o", "json"]).run().stdout;
    // Without its headline, the list has no brackets either.
    let records: Vec<Value> = serde_json::from_str(&format!("[{text}]")).unwrap_or_default();
    let of = |record: &Value| {
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_string();
        let user = if record["src6_addr"].is_null() { "src4_addr" } else { "src6_addr" };
        let port = text("src_xlt_port").parse().unwrap_or(0);
        (text(user), record["src_port"].as_u64().unwrap_or(0), text("src4_xlt_ip"), port)
    };
    let is_it = |record: &&Value| record["nat_event"].as_str() == Some(event);
    records.iter().filter(is_it).map(of).collect()
}

/// The bindings that messages of a kind tell of.
fn told(file: &Path, kind: &str) -> BTreeSet<Binding> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut all = BTreeSet::new();
    // The last line may still be written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for line in whole.lines() {
        let message = parser::parse(line).unwrap_or_else(|| panic!("RFC 5424 allows no {line}"));
        let header = (message.priority, message.host.as_str(), message.app.as_str());
        assert_eq!(header, (134, "10.0.2.1", "NAT"));
        assert!(message.text.is_empty());
        let [(id, params)] = &message.elements[..] else { panic!("{line}") };
        assert_eq!(id, "nsess");
        let value = |name: &str| {
            let found = params.iter().find(|(of, _)| of == name);
            found.map(|(_, value)| value.clone()).unwrap_or_else(|| panic!("{name} of {line}"))
        };
        let number = |name: &str| value(name).parse().expect("a number");
        assert_eq!((value("PROTO").as_str(), value("XDPORT").as_str()), ("17", "9"), "{line}");
        if message.id == kind {
            all.insert((value("ISADDR"), number("ISPORT"), value("XSADDR"), number("XSPORT")));
        }
    }
    all
}

/// All objects with a member of this name.
fn objects(value: &Value, name: &str) -> Vec<Value> {
    match value {
        Value::Array(all) => all.iter().flat_map(|value| objects(value, name)).collect(),
        Value::Object(members) if members.contains_key(name) => vec![value.clone()],
        Value::Object(members) => members.values().flat_map(|value| objects(value, name)).collect(),
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(u64::MAX)
}

/// The bindings of the table of NAT44-ED.
fn table44(router: &Router) -> BTreeSet<Binding> {
    let binding = |session: &Value| {
        let (inside, outside) = (&session["inside"], &session["outside"]);
        (
            text(&inside["address"]),
            number(&inside["port"]),
            text(&outside["address"]),
            number(&outside["port"]),
        )
    };
    let sessions = objects(&router.json("show nat44 sessions"), "inside");
    sessions.iter().map(binding).collect()
}

/// The bindings of the table of NAT64.
fn table64(router: &Router) -> BTreeSet<Binding> {
    let binding = |bib: &Value| {
        (text(&bib["user"]), number(&bib["user_port"]), text(&bib["address"]), number(&bib["port"]))
    };
    objects(&router.json("show nat64 bib all"), "user").iter().map(binding).collect()
}

fn same(what: &str, expected: &BTreeSet<Binding>, get: impl Fn() -> BTreeSet<Binding>) {
    let last = std::cell::RefCell::default();
    let is_same = || {
        *last.borrow_mut() = get();
        *last.borrow() == *expected
    };
    let _shown = Shown(&last);
    eventually(what, || is_same().then_some(()));
}

/// Prints what there was last if the test fails.
struct Shown<'a>(&'a std::cell::RefCell<BTreeSet<Binding>>);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the last bindings: {:?}", self.0.borrow());
        }
    }
}

fn send(side: &Side, to: &str) {
    let n = SESSIONS.to_string();
    let sent = side.host.command("/usr/bin/python3").args(["-c", SEND, to, &n]).run();
    assert!(sent.success(), "{sent:?}");
}

#[test]
fn collectors_know_the_bindings_of_the_table() {
    if require(&["root", "nfcapd", "nfdump", "/usr/bin/python3"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let dir = tempfile::tempdir().expect("a directory");
    let (flows, lines) = (dir.path().join("flows"), dir.path().join("lines"));
    std::fs::create_dir(&flows).expect("a directory");
    let (flow_words, line_words) = (flows.display().to_string(), lines.display().to_string());
    let nfcapd = right
        .host
        .command("nfcapd")
        .args(["-w", &flow_words, "-p", "4739", "-t", "2", "-b", right.address])
        .spawn();
    let receiver =
        right.host.command("/usr/bin/python3").args(["-c", RECEIVE, &line_words]).spawn();
    eventually("both listen", || {
        let listening = right.host.sh("ss -lun").ok();
        (listening.contains(":4739") && listening.contains(":514")).then_some(())
    });
    router.script(&format!(
        "set ipfix exporter collector {} src {} template-interval 1\n\
         set syslog sender collector {0} src {1}\n\
         nat ipfix logging enable domain 77\n\
         nat44 plugin enable\n\
         set interface nat44 in {} out {}\n\
         nat44 add address 10.0.2.77\n",
        right.address, right.gateway, left.port, right.port
    ));
    send(left, right.address);
    eventually("sessions", || (table44(router).len() == SESSIONS).then_some(()));
    let first = table44(router);
    router.run("clear nat44 ed sessions");
    router.run("nat44 plugin disable");
    router.run("ipfix flush");
    same("NAT44 created", &first, || recorded(right, &flows, "NAT44 session create"));
    same("NAT44 deleted", &first, || recorded(right, &flows, "NAT44 session delete"));
    same("SADD", &first, || told(&lines, "SADD"));
    same("SDEL", &first, || told(&lines, "SDEL"));

    router.script(&format!(
        "nat64 plugin enable\n\
         set interface nat64 in {}\n\
         set interface nat64 out {}\n\
         nat64 add pool address 10.0.2.78\n",
        left.port, right.port
    ));
    send(left, &format!("64:ff9b::{}", right.address));
    eventually("bindings", || (table64(router).len() == SESSIONS).then_some(()));
    let second = table64(router);
    router.run("nat64 add pool address 10.0.2.78 del");
    router.run("ipfix flush");
    for event in
        ["NAT64 BIB create", "NAT64 BIB delete", "NAT64 session create", "NAT64 session delete"]
    {
        same(event, &second, || recorded(right, &flows, event));
    }
    let both: BTreeSet<_> = first.union(&second).cloned().collect();
    same("SADD of both", &both, || told(&lines, "SADD"));
    same("SDEL of both", &both, || told(&lines, "SDEL"));
    assert!(router.run("show nat logging").contains("lost 0"));
    drop((nfcapd, receiver));
    site.finish();
}
