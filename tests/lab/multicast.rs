// SPDX-License-Identifier: Apache-2.0
//! Hosts that join groups, and one that sends to them.
//!
//! Covers: features/mfib, features/icmp.

use fixture::{PATIENCE, Router, eventually};
use testkit::lab::{Background, Lab, Netns, require};

/// Hosts, each on a link of its own to the router: host number `i` has 10.0.i.2 and 2001:db8:i::2.
const HOSTS: [&str; 4] = ["sender", "first", "second", "third"];
/// A group for both families, and its layer-2 address.
const GROUPS: [(&str, &str); 2] = [("239.129.2.3", "01005e010203"), ("ff0e::4:5", "333300040005")];

/// Prints sender, TTL or hop limit, and length of what comes to a group.
const RECEIVER: &str = "
import socket, struct, sys
group = sys.argv[1]
v6 = ':' in group
s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 5000))
if v6:
    index = struct.pack('I', socket.if_nametoindex('eth0'))
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, group) + index)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
else:
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(sys.argv[2]))
    IP_RECVTTL = 12
    s.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
print('joined', flush=True)
while True:
    data, extra, _, peer = s.recvmsg(9000, 100)
    ttl = struct.unpack('i', extra[0][2][:4])[0]
    good = data == bytes(i & 255 for i in range(len(data)))
    print(peer[0], ttl, len(data), 'good' if good else 'bad', flush=True)
";

/// Sends datagrams of these lengths to a group.
const SENDER: &str = "
import socket, sys, time
group, ttl = sys.argv[1], int(sys.argv[2])
v6 = ':' in group
s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
if v6:
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, ttl)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex('eth0'))
else:
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)
for length in sys.argv[3:]:
    s.sendto(bytes(i & 255 for i in range(int(length))), (group, 5000))
    time.sleep(0.01)
";

/// Prints the layer-2 address that packets to a group come with.
const WITNESS: &str = "
import socket, sys
group = sys.argv[1]
family, at = (socket.AF_INET6, 38) if ':' in group else (socket.AF_INET, 30)
want = socket.inet_pton(family, group)
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(('eth0', 0))
print('listening', flush=True)
while True:
    frame = s.recv(2000)
    if frame[at:at + len(want)] == want and frame[12:14] in (b'\\x08\\x00', b'\\x86\\xdd'):
        print(frame[:6].hex(), flush=True)
";

struct Place {
    _lab: Lab,
    hosts: Vec<Netns>,
    router: Router,
}

fn place() -> Option<Place> {
    let lab = require(&["root", "ping", "/usr/bin/python3"])?;
    let netns = lab.netns("router");
    for scope in ["all", "default"] {
        netns.sysctl(&format!("net/ipv6/conf/{scope}/disable_ipv6"), "1");
    }
    let mut lines = String::new();
    let mut hosts = Vec::new();
    for (i, name) in (1..).zip(HOSTS) {
        let host = lab.netns(name);
        lab.veth((&host, "eth0"), (&netns, name));
        host.addr("eth0", &format!("10.0.{i}.2/24"));
        host.ip(&format!("-6 addr add 2001:db8:{i}::2/64 dev eth0 nodad"));
        host.route("default", &format!("10.0.{i}.1"));
        host.ip(&format!("-6 route add default via 2001:db8:{i}::1"));
        lines +=
            &format!("create host-interface name {name}\nset interface state host-{name} up\n");
        lines += &format!("set interface ip address host-{name} 10.0.{i}.1/24\n");
        lines += &format!("set interface ip address host-{name} 2001:db8:{i}::1/64\n");
        hosts.push(host);
    }
    let router = Router::start(&netns, "cpu { workers 1 }");
    drop(router.script(&lines));
    for (i, host) in (1..).zip(&hosts) {
        for gateway in [format!("10.0.{i}.1"), format!("2001:db8:{i}::1")] {
            eventually("the router answers", || host.ping("-c1", &gateway).success().then_some(()));
        }
    }
    Some(Place { _lab: lab, hosts, router })
}

fn python(host: &Netns, script: &str, args: &[&str]) -> Background {
    let command = host.command("/usr/bin/python3").args(["-c", script]);
    command.args(args.iter().copied()).spawn()
}

fn join(place: &Place, host: usize, group: &str) -> Background {
    let receiver = python(&place.hosts[host], RECEIVER, &[group, &format!("10.0.{}.2", host + 1)]);
    receiver.wait_for("joined", PATIENCE);
    receiver
}

