// SPDX-License-Identifier: Apache-2.0
//! FRR beside the router: its zebra sends routes by FPM, and speaks BGP by mirrors of the router's
//! interfaces.
//!
//! Covers: features/fpm, features/linux-cp, features/linux-nl.

use fixture::{PATIENCE, eventually};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use testkit::lab::{Background, Lab, Netns, require};

use crate::star::{Spoke, Star};

/// Routes come by FPM alone: the kernel's, which zebra sets too, aren't read.
const STARTUP: &str = "plugins { plugin linux_nl_plugin.so { disable } }";

/// The page for operators, whose lines are used here.
const PAGE: &str = include_str!("../../docs/frr.md");
const MODULE: &str = "-M dplane_fpm_nl";
const ADDRESS: &str = "fpm address 127.0.0.1 port 2620";

/// A router between two hosts, mirrored in the namespace `control`, which listens for FPM there.
fn mirrored(lab: &Lab) -> (Star, Netns) {
    let star = Star::configured(lab, STARTUP, &[("left", 1, 0), ("right", 2, 0)]);
    let control = lab.netns("control");
    let name = control.name().expect("it has one");
    control.up("lo");
    star.router.script(&format!(
        "lcp default netns {name}\nlcp lcp-sync on\n\
         lcp create host-left host-if left\nlcp create host-right host-if right\n\
         fpm enable netns {name} settle-time 5\n"
    ));
    eventually("the kernel has the state", || {
        let shown = control.ip("-br addr show right");
        (shown.contains("10.0.2.1/24") && shown.contains("UP")).then_some(())
    });
    (star, control)
}

fn hosts(star: &Star) -> [&Spoke; 2] {
    let [left, right] = &star.spokes[..] else { panic!("two") };
    [left, right]
}

/// `show ip fib` of a prefix.
fn route(star: &Star, prefix: &str) -> String {
    let ip = if prefix.contains(':') { "ip6" } else { "ip" };
    star.router.ctl(&format!("show {ip} fib {prefix}")).unwrap_or_default()
}

#[track_caller]
fn comes(star: &Star, prefix: &str, parts: &[&str]) {
    eventually(&format!("{prefix} by FPM"), || {
        let shown = route(star, prefix);
        (shown.contains("fpm") && parts.iter().all(|part| shown.contains(part))).then_some(())
    });
}

#[track_caller]
fn goes(star: &Star, prefix: &str) {
    eventually(&format!("{prefix} is withdrawn"), || {
        (!route(star, prefix).contains("fpm")).then_some(())
    });
}

fn fpm(star: &Star) -> Value {
    star.router.json("show fpm")
}

/// FRR's daemons in a namespace.
struct Frr {
    netns: Netns,
    dir: PathBuf,
}

impl Frr {
    /// Its files are in `dir`, for its own user.
    fn new(netns: Netns, dir: &Path, config: &str) -> Self {
        let dir = std::env::temp_dir().join(format!(
            "{}-frr",
            dir.file_name().map_or("router".into(), |name| name.to_string_lossy())
        ));
        std::fs::create_dir_all(&dir).expect("made");
        std::fs::set_permissions(&dir, Permissions::from_mode(0o777)).expect("set");
        let this = Self { netns, dir };
        this.configure(config);
        this
    }

    fn configure(&self, config: &str) {
        let file = self.dir.join("frr.conf");
        std::fs::write(&file, config).expect("written");
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("set");
    }

    /// Starts a daemon with options of its own.
    fn start(&self, daemon: &str, options: &str) -> Background {
        let dir = self.dir.display();
        let line = format!(
            "{options} -f {dir}/frr.conf -i {dir}/{daemon}.pid -z {dir}/zserv.api \
             --vty_socket {dir} -P 0"
        );
        let program = format!("/usr/lib/frr/{daemon}");
        self.netns.command(&program).args(line.split_whitespace()).spawn()
    }

