// SPDX-License-Identifier: Apache-2.0
//! Bridge domains.

use super::*;
use crate::Bridge;

#[suite::test]
fn domains_are_created_shown_and_deleted() {
    let mut rig = rig(2);
    assert_eq!(rig.cli("show bridge-domain"), "no bridge-domains in use\n");
    rig.cli("create bridge-domain 7 learn 0 uu-flood 0 mac-age 5 bd-tag \"my domain\"");
    rig.cli("set interface l2 bridge p0 7 3");
    let shown = rig.cli("show bridge-domain");
    let lines: Vec<Vec<&str>> =
        shown.lines().map(|line| line.split_whitespace().collect()).collect();
    let head = "BD-ID Index BSN Age(min) Learning U-Forwrd UU-Flood Flooding ARP-Term arp-ufwd Learn-count Learn-limit BVI-Intf";
    assert_eq!(lines[0].join(" "), head);
    assert_eq!(lines[1].join(" "), "7 1 0 5 off on drop on off off 0 16777216 N/A");
    let detail = rig.cli("show bridge-domain 7 detail");
    assert!(detail.contains("BD-Tag: my domain"), "{detail}");
    let member = format!("p0 {} 0 3 - * none", rig.ports[0]);
    let lines: Vec<_> =
        detail.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(lines.contains(&member), "{detail}");
    let json: serde_json::Value =
        serde_json::from_str(&rig.cli("show bridge-domain 7 detail -j")).expect("JSON");
    assert_eq!((&json[0]["tag"], &json[0]["members"][0]["shg"]), (&"my domain".into(), &3.into()));
    assert_eq!(rig.refused("show bridge-domain 8"), (-6, rig.refused("show bridge-domain 8").1));
    assert_eq!(rig.refused("create bridge-domain 7").0, -119);
    assert_eq!(rig.refused("create bridge-domain 7 del").0, -120);
    assert_eq!(rig.refused("create bridge-domain 8 del").0, -6);
    assert_eq!(rig.refused("create bridge-domain 0").0, -121);
    assert_eq!(rig.refused("create bridge-domain 0 del").0, -121);
    assert_eq!(rig.refused("create bridge-domain 16777216").0, -122);
    assert_eq!(rig.refused("set bridge-domain learn 8").0, -6);
    assert_eq!(rig.refused("set bridge-domain mac-age 0 1").0, -121);
    let long = format!("create bridge-domain 9 bd-tag {}", "x".repeat(64));
    assert_eq!(rig.refused(&long).0, -7);
    rig.cli("set interface l3 p0");
    rig.cli("create bridge-domain 7 del");
    assert_eq!(rig.cli("show bridge-domain"), "no bridge-domains in use\n");
}

/// An index is used again only when no worker can learn in the domain that had it, and that
/// domain's entries are gone.
#[suite::test]
fn a_new_domain_knows_nothing_of_the_one_before() {
    let mut rig = bridged(2);
    let world = rig.world();
    let bridge = world.get::<Bridge>();
    rig.cli(&format!("l2fib add {} 1 p0 static", host(1)));
    rig.pass(0, &frame(2, 99, 0));
    // A frame waits in the middle of the graph while its domain is deleted.
    rig.bench.arrive(rig.ports[0], &frame(3, 99, 0));
    rig.bench.cli("set interface l3 p0").expect("set");
    rig.bench.cli("set interface l3 p1").expect("set");
    rig.bench.cli("create bridge-domain 1 del").expect("deleted");
    rig.bench.settle();
    rig.sent();
    rig.cli("create bridge-domain 1");
    assert_eq!(bridge.domain_info(&world, 1).expect("there").index, 2, "another index");
    rig.cli("set interface l2 bridge p0 1");
    rig.cli("set interface l2 bridge p1 1");
    for n in [1, 2, 3] {
        let to = frame(9, n, n);
        assert_eq!(rig.pass(0, &to), at(&[1], &to));
        assert_eq!(rig.pass(1, &to), at(&[0], &to));
    }
    rig.cli("l2fib flush-mac all");
    rig.seconds(2);
    assert_eq!((bridge.entry_count(), bridge.learned().0), (0, 0));
    rig.cli("create bridge-domain 3");
    assert_eq!(bridge.domain_info(&world, 3).expect("there").index, 1, "free again");
}

#[suite::test]
fn a_domain_is_created_by_its_first_member_and_its_uu_port_leaves_with_it() {
    let mut rig = rig(2);
    rig.cli("set interface l2 bridge p0 5 uu-fwd");
    let bridge = rig.world().get::<Bridge>();
    assert_eq!(bridge.domain_ids(), [5]);
    assert!(rig.cli("show bridge-domain 5 detail").contains("p0"));
    rig.cli("create bridge-domain 5 del");
    assert_eq!((bridge.domain_ids(), bridge.mode(rig.ports[0])), (vec![], None));
}

#[suite::test]
fn what_is_configured_is_written_and_read_back() {
    let commands = |rig: &Rig| {
        let lines = rig.world().running_config();
        let ours = lines.into_iter().filter(|l| l.text.contains("bridge") || l.text.contains("l2"));
        ours.map(|l| (l.text, l.undo)).collect::<Vec<_>>()
    };
    let mut rig = rig(4);
    for line in [
        "create loopback interface",
        "create bridge-domain 1 mac-age 5 bd-tag \"a b\"",
        "set bridge-domain learn-limit 1 9",
        "set bridge-domain uu-flood 1 disable",
        "set interface l2 bridge p0 1 4",
        "set interface l2 bridge loop0 1 bvi",
        "set interface l2 bridge p1 2 uu-fwd",
        "set interface l2 xconnect p2 p3",
        "set interface l2 learn p0 disable",
        "l2fib add 02:00:00:00:00:01 1 p0 static",
        "l2fib add 02:00:00:00:00:02 1 filter",
        "set bridge-domain default-learn-limit 5",
    ] {
        rig.cli(line);
    }
    rig.pass(0, &frame(1, 99, 0));
    let said = commands(&rig);
    let mut other = Rig::new(PLUGINS, 4);
    other.cli("create loopback interface");
    for (line, _) in said.iter().filter(|(line, _)| !line.starts_with("create loopback")) {
        other.cli(line);
    }
    assert_eq!(commands(&other), said);
    assert_eq!(other.cli("show mode"), rig.cli("show mode"));
    for (line, undo) in said.iter().rev().filter(|(line, _)| !line.starts_with("create loopback")) {
        other.bench.cli(undo).unwrap_or_else(|e| panic!("{undo} (of {line}): {e}"));
    }
    assert_eq!(commands(&other), []);
}
