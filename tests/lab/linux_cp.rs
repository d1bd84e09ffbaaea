// SPDX-License-Identifier: Apache-2.0
//! A namespace with mirrors of the router's interfaces: programs there are its control plane.
//!
//! Covers: features/linux-cp, features/linux-nl, features/punt, drivers/tap.

use fixture::{PATIENCE, eventually};
use std::path::Path;
use testkit::lab::{Background, Lab, Netns, require};

use crate::star::{Spoke, Star, both};

/// Greets a client.
const SERVE: &str = "
import socket, sys
s = socket.create_server((sys.argv[1], 179), family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)
print('listening', flush=True)
c, peer = s.accept()
c.sendall(b'hello ' + peer[0].encode()); c.close()
";

const ASK: &str = "
import socket, sys
c, text = socket.create_connection((sys.argv[1], 179), timeout=20), b''
while b := c.recv(1 << 16): text += b
print(text.decode())
";

/// A router between two hosts whose interfaces are mirrored in the namespace `control`.
fn mirrored(lab: &Lab) -> (Star, Netns) {
    let star = Star::new(lab, &[("left", 1, 0), ("right", 2, 0)]);
    let control = lab.netns("control");
    let name = control.name().expect("it has one");
    star.router.script(&format!(
        "lcp default netns {name}\nlcp lcp-sync on\n\
         lcp create host-left host-if left\nlcp create host-right host-if right\n"
    ));
    eventually("the kernel has the state", || {
        let shown = control.ip("-br addr show right");
        (shown.contains("10.0.2.1/24") && shown.contains("UP")).then_some(())
    });
    (star, control)
}

/// The lines of `show ip fib` about a prefix.
fn route(star: &Star, prefix: &str) -> String {
    let ip = if prefix.contains(':') { "ip6" } else { "ip" };
    star.router.ctl(&format!("show {ip} fib {prefix}")).unwrap_or_default()
}

fn hosts(star: &Star) -> [&Spoke; 2] {
    let [left, right] = &star.spokes[..] else { panic!("two") };
    [left, right]
}

#[test]
fn a_namespace_uses_the_routers_interfaces() {
    let Some(lab) = require(&["root", "ping", "/usr/bin/python3", "/dev/net/tun"]) else { return };
    let (star, control) = mirrored(&lab);
    for spoke in hosts(&star) {
        for (address, gateway) in spoke.addresses().iter().zip(spoke.gateways()) {
            control.pings("-c3 -i0.05", address);
            // A connection of the host with a program in the namespace, by the router's address.
            let server = control.command("/usr/bin/python3").args(["-c", SERVE, &gateway]).spawn();
            server.wait_for("listening", PATIENCE);
            let said = spoke.host.command("/usr/bin/python3").args(["-c", ASK, &gateway]).ok();
            assert_eq!(said.trim(), format!("hello {address}"));
        }
    }
    // Changes of the router's are the kernel's.
    star.router.run("set interface ip address host-left 10.7.0.1/24");
    star.router.run("set interface mtu packet 1400 host-left");
    eventually("the address and the MTU", || {
        let shown = control.ip("addr show left");
        (shown.contains("10.7.0.1/24") && shown.contains("mtu 1400")).then_some(())
    });
    star.router.run("set interface ip address del host-left 10.7.0.1/24");
    eventually("the address is gone", || {
        (!control.ip("addr show left").contains("10.7.0.1")).then_some(())
    });
    // Without its pair, it is gone from the kernel.
    star.router.run("lcp delete host-left");
    assert!(!control.ip("-br link").contains("left"));
    assert!(!star.router.run("show lcp").contains("host-left"));
}

#[test]
fn routes_of_a_namespace_are_the_routers() {
    let Some(lab) = require(&["root", "ping", "/dev/net/tun"]) else { return };
    let (star, control) = mirrored(&lab);
    let [left, right] = hosts(&star);
    right.host.addr("lo", "192.0.2.1/32");
    right.host.addr("lo", "2001:db8:ffff::1/128");
    let [hop4, hop6] = right.addresses();
    control.ip(&format!("route add 192.0.2.0/24 via {hop4}"));
    control.ip(&format!("-6 route add 2001:db8:ffff::/64 via {hop6}"));
    for (prefix, address) in
        [("192.0.2.0/24", "192.0.2.1"), ("2001:db8:ffff::/64", "2001:db8:ffff::1")]
    {
        eventually("the route", || route(&star, prefix).contains("lcp-rt").then_some(()));
        left.host.pings("-c3 -i0.05", address);
    }
    // Two next hops with weights, next hops of the other protocol, and none.
    let [left4, _] = left.addresses();
    control.ip(&format!(
        "route add 198.51.100.0/24 nexthop via {left4} weight 3 nexthop via {hop4} weight 1"
    ));
    control.ip(&format!("route add 203.0.113.0/24 via inet6 {hop6}"));
    control.ip("route add blackhole 203.0.113.128/25 metric 70000");
    control.ip("route add unreachable 203.0.113.192/26 proto bird");
    eventually("several routes", || {
        let two = route(&star, "198.51.100.0/24");
        let other = route(&star, "203.0.113.0/24");
        let none = route(&star, "203.0.113.128/25");
        let refused = route(&star, "203.0.113.192/26");
        (two.contains(&left4)
            && two.contains("weight=3")
            && two.contains(&hop4)
            && other.contains(&hop6)
            && none.contains("drop")
            && refused.contains("lcp-rt-dynamic"))
        .then_some(())
    });
    // The kernel's state, and its own silence about routes over a link that goes down.
    control.ip("link set right mtu 1300");
    eventually("the MTU", || {
        star.router.run("show interface host-right").contains("1300").then_some(())
    });
    control.ip("link set right down");
    eventually("the routes are gone", || {
        let gone = |prefix| !route(&star, prefix).contains("lcp-rt");
        (gone("192.0.2.0/24") && gone("2001:db8:ffff::/64")).then_some(())
    });
    assert!(!route(&star, "198.51.100.0/24").contains(&hop4));
    let shown = star.router.run("show lcp netlink");
    assert!(shown.contains("following"), "{shown}");
    // Routes of operators are of no concern to it.
    assert!(!star.router.run("show running-config").contains("192.0.2.0"));
}

