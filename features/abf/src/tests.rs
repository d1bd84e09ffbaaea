// SPDX-License-Identifier: Apache-2.0
use crate::PLUGIN;
use crate::api::*;
use graph::Plugin;
use net::api::{FibPath, InterfaceIndex};
use net::drive::{Rig, peer_mac, port_mac};
use testkit::pkt;

static PLUGINS: &[&Plugin] = &[
    &interface::PLUGIN,
    &::ethernet::PLUGIN,
    &::fib::PLUGIN,
    &ip::PLUGIN,
    &::super_path::PLUGIN,
    &icmp::PLUGIN,
    &l2::PLUGIN,
    &acl::PLUGIN,
    &PLUGIN,
];

/// A UDP packet to a host that no route leads to, as it comes in by `p0`, or as it leaves to the
/// neighbour of a port.
fn packet(v6: bool, leaves: Option<usize>, port: u16) -> Vec<u8> {
    let (ether, ttl) = match leaves {
        None => (pkt::ether(peer_mac(0), port_mac(0)), 64),
        Some(i) => (pkt::ether(port_mac(i), peer_mac(i)), 63),
    };
    let ip = if v6 {
        ether.ip6("2001:db8:0::2", "2001:db8:99::1")
    } else {
        ether.ip4("10.0.0.2", "192.0.2.1")
    };
    ip.ttl(ttl).udp(1, port).payload_len(60).build()
}

/// Ports with networks, and two ACLs for each IP version: for UDP ports up to 9, and up to 99 but
/// not 5.
fn rig(n: usize) -> Rig {
    let mut rig = Rig::new(PLUGINS, n);
    rig.networks();
    rig.cli("set acl-plugin acl permit proto 17 dport 0-9");
    rig.cli("set acl-plugin acl deny proto 17 dport 5, permit proto 17 dport 0-99");
    rig.cli("set acl-plugin acl permit src ::/0 dst ::/0 proto 17 dport 0-9");
    rig
}

/// The port by which a packet leaves. The sender may hear that there is no way.
fn leaves(rig: &mut Rig, v6: bool, port: u16) -> Option<usize> {
    let mut sent = rig.pass(0, &packet(v6, None, port));
    sent.retain(|(by, _)| *by != 0);
    let [(by, frame)] = &sent[..] else {
        assert_eq!(sent, []);
        return None;
    };
    assert_eq!(*frame, packet(v6, Some(*by), port));
    Some(*by)
}

#[suite::test]
fn the_first_rule_by_priority_decides() {
    let mut rig = rig(4);
    rig.cli("abf policy add id 10 acl 0 via 10.0.1.2 p1");
    rig.cli("abf policy add id 11 acl 1 via 10.0.2.2 p2");
    rig.cli("abf attach ip4 policy 10 priority 50 p0");
    assert_eq!((leaves(&mut rig, false, 5), leaves(&mut rig, false, 50)), (Some(1), None));
    rig.cli("abf attach ip4 policy 11 priority 40 p0");
    assert_eq!(leaves(&mut rig, false, 7), Some(2));
    // The rule that denies ends the search: the packet is routed.
    assert_eq!(leaves(&mut rig, false, 5), None);
    assert_eq!(leaves(&mut rig, false, 50), Some(2));
    rig.cli("ip route add 192.0.2.0/24 via 10.0.3.2 p3");
    assert_eq!((leaves(&mut rig, false, 5), leaves(&mut rig, false, 500)), (Some(3), Some(3)));
    // Rules that are replaced decide at once.
    rig.cli("set acl-plugin acl index 1 permit proto 17 dport 500");
    assert_eq!((leaves(&mut rig, false, 7), leaves(&mut rig, false, 500)), (Some(1), Some(2)));
    rig.cli("abf attach ip4 del policy 11 p0");
    assert_eq!((leaves(&mut rig, false, 7), leaves(&mut rig, false, 500)), (Some(1), Some(3)));
    assert_eq!(rig.count("abf-input-ip4", "matched"), 6);
    assert_eq!(rig.count("abf-input-ip4", "missed"), 5);
    assert_eq!(leaves(&mut rig, true, 7), None, "the other IP version isn't concerned");
}

