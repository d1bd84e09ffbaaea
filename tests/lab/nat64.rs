// SPDX-License-Identifier: Apache-2.0
//! A Linux client of IPv6 alone and a Linux server of IPv4 alone, with NAT64 between them: ping,
//! TCP, UDP, fragments, errors of ICMP, and a link of the world with a shorter MTU.
//!
//! Covers: features/nat64.

use crate::six;
use fixture::{Side, eventually};

/// Tells clients which address they have, and how much they have sent, on port 5000.
const SERVE: &str = "
import selectors, socket
every = selectors.DefaultSelector()
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    s = socket.socket(socket.AF_INET, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(('', 5000))
    if kind == socket.SOCK_STREAM: s.listen()
    every.register(s, selectors.EVENT_READ)
while True:
    for key, _ in every.select():
        s = key.fileobj
        if s.type == socket.SOCK_STREAM:
            c, who = s.accept()
            n = 0
            while True:
                data = c.recv(65536)
                n += len(data)
                if not data: break
            c.sendall(('%s %d ' % (who[0], n)).encode() + b'x' * 300000)
            c.close()
        else:
            data, who = s.recvfrom(70000)
            s.sendto(('%s %d ' % (who[0], len(data))).encode() + data, who)
";

/// Sends so many bytes to port 5000; prints the address and the length that the server has seen,
/// and the length of its answer. With `closed`, that a port without a server is refused.
const ASK: &str = "
import socket, sys
what, to, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
def said(data):
    words = data.split()
    print(words[0].decode(), words[1].decode(), len(data))
if what == 'udp':
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.settimeout(2)
    s.connect((to, 5000))
    s.send(b'h' * n)
    said(s.recv(70000))
elif what == 'tcp':
    c = socket.create_connection((to, 5000), timeout=3)
    c.sendall(b'h' * n)
    c.shutdown(socket.SHUT_WR)
    data = b''
    while True:
        more = c.recv(65536)
        if not more: break
        data += more
    said(data)
else:
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.settimeout(2)
    s.connect((to, 5999))
    s.send(b'hello')
    try: s.recv(10)
    except ConnectionRefusedError: print('refused')
";

#[test]
fn a_client_of_ipv6_uses_a_server_of_ipv4() {
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    // Neither has the other's version.
    left.host.ip("-4 addr flush dev eth0");
    right.host.ip("-6 addr flush dev eth0 scope global");
    let server = right.host.command("/usr/bin/python3").args(["-c", SERVE]).spawn();
    router.script(&format!(
        "nat64 plugin enable\n\
         set interface nat64 in {}\n\
         set interface nat64 out {}\n\
         nat64 add pool address 10.0.2.77\n",
        left.port, right.port
    ));
    let far = format!("64:ff9b::{}", right.address);
    let ask = |from: &Side, what: &str, n: usize| {
        let n = n.to_string();
        let args = ["-c", ASK, what, &far, &n];
        from.host.command("/usr/bin/python3").args(args).run().stdout.clone()
    };
    // A busy machine can miss the time limits of one try.
    let answered = |what: &str, n: usize, expected: &str| {
        eventually(&format!("{expected} of {what} {n}"), || {
            (ask(left, what, n).trim() == expected).then_some(())
        });
    };
    answered("udp", 9, "10.0.2.77 9 21");
    left.host.pings("-c3", &far);
    // Fragments of both directions.
    answered("udp", 4000, "10.0.2.77 4000 4015");
    answered("tcp", 300_000, "10.0.2.77 300000 300017");
    // An error of the server about the client's packet.
    answered("closed", 0, "refused");
    site.mtu(right, 1400);
    answered("tcp", 300_000, "10.0.2.77 300000 300017");
    answered("udp", 4000, "10.0.2.77 4000 4015");
    let sessions = router.run("show nat64 session table all");
    assert!(sessions.contains("protocol TCP") && sessions.contains("protocol ICMP"), "{sessions}");
    drop(server);
    site.finish();
}