/// BIRD with this configuration, until it is dropped.
fn bird(netns: &Netns, dir: &Path, name: &str, config: &str) -> Background {
    let (file, socket) = (dir.join(format!("{name}.conf")), dir.join(format!("{name}.ctl")));
    std::fs::write(&file, config).expect("written");
    let words = ["-f", "-c", &file.to_string_lossy(), "-s", &socket.to_string_lossy()];
    netns.command("bird").args(words).spawn()
}

/// The configuration that every instance has: routes of both protocols go to the kernel.
fn base(id: &str) -> String {
    format!(
        "log stderr all; router id {id};\n\
         protocol device {{ scan time 1; }}\n\
         protocol kernel {{ ipv4 {{ export all; }}; }}\n\
         protocol kernel {{ ipv6 {{ export all; }}; }}\n"
    )
}

#[test]
fn bird_is_the_routers_control_plane() {
    let Some(lab) = require(&["root", "ping", "bird", "/dev/net/tun"]) else { return };
    let (star, control) = mirrored(&lab);
    let [left, right] = hosts(&star);
    let dir = star.router.dir();
    // By BGP the router learns of networks behind the right host, of both protocols; by OSPF of one
    // behind the left host.
    let [control4, control6] = both(2, 1);
    let [right4, right6] = right.addresses();
    let bgp = |mine: &str, asn: u32, other: &str, other_asn: u32| {
        format!(
            "protocol bgp {{ local {mine} as {asn}; neighbor {other} as {other_asn}; \
             connect delay time 1; error wait time 1, 2; \
             ipv4 {{ import all; export where source = RTS_STATIC; next hop self; }}; \
             ipv6 {{ import all; export where source = RTS_STATIC; next hop self; }}; }}\n"
        )
    };
    let ospf = |interface: &str| {
        format!(
            "protocol ospf v2 {{ ipv4 {{ import all; export where source = RTS_STATIC; }}; \
             area 0 {{ interface \"{interface}\" {{ hello 1; dead 4; type broadcast; }}; }}; }}\n"
        )
    };
    let of_router = base("10.0.1.1") + &bgp(&control4, 65001, &right4, 65002) + &ospf("left");
    let of_right = base("10.0.2.2")
        + "protocol static { ipv4; route 192.0.2.0/24 unreachable; }\n"
        + "protocol static { ipv6; route 2001:db8:ffff::/64 unreachable; }\n"
        + &bgp(&right4, 65002, &control4, 65001);
    let of_left = base("10.0.1.2")
        + "protocol static { ipv4; route 198.51.100.0/24 unreachable; }\n"
        + &ospf("eth0");
    right.host.addr("lo", "192.0.2.1/32");
    right.host.addr("lo", "2001:db8:ffff::1/128");
    left.host.addr("lo", "198.51.100.1/32");
    let _ = (control6, right6);
    let daemons = [
        bird(&control, dir, "router", &of_router),
        bird(&right.host, dir, "right", &of_right),
        bird(&left.host, dir, "left", &of_left),
    ];
    for prefix in ["192.0.2.0/24", "198.51.100.0/24"] {
        eventually("the daemon's route", || {
            route(&star, prefix).contains("lcp-rt-dynamic").then_some(())
        });
    }
    left.host.pings("-c3 -i0.05", "192.0.2.1");
    right.host.pings("-c3 -i0.05", "198.51.100.1");
    // The neighbour ends: its routes are withdrawn.
    let [router, right, left] = daemons;
    right.stop(PATIENCE);
    eventually("the routes are withdrawn", || {
        (!route(&star, "192.0.2.0/24").contains("lcp-rt")).then_some(())
    });
    assert!(route(&star, "198.51.100.0/24").contains("lcp-rt-dynamic"));
    router.stop(PATIENCE);
    left.stop(PATIENCE);
}