    fn zebra(&self) -> Background {
        let zebra = self.start("zebra", MODULE);
        eventually("zebra's socket", || self.dir.join("zserv.api").exists().then_some(()));
        zebra
    }
}

impl Drop for Frr {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn config(right: &Spoke, statics: &str) -> String {
    let [right4, right6] = right.addresses();
    format!(
        "{ADDRESS}\n\
         {statics}\
         router bgp 65001\n bgp router-id 10.0.2.1\n no bgp ebgp-requires-policy\n \
         no bgp network import-check\n \
         neighbor {right4} remote-as 65002\n neighbor {right4} timers connect 1\n \
         neighbor {right6} remote-as 65002\n neighbor {right6} timers connect 1\n \
         neighbor {right6} capability extended-nexthop\n \
         address-family ipv4 unicast\n  network 10.0.1.0/24\n  neighbor {right6} activate\n \
         exit-address-family\n \
         address-family ipv6 unicast\n  network 2001:db8:1::/64\n  neighbor {right6} activate\n \
         exit-address-family\n"
    )
}

/// BIRD on the right host: one session announces 192.0.2.0/24, the other one an IPv6 network and
/// 198.18.0.0/24, whose next hop is of IPv6.
fn bird(star: &Star, right: &Spoke) -> Background {
    let [[right4, right6], [router4, router6]] = [right.addresses(), right.gateways()];
    let session = |mine: &str, other: &str, families: &str| {
        format!(
            "protocol bgp {{ local {mine} as 65002; neighbor {other} as 65001; \
             connect delay time 1; error wait time 1, 2; {families} }}\n"
        )
    };
    let text = "log stderr all; router id 10.0.2.2;\n\
         protocol device { scan time 1; }\n\
         protocol kernel { ipv4 { export none; }; }\n\
         protocol kernel { ipv6 { export none; }; }\n\
         protocol static { ipv4; route 192.0.2.0/24 unreachable; route 198.18.0.0/24 unreachable; }\n\
         protocol static { ipv6; route 2001:db8:ffff::/64 unreachable; }\n"
        .to_string()
        + &session(
            &right4,
            &router4,
            "ipv4 { import all; export where net = 192.0.2.0/24; next hop self; };",
        )
        + &session(
            &right6,
            &router6,
            "ipv4 { extended next hop on; import all; export where net = 198.18.0.0/24; \
             next hop self; }; \
             ipv6 { import all; export where source = RTS_STATIC; next hop self; };",
        );
    let dir = star.router.dir();
    let (file, socket) = (dir.join("right.conf"), dir.join("right.ctl"));
    std::fs::write(&file, text).expect("written");
    let words = ["-f", "-c", &file.to_string_lossy(), "-s", &socket.to_string_lossy()];
    right.host.command("bird").args(words).spawn()
}

#[test]
fn frr_is_the_routers_control_plane_by_fpm() {
    let programs = ["root", "ping", "bird", "/usr/lib/frr/zebra", "/dev/net/tun"];
    let Some(lab) = require(&programs) else { return };
    for line in [STARTUP, MODULE, ADDRESS, "fpm enable netns "] {
        assert!(PAGE.contains(line), "docs/frr.md has another line than `{line}'");
    }
    let (star, control) = mirrored(&lab);
    let [left, right] = hosts(&star);
    for address in ["192.0.2.1/32", "198.18.0.1/32", "203.0.113.1/32", "2001:db8:ffff::1/128"] {
        right.host.addr("lo", address);
    }
    let ([left4, _], [right4, right6]) = (left.addresses(), right.addresses());
    let statics = format!(
        "ip route 203.0.113.0/24 {right4}\n\
         ip route 203.0.113.128/25 blackhole\n\
         ip route 198.51.100.0/24 {left4}\nip route 198.51.100.0/24 {right4}\n"
    );
    let frr = Frr::new(control, star.router.dir(), &config(right, &statics));
    let [zebra, staticd, bgpd] = [frr.zebra(), frr.start("staticd", ""), frr.start("bgpd", "")];
    let peer = bird(&star, right);

    // Static routes: several next hops, none. BGP of both protocols, and an IPv4 network whose next
    // hop is of IPv6.
    comes(&star, "203.0.113.0/24", &[&right4]);
    comes(&star, "203.0.113.128/25", &["drop"]);
    comes(&star, "198.51.100.0/24", &[&left4, &right4]);
    comes(&star, "192.0.2.0/24", &[&right4]);
    comes(&star, "2001:db8:ffff::/64", &[]);
    comes(&star, "198.18.0.0/24", &[]);
    let by_six = route(&star, "198.18.0.0/24");
    assert!(by_six.contains(&right6) || by_six.contains("fe80::"), "{by_six}");
    for address in ["203.0.113.1", "192.0.2.1", "2001:db8:ffff::1", "198.18.0.1"] {
        left.host.pings("-c3 -i0.05", address);
    }
    let shown = fpm(&star);
    assert!(shown["peer"].is_string() && shown["objects"].as_u64() > Some(0), "{shown}");
    assert_eq!(shown["refused"]["malformed"], 0, "{shown}");
    assert!(!route(&star, "192.0.2.0/24").contains("lcp-rt"), "the kernel's aren't read");

    // An operator's route of the same prefix gives way, and stays when FRR's goes.
    star.router.run("ip route add 192.0.2.0/24 via drop");
    assert!(route(&star, "192.0.2.0/24").contains("CLI"));
    left.host.pings("-c3 -i0.05", "192.0.2.1");
    peer.stop(PATIENCE);
    goes(&star, "192.0.2.0/24");
    goes(&star, "2001:db8:ffff::/64");
    assert!(route(&star, "192.0.2.0/24").contains("CLI"));
    assert!(route(&star, "203.0.113.0/24").contains("fpm"), "staticd's stay");
    star.router.run("ip route del 192.0.2.0/24 via drop");
    let peer = bird(&star, right);
    comes(&star, "192.0.2.0/24", &[&right4]);

    // bgpd ends and comes again.
    bgpd.stop(PATIENCE);
    goes(&star, "192.0.2.0/24");
    let bgpd = frr.start("bgpd", "");
    comes(&star, "192.0.2.0/24", &[&right4]);
    comes(&star, "198.18.0.0/24", &[]);

    // zebra is killed: packets are forwarded as before, meanwhile and afterwards.
    zebra.kill();
    let lost = eventually("the loss", || {
        let shown = fpm(&star);
        (shown["peer"].is_null() && shown["stale"].as_u64() > Some(0)).then_some(shown)
    });
    assert_eq!(
        lost["stale"].as_u64(),
        lost["ip4_routes"].as_u64().zip(lost["ip6_routes"].as_u64()).map(|(a, b)| a + b)
    );
    for address in ["203.0.113.1", "192.0.2.1", "2001:db8:ffff::1"] {
        left.host.pings("-c3 -i0.05", address);
    }
    staticd.kill();
    bgpd.kill();
    let _ = std::fs::remove_file(frr.dir.join("zserv.api"));
    let [zebra, staticd, bgpd] = [frr.zebra(), frr.start("staticd", ""), frr.start("bgpd", "")];
    eventually("a new zebra", || fpm(&star)["peer"].is_string().then_some(()));
    assert!(route(&star, "192.0.2.0/24").contains("fpm"));
    eventually("all routes are set again", || (fpm(&star)["stale"] == 0).then_some(()));
    comes(&star, "192.0.2.0/24", &[&right4]);
    comes(&star, "203.0.113.0/24", &[&right4]);
    for address in ["203.0.113.1", "192.0.2.1", "2001:db8:ffff::1", "198.18.0.1"] {
        left.host.pings("-c3 -i0.05", address);
    }
    for daemon in [bgpd, staticd, zebra, peer] {
        daemon.stop(PATIENCE);
    }
}
