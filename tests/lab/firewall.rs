// SPDX-License-Identifier: Apache-2.0
//! Linux hosts in two zones: what the policy lets begin is answered, transfers go on while the
//! policy changes and while requests and resets are forged, and end when it revokes them.
//!
//! Covers: features/firewall.

use fixture::{Cable, RouterKind, Side, Site, eventually};
use std::time::Duration;
use testkit::lab::{Background, Lab};

const PYTHON: &str = "/usr/bin/python3";

/// Answers datagrams, and sends to each connection without an end.
const SERVE: &str = "
import selectors, socket, threading, time
def pour(c):
    try:
        while True:
            c.sendall(b'x' * 20000)
            time.sleep(0.01)
    except OSError: pass
def take(s):
    while True: threading.Thread(target=pour, args=(s.accept()[0],), daemon=True).start()
tcp = socket.socket()
tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
tcp.bind(('', 5000))
tcp.listen(100)
threading.Thread(target=take, args=(tcp,), daemon=True).start()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(('', 5000))
print('ready', flush=True)
while True:
    data, who = udp.recvfrom(70000)
    udp.sendto(data, who)
";

/// Receives from a connection, and says every tenth of a second how many bytes there are.
const TAKE: &str = "
import socket, sys, time
c = socket.create_connection((sys.argv[1], 5000), timeout=3)
c.settimeout(0.1)
n, told = 0, time.time()
while True:
    try:
        data = c.recv(65536)
        if not data: break
        n += len(data)
    except TimeoutError: pass
    if time.time() > told + 0.1:
        print(n, flush=True)
        told = time.time()
";

/// The outcome of a connection and of a datagram to a port, and how long each took.
const TRY: &str = "
import socket, sys, time
def outcome(f):
    begin = time.time()
    try: said = f()
    except OSError as e: said = type(e).__name__ + ' ' + str(e.errno)
    print(said, time.time() - begin < 1)
address = (sys.argv[1], int(sys.argv[2]))
def tcp():
    socket.create_connection(address, timeout=3)
    return 'open'
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(3)
    s.connect(address)
    s.send(b'hello')
    return len(s.recv(100))
outcome(tcp)
outcome(udp)
";

/// Forges segments: kind, source, destination, their ports, how many.
const FORGE: &str = "
import random, socket, struct, sys
kind, source, destination, sport, dport, many = sys.argv[1:]
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
def checksum(data):
    n = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while n >> 16: n = (n & 0xffff) + (n >> 16)
    return ~n & 0xffff
