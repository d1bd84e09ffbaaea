// SPDX-License-Identifier: Apache-2.0
//! Ports of the router without a listener.
//!
//! Covers: features/icmp, features/udp, features/tcp, features/punt.

use fixture::{Cable, RouterKind, Site, eventually};
use testkit::lab::require;

/// A connection is refused at once, and so is a datagram.
const ASK: &str = "
import socket, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    family, _, _, _, router = socket.getaddrinfo(sys.argv[1], 9)[0]
    s = socket.socket(family, kind)
    s.settimeout(5)
    try:
        s.connect(router); s.send(b'x'); s.recv(1)
        print('taken')
    except ConnectionRefusedError: print('refused')
    except OSError as e: print(e)
";

#[test]
fn closed_ports_refuse_in_both_families() {
    let Some(lab) = require(&["root", "ping"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    let (host, port, router) = (&site.left.host, &site.left.port, site.router());
    router.script(&format!(
        "ip6 nd {port} ra-suppress\nset interface ip address {port} 2001:db8:1::1/64\n"
    ));
    host.sysctl("net/ipv6/conf/eth0/disable_ipv6", "0");
    host.ip("-6 addr add 2001:db8:1::2/64 dev eth0 nodad");
    let own = router.json(&format!("show ip6 interface {port}"));
    let link_local = own[0]["link_local"].as_str().expect("a link-local address").to_string();
    let ask = |to: &str| host.command("/usr/bin/python3").args(["-c", ASK, to]).ok();
    for to in [site.left.gateway, "2001:db8:1::1", &format!("{link_local}%eth0")] {
        eventually(&format!("refusals of {to}"), || {
            (ask(to) == "refused\nrefused\n").then_some(())
        });
    }
    // A punt registration for TCP takes packets before that.
    router.run("set punt ipv4 tcp 9");
    assert_eq!(ask(site.left.gateway), "timed out\nrefused\n");
    router.run("set punt ipv4 tcp del 9");
    assert_eq!(ask(site.left.gateway), "refused\nrefused\n");
    site.finish();
}
