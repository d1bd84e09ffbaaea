// SPDX-License-Identifier: Apache-2.0
//! LLDP with lldpd at the other end of the link.
//!
//! Covers: features/lldp.

use fixture::{PATIENCE, Site, eventually};
use serde_json::Value;
use testkit::lab::require;

use crate::six;

#[test]
fn lldpd_and_the_router_see_each_other() {
    let Some(lab) = require(&["root", "lldpd", "lldpcli"]) else { return };
    let site = Site::new(&lab, six::VETH);
    let (router, left) = (site.router(), &site.left);
    router.script(
        "set lldp system-name our-router tx-interval 1
         set interface lldp host-left port-desc 'to the left' mgmt-ip4 10.0.1.1 mgmt-ip6 2001:db8::1",
    );
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("socket").display().to_string();
    // Its own client reads this file and then resumes it. Clients read the settings, change one and
    // write all of them: a setting of ours at the same time would pause it again.
    let conf = dir.path().join("conf").display().to_string();
    std::fs::write(&conf, "configure lldp tx-interval 1\n").expect("a file");
    let daemon = left
        .host
        .command("lldpd")
        .args(["-d", "-I", "eth0", "-S", "a host", "-u", &socket, "-O", &conf])
        .spawn();
    let client =
        |words: &[&str]| left.host.command("lldpcli").args(["-u", &socket]).args(words).run();
    let seen = eventually("lldpd sees the router", || {
        let text = client(&["-f", "json0", "show", "neighbors", "details"]).stdout;
        let json: Value = serde_json::from_str(&text).ok()?;
        json["lldp"][0]["interface"][0]
            .as_object()?
            .get("chassis")
            .map(|_| json["lldp"][0]["interface"][0].clone())
    });
    let mac = router.run("show hardware-interfaces host-left");
    let value = |pointer: &str| {
        seen.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    assert_eq!(value("/chassis/0/name/0/value"), "our-router", "{seen}");
    assert!(mac.contains(&value("/chassis/0/id/0/value")), "{seen}\n{mac}");
    assert_eq!(value("/port/0/id/0/value"), "host-left", "{seen}");
    assert_eq!(value("/port/0/descr/0/value"), "to the left", "{seen}");
    assert_eq!(value("/port/0/ttl/0/value"), "5", "{seen}");
    let managed = seen["chassis"][0]["mgmt-ip"].to_string();
    assert!(managed.contains("10.0.1.1") && managed.contains("2001:db8::1"), "{seen}");
    // And the other way.
    let host = left.host.mac("eth0").to_string();
    eventually("the router sees lldpd", || {
        router.run("show lldp").contains(" active").then_some(())
    });
    let shown = router.run("show lldp detail");
    assert!(shown.contains(&host), "no {host} in\n{shown}");
    drop(daemon.stop(PATIENCE));
    eventually("lldpd takes its leave", || {
        router.run("show lldp").contains("inactive").then_some(())
    });
    site.finish();
}