to = socket.inet_aton(destination)
for i in range(int(many)):
    flags, seq = (2, 1) if kind == 'syn' else (4, random.getrandbits(32))
    at = socket.inet_aton(source if kind == 'rst' else '10.0.1.%d' % (10 + i // 50000))
    port = int(sport) if kind == 'rst' else 1024 + i % 50000
    tcp = struct.pack('!HHIIBBHHH', port, int(dport), seq, 0, 0x50, flags, 1000, 0, 0)
    pseudo = at + to + struct.pack('!HH', 6, len(tcp))
    tcp = tcp[:16] + struct.pack('!H', checksum(pseudo + tcp)) + tcp[18:]
    ip = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 40, i & 0xffff, 0, 64, 6, 0, at, to)
    raw.sendto(ip + tcp, (destination, 0))
";

/// The policies that all tests begin with.
const POLICIES: &str = "
firewall zone lan
firewall zone wan
firewall policy from lan to wan
firewall rule from lan to wan 10 accept name stream proto tcp dport 5000 log
firewall rule from lan to wan 20 accept proto udp dport 5000
firewall rule from lan to wan 30 accept proto icmp icmp 8
firewall rule from lan to wan 40 reject dport 5001
";

/// A site whose left side is in `lan`, and its right side in `wan`.
fn site(lab: &Lab, more: &str) -> (Site, Background) {
    let site = Site::new(lab, RouterKind::Ferrovia(2, Cable::Veth));
    let router = site.router();
    router.script(&format!("{POLICIES}{more}"));
    for (side, zone) in [(&site.left, "lan"), (&site.right, "wan")] {
        router.run(&format!("set interface firewall zone {} {zone}", side.port));
    }
    let server = site.right.host.command(PYTHON).args(["-c", SERVE]).spawn();
    server.wait_for("ready", fixture::PATIENCE);
    (site, server)
}

/// A transfer from the right side to the left.
struct Transfer(Background);

impl Transfer {
    fn begin(site: &Site) -> Self {
        let client = site.left.host.command(PYTHON);
        let this = Self(client.args(["-c", TAKE, site.right.address]).spawn());
        this.goes_on("at its begin");
        this
    }

    fn bytes(&self) -> u64 {
        let said = self.0.stdout();
        said.lines().last().and_then(|line| line.parse().ok()).unwrap_or(0)
    }

    #[track_caller]
    fn goes_on(&self, when: &str) {
        let before = self.bytes();
        eventually(&format!("more bytes {when}"), || (self.bytes() > before).then_some(()));
    }
}

fn tried(from: &Side, to: &Side, port: &str) -> Vec<String> {
    let said = from.host.command(PYTHON).args(["-c", TRY, to.address, port]).ok();
    said.lines().map(|line| line.trim().to_string()).collect()
}

#[test]
fn zones_let_begin_what_their_policy_says() {
    let Some(lab) = testkit::lab::require(&["root", "ping", PYTHON]) else { return };
    let (site, server) = site(&lab, "");
    let (left, right) = (&site.left, &site.right);
    eventually("answers", || (tried(left, right, "5000") == ["open True", "5 True"]).then_some(()));
    left.host.pings("-c2", right.address);
    assert!(!right.host.ping("-c1 -W1", left.address).success());
    // The router is a zone of its own, without a policy.
    assert!(!left.host.ping("-c1 -W1", left.gateway).success());
    site.router().run("firewall policy from lan to self default accept");
    left.host.pings("-c2", left.gateway);
    // A refused connection, and an error of ICMP: no route to the host.
    let rejected = ["ConnectionRefusedError 111 True", "OSError 113 True"];
    eventually("rejections", || (tried(left, right, "5001") == rejected).then_some(()));
    drop(server);
    site.finish();
}

/// The policy is replaced again and again, and always has a rule that permits the transfer.
#[test]
fn a_transfer_outlives_changes_and_ends_when_it_is_revoked() {
    let Some(lab) = testkit::lab::require(&["root", "ping", PYTHON]) else { return };
    let (site, server) = site(&lab, "");
    let router = site.router();
    let transfer = Transfer::begin(&site);
    for n in 0..20 {
        router.script(&format!(
            "firewall begin\nfirewall draft rule from lan to wan all del\n\
             firewall draft rule from lan to wan {} drop dst 192.0.2.{n} proto tcp\n\
             firewall draft rule from lan to wan {} accept proto tcp dport 4000-5000 log\n\
             firewall commit\n",
            n + 1,
            n + 100,
        ));
        transfer.goes_on("after a change");
    }
    assert_eq!(router.json("show firewall sessions")["sessions"][0]["rule"], 119);
    router.run("firewall rule from lan to wan 1 drop proto tcp dport 5000");
    eventually("the end of the session", || {
        (router.json("show firewall sessions")["total"] == 0).then_some(())
    });
    let log = router.run("show firewall log");
    assert!(log.contains("rule 119: revoked"), "{log}");
    // The client says what it has ten times a second.
    let later = || {
        std::thread::sleep(Duration::from_millis(600));
        transfer.bytes()
    };
    assert_eq!(later(), later(), "nothing more comes");
    drop((transfer, server));
    site.finish();
}

/// Forged resets and a flood of requests end no transfer; the number of half-open connections is
/// bounded.
#[test]
fn a_transfer_outlives_forged_segments() {
    let Some(lab) = testkit::lab::require(&["root", "ping", PYTHON]) else { return };
    let (site, server) = site(&lab, "firewall limit half-open 5000\n");
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let transfer = Transfer::begin(&site);
    let session = router.json("show firewall sessions proto tcp")["sessions"][0].clone();
    let port = session["source_port"].to_string();
    let forged = ["rst", right.address, left.address, "5000", &port, "500"];
    right.host.command(PYTHON).args(["-c", FORGE]).args(forged).ok();
    let dropped = || {
        let errors = router.run("show errors");
        errors.lines().filter(|line| line.contains("TCP resets outside")).count()
    };
    eventually("dropped resets", || (dropped() > 0).then_some(()));
    transfer.goes_on("after forged resets");
    let flood = ["syn", "", right.address, "", "5000", "100000"];
    let flood = left.host.command(PYTHON).args(["-c", FORGE]).args(flood).spawn();
    let mut flood = flood;
    let mut most = 0;
    while flood.is_running() {
        let half_open = router.json("show firewall sessions verbose 0")["half_open"].as_u64();
        most = most.max(half_open.expect("a number"));
        transfer.goes_on("during a flood");
    }
    assert_eq!(flood.wait(fixture::PATIENCE), Some(0), "{}", flood.stderr());
    assert!((1000..=5000).contains(&most), "{most} half-open connections at most");
    transfer.goes_on("after a flood");
    let zones = router.run("show firewall zones");
    assert!(zones.contains("lan"), "{zones}");
    drop((transfer, server));
    site.finish();
}

/// A host behind the right side has a link with a lower MTU: the error about it reaches the sender,
/// as it quotes a segment of the connection.
#[test]
fn fragmentation_needed_reaches_the_sender() {
    let Some(lab) = testkit::lab::require(&["root", "ping", "iperf3", PYTHON]) else { return };
    let (site, server) =
        site(&lab, "firewall rule from lan to wan 50 accept proto tcp dport 5201\n");
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let far = lab.netns("far");
    lab.veth((&right.host, "eth1"), (&far, "eth0"));
    right.host.addr("eth1", "10.9.0.1/24");
    far.addr("eth0", "10.9.0.2/24");
    right.host.mtu("eth1", 1300);
    far.route("default", "10.9.0.1");
    right.host.sysctl("net/ipv4/ip_forward", "1");
    router.run(&format!("ip route add 10.9.0.0/24 via {} {}", right.address, right.port));
    let report = fixture::iperf(&left.host, &far, "10.9.0.2", "-n 2M");
    let sent = report["end"]["sum_sent"]["bytes"].as_u64().expect("bytes");
    assert!(sent >= 2 << 20, "{report}");
    let route = left.host.ip("route get 10.9.0.2");
    assert!(route.contains("mtu 1300"), "{route}");
    drop(server);
    site.finish();
}