/// One ACL may have several policies, and one policy several interfaces.
#[suite::test]
fn policies_share_acls_and_interfaces_share_policies() {
    let mut rig = rig(4);
    for (policy, port) in [(1, 1), (2, 2), (3, 3)] {
        rig.cli(&format!("abf policy add id {policy} acl 0 via 10.0.{port}.2 p{port}"));
    }
    for (policy, priority) in [(1, 50), (2, 40), (3, 45)] {
        rig.cli(&format!("abf attach ip4 policy {policy} priority {priority} p0"));
    }
    rig.cli("abf attach ip4 policy 2 p1");
    assert_eq!(leaves(&mut rig, false, 7), Some(2));
    rig.cli("abf attach ip4 del policy 2 p0");
    assert_eq!(leaves(&mut rig, false, 7), Some(3));
    rig.cli("abf policy del id 3 acl 0");
    assert_eq!(leaves(&mut rig, false, 7), Some(1));
    let shown = rig.cli("show abf attach");
    assert_eq!(shown.lines().count(), 3, "{shown}");
    // A policy holds its ACL.
    assert_eq!(rig.refused("delete acl-plugin acl index 0").0, -149);
    rig.cli("abf policy del id 1 acl 0");
    rig.cli("abf policy del id 2 acl 0");
    assert_eq!(rig.cli("show abf policy"), "");
    assert_eq!(rig.cli("show acl-plugin lookup context").lines().count(), 1);
    rig.cli("delete acl-plugin acl index 0");
}

#[suite::test]
fn paths_are_those_of_routes() {
    let mut rig = rig(3);
    rig.cli("abf policy add id 1 acl 2 via 2001:db8:77::1");
    rig.cli("abf attach ip6 policy 1 p0");
    assert_eq!(leaves(&mut rig, true, 7), None, "there is no route to the next hop");
    assert_eq!(rig.count("abf-input-ip6", "no_path"), 1);
    rig.cli("ip route add 2001:db8:77::/64 via 2001:db8:1::2 p1");
    assert_eq!(leaves(&mut rig, true, 7), Some(1));
    rig.cli("abf policy add id 1 acl 2 via 2001:db8:2::2 p2 preference 0");
    rig.cli("abf policy del id 1 acl 2 via 2001:db8:77::1");
    assert_eq!(leaves(&mut rig, true, 7), Some(2));
    // A path goes with its interface, and the policy with its last path.
    rig.delete_port(2);
    assert_eq!(rig.cli("show abf policy"), "");
    assert_eq!(leaves(&mut rig, true, 7), None);
    rig.cli("delete acl-plugin acl index 2");
}

#[suite::test]
fn clients_are_answered_as_by_vpp() {
    let mut rig = rig(2);
    rig.cli("abf policy add id 4 acl 0 via 10.0.1.2 p1");
    let p0 = InterfaceIndex::from(rig.ports[0]);
    let mut client = rig.bench.api();
    let [there] = &client.dump(AbfPolicyDump {})[..] else { panic!("one policy") };
    let path = there.policy.paths[0];
    let policy = |is_add, policy_id, acl_index, paths: &[FibPath]| AbfPolicyAddDel {
        is_add,
        policy: AbfPolicy { policy_id, acl_index, paths: paths.to_vec() },
    };
    let one = &[path][..];
    for (request, retval) in [
        (policy(true, 4, 1, one), -7),
        (policy(true, 5, 0, &[]), -7),
        (policy(false, 5, 0, one), -7),
        (policy(true, 5, 77, one), -6),
    ] {
        assert_eq!(client.call(request), Err(retval));
    }
    let attach = |is_add, policy_id, sw_if_index| AbfItfAttachAddDel {
        is_add,
        attach: AbfItfAttach { policy_id, sw_if_index, priority: 3, is_ipv6: false },
    };
    assert_eq!(client.call(attach(true, 4, p0)), Ok(()));
    for (request, retval) in [
        (attach(true, 4, p0), -116),
        (attach(true, 9, p0), -6),
        (attach(false, 9, p0), -6),
        (attach(true, 4, InterfaceIndex(77)), -2),
    ] {
        assert_eq!(client.call(request), Err(retval));
    }
    let details = client.dump(AbfItfAttachDump {});
    assert_eq!(details.iter().map(|item| item.attach.policy_id).collect::<Vec<_>>(), [4]);
    assert_eq!(client.call(policy(false, 4, 0, one)), Ok(()));
    assert_eq!(client.dump(AbfItfAttachDump {}).len(), 0);
    assert_eq!(client.dump(AbfPolicyDump {}).len(), 0);
}
