// SPDX-License-Identifier: Apache-2.0
//! MSS clamps between Linux hosts.
//!
//! Covers: features/mss-clamp.

use fixture::{PATIENCE, Side, eventually};
use testkit::lab::require;

use crate::host::{checksum_errors, transfer};
use crate::six;

/// Connects from a host and sends a line, over the protocol of the address.
const ASK: &str = "
import socket, sys
c = socket.create_connection((sys.argv[1], 5003), timeout=20)
c.sendall(b'x' * 100000); c.shutdown(socket.SHUT_WR)
print(c.recv(100))
";
/// Answers each of two connections by the number of bytes that it got.
const ANSWER: &str = "
import socket
s = socket.create_server(('::', 5003), family=socket.AF_INET6, dualstack_ipv6=True)
print('listening', flush=True)
for _ in range(2):
    c, n = s.accept()[0], 0
    while b := c.recv(1 << 16): n += len(b)
    c.sendall(str(n).encode()); c.close()
";

/// Hosts see the lower MSS in SYN and SYN-ACK, in both directions and protocols, keep to it, and
/// find the checksums right.
#[test]
fn hosts_keep_to_the_clamp() {
    if require(&["root", "tcpdump", "ethtool"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    // Without these a veth carries TCP that nobody has cut into segments.
    for side in site.sides() {
        side.host.offloads("eth0", false);
    }
    router.run(&format!(
        "set interface tcp-mss-clamp {} ip4 enable ip4-mss 900 ip6 enable ip6-mss 1000",
        right.port
    ));
    let capture = |side: &Side| {
        let words = "-i eth0 -l -n -Q in tcp port 5003";
        let capture = side.host.command("tcpdump").args(words.split(' ')).spawn();
        eventually("tcpdump listens", || capture.stderr().contains("listening on").then_some(()));
        capture
    };
    let captures = [capture(left), capture(right)];
    let mut server = right.host.command("/usr/bin/python3").args(["-c", ANSWER]).spawn();
    server.wait_for("listening", PATIENCE);
    for to in [right.address, "2001:db8:2::2"] {
        let text = left.host.command("/usr/bin/python3").args(["-c", ASK, to]).ok();
        assert_eq!(text.trim(), "b'100000'", "{to}");
    }
    assert_eq!(server.wait(PATIENCE), Some(0), "{}", server.stderr());
    for (name, capture) in ["left", "right"].into_iter().zip(captures) {
        for mss in ["mss 900,", "mss 1000,"] {
            eventually("a SYN is shown", || capture.stdout().contains(mss).then_some(()));
        }
        let text = capture.kill().stdout;
        assert!(!text.contains("mss 14"), "{name}: {text}");
        let longest = lengths(&text).max().unwrap_or_default();
        assert!(longest <= 1000, "{name}: a segment of {longest} bytes\n{text}");
        assert!(name == "left" || longest > 800, "{name}: no data\n{text}");
    }
    transfer(&left.host, &right.host, right.address, 5);
    assert_eq!(checksum_errors(&right.host) + checksum_errors(&left.host), 0);
    router.run(&format!("set interface tcp-mss-clamp {} ip4 disable ip6 disable", right.port));
    transfer(&right.host, &left.host, left.address, 5);
    site.finish();
}

/// Lengths of the TCP payloads in lines of tcpdump.
fn lengths(text: &str) -> impl Iterator<Item = usize> + '_ {
    let length =
        |line: &str| line.rsplit_once(", length ")?.1.split([':', ' ']).next()?.parse().ok();
    text.lines().filter_map(length)
}
