// SPDX-License-Identifier: Apache-2.0
//! Many neighbours that nobody needs: floods of senders on a link, and scans of a connected network
//! (RFC 6583). Those that somebody needs are reached all the same.
//!
//! Covers: features/ip-neighbor, features/arp, features/ip6-nd.

use std::time::Duration;

use fixture::{Router, eventually};
use testkit::lab::{Background, Lab, Netns, require};

/// Sends frames of one kind by `eth0`: ARP requests or neighbour solicitations of ever other
/// senders, or packets to random addresses behind the router. Arguments: the kind, the router's MAC
/// address, how many frames, how many a second. Ends by itself after a minute and a half.
const FLOOD: &str = r#"
import random, socket, struct, sys, time
kind, mac, count, rate = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", "")), int(sys.argv[3]), int(sys.argv[4])
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
own = s.getsockname()[4]
ip6 = lambda text: socket.inet_pton(socket.AF_INET6, text)

def total(data):
    return sum(struct.unpack("!%dH" % (len(data) // 2), data))

def fold(n):
    while n >> 16:
        n = (n & 0xffff) + (n >> 16)
    return struct.pack("!H", n ^ 0xffff)

def arp(i):
    sender = b"\x02\xaa" + struct.pack("!I", i)
    ip = bytes([10, 1]) + struct.pack("!H", 1024 + i % 64000)
    return (b"\xff" * 6 + sender + bytes.fromhex("08060001080006040001") + sender + ip
            + bytes(6) + bytes([10, 1, 0, 1])).ljust(60, b"\0")

def ns(i):
    sender = b"\x02\xaa" + struct.pack("!I", i)
    src, dst = ip6("2001:db8:1::")[:12] + struct.pack("!I", 65536 + i), ip6("ff02::1:ff00:1")
    body = bytes(4) + ip6("2001:db8:1::1") + b"\x01\x01" + sender
    sum = fold(total(src + dst + body) + 32 + 58 + 0x8700)
    return (b"\x33\x33\xff\0\0\1" + sender + b"\x86\xdd\x60\0\0\0" + struct.pack("!HBB", 32, 58, 255) + src + dst
            + b"\x87\0" + sum + body)

def scan4(_):
    dst = bytes([10, 2]) + struct.pack("!H", random.randrange(1024, 65000))
    head = struct.pack("!BBHHHBB", 0x45, 0, 28, 0, 0, 64, 17)
    src = bytes([10, 1, 0, 2])
    return (mac + own + b"\x08\0" + head + fold(total(head + src + dst)) + src + dst
            + struct.pack("!HHHH", 9, 9, 8, 0)).ljust(60, b"\0")

def scan6(_):
    dst = ip6("2001:db8:2::")[:8] + random.randbytes(8)
    return mac + own + b"\x86\xdd\x60\0\0\0" + struct.pack("!HBB", 0, 59, 64) + ip6("2001:db8:1::2") + dst

make = {"arp": arp, "ns": ns, "scan4": scan4, "scan6": scan6}[kind]
start = time.monotonic()
for i in range(count):
    try:
        s.send(make(i))
    except OSError:
        pass
    ahead = (i + 1) / rate - (time.monotonic() - start)
    if ahead > 0.005:
        time.sleep(ahead)
    if time.monotonic() - start > 90:
        break
print("sent", i + 1, flush=True)
"#;

/// A router between two networks, 10.1.0.0/16 and 2001:db8:1::/64 on the left, 10.2.0.0/16 and
/// 2001:db8:2::/64 on the right.
struct Wide {
    router: Router,
    left: Netns,
    right: Netns,
}

impl Wide {
    fn new(lab: &Lab) -> Self {
        let netns = lab.netns("router");
        netns.sysctl("net/ipv6/conf/all/disable_ipv6", "1");
        netns.sysctl("net/ipv6/conf/default/disable_ipv6", "1");
        let router = Router::start(&netns, "cpu { workers 1 }");
        let [left, right] = [("left", 1), ("right", 2)].map(|(name, n)| {
            let host = lab.netns(name);
            lab.veth((&host, "eth0"), (&netns, name));
            router.script(&format!(
                "create host-interface name {name}\nset interface ip address host-{name} 10.{n}.0.1/16\n\
                 set interface ip address host-{name} 2001:db8:{n}::1/64\nip6 nd host-{name} ra-suppress\n\
                 set interface state host-{name} up\n"
            ));
            host.addr("eth0", &format!("10.{n}.0.2/16"));
            host.addr("eth0", &format!("2001:db8:{n}::2/64"));
            host.route("default", &format!("10.{n}.0.1"));
            host.route("default", &format!("2001:db8:{n}::1"));
            for gateway in [format!("10.{n}.0.1"), format!("2001:db8:{n}::1")] {
                eventually("the router answers", || host.ping("-c1", &gateway).success().then_some(()));
            }
            host
        });
        Self { router, left, right }
    }

    fn flood(&self, kind: &str, count: u32, rate: u32) -> Background {
        let mac = self.left.ip("neigh show 10.1.0.1");
        let mac = mac
            .split_whitespace()
            .skip_while(|word| *word != "lladdr")
            .nth(1)
            .expect("a known router");
        let numbers = [count.to_string(), rate.to_string()];
        let args = ["-c", FLOOD, kind, mac, &numbers[0], &numbers[1]];
        self.left.command("/usr/bin/python3").args(args).timeout(Duration::from_secs(120)).spawn()
    }

    /// A host that comes up now on one side is reached from the other.
    fn reached(&self, on_the_right: bool, ip6: bool, n: u32) {
        let (here, there) =
            if on_the_right { (&self.right, &self.left) } else { (&self.left, &self.right) };
        let network = 1 + u32::from(on_the_right);
        let address =
            if ip6 { format!("2001:db8:{network}::{n:x}") } else { format!("10.{network}.1.{n}") };
        // Without asking whether somebody else has it: it is to be reached now.
        let nodad = if ip6 { " nodad" } else { "" };
        here.ip(&format!("addr add {address}/{} dev eth0{nodad}", if ip6 { 64 } else { 16 }));
        let answer = there.ping("-c1 -i0.2 -w10", &address);
        assert!(answer.success(), "{address}: {}", answer.complaint());
    }
}

fn finish(mut flood: Background) {
    assert_eq!(flood.wait(Duration::from_secs(120)), Some(0), "{}", flood.stderr());
}

/// `count` senders in two rounds; new hosts on the other link and on the same one, during and
/// after.
fn senders(limit: Option<u32>, count: u32, rate: u32) {
    let Some(lab) = require(&["root", "ping", "/usr/bin/python3"]) else { return };
    let wide = Wide::new(&lab);
    for (kind, family, ip6) in [("arp", "ip4", false), ("ns", "ip6", true)] {
        if let Some(limit) = limit {
            wide.router.run(&format!("set ip neighbor-config {family} limit {limit}"));
        }
        let mut n = 10;
        let mut both = || {
            for on_the_right in [true, false] {
                n += 1;
                wide.reached(on_the_right, ip6, n);
            }
        };
        let refused =
            || wide.router.json("show ip neighbor-stats host-left")[0]["refused"].as_u64();
        for _ in 0..2 {
            let before = refused();
            let flood = wide.flood(kind, count / 2, rate);
            // In the midst of it.
            eventually("the table is full", || (refused() > before).then_some(()));
            both();
            finish(flood);
            both();
        }
        let known = wide.router.json(&format!("show {family} neighbors"));
        let limit = limit.unwrap_or(50_000) as usize;
        assert!(
            known.as_array().is_some_and(|all| all.len() <= limit && all.len() > limit / 2),
            "full, not more"
        );
        wide.router.run("clear ip neighbors");
    }
}

/// A scan of the network on the right, while eight hosts come up there.
fn scan(count: u32, rate: u32) {
    let Some(lab) = require(&["root", "ping", "/usr/bin/python3"]) else { return };
    let wide = Wide::new(&lab);
    for (kind, ip6, node) in [("scan4", false, "ip4-glean"), ("scan6", true, "ip6-glean")] {
        let flood = wide.flood(kind, count, rate);
        eventually("the scan goes on", || {
            let errors = wide.router.run("show errors");
            errors.lines().any(|l| l.contains(node) && l.contains("asked for later")).then_some(())
        });
        (0..8).for_each(|i| wide.reached(true, ip6, 100 + i));
        finish(flood);
        wide.reached(true, ip6, 120);
    }
}

#[test]
fn senders_that_nobody_needs_keep_no_neighbour_out() {
    senders(Some(400), 4_000, 2_000);
}

#[test]
fn a_scanned_network_has_room_for_new_hosts() {
    scan(20_000, 4_000);
}

#[test]
#[ignore = "long: 128,000 senders and more at 20,000 packets a second, about a minute"]
fn long_senders_that_nobody_needs_keep_no_neighbour_out() {
    senders(None, 256_000, 20_000);
}

#[test]
#[ignore = "long: scans at 10,000 packets a second, about a minute"]
fn long_a_scanned_network_has_room_for_new_hosts() {
    scan(250_000, 10_000);
}
