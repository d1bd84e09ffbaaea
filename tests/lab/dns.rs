// SPDX-License-Identifier: Apache-2.0
//! DNS: a Linux client asks the router, which asks dnsmasq.
//!
//! Covers: features/dns, features/udp.

use fixture::{Cable, PATIENCE, RouterKind, Side, Site, eventually};
use testkit::lab::{Background, require};

/// Asks a server for records of a name; prints the response code, and each answer's type, TTL and
/// data.
const ASK: &str = "
import socket, sys
from scapy.layers.dns import DNS, DNSQR
server, name, kind = sys.argv[1:4]
s = socket.socket(socket.AF_INET6 if ':' in server else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(10)
s.sendto(bytes(DNS(id=0x77aa, rd=1, qd=DNSQR(qname=name, qtype=kind))), (server, 53))
r = DNS(s.recv(2000))
assert (r.id, r.qr, r.ra) == (0x77aa, 1, 1) and r.qd[0].qname == name.encode() + b'.'
print('rcode', r.rcode)
for i in range(r.ancount):
    a = r.an[i]
    data = getattr(a, 'rdata', None) or a.exchange
    print(a.type, a.ttl, data.decode() if isinstance(data, bytes) else data)
";

/// The right host's server, which answers for the zone lab.test.
const SERVER: &[&str] = &[
    "--no-daemon",
    "--conf-file=/dev/null",
    "--user=root",
    "--no-resolv",
    "--no-hosts",
    "--bind-interfaces",
    "--log-queries",
    "--log-facility=-",
    "--listen-address=10.0.2.2",
    "--local=/lab.test/",
    "--local-ttl=300",
    "--host-record=www.lab.test,192.0.2.80,2001:db8::80",
    "--cname=alias.lab.test,www.lab.test",
    "--mx-host=lab.test,mail.lab.test,10",
];

fn ask(side: &Side, name: &str, kind: &str) -> String {
    side.host.command("/usr/bin/python3").args(["-c", ASK, side.gateway, name, kind]).run().stdout
}

/// Number of times that the server was asked.
fn asked(server: &Background, what: &str) -> usize {
    format!("{}{}", server.stdout(), server.stderr()).matches(&format!("{what} from")).count()
}

#[test]
fn a_linux_client_gets_the_answers_of_dnsmasq() {
    let scapy = "/usr/lib/python3/dist-packages/scapy/__init__.py";
    let Some(lab) = require(&["root", "dnsmasq", "/usr/bin/python3", scapy]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let dir = tempfile::tempdir().expect("a directory");
    let pid = format!("--pid-file={}", dir.path().join("pid").display());
    let server = right.host.command("dnsmasq").args(SERVER).args([&pid]).spawn();
    router.run("dns name-server 10.0.2.2");
    router.run("dns enable");
    // The server may not be there yet: the router asks again.
    let text = eventually("an answer", || {
        Some(ask(left, "www.lab.test", "A")).filter(|text| text.contains("192.0.2.80"))
    });
    assert!(text.starts_with("rcode 0\n1 "), "{text}");
    let times = asked(&server, "query[A] www.lab.test");
    assert!(ask(left, "www.lab.test", "A").contains("192.0.2.80"));
    assert_eq!(asked(&server, "query[A] www.lab.test"), times, "it was kept");
    let shown = router.run("show dns cache");
    assert!(shown.contains("    www.lab.test: A 192.0.2.80  TTL left "), "{shown}");
    // Other types, and another client.
    assert!(ask(right, "www.lab.test", "AAAA").contains("2001:db8::80"));
    let text = ask(left, "alias.lab.test", "A");
    assert!(text.contains("www.lab.test.") && text.contains("192.0.2.80"), "{text}");
    assert!(ask(left, "80.2.0.192.in-addr.arpa", "PTR").contains("www.lab.test."));
    assert!(ask(left, "lab.test", "MX").contains("mail.lab.test."));
    assert_eq!(ask(left, "none.lab.test", "A"), "rcode 3\n");
    router.run("dns cache add own.lab.test 192.0.2.99");
    assert!(ask(left, "own.lab.test", "A").contains("192.0.2.99"));
    // Without the server.
    drop(server.stop(PATIENCE));
    assert!(ask(left, "www.lab.test", "A").contains("192.0.2.80"));
    assert!(ask(left, "own.lab.test", "A").contains("192.0.2.99"));
    assert_eq!(ask(left, "new.lab.test", "A"), "rcode 2\n");
    site.finish();
}
