// SPDX-License-Identifier: Apache-2.0
//! A Linux client behind endpoint-independent NAT: TCP, UDP, ping and errors of ICMP with a Linux
//! server in the world, and one socket that several hosts of the world know by one port.
//!
//! Covers: features/nat44-ei.

use crate::nat44::{ASK, SERVE};
use fixture::{Cable, RouterKind, Side, Site, eventually};

/// Tells senders to port 53 of any address which port they have. A sender that asks for it gets a
/// datagram from an address that it hasn't sent to.
const NAMES: &str = "
import socket, sys
all = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in sys.argv[1:]]
for s, addr in zip(all, sys.argv[1:]): s.bind((addr, 53))
import selectors
every = selectors.DefaultSelector()
for s in all[:-1]: every.register(s, selectors.EVENT_READ)
while True:
    for key, _ in every.select():
        data, who = key.fileobj.recvfrom(100)
        answer = ('%s %d' % who).encode()
        (all[-1] if data == b'other' else key.fileobj).sendto(answer, who)
";

/// Asks several servers from one socket; prints how many different ends they have seen, and the
/// server from which an answer has come that was asked of another.
const LOOK: &str = "
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
s.bind(('', 5353))
seen = set()
for server in sys.argv[1:]:
    s.sendto(b'name', (server, 53))
    data, who = s.recvfrom(100)
    assert who[0] == server, who
    seen.add(data)
s.sendto(b'other', (sys.argv[1], 53))
data, who = s.recvfrom(100)
seen.add(data)
print(len(seen), data.split()[0].decode(), who[0])
";

#[test]
fn one_socket_has_one_port_for_all_the_world() {
    let Some(lab) = testkit::lab::require(&["root", "ping", "/usr/bin/python3"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(2, Cable::Veth));
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let servers =
        [left, right].map(|side| side.host.command("/usr/bin/python3").args(["-c", SERVE]).spawn());
    let others = ["10.0.2.53", "10.0.2.54", "10.0.2.55"];
    for other in others {
        right.host.ip(&format!("addr add {other}/24 dev eth0"));
    }
    let names = right.host.command("/usr/bin/python3").args(["-c", NAMES]).args(others).spawn();
    router.script(&format!(
        "nat44 ei plugin enable\n\
         set interface nat44 ei in {} out {}\n\
         nat44 ei add interface address {1}\n\
         nat44 ei add static mapping tcp local {} 5000 external {1} 8080\n",
        left.port, right.port, left.address
    ));
    let run = |from: &Side, program: &str, args: &[&str]| {
        let said = from.host.command("/usr/bin/python3").args(["-c", program]).args(args).run();
        said.stdout.clone()
    };
    // A busy machine can miss the time limits of one try.
    let answered = |from: &Side, program: &str, args: &[&str], expected: &str| {
        let what = format!("{expected} of {args:?}");
        eventually(&what, || (run(from, program, args).trim() == expected).then_some(()));
    };
    let seen = right.gateway;
    let ask = |what: &[&str], expected: &str| answered(left, ASK, what, expected);
    ask(&["udp", right.address, "5000", "9"], &format!("{seen} {}", seen.len() + 10));
    ask(&["udp", right.address, "5000", "4000"], &format!("{seen} {}", seen.len() + 4001));
    ask(&["tcp", right.address, "5000"], &format!("{seen} {}", seen.len() + 300_001));
    left.host.pings("-c3", right.address);
    ask(&["closed", right.address, "5999"], "refused");
    let hops = format!("11 0 {}\n3 3 {}", left.gateway, right.address);
    ask(&["hops", right.address, "33434"], &hops);
    answered(left, LOOK, &others[..2], &format!("1 {seen} {}", others[2]));
    // The service behind NAT, which the server reaches as a client.
    let service = format!("{} {}", right.address, right.address.len() + 300_001);
    answered(right, ASK, &["tcp", right.gateway, "8080"], &service);
    let sessions = router.run("show nat44 ei sessions detail");
    assert!(sessions.contains("static translation"), "{sessions}");
    assert!(sessions.contains("port 5353"), "{sessions}");
    router.run("nat44 ei plugin disable");
    ask(&["udp", right.address, "5000", "9"], "10.0.1.2 18");
    drop((servers, names));
    site.finish();
}
