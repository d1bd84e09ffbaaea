// SPDX-License-Identifier: Apache-2.0
//! A bundle of two links to Linux's bonding driver in mode 802.3ad.
//!
//! Covers: features/bond, features/lacp.

use fixture::{Site, eventually};
use serde_json::Value;
use std::thread;
use testkit::lab::{answered, require};

use crate::{guest, six};

/// The guest's links have no speed, so its bonding driver would run no LACP on them: their frames
/// are redirected to veth pairs, and back. Once the bundle is up it pings and loads the router;
/// then link 0 loses all frames without going down, and link 1 is taken down.
const COMMANDS: &str = "\
for n in 0 1; do
    ip link add a$n type veth peer name b$n
    ip link set b$n up
    ip link set vec$n promisc on
    for dev in vec$n b$n; do tc qdisc add dev $dev clsact; done
done
joined() {
    tc filter add dev vec$1 ingress matchall action mirred egress redirect dev b$1
    tc filter add dev b$1 ingress matchall action mirred egress redirect dev vec$1
}
cut() { for dev in vec$1 b$1; do tc filter del dev $dev ingress; done; }
ports() {
    for i in $(seq 1 100); do
        grep -q \"Number of ports: $1\" /proc/net/bonding/bond0 && return
        sleep 0.2
    done
    cat /proc/net/bonding/bond0
    false
}
joined 0
joined 1
ip link add bond0 type bond mode 802.3ad lacp_rate fast miimon 100 xmit_hash_policy layer3+4
for n in 0 1; do ip link set a$n master bond0; done
ip link set bond0 up
ip addr add 10.6.0.2/24 dev bond0
ip -6 addr add 2001:db8:6::2/64 dev bond0 nodad
ip route add default via 10.6.0.1
ports 2
cat /proc/net/bonding/bond0
sleep 1
for to in 10.6.0.1 10.0.2.2 2001:db8:6::1; do ping -n -c 3 -i 0.2 -w 20 -s 1000 $to; done
iperf3 -c 10.0.2.2 -t 2 -P 4
echo both
sleep 2
cut 0
ports 1
sleep 2
ping -n -c 5 -i 0.2 -w 20 -s 1000 10.0.2.2
joined 0
ports 2
sleep 2
ping -n -c 5 -i 0.2 -w 20 -s 1000 10.0.2.2
ip link set a1 down
sleep 5
ping -n -c 5 -i 0.2 -w 20 -s 1000 10.0.2.2";

#[test]
fn a_bundle_to_linux_comes_up_and_survives_its_links() {
    let Some(lab) = require(&["root", "linux.uml", "modprobe", "tc", "ping", "iperf3"]) else {
        return;
    };
    let site = Site::new(&lab, six::VETH);
    let (router, right) = (site.router(), &site.right);
    for tap in ["uml0", "uml1"] {
        site.netns.ip(&format!("tuntap add dev {tap} mode tap"));
        site.netns.sysctl(&format!("net/ipv6/conf/{tap}/disable_ipv6"), "1");
        site.netns.up(tap);
        router.script(&format!(
            "create host-interface name {tap}
             set interface state host-{tap} up"
        ));
    }
    router.script(
        "create bond mode lacp load-balance l34
         bond add BondEthernet0 host-uml0
         bond add BondEthernet0 host-uml1
         set interface state BondEthernet0 up
         set interface ip address BondEthernet0 10.6.0.1/24
         set interface ip address BondEthernet0 2001:db8:6::1/64",
    );
    let server = right.host.command("iperf3").args(["-s", "-1"]).spawn();
    let active = || {
        let bonds: Value = serde_json::from_str(&router.run("show bond -j")).expect("JSON");
        bonds[0]["active_members"].as_array().map_or(0, Vec::len)
    };
    let modules = ["ipv6", "bonding", "veth", "sch_ingress", "cls_matchall", "act_mirred"];
    let text = thread::scope(|scope| {
        let guest =
            scope.spawn(|| guest::run_on(&site.netns, &["uml0", "uml1"], &modules, COMMANDS));
        for wanted in [2, 1, 2, 1] {
            eventually("the bundle has the members that work", || {
                (active() == wanted).then_some(())
            });
            if wanted == 2 {
                let bits = "  0   0   1   1   1   1   1   1";
                let agree = || (router.run("show lacp").matches(bits).count() == 4).then_some(());
                eventually("both ends say so", agree);
            }
        }
        guest.join().expect("the guest's commands worked")
    });
    drop(server);
    assert_eq!(answered(&text), 6, "{text}");
    // The bonding driver has seen our system and our ports.
    assert!(text.contains("\tNumber of ports: 2\n"), "{text}");
    let mac = router.run("show lacp -j");
    let system: Value = serde_json::from_str(&mac).expect("JSON");
    let system = system[0]["actor"]["system"].as_str().expect("a system").to_string();
    assert!(text.contains(&format!("Partner Mac Address: {system}")), "{text}");
    // Flows take both links.
    for member in ["host-uml0", "host-uml1"] {
        let counters = router.run(&format!("show interface {member}"));
        let count = |what: &str| {
            let line = counters.lines().find(|line| line.contains(what)).unwrap_or_default();
            line.split_whitespace().last().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0)
        };
        assert!(count("rx packets") > 20 && count("tx packets") > 20, "{counters}");
    }
    site.finish();
}
