// SPDX-License-Identifier: Apache-2.0
//! A Linux client behind NAT, and a Linux server in the world: TCP, UDP, ping, errors of ICMP, and
//! a service behind NAT.
//!
//! Covers: features/nat44-ed.

use fixture::{Cable, RouterKind, Site, eventually};

/// Tells clients which address and port they have, by datagrams and connections to port 5000.
pub const SERVE: &str = "
import selectors, socket
every = selectors.DefaultSelector()
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    s = socket.socket(socket.AF_INET, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(('', 5000))
    if kind == socket.SOCK_STREAM: s.listen()
    every.register(s, selectors.EVENT_READ)
print('ready', flush=True)
while True:
    for key, _ in every.select():
        s = key.fileobj
        if s.type == socket.SOCK_STREAM:
            c, who = s.accept()
            c.sendall(who[0].encode() + b' ' + b'x' * 300000)
            c.close()
        else:
            data, who = s.recvfrom(70000)
            s.sendto(who[0].encode() + b' ' + data, who)
";

/// Prints the address that the server has seen, and the length of the answer; with `closed`, that a
/// port without a server is refused; with `hops`, the routers on the way.
pub const ASK: &str = "
import socket, struct, sys
what, to, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
def said(data): print(data.split()[0].decode(), len(data))
if what == 'udp':
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2)
    s.connect((to, port))
    s.send(b'h' * int(sys.argv[4]))
    said(s.recv(70000))
elif what == 'tcp':
    c = socket.create_connection((to, port), timeout=2)
    data = b''
    while True:
        more = c.recv(65536)
        if not more: break
        data += more
    said(data)
elif what == 'closed':
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2)
    s.connect((to, port))
    s.send(b'hello')
    try: s.recv(10)
    except ConnectionRefusedError: print('refused')
elif what == 'hops':
    for ttl in (1, 2):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(2)
        s.setsockopt(socket.SOL_IP, socket.IP_TTL, ttl)
        s.setsockopt(socket.SOL_IP, 11, 1)  # IP_RECVERR
        s.sendto(b'x', (to, port))
        import time
        for _ in range(100):
            try:
                _, anc, _, _ = s.recvmsg(100, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
                break
            except OSError: time.sleep(0.02)
        err = anc[0][2]
        print(err[5], err[6], socket.inet_ntoa(err[20:24]))
";

#[test]
fn a_client_behind_nat_uses_the_world() {
    let Some(lab) = testkit::lab::require(&["root", "ping", "/usr/bin/python3"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(2, Cable::Veth));
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let servers =
        [left, right].map(|side| side.host.command("/usr/bin/python3").args(["-c", SERVE]).spawn());
    let ask = |from: &fixture::Side, args: &[&str]| {
        let said = from.host.command("/usr/bin/python3").args(["-c", ASK]).args(args).run();
        said.stdout.clone()
    };
    // A busy machine can miss the time limits of one try.
    let answered = |from: &fixture::Side, args: &[&str], expected: &str| {
        let what = format!("{expected} of {args:?}");
        eventually(&what, || (ask(from, args).trim() == expected).then_some(()));
    };
    answered(left, &["udp", right.address, "5000", "9"], "10.0.1.2 18");
    router.script(&format!(
        "nat44 plugin enable\n\
         set interface nat44 in {} out {}\n\
         nat44 add interface address {1}\n\
         nat44 add static mapping tcp local {} 5000 external {1} 8080\n",
        left.port, right.port, left.address
    ));
    let seen = right.gateway;
    answered(left, &["udp", right.address, "5000", "9"], &format!("{seen} {}", seen.len() + 10));
    // Fragments of both directions.
    answered(
        left,
        &["udp", right.address, "5000", "4000"],
        &format!("{seen} {}", seen.len() + 4001),
    );
    answered(left, &["tcp", right.address, "5000"], &format!("{seen} {}", seen.len() + 300_001));
    left.host.pings("-c3", right.address);
    // Errors about the client's packets: from the server, and from the router itself.
    answered(left, &["closed", right.address, "5999"], "refused");
    let hops = format!("11 0 {}\n3 3 {}", left.gateway, right.address);
    answered(left, &["hops", right.address, "33434"], &hops);
    // The service behind NAT, which the server reaches as a client.
    answered(
        right,
        &["tcp", right.gateway, "8080"],
        &format!("{} {}", right.address, right.address.len() + 300_001),
    );
    let sessions = router.run("show nat44 sessions");
    assert!(sessions.contains("static translation"), "{sessions}");
    assert!(sessions.contains("proto ICMP"), "{sessions}");
    router.run("nat44 plugin disable");
    answered(left, &["udp", right.address, "5000", "9"], "10.0.1.2 18");
    drop(servers);
    site.finish();
}
