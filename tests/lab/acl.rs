// SPDX-License-Identifier: Apache-2.0
//! Linux hosts behind access control lists: what begins inside is answered, nothing else comes in.
//!
//! Covers: features/acl.

use fixture::{Cable, RouterKind, Site, eventually};

/// Answers datagrams and connections on two ports.
const SERVE: &str = "
import selectors, socket
every = selectors.DefaultSelector()
for port in (5000, 5001):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        s = socket.socket(socket.AF_INET, kind)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(('', port))
        if kind == socket.SOCK_STREAM: s.listen()
        every.register(s, selectors.EVENT_READ)
print('ready', flush=True)
while True:
    for key, _ in every.select():
        s = key.fileobj
        if s.type == socket.SOCK_STREAM:
            c = s.accept()[0]
            c.sendall(b'x' * 200000)
            c.close()
        else:
            data, who = s.recvfrom(70000)
            s.sendto(data, who)
";

/// Which ports answer.
const ASK: &str = "
import concurrent.futures, socket, sys
def udp(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2)
    s.connect((sys.argv[1], port))
    s.send(b'hello')
    return len(s.recv(100))
def tcp(port):
    n, c = 0, socket.create_connection((sys.argv[1], port), timeout=2)
    while True:
        data = c.recv(65536)
        if not data: return n
        n += len(data)
every = [(f, port) for port in (5000, 5001) for f in (udp, tcp)]
with concurrent.futures.ThreadPoolExecutor(len(every)) as pool:
    tries = [(f, port, pool.submit(f, port)) for f, port in every]
for f, port, done in tries:
    if not done.exception(): print(port, f.__name__, done.result())
";

#[test]
fn hosts_are_answered_and_not_called() {
    let Some(lab) = testkit::lab::require(&["root", "ping", "/usr/bin/python3"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(2, Cable::Veth));
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let servers =
        [left, right].map(|side| side.host.command("/usr/bin/python3").args(["-c", SERVE]).spawn());
    let ask = |from: &fixture::Side, to: &fixture::Side| {
        let said = from.host.command("/usr/bin/python3").args(["-c", ASK, to.address]).ok();
        said.lines().map(|line| line.trim().to_string()).collect::<Vec<_>>()
    };
    let all = ["5000 udp 5", "5000 tcp 200000", "5001 udp 5", "5001 tcp 200000"];
    // A busy machine can miss the time limits of one try.
    let answered = |from: &fixture::Side, to: &fixture::Side, expected: &[&str]| {
        let what = format!("answers {expected:?} from {}", to.address);
        eventually(&what, || (ask(from, to) == expected).then_some(()));
    };
    answered(left, right, &all);
    answered(right, left, &all);
    router.script(&format!(
        "set acl-plugin acl permit+reflect proto udp dport 5000, permit+reflect proto tcp, permit+reflect proto icmp\n\
         set acl-plugin acl deny\n\
         set acl-plugin interface {0} input acl 0\n\
         set acl-plugin interface {0} output acl 1\n",
        left.port
    ));
    answered(left, right, &[all[0], all[1], all[3]]);
    assert_eq!(ask(right, left), Vec::<String>::new());
    left.host.pings("-c2", right.address);
    assert!(!right.host.ping("-c1 -W1", left.address).success());
    let sessions = router.run("show acl-plugin sessions");
    assert!(sessions.contains("tcp transient"), "{sessions}");
    // Rules that are replaced decide at once, and what they still permit goes on.
    router.run("set acl-plugin acl index 0 permit+reflect proto udp dport 5000-5001");
    answered(left, right, &[all[0], all[2]]);
    router.script(&format!(
        "set acl-plugin interface {0} input acl 0 del\nset acl-plugin interface {0} output acl 1 del\n",
        left.port
    ));
    answered(right, left, &all);
    drop(servers);
    site.finish();
}
