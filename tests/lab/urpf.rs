// SPDX-License-Identifier: Apache-2.0
//! Reverse path checks of what a Linux host sends: from its own addresses, and from addresses that
//! are routed elsewhere or nowhere.
//!
//! Covers: features/urpf, features/super-path.

use fixture::{PATIENCE, Router, eventually};

use crate::six;

/// Notes the source and the text of each datagram. `list` is answered with the notes, which are
/// then forgotten.
const SERVE: &str = "
import select, socket
every, notes = [], []
for family in (socket.AF_INET, socket.AF_INET6):
    s = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind(('', 5000))
    every.append(s)
print('listening', flush=True)
while True:
    for s in select.select(every, [], [])[0]:
        data, who = s.recvfrom(70000)
        if data == b'list':
            s.sendto('\\n'.join(notes).encode(), who)
            notes.clear()
        else: notes.append(who[0] + ' sent ' + data.decode())
";

/// Arguments: the server, the number of datagrams that should arrive, and pairs of source and
/// destination. Sends five datagrams for each pair, and prints the notes of the server.
const SEND: &str = "
import socket, sys, time
def connected(source, to):
    family = socket.AF_INET6 if ':' in to else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.bind((source, 0))
    s.connect((to, 5000))
    return s
def ask():
    s = connected('', sys.argv[1])
    s.send(b'list')
    return s.recv(70000).decode().split('\\n')
expected, notes = int(sys.argv[2]), []
for source, to in zip(sys.argv[3::2], sys.argv[4::2]):
    s = connected(source, to)
    for i in range(5): s.send(('%d from %s ' % (i, source)).ljust(700, 'x').encode())
for _ in range(50):
    notes += [note for note in ask() if note]
    if len(notes) >= expected: break
    time.sleep(.1)
time.sleep(.2)
notes += [note for note in ask() if note]
print('\\n'.join(sorted(notes)))
";

/// The notes about the datagrams from these sources.
fn notes(sources: &[&str]) -> Vec<String> {
    let of = |source: &&str| {
        let source = source.to_string();
        (0..5).map(move |i| format!("{source} sent {:x<700}", format!("{i} from {source} ")))
    };
    let mut all: Vec<_> = sources.iter().flat_map(of).collect();
    all.sort();
    all
}

/// Packets that a node has dropped because of their source.
fn drops(router: &Router, node: &str) -> u64 {
    let errors = router.run("show errors");
    let of_node = errors.lines().filter(|line| line.contains(node) && line.contains("uRPF Drop"));
    of_node.filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

#[test]
fn only_sources_that_are_routed_back_pass() {
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let (own, own6, far, far6) = (left.address, "2001:db8:1::2", "198.18.0.9", "2001:db8:77::9");
    left.host.ip(&format!("addr add {far}/32 dev lo"));
    left.host.ip(&format!("-6 addr add {far6}/128 dev lo nodad"));
    let server = right.host.command("/usr/bin/python3").args(["-c", SERVE]).spawn();
    server.wait_for("listening", PATIENCE);
    left.host.pings("-c1", right.address);
    left.host.pings("-c1", "2001:db8:2::2");
    let to = |source: &str| if source.contains(':') { "2001:db8:2::2" } else { right.address };
    let every = [own, own6, far, far6];
    let arrives = |sources: &[&str]| {
        let number = (5 * sources.len()).to_string();
        let pairs = every.iter().flat_map(|source| [*source, to(source)]);
        let args = ["-c", SEND, right.address, &number].into_iter().chain(pairs);
        let text = left.host.command("/usr/bin/python3").args(args).ok();
        let got: Vec<_> = text.lines().filter(|line| !line.is_empty()).map(String::from).collect();
        got == notes(sources)
    };
    eventually("all sources arrive without checks", || arrives(&every).then_some(()));
    let check = |mode: &str| {
        router.script(&format!(
            "set urpf ip4 rx {mode} {0}\nset urpf ip6 rx {mode} {0}\n",
            left.port
        ));
    };
    let dropped =
        |mode: &str| ["ip4", "ip6"].map(|ip| drops(router, &format!("{ip}-rx-urpf-{mode}")));
    let route = |verb: &str, port: &str, hop: &str, hop6: &str| {
        router.script(&format!(
            "ip route {verb} {far}/32 via {hop} {port}\nip route {verb} {far6}/128 via {hop6} {port}\n"
        ));
    };
    check("strict");
    let shown = router.run("show super-path");
    let visited = shown.lines().find_map(|line| line.find("Visited features")).expect("a column");
    let is_visited = |line: &str| line.get(visited..).is_some_and(|nodes| nodes.contains("urpf"));
    assert!(shown.contains("urpf") && !shown.lines().any(is_visited), "{shown}");
    assert!(arrives(&[own, own6]));
    assert_eq!(dropped("strict"), [5, 5]);
    route("add", &left.port, own, own6);
    assert!(arrives(&every), "the sources are routed back");
    route("del", &left.port, own, own6);
    route("add", &right.port, right.address, "2001:db8:2::2");
    assert!(arrives(&[own, own6]), "they are routed elsewhere");
    assert_eq!(dropped("strict"), [10, 10]);
    check("loose");
    assert!(arrives(&every), "any route will do");
    route("del", &right.port, right.address, "2001:db8:2::2");
    assert!(arrives(&[own, own6]));
    assert_eq!((dropped("strict"), dropped("loose")), ([10, 10], [5, 5]));
    drop(server);
    site.finish();
}
