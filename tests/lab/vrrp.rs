// SPDX-License-Identifier: Apache-2.0
//! A virtual router whose other router is keepalived, for a host that has it as gateway.
//!
//! Covers: features/vrrp, drivers/af_packet.

use fixture::{PATIENCE, Router, eventually};
use testkit::lab::{Background, Lab, Netns, require};

/// A link of three: the host, keepalived at .3, and the router at .1.
struct Place {
    _lab: Lab,
    _bridge: Netns,
    host: Netns,
    other: Netns,
    router: Router,
    dir: tempfile::TempDir,
}

/// The address of the virtual router, and its MAC address.
struct Family {
    keepalived: &'static str,
    words: &'static str,
    address: &'static str,
    mac: &'static str,
}

const IP4: Family = Family {
    keepalived: "10.0.0.9/24",
    words: "vr_id 7",
    address: "10.0.0.9",
    mac: "00:00:5e:00:01:07",
};
const IP6: Family = Family {
    keepalived: "fe80::9/64",
    words: "vr_id 7 ipv6",
    address: "fe80::9",
    mac: "00:00:5e:00:02:07",
};

fn place() -> Option<Place> {
    let lab = require(&["root", "ip", "keepalived"])?;
    let (host, other, bridge) = (lab.netns("host"), lab.netns("other"), lab.netns("bridge"));
    let netns = lab.netns("router");
    bridge.ip("link add br0 type bridge mcast_snooping 0");
    bridge.up("br0");
    for (end, name) in [(&host, "host"), (&other, "other"), (&netns, "router")] {
        lab.veth((end, "eth0"), (&bridge, name));
        bridge.ip(&format!("link set {name} master br0"));
    }
    for scope in ["all", "default"] {
        netns.sysctl(&format!("net/ipv6/conf/{scope}/disable_ipv6"), "1");
    }
    for (netns, last) in [(&host, 2), (&other, 3)] {
        netns.addr("eth0", &format!("10.0.0.{last}/24"));
    }
    let router = Router::start(&netns, "");
    router.script(
        "create host-interface name eth0
         set interface ip address host-eth0 10.0.0.1/24
         enable ip6 interface host-eth0
         set interface state host-eth0 up",
    );
    let dir = tempfile::tempdir().expect("a directory");
    Some(Place { _lab: lab, _bridge: bridge, host, other, router, dir })
}

impl Place {
    fn keepalived(&self, family: &Family, priority: u8) -> Background {
        let path = |name: &str| self.dir.path().join(name).display().to_string();
        let conf = format!(
            "global_defs {{\n vrrp_version 3\n vrrp_garp_master_delay 0\n}}\n\
             vrrp_instance one {{\n state BACKUP\n interface eth0\n virtual_router_id 7\n \
             priority {priority}\n advert_int 0.2\n \
             virtual_ipaddress {{\n {}\n }}\n}}\n",
            family.keepalived
        );
        std::fs::write(path("conf"), conf).expect("a file");
        let command =
            self.other.command("keepalived").args(["-n", "-l", "-P", "-f", &path("conf")]);
        command.args(["-p", &path("pid"), "-r", &path("vrrp-pid")]).spawn()
    }

    fn is(&self, state: &str) -> Option<()> {
        self.router.run("show vrrp vr").contains(&format!("state {state} ")).then_some(())
    }

    /// Returns `Some` if the host finds the address at this station.
    fn is_at(&self, family: &Family, mac: &str) -> Option<()> {
        self.host.ip("neigh flush dev eth0");
        let to = match family.address.contains(':') {
            true => format!("{}%eth0", family.address),
            false => family.address.to_string(),
        };
        drop(self.host.ping("-c1 -W1", &to));
        let known = self.host.ip("neigh show dev eth0");
        let entry = known.lines().find(|line| line.starts_with(family.address))?;
        entry.contains(mac).then_some(())
    }
}

fn both_take_over_from_each_other(family: &Family) {
    let Some(place) = place() else { return };
    let Family { words, address, .. } = family;
    place.router.script(&format!(
        "vrrp vr add host-eth0 {words} priority 100 interval 20 accept_mode {address}
         vrrp proto start host-eth0 {words}"
    ));
    let (ours, theirs) = (family.mac, place.other.mac("eth0").to_string());
    eventually("the router is alone", || place.is("Master"));
    eventually("the host finds it by the virtual address", || place.is_at(family, ours));
    if !address.contains(':') {
        assert!(place.host.ping("-c2", address).success(), "it accepts what is for the address");
    }
    // Another one of higher priority.
    let keepalived = place.keepalived(family, 200);
    eventually("keepalived takes over", || place.is("Backup"));
    eventually("the host finds that one", || place.is_at(family, &theirs));
    let shown = place.router.json("show vrrp vr");
    assert_eq!(shown[0]["master_interval"], 20, "{shown}");
    // It falls silent: three intervals and the skew later the router is the master.
    place.other.down("eth0");
    eventually("the router takes over", || place.is("Master"));
    eventually("the host finds the router again", || place.is_at(family, ours));
    place.other.up("eth0");
    eventually("keepalived is preferred", || place.is("Backup"));
    // It takes its leave.
    drop(keepalived.stop(PATIENCE));
    eventually("the router takes over again", || place.is("Master"));
    // One of lower priority stays a backup until the router takes its leave.
    let keepalived = place.keepalived(family, 50);
    let is_other = |place: &Place| {
        let shown = place.other.ip("addr show");
        shown.contains(&format!("{address}/")).then_some(())
    };
    eventually("keepalived starts", || {
        keepalived.stderr().contains("Entering BACKUP STATE").then_some(())
    });
    // Five times as many advertisements as it waits for; a late one may have let it take over, but
    // then it gives back.
    let received = || place.other.counter("eth0", "rx_packets");
    let start = received();
    eventually("keepalived hears the router", || (received() >= start + 15).then_some(()));
    eventually("the router stays the master", || {
        place.is("Master").filter(|()| is_other(&place).is_none())
    });
    place.router.run(&format!("vrrp proto stop host-eth0 {words}"));
    eventually("keepalived hears that", || is_other(&place));
    eventually("the host finds keepalived", || place.is_at(family, &theirs));
    place.router.run(&format!("vrrp proto start host-eth0 {words}"));
    eventually("the router is preferred", || place.is("Master"));
    eventually("keepalived gives way", || {
        let shown = place.other.ip("addr show");
        (!shown.contains(&format!("{address}/"))).then_some(())
    });
    drop(keepalived.stop(PATIENCE));
    place.router.stop();
}

#[test]
fn keepalived_and_the_router_share_an_ip4_address() {
    both_take_over_from_each_other(&IP4);
}

#[test]
fn keepalived_and_the_router_share_an_ip6_address() {
    both_take_over_from_each_other(&IP6);
}
