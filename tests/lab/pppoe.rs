// SPDX-License-Identifier: Apache-2.0
//! A PPPoE client of a Linux kernel, and `pppoe-server` as control plane.
//!
//! Covers: features/pppoe.

use testkit::lab::{answered, require};

use crate::host::checksum_errors;
use crate::tunnels::guest_link;
use crate::{guest, six};

/// The client finds the server, negotiates its address with it, and reaches other hosts by the
/// session of the router: pings, fragments, TCP in both directions.
#[test]
fn linux_client_and_server_of_pppoe() {
    if require(&["root", "linux.uml", "modprobe", "pppd", "pppoe-server"]).is_none() {
        return;
    }
    let Some((_lab, site)) = six::site(six::VETH) else { return };
    let (router, right) = (site.router(), &site.right);
    guest_link(&site.netns, router, &[]);
    site.netns.ip("tuntap add dev cp mode tap");
    site.netns.sysctl("net/ipv6/conf/cp/disable_ipv6", "1");
    site.netns.up("cp");
    // The number that the server gives the first session is known, and so is the client's address.
    router.script(
        "set interface mac address host-uml 02:00:00:00:77:01
         create host-interface name cp
         set interface state host-cp up
         create pppoe cp cp-if-index host-cp
         create loopback interface
         set interface state loop0 up
         set interface ip address loop0 10.67.0.1/32
         create pppoe session client-ip 10.67.0.5 session-id 1 client-mac 02:aa:00:00:00:01 interface host-uml
         set interface unnumbered pppoe_session0 use loop0",
    );
    let server = right.host.command("iperf3").args(["-s"]).spawn();
    // The server's interface has the address of the clients' port: frames keep their destination.
    let text = guest::run_on(
        &site.netns,
        &["uml", "cp"],
        &["pppoe", "ppp_async", "ppp_synctty"],
        "for link in vec0 vec1; do ip link set $link down; done
ip link set vec0 address 02:aa:00:00:00:01
ip link set vec1 address 02:00:00:00:77:01
ip link set vec1 up
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
mount -t tmpfs run /run
mount -t tmpfs ppp /etc/ppp
touch /etc/ppp/options
unshare -n sleep 1000 &
other=$!
until [ $(readlink /proc/$other/ns/net) != $(readlink /proc/self/ns/net) ]; do sleep 0.1; done
inside() { nsenter -t $other -n \"$@\"; }
ip link set vec0 netns $other
inside ip link set lo up
inside ip link set vec0 up
printf 'noauth\\nnodefaultroute\\nnoipv6\\n' >/run/server
pppoe-server -I vec1 -L 10.67.0.1 -R 10.67.0.5 -O /run/server -F &
sleep 1
inside pppd plugin rp-pppoe.so vec0 noauth nodetach noipdefault noipv6 debug &
until inside ip addr show ppp0 | grep 10.67.0.5; do sleep 0.2; done
inside ip route add default dev ppp0
inside ping -n -c 3 -i 0.2 -w 20 -s 1000 10.67.0.1
inside ping -n -c 3 -i 0.2 -w 20 -s 1000 10.0.2.2
inside ping -n -c 3 -i 0.2 -w 20 -s 3000 10.0.2.2
inside iperf3 -c 10.0.2.2 -t 1
inside iperf3 -c 10.0.2.2 -t 1 -R",
    );
    let errors = router.run("show errors");
    assert_eq!(answered(&text), 3, "{text}\n{errors}");
    drop(server);
    assert_eq!(checksum_errors(&right.host), 0);
    let clients = router.run("show pppoe fib");
    assert!(clients.contains("02:aa:00:00:00:01  host-uml"), "{clients}");
    for (node, counter) in [
        ("pppoe-input", "good packets decapsulated"),
        ("pppoe-encap", "good packets encapsulated"),
        ("pppoe-cp-dispatch", "packets to the control plane"),
        ("pppoe-cp-input", "packets of the control plane"),
    ] {
        let is_it = |line: &str| line.contains(node) && line.contains(counter);
        assert!(errors.lines().any(is_it), "{node} {counter}: {errors}");
    }
    site.finish();
}
