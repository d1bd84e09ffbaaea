// SPDX-License-Identifier: Apache-2.0
//! Commands, and what of them is saved.

use super::*;

fn said(r: &Rig) -> Vec<(String, String)> {
    let local = |line: &str| {
        line.starts_with("ip6 nd")
            || line.contains("ip6-nd")
            || line.contains("ip6 dad")
            || line.contains("nd proxy")
    };
    let all = r.bench.world.running_config();
    all.iter().filter(|l| local(&l.text)).map(|l| (l.text.clone(), l.undo.clone())).collect()
}

#[suite::test]
fn what_is_set_is_said_and_can_be_said_again_and_taken_back() {
    let lines = [
        "set ip6 dad enable transmits 3 delay 0.5 link-local",
        "ip6 nd t0 no ra-suppress",
        "ip6 nd t0 ra-managed-config-flag",
        "ip6 nd t0 ra-other-config-flag",
        "ip6 nd t0 ra-suppress-link-layer",
        "ip6 nd t0 ra-interval 1000 30",
        "ip6 nd t0 ra-lifetime 4000",
        "ip6 nd t0 ra-initial 2 9",
        "ip6 nd t0 ra-hop-limit 33",
        "ip6 nd t0 prefix 2001:db8:1::/64 infinite no-autoconfig",
        "ip6 nd t0 prefix 2001:db8:2::/64 900 800 off-link",
        "ip6 nd t0 prefix 2001:db8:3::/64",
        "ip6 nd t0 ra-dns 2001:db8::53 lifetime 700",
        "ip6 nd t0 ra-search example.org lifetime 700",
        "ip6 nd address autoconfig t1 default-route",
        "set ip6 nd proxy t1 2001:db8::77",
        "set interface ip6-nd proxy t0 enable",
    ];
    let mut r = bare();
    r.second();
    assert_eq!(said(&r), []);
    lines.iter().for_each(|line| drop(r.run(line)));
    let all = said(&r);
    assert_eq!(all.iter().map(|(line, _)| line.as_str()).collect::<Vec<_>>(), lines);
    // The same lines on another instance say the same.
    let mut other = bare();
    other.second();
    all.iter().for_each(|(line, _)| drop(other.run(line)));
    assert_eq!(said(&other), all);
    all.iter().rev().for_each(|(_, undo)| drop(r.run(undo)));
    assert_eq!(said(&r), []);
}

/// VPP reads several options from one line; `no` takes back all of them, wherever it stands.
#[suite::test]
fn a_line_sets_several_options() {
    let mut r = bare();
    r.run("ip6 nd t0 ra-managed-config-flag ra-other-config-flag ra-interval 1000 30 ra-lifetime 4000 ra-hop-limit 33");
    r.run("ip6 nd t0 no ra-suppress ra-send-unicast");
    let lines: Vec<_> = said(&r).into_iter().map(|(line, _)| line).collect();
    assert_eq!(
        lines,
        [
            "ip6 nd t0 no ra-suppress",
            "ip6 nd t0 ra-managed-config-flag",
            "ip6 nd t0 ra-other-config-flag",
            "ip6 nd t0 ra-interval 1000 30",
            "ip6 nd t0 ra-lifetime 4000",
            "ip6 nd t0 ra-hop-limit 33",
        ]
    );
    r.run("ip6 nd t0 ra-suppress ra-managed-config-flag");
    r.run("ip6 nd t0 ra-managed-config-flag ra-other-config-flag no ra-interval ra-lifetime ra-hop-limit");
    assert_eq!(said(&r), []);
    r.run("ip6 nd t0 prefix 2001:db8:1::/64 infinite no-autoconfig ra-hop-limit 33");
    assert_eq!(said(&r).len(), 2);
}

#[suite::test]
fn what_is_shown() {
    let mut r = bare();
    r.add_address("2001:db8::1/64");
    r.run("ip6 nd t0 no ra-suppress");
    r.run("ip6 nd t0 prefix 2001:db8::/64 1000 500 absolute");
    r.run("ip6 nd t0 ra-dns 2001:db8::53");
    let shown = r.run("show ip6 interface t0");
    for part in [
        "t0 is admin up, link up\n  Link-local address(es):\n    fe80::ff:fe00:1\n",
        "  Global unicast address(es):\n    2001:db8::1, subnet is 2001:db8::/64\n",
        "  Joined group address(es):\n    ff02::1\n    ff02::2\n    ff02::16\n    ff02::1:ff00:0\n    ff02::1:ff00:1\n",
        "  Advertised Prefixes:\n    prefix 2001:db8::/64, valid lifetime 1000, preferred lifetime 500, absolute\n",
        "    name server 2001:db8::53, lifetime 600\n",
        "  ND router advertisements are sent every 200 seconds (min interval is 150)\n",
        "  ND router advertisements live for 600 seconds\n",
        "  ND DAD is disabled\n",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    r.pass(100);
    let json = r.json("show ip6 ra");
    assert_eq!(json[0]["interface"].as_str(), Some("t0"));
    let valid = json[0]["prefixes"][0]["valid"].as_u64();
    assert!(valid.is_some_and(|left| (800..=900).contains(&left)), "{json}");
    for (line, part) in [
        ("ip6 nd t9 ra-suppress", "no interface is named `t9'"),
        ("ip6 nd local0 ra-suppress", "no Ethernet frames"),
        ("ip6 nd t0 ra-lifetime", "<lifetime> is missing"),
        ("ip6 nd t0 ra-lifetime 9001", "to 9000"),
        ("ip6 nd t0 ra-interval 100 80", "3 to 75"),
        ("ip6 nd t0 prefix 2001:db8:5::/64 100", "<preferred>"),
        ("ip6 nd t0 prefix 2001:db8:5::/64 100 200", "longer than it is valid"),
        ("ip6 nd t0 no prefix 2001:db8:5::/64", "not advertised"),
        ("ip6 nd t0 prefix fe80::/64", "no prefix of a link's hosts"),
        ("ip6 nd t0 ra-search a..b", "no domain's name"),
        ("set ip6 dad enable transmits 0", "1 to 10"),
        ("set ip6 dad enable delay 0.05", "0.1 to 10"),
        ("set ip6 dad enable delay 11", "0.1 to 10"),
    ] {
        let error = r
            .tree
            .execute(&r.bench.world, line)
            .err()
            .unwrap_or_else(|| panic!("{line} was taken"));
        assert!(error.to_string().contains(part), "{line}: {error}");
    }
}
