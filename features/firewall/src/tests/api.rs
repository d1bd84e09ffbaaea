// SPDX-License-Identifier: Apache-2.0
//! Messages.

use super::*;
use crate::api::*;
use net::api::InterfaceIndex;

fn rule(number: u32, destination: &str, ports: &str) -> FirewallRule {
    FirewallRule {
        number,
        action: FirewallAction::Accept,
        log: true,
        dscp: 255,
        name: "web".into(),
        source: "".into(),
        destination: destination.into(),
        protocol: "tcp".into(),
        source_ports: "".into(),
        destination_ports: ports.into(),
        icmp: "".into(),
        tcp_flags: "syn/syn,ack".into(),
        length: "40-100".into(),
        input: "".into(),
        output: "".into(),
        most_in_a_second: 5,
    }
}

fn members(all: &[&str]) -> Vec<FirewallMember> {
    all.iter().map(|text| FirewallMember { text: (*text).into() }).collect()
}

#[suite::test]
fn clients_configure_what_commands_do() {
    let mut rig = zones(false);
    let mut client = rig.bench.api();
    let zone = |is_add, name: &str| FirewallZoneAddDel {
        is_add,
        name: name.into(),
        most_sessions: 9,
        most_in_a_second: 0,
    };
    assert_eq!(client.call(zone(true, "dmz")), Ok(()));
    assert_eq!(client.call(zone(false, "none-such")), Err(-6));
    assert_eq!(client.call(zone(false, "lan")), Err(-147));
    let names: Vec<_> =
        client.dump(FirewallZoneDump {}).into_iter().map(|zone| zone.name.to_string()).collect();
    assert_eq!(names, ["dmz", "lan", "wan"]);
    let port = InterfaceIndex(rig.ports[2].0);
    let put = |zone: &str| FirewallInterfaceSetZone { sw_if_index: port, zone: zone.into() };
    assert_eq!(client.call(put("dmz")), Ok(()));
    assert_eq!(client.call(put("moon")), Err(-6));
    assert_eq!(client.dump(FirewallInterfaceDump {}).len(), 3);
    assert_eq!(client.call(put("")), Ok(()));
    assert_eq!(client.dump(FirewallInterfaceDump {}).len(), 2);
    let set = |name: &str, kind, all: &[&str]| FirewallSetAddDel {
        is_add: true,
        name: name.into(),
        kind,
        members: members(all),
    };
    let servers = set("servers", FirewallSetKind::Network, &["10.0.1.0/24", "2001:db8:1::2"]);
    assert_eq!(client.call(servers), Ok(()));
    let ways = set("ways", FirewallSetKind::Interface, &["p0", "p1"]);
    assert_eq!(client.call(ways), Ok(()));
    let wrong = set("servers", FirewallSetKind::Port, &["80"]);
    assert_eq!(client.call(wrong), Err(-1));
    let sets = client.dump(FirewallSetDump {});
    assert_eq!(sets.len(), 2);
    assert_eq!(sets[1].members, members(&["p0", "p1"]));
    let policy = FirewallPolicyAddDel {
        is_add: true,
        from_zone: "lan".into(),
        to_zone: "wan".into(),
        otherwise: FirewallAction::Reject,
        log: false,
        loose: true,
    };
    assert_eq!(client.call(policy), Ok(()));
    let rules = |rules: Vec<FirewallRule>| FirewallPolicySetRules {
        from_zone: "lan".into(),
        to_zone: "wan".into(),
        rules,
    };
    let all = vec![rule(10, "servers", "80-90"), rule(20, "10.9.0.0/16", "443")];
    assert_eq!(client.call(rules(all.clone())), Ok(()));
    let twice = vec![rule(10, "servers", "80"), rule(10, "servers", "81")];
    assert_eq!(client.call(rules(twice)), Err(-116));
    for bad in [rule(1, "none-such", "80"), rule(1, "servers", "servers"), rule(1, "", "90-80")] {
        assert!(client.call(rules(vec![bad])).is_err());
    }
    let policies = client.dump(FirewallPolicyDump {});
    assert_eq!((policies.len(), &policies[0].rules), (1, &all));
    let add = |is_add, rule| FirewallRuleAddDel {
        is_add,
        from_zone: "lan".into(),
        to_zone: "wan".into(),
        rule,
    };
    assert_eq!(client.call(FirewallBegin {}), Ok(()));
    assert_eq!(client.call(add(false, rule(10, "", ""))), Ok(()));
    assert_eq!(client.call(add(true, rule(5, "", "1"))), Ok(()));
    assert_eq!(client.dump(FirewallPolicyDump {})[0].rules, all);
    assert_eq!(client.call(FirewallCommit {}), Ok(()));
    let now = vec![rule(5, "", "1"), all[1].clone()];
    assert_eq!(client.dump(FirewallPolicyDump {})[0].rules, now);
    assert!(client.call(FirewallAbort {}).is_err());
    assert!(client.call(add(true, FirewallRule { dscp: 64, ..all[0].clone() })).is_err());
    let del = FirewallSetDel { name: "servers".into() };
    assert_eq!(client.call(del), Ok(()));
    drop(client);
    assert!(!rig.cli("show firewall sets").contains("servers"));
}