fn send(place: &Place, host: usize, group: &str, ttl: &str, lengths: &[&str]) {
    let command = place.hosts[host].command("/usr/bin/python3").args(["-c", SENDER, group, ttl]);
    drop(command.args(lengths.iter().copied()).ok());
}

/// Number of packets that an entry has accepted.
fn accepted(place: &Place, group: &str) -> u64 {
    let ip = if group.contains(':') { "ip6" } else { "ip" };
    let shown = place.router.json(&format!("show {ip} mfib {group}"));
    shown[0]["routes"][0]["packets"].as_u64().unwrap_or_else(|| panic!("{shown}"))
}

#[test]
fn hosts_that_joined_get_what_is_sent() {
    let Some(place) = place() else { return };
    for (group, mac) in GROUPS {
        let from = if group.contains(':') { "2001:db8:1::2" } else { "10.0.1.2" };
        let hop = if group.contains(':') { "2001:db8:3::2 " } else { "10.0.3.2 " };
        for path in
            ["host-sender Accept", "host-first Forward", &format!("{hop}host-second Forward")]
        {
            drop(place.router.run(&format!("ip mroute add {group} via {path}")));
        }
        let receivers: Vec<_> = (1..4).map(|host| join(&place, host, group)).collect();
        let witness = python(&place.hosts[1], WITNESS, &[group]);
        witness.wait_for("listening", PATIENCE);
        // Short, with a shared tail, and in fragments.
        send(&place, 0, group, "9", &["10", "1200", "3000", "20"]);
        let want: Vec<_> = [10, 1200, 3000, 20].map(|len| format!("{from} 8 {len} good")).into();
        for receiver in &receivers[..2] {
            receiver.wait_for(&want[3], PATIENCE);
            let got = receiver.stdout();
            assert_eq!(got.lines().skip(1).collect::<Vec<_>>(), want, "{}", receiver.stderr());
        }
        witness.wait_for(mac, PATIENCE);
        assert!(witness.stdout().lines().skip(1).all(|line| line == mac), "{}", witness.stdout());
        // Six packets, since one was in three fragments.
        assert_eq!(accepted(&place, group), 6);
        // At its end, and from where it may not come.
        send(&place, 0, group, "1", &["30"]);
        send(&place, 2, group, "9", &["40"]);
        // Behind these, one that arrives; and then nothing else has.
        send(&place, 0, group, "9", &["50"]);
        for receiver in &receivers[..2] {
            receiver.wait_for(&format!("{from} 8 50 good"), PATIENCE);
            assert_eq!(receiver.stdout().lines().count(), 6, "{}", receiver.stdout());
        }
        // The third link has a listener and no path; with one it hears too.
        assert_eq!(receivers[2].stdout().trim(), "joined");
        drop(place.router.run(&format!("ip mroute add {group} via host-third Forward")));
        send(&place, 0, group, "9", &["60"]);
        receivers[2].wait_for(&format!("{from} 8 60 good"), PATIENCE);
        for background in receivers.into_iter().chain([witness]) {
            drop(background.kill());
        }
    }
    let errors = place.router.run("show errors");
    for what in [
        "ip4 multicast RPF check failed",
        "ip6 multicast RPF check failed",
        "ip4 multicast ttl <= 1",
        "ip6 multicast hop limit <= 1",
    ] {
        assert!(errors.contains(what), "{what}: {errors}");
    }
    drop(place.router.stop());
}

#[test]
fn the_router_hears_the_groups_of_its_links() {
    let Some(place) = place() else { return };
    let host = &place.hosts[1];
    // All hosts answer, this one too; and all routers. The answer comes from an address of the
    // scope that was asked from.
    for group in ["ff02::1%eth0", "ff02::2%eth0"] {
        let text = host.ping("-c3 -i0.1 -I 2001:db8:2::2", group).stdout;
        assert!(text.contains("from 2001:db8:2::1:"), "{group}: {text}");
    }
    let before = accepted(&place, "224.0.0.1");
    // To a broadcast address only if configured (RFC 1122 3.2.2.6).
    assert!(!host.ping("-b -c1 -W1 -I eth0", "255.255.255.255").stdout.contains("from 10.0.2.1"));
    drop(place.router.run("set ip icmp echo-broadcast enable"));
    assert!(host.ping("-b -c1 -W1 -I eth0", "255.255.255.255").stdout.contains("from 10.0.2.1"));
    drop(place.router.run("set ip icmp echo-broadcast disable"));
    let text = host.ping("-c2 -i0.1 -I eth0", "224.0.0.1").stdout;
    assert!(text.contains("from 10.0.2.1"), "{text}");
    assert!(accepted(&place, "224.0.0.1") >= before + 2);
    drop(place.router.stop());
}
