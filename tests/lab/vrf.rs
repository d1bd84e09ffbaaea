// SPDX-License-Identifier: Apache-2.0
//! Two customers with the same addresses.
//!
//! Covers: features/fib, features/ip, features/icmp.

use fixture::PATIENCE;
use testkit::lab::require;

use crate::host::counter;
use crate::star::{Spoke, Star, both};

/// Server that sends its own name to each client, for this number of connections.
const SERVE: &str = "
import socket, sys
s = socket.create_server(('::', 5002), family=socket.AF_INET6, dualstack_ipv6=True)
print('listening', flush=True)
for _ in range(int(sys.argv[2])):
    c = s.accept()[0]
    c.sendall(sys.argv[1].encode() * 10000); c.close()
";

const ASK: &str = "
import socket, sys
c, text = socket.create_connection((sys.argv[1], 5002), timeout=20), b''
while b := c.recv(1 << 16): text += b
print(text.decode())
";

#[test]
fn the_same_addresses_in_two_tables_are_different_hosts() {
    let Some(lab) = require(&["root", "ping", "/usr/bin/python3"]) else { return };
    let spokes = [("red-l", 1, 10), ("red-r", 2, 10), ("blue-l", 1, 20), ("blue-r", 2, 20)];
    let star = Star::new(&lab, &spokes);
    let [red_left, red_right, blue_left, blue_right] = &star.spokes[..] else { panic!("four") };
    let customers = [("red", red_left, red_right), ("blue", blue_left, blue_right)];
    assert_eq!(red_right.addresses(), blue_right.addresses());
    let echoes = |spoke: &Spoke| {
        let text = spoke.host.sh("cat /proc/net/snmp6").ok();
        let line = text.lines().find(|l| l.starts_with("Icmp6InEchos"));
        let six: u64 =
            line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok()).expect("a counter");
        [counter(&spoke.host, "Icmp", "InEchos"), six]
    };
    for (name, left, right) in customers {
        let mut server =
            right.host.command("/usr/bin/python3").args(["-c", SERVE, name, "2"]).spawn();
        server.wait_for("listening", PATIENCE);
        let before = star.spokes.iter().map(echoes).collect::<Vec<_>>();
        for address in right.addresses() {
            left.host.pings("-c3 -i0.05", &address);
            let text = left.host.command("/usr/bin/python3").args(["-c", ASK, &address]).ok();
            assert_eq!(text.trim(), name.repeat(10_000), "{address}");
        }
        for address in left.addresses() {
            right.host.pings("-c2 -i0.05", &address);
        }
        assert_eq!(server.wait(PATIENCE), Some(0), "{}", server.stderr());
        // No other host has received it.
        for (spoke, before) in star.spokes.iter().zip(before) {
            let after = echoes(spoke);
            let n = if std::ptr::eq(spoke, right) {
                3
            } else {
                2 * u64::from(std::ptr::eq(spoke, left))
            };
            assert_eq!(
                [after[0] - before[0], after[1] - before[1]],
                [n; 2],
                "{name}: {}",
                spoke.port
            );
        }
    }
    // A route of one customer isn't in the other's table, nor in the default table.
    for (at, (network, len)) in both(50, 0).iter().zip([24, 64]).enumerate() {
        let via = &red_right.addresses()[at];
        star.router
            .run(&format!("ip route add {network}/{len} table 10 via {via} {}", red_right.port));
    }
    let [ip4, ip6] = both(50, 1);
    red_right.host.addr("lo", &format!("{ip4}/32"));
    red_right.host.addr("lo", &format!("{ip6}/128"));
    for (address, no) in both(50, 1).iter().zip(["Net Unreachable", "No route"]) {
        red_left.host.pings("-c2 -i0.05", address);
        let output = blue_left.host.ping("-c1", address);
        assert!(output.stdout.contains(no), "{}", output.complaint());
    }
    for network in [1, 2, 50] {
        for (address, ip) in both(network, 1).iter().zip(["ip", "ip6"]) {
            let shown = star.router.run(&format!("show {ip} fib {address}"));
            assert!(!shown.contains("host-"), "{shown}");
        }
    }
    star.router.stop();
}
