// SPDX-License-Identifier: Apache-2.0
//! Linux hosts that listen to sources, behind a router and behind a proxy.
//!
//! Covers: features/igmp, features/mfib.

use fixture::{PATIENCE, Router, eventually};
use testkit::lab::{Background, Lab, Netns, require};

/// Listens to a group from one source and prints what comes.
const LISTENER: &str = "
import socket, sys
group, source, own = map(socket.inet_aton, sys.argv[1:4])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 5000))
JOIN = 39
s.setsockopt(socket.IPPROTO_IP, JOIN, group + own + source)
print('joined', flush=True)
while True:
    data, peer = s.recvfrom(2000)
    print(peer[0], data.decode(), flush=True)
";

/// Sends a datagram to a group.
const SENDER: &str = "
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
s.bind((sys.argv[2], 0))
s.sendto(sys.argv[3].encode(), (sys.argv[1], 5000))
";

const GROUP: &str = "232.7.7.7";

struct Place {
    _lab: Lab,
    /// Number `i` has 10.0.i.2; the first one sends, also from 10.0.1.3.
    hosts: Vec<Netns>,
    router: Router,
}

fn place() -> Option<Place> {
    let lab = require(&["root", "ping", "/usr/bin/python3"])?;
    let netns = lab.netns("router");
    let (mut lines, mut hosts) = (String::new(), Vec::new());
    for (i, name) in (1..).zip(["sender", "first", "second"]) {
        let host = lab.netns(name);
        lab.veth((&host, "eth0"), (&netns, name));
        host.addr("eth0", &format!("10.0.{i}.2/24"));
        host.route("default", &format!("10.0.{i}.1"));
        host.sysctl("net/ipv4/conf/eth0/force_igmp_version", "3");
        lines +=
            &format!("create host-interface name {name}\nset interface state host-{name} up\n");
        lines += &format!("set interface ip address host-{name} 10.0.{i}.1/24\n");
        hosts.push(host);
    }
    hosts[0].addr("eth0", "10.0.1.3/24");
    let router = Router::start(&netns, "");
    router.script(&lines);
    for (i, host) in (1..).zip(&hosts) {
        let gateway = format!("10.0.{i}.1");
        eventually("the router answers", || host.ping("-c1", &gateway).success().then_some(()));
    }
    Some(Place { _lab: lab, hosts, router })
}

impl Place {
    fn listen(&self, host: usize, source: &str) -> Background {
        let own = format!("10.0.{}.2", host + 1);
        let words = ["-c", LISTENER, GROUP, source, &own];
        let listener = self.hosts[host].command("/usr/bin/python3").args(words).spawn();
        listener.wait_for("joined", PATIENCE);
        listener
    }

    fn send(&self, source: &str, text: &str) {
        let words = ["-c", SENDER, GROUP, source, text];
        drop(self.hosts[0].command("/usr/bin/python3").args(words).ok());
    }

    fn config(&self) -> String {
        self.router.run("show igmp config")
    }
}

#[test]
fn hosts_behind_a_proxy_get_the_sources_that_they_listen_to() {
    let Some(place) = place() else { return };
    place.router.script(
        "test igmp timers query 2 src 6 leave 1
         igmp enable host host-sender
         igmp enable router host-first
         igmp enable router host-second
         igmp proxy-dev add vrf-id 0 host-sender
         igmp proxy-dev itf add vrf-id 0 host-first
         igmp proxy-dev itf add vrf-id 0 host-second",
    );
    let first = place.listen(1, "10.0.1.2");
    let second = place.listen(2, "10.0.1.3");
    // Each interface has its own source, and the upstream one both.
    let has = |text: &str, n: usize| (place.config().matches(text).count() == n).then_some(());
    eventually("the router knows the first", || has("    10.0.1.2\n", 2));
    eventually("the router knows the second", || has("    10.0.1.3\n", 2));
    place.send("10.0.1.2", "one");
    place.send("10.0.1.3", "two");
    first.wait_for("10.0.1.2 one", PATIENCE);
    second.wait_for("10.0.1.3 two", PATIENCE);
    assert!(!first.stdout().contains("two") && !second.stdout().contains("one"));
    // The state outlives its timer, since the host answers queries.
    std::thread::sleep(std::time::Duration::from_secs(8));
    assert!(has("    10.0.1.2\n", 2).is_some(), "{}", place.config());
    place.send("10.0.1.2", "again");
    first.wait_for("10.0.1.2 again", PATIENCE);
    // The listener ends, and the kernel leaves for it.
    drop(first.kill());
    eventually("the router forgets the first", || has("    10.0.1.2\n", 0));
    assert!(has("    10.0.1.3\n", 2).is_some(), "{}", place.config());
    drop(second.kill());
    eventually("nobody listens", || has("group:", 0));
    assert!(!place.router.run("show ip mfib").contains(GROUP));
    place.router.stop();
}

#[test]
fn the_router_as_a_host_answers_a_linux_router() {
    let Some(place) = place() else { return };
    place.router.script(
        "igmp enable host host-first
         igmp listen int host-first saddr 10.0.1.2 gaddr 232.7.7.7",
    );
    // A raw socket of the host asks as a router does, and prints the answers.
    let asker = "
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 2)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton('224.0.0.22') + socket.inet_aton('10.0.2.2'))
s.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b'\\x94\\x04\\0\\0')
query = bytearray([0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0])
total = sum(struct.unpack('>6H', query))
struct.pack_into('>H', query, 2, 0xffff ^ (total & 0xffff) + (total >> 16))
s.settimeout(1)
for _ in range(20):
    s.sendto(bytes(query), ('224.0.0.1', 0))
    try:
        while True:
            packet, peer = s.recvfrom(2000)
            if peer[0] == '10.0.2.1':
                at = 4 * (packet[0] & 15)
                print(packet[at:].hex(), flush=True)
    except socket.timeout:
        pass
";
    let words = ["-c", asker];
    let asker = place.hosts[1].command("/usr/bin/python3").args(words).spawn();
    // IS_INCLUDE of one source.
    asker.wait_for("0000000101000001e80707070a000102", PATIENCE);
    drop(asker.kill());
    place.router.stop();
}
