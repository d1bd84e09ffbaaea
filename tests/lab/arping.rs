// SPDX-License-Identifier: Apache-2.0
//! Linux hosts answer arping, and believe gratuitous announcements.
//!
//! Covers: features/arping, features/arp, features/ip6-nd.

use fixture::{Cable, RouterKind, Site, eventually};
use testkit::lab::require;

#[test]
fn linux_hosts_answer_and_believe_announcements() {
    let Some(lab) = require(&["root"]) else { return };
    let site = Site::new(&lab, RouterKind::Ferrovia(1, Cable::Veth));
    let (router, left, right) = (site.router(), &site.left, &site.right);
    let mac = left.host.mac("eth0");
    let text = router.run(&format!("arping 10.0.1.2 {} repeat 2 interval 0.5", left.port));
    assert_eq!(
        text,
        format!(
            "Sending 1 ARP Request to 10.0.1.2\nSending 2 ARP Request to 10.0.1.2\n\
             Received 2 ARP Replies from {mac} (10.0.1.2)\n"
        )
    );
    let nobody = router.run(&format!("arping 10.0.1.99 {} interval 0.1", left.port));
    assert!(nobody.ends_with("Received 0 Reply\n"), "{nobody}");
    // A known neighbour moves. The kernel believes it once in a while only: `locktime'.
    left.host.ip("neigh replace 10.0.1.77 lladdr 02:00:00:00:00:99 dev eth0 nud stale");
    let interfaces = router.run(&format!("show hardware-interfaces {}", left.port));
    eventually("the neighbour is at the router's MAC address", || {
        router.run(&format!("arping gratuitous 10.0.1.77 {} interval 0.1", left.port));
        let known = left.host.ip("neigh show 10.0.1.77");
        let mac = known.split_whitespace().skip_while(|word| *word != "lladdr").nth(1)?;
        (mac != "02:00:00:00:00:99" && interfaces.contains(mac)).then_some(())
    });
    // IPv6.
    for name in ["all", "eth0"] {
        right.host.sysctl(&format!("net/ipv6/conf/{name}/disable_ipv6"), "0");
    }
    right.host.ip("-6 addr add 2001:db8:2::2/64 dev eth0 nodad");
    router.run(&format!("set interface ip address {} 2001:db8:2::1/64", right.port));
    let mac = right.host.mac("eth0");
    eventually("the host answers", || {
        let text = router.run(&format!("arping 2001:db8:2::2 {} interval 0.3", right.port));
        let want = format!("Received 1 ICMP6 neighbor advertisements from {mac} (2001:db8:2::2)\n");
        text.contains(&want).then_some(())
    });
    right.host.ip("-6 neigh replace 2001:db8:2::77 lladdr 02:00:00:00:00:99 dev eth0 nud stale");
    eventually("the neighbour of IPv6 has moved", || {
        router.run(&format!("arping gratuitous 2001:db8:2::77 {} interval 0.1", right.port));
        let known = right.host.ip("-6 neigh show 2001:db8:2::77");
        (!known.contains("02:00:00:00:00:99") && known.contains("lladdr")).then_some(())
    });
    site.finish();
}
