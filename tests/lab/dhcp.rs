// SPDX-License-Identifier: Apache-2.0
//! DHCP with dnsmasq as server: the router as client, and as relay for a Linux client.
//!
//! Covers: features/dhcp.

use fixture::{Cable, PATIENCE, RouterKind, Site, eventually};
use testkit::lab::require;

/// The right host's server: leases of both IP versions for the router, which is its neighbour, and
/// for clients behind the relay.
const SERVER: &[&str] = &[
    "--no-daemon",
    "--port=0",
    "--conf-file=/dev/null",
    "--user=root",
    "--interface=eth0",
    "--bind-interfaces",
    "--log-dhcp",
    "--dhcp-authoritative",
];

#[test]
fn dnsmasq_gives_the_router_addresses() {
    let Some(lab) = require(&["root", "ping", "dnsmasq"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    let (router, right) = (site.router(), &site.right);
    for name in ["all", "eth0"] {
        right.host.sysctl(&format!("net/ipv6/conf/{name}/disable_ipv6"), "0");
    }
    right.host.ip("-6 addr add 2001:db8:2::2/64 dev eth0 nodad");
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str| dir.path().join(name).display().to_string();
    let server = right
        .host
        .command("dnsmasq")
        .args(SERVER)
        .args([
            // The shortest lease that it gives.
            "--dhcp-range=10.0.2.50,10.0.2.50,255.255.255.0,120",
            "--dhcp-option=option:dns-server,9.9.9.9",
            "--dhcp-option=option:router,10.0.2.2",
            "--dhcp-option=option:T1,3",
            "--dhcp-option=121,192.0.2.0/24,10.0.2.2,0.0.0.0/0,10.0.2.2",
            "--dhcp-range=2001:db8:2::50,2001:db8:2::50,64,120",
            &format!("--dhcp-leasefile={}", file("leases")),
            &format!("--pid-file={}", file("pid")),
        ])
        .spawn();
    // The port loses its fixed address, and gets one.
    router.run(&format!("set interface ip address del {} 10.0.2.1/24", right.port));
    router.run(&format!("set dhcp client intfc {} hostname ferrovia client-id ours", right.port));
    eventually("a lease of IPv4", || {
        router.run("show dhcp client").contains("10.0.2.50/24").then_some(())
    });
    right.host.pings("-c1", "10.0.2.50");
    let route = router.run("show ip fib 192.0.2.0/24");
    assert!(route.contains("10.0.2.2"), "{route}");
    assert!(std::fs::read_to_string(file("leases")).expect("leases").contains("ferrovia"));
    // It is renewed by unicast: the server logs a second request.
    eventually("a renewal", || (server.stderr().matches("DHCPREQUEST").count() >= 2).then_some(()));
    right.host.pings("-c1", "10.0.2.50");
    router.run(&format!("set dhcp client del intfc {}", right.port));
    assert!(!router.run("show interface address").contains("10.0.2.50"));
    // IPv6.
    router.run(&format!("enable ip6 interface {}", right.port));
    router.run(&format!("dhcp6 client {}", right.port));
    eventually("a lease of IPv6", || {
        router.run("show dhcp6 addresses").contains("2001:db8:2::50").then_some(())
    });
    // DHCPv6 gives no network (RFC 8415 21.6): router advertisements do, which dnsmasq doesn't send
    // here.
    router.run(&format!("ip route add 2001:db8:2::/64 via {}", right.port));
    eventually("the address answers", || {
        right.host.ping("-c1", "2001:db8:2::50").success().then_some(())
    });
    router.run(&format!("dhcp6 client {} disable", right.port));
    drop(server.stop(PATIENCE));
    site.finish();
}

#[test]
fn a_linux_client_gets_its_lease_by_the_relay() {
    let Some(lab) = require(&["root", "ping", "dnsmasq", "udhcpc"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str| dir.path().join(name).display().to_string();
    let server = right
        .host
        .command("dnsmasq")
        .args(SERVER)
        .args([
            "--dhcp-range=10.0.1.70,10.0.1.70,255.255.255.0,120",
            &format!("--dhcp-leasefile={}", file("leases")),
            &format!("--pid-file={}", file("pid")),
        ])
        .spawn();
    router.run(&format!("set dhcp proxy server {} src-address {}", right.address, right.gateway));
    // The client shows what it was given, and changes nothing.
    let script = file("show");
    std::fs::write(&script, "#!/bin/sh\necho \"$1 $ip $mask $router\"\n").expect("a file");
    left.host.sh(&format!("chmod +x {script}")).ok();
    left.host.ip("addr flush dev eth0");
    let given = eventually("a lease by the relay", || {
        let client = left
            .host
            .command("udhcpc")
            .args(["-i", "eth0", "-f", "-q", "-n", "-t", "5", "-T", "1", "-s", &script]);
        let said = client.run();
        let text = format!("{}{}", said.stdout, said.stderr);
        text.contains("bound 10.0.1.70").then_some(text)
    });
    assert!(given.contains("bound 10.0.1.70 24"), "{given}");
    let errors = router.run("show errors");
    assert!(errors.contains("DHCP packets relayed to clients"), "{errors}");
    drop(server.stop(PATIENCE));
    site.finish();
}
