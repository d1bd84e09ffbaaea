// SPDX-License-Identifier: Apache-2.0
//! Sources that choose the table (SVS), and an address that a host behind the router serves (STN).
//!
//! Covers: features/svs, features/stn.

use fixture::PATIENCE;
use testkit::lab::require;

use crate::six;
use crate::star::Star;

/// Answers one connection by its own name.
const SERVE: &str = "
import socket, sys
s = socket.create_server((sys.argv[2], 5004))
print('listening', flush=True)
c, at = s.accept()
c.sendall((sys.argv[1] + ' to ' + at[0]).encode()); c.close()
";
const ASK: &str = "
import socket, sys
c = socket.create_connection((sys.argv[1], 5004), timeout=20)
print(c.recv(100).decode())
";

/// Two servers with the same address in two tables; which one a host reaches depends on its own
/// address.
#[test]
fn the_source_address_chooses_the_server() {
    let Some(lab) = require(&["root", "ping", "/usr/bin/python3"]) else { return };
    let star = Star::new(&lab, &[("host", 1, 0), ("red", 2, 10), ("blue", 3, 20)]);
    let [host, red, blue] = &star.spokes[..] else { panic!("three") };
    let port = &host.port;
    star.router.script(&format!(
        "svs table add ip4 table-id 70
         svs route add 172.16.1.0/24 table-id 70 src-table-id 10
         svs route add 172.16.2.0/24 table-id 70 src-table-id 20
         svs enable ip4 table-id 70 {port}
         ip route add 172.16.0.0/16 via 10.0.1.2 {port}
         ip route add 172.16.0.0/16 table 10 via 10.0.1.2 {port}
         ip route add 172.16.0.0/16 table 20 via 10.0.1.2 {port}
         ip route add 192.0.2.1/32 table 10 via 10.0.2.2 {}
         ip route add 192.0.2.1/32 table 20 via 10.0.3.2 {}",
        red.port, blue.port
    ));
    host.host.addr("lo", "172.16.1.1/32");
    host.host.addr("lo", "172.16.2.1/32");
    for (spoke, name, source) in [(red, "red", "172.16.1.1"), (blue, "blue", "172.16.2.1")] {
        spoke.host.addr("lo", "192.0.2.1/32");
        let args = ["-c", SERVE, name, "192.0.2.1"];
        let mut server = spoke.host.command("/usr/bin/python3").args(args).spawn();
        server.wait_for("listening", PATIENCE);
        host.host.ip(&format!("route replace 192.0.2.1/32 via 10.0.1.1 src {source}"));
        let text = host.host.command("/usr/bin/python3").args(["-c", ASK, "192.0.2.1"]).ok();
        assert_eq!(text.trim(), format!("{name} to {source}"));
        assert_eq!(server.wait(PATIENCE), Some(0), "{}", server.stderr());
    }
    // A source without a table is looked up in the table of the interface, which has no such route.
    let output = host.host.ping("-c1 -I 10.0.1.2", "192.0.2.1");
    assert!(output.stdout.contains("Destination Net Unreachable"), "{}", output.complaint());
    drop(star.router.stop());
}

/// TCP to the router's own address reaches a Linux host that has the same address: what a host
/// gets whose only network card the router has taken over.
#[test]
fn a_host_serves_the_routers_address() {
    if require(&["root"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, left, right) = (site.router(), &site.left, &site.right);
    right.host.set_mac("eth0", "00:00:00:00:00:02".parse().expect("an address"));
    right.host.addr("lo", &format!("{}/32", left.gateway));
    // Else it would ask for its gateway with the address of another network.
    right.host.sysctl("net/ipv4/conf/all/arp_announce", "2");
    router.run(&format!("stn rule address {} interface {}", left.gateway, right.port));
    let args = ["-c", SERVE, "host", left.gateway];
    let mut server = right.host.command("/usr/bin/python3").args(args).spawn();
    server.wait_for("listening", PATIENCE);
    let text = left.host.command("/usr/bin/python3").args(["-c", ASK, left.gateway]).ok();
    assert_eq!(text.trim(), format!("host to {}", left.address));
    assert_eq!(server.wait(PATIENCE), Some(0), "{}", server.stderr());
    // The router answers what it knows itself.
    left.host.pings("-c2 -i0.05", left.gateway);
    router.run(&format!("stn rule address {} interface {} del", left.gateway, right.port));
    let output = left.host.command("/usr/bin/python3").args(["-c", ASK, left.gateway]).run();
    assert!(!output.success(), "{}", output.complaint());
    site.finish();
}
