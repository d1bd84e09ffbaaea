// SPDX-License-Identifier: Apache-2.0
//! A Linux host sends to the ports that its network may send to, and to others.
//!
//! Covers: features/port-range, features/ip-reassembly.

use fixture::{Cable, RouterKind, Site, eventually};

/// Echoes datagrams on two ports, and takes connections on them.
const SERVE: &str = "
import selectors, socket
every = selectors.DefaultSelector()
for port in (5000, 5001):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        s = socket.socket(socket.AF_INET, kind)
        s.bind(('', port))
        if kind == socket.SOCK_STREAM: s.listen()
        every.register(s, selectors.EVENT_READ)
while True:
    for key, _ in every.select():
        s = key.fileobj
        if s.type == socket.SOCK_STREAM: s.accept()[0].close()
        else:
            data, who = s.recvfrom(70000)
            s.sendto(data, who)
";

/// Which ports answer: datagrams, of which one is larger than the link, and connections.
const ASK: &str = "
import concurrent.futures, socket, sys
def udp(port, size):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2)
    s.connect((sys.argv[1], port))
    s.send(bytes(size))
    return len(s.recv(70000))
def tcp(port, _):
    socket.create_connection((sys.argv[1], port), timeout=2).close()
    return ''
every = [(f, port, size) for port in (5000, 5001) for f, size in ((udp, 10), (udp, 4000), (tcp, 0))]
with concurrent.futures.ThreadPoolExecutor(len(every)) as pool:
    tries = [(f, port, pool.submit(f, port, size)) for f, port, size in every]
for f, port, done in tries:
    if not done.exception(): print(port, f.__name__, done.result())
";

#[test]
fn a_linux_host_reaches_the_ports_that_it_may() {
    let Some(lab) = testkit::lab::require(&["root", "/usr/bin/python3"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let server = right.host.command("/usr/bin/python3").args(["-c", SERVE]).spawn();
    let ask = || {
        let said = left.host.command("/usr/bin/python3").args(["-c", ASK, right.address]).ok();
        said.lines().map(|line| line.trim().to_string()).collect::<Vec<_>>()
    };
    let all =
        ["5000 udp 10", "5000 udp 4000", "5000 tcp", "5001 udp 10", "5001 udp 4000", "5001 tcp"];
    eventually("answers on all ports", || (ask() == all).then_some(()));
    let check = "set interface ip source-and-port-range-check";
    router.script(&format!(
        "set ip source-and-port-range-check vrf 7 {0}/32 range 4000 - 5000\n\
         {check} {1} udp-out-vrf 7 tcp-out-vrf 7\n",
        left.address, left.port
    ));
    assert_eq!(ask(), ["5000 udp 10", "5000 tcp"], "later fragments have no ports");
    router.run(&format!("set interface virtual-reassembly {} ip4", left.port));
    assert_eq!(ask(), ["5000 udp 10", "5000 udp 4000", "5000 tcp"]);
    // The same where packets leave.
    router.script(&format!(
        "{check} {0} udp-out-vrf 7 tcp-out-vrf 7 del\n{check} {1} udp-in-vrf 7\n",
        left.port, right.port
    ));
    assert_eq!(ask(), ["5000 udp 10", "5000 udp 4000", "5000 tcp", "5001 tcp"]);
    let errors = router.run("show errors");
    assert!(errors.contains("ip4 source and port range check bad packets"), "{errors}");
    drop(server);
    site.finish();
}
