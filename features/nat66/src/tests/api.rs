// SPDX-License-Identifier: Apache-2.0
//! The messages and commands.

use super::*;
use crate::api::*;
use ::net::api::{InterfaceIndex, Ip6Address};

fn ip6(text: &str) -> Ip6Address {
    Ip6Address(addr(text).octets())
}

#[suite::test]
fn clients_configure_nat66() {
    let rig = bare(2);
    let mut client = rig.bench.api();
    let enable = |enable| Nat66PluginEnableDisable { outside_vrf: 0, enable };
    let mapping = |local: &str, external: &str, vrf_id, is_add| Nat66AddDelStaticMapping {
        is_add,
        local_ip_address: ip6(local),
        external_ip_address: ip6(external),
        vrf_id,
    };
    assert_eq!(client.call(mapping("fd00::1", "2001:db8::1", 0, true)), Err(1));
    assert_eq!(client.call(enable(false)), Err(1));
    assert_eq!(client.call(enable(true)), Ok(()));
    assert_eq!(client.call(enable(true)), Err(1));
    for (request, want) in [
        (mapping("fd00::1", "2001:db8::1", 0, true), Ok(())),
        (mapping("fd00::1", "2001:db8::2", 0, true), Err(-81)),
        (mapping("fd00::2", "2001:db8::1", 0, true), Err(-81)),
        (mapping("fd00::1", "2001:db8::2", 7, true), Ok(())),
        (mapping("fd00::1", "2001:db8::3", 7, false), Err(-6)),
        (mapping("fd00::9", "2001:db8::9", 0, false), Err(-6)),
    ] {
        assert_eq!(client.call(request), want);
    }
    let all = client.dump(Nat66StaticMappingDump {});
    let all: Vec<_> = all.iter().map(|d| (d.external_ip_address, d.vrf_id, d.total_pkts)).collect();
    assert_eq!(all, [(ip6("2001:db8::1"), 0, 0), (ip6("2001:db8::2"), 7, 0)]);
    let [a, b] = [0, 1].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    let role = |sw_if_index, flags, is_add| Nat66AddDelInterface { is_add, flags, sw_if_index };
    let (inside, outside) = (NatConfigFlags::INSIDE, NatConfigFlags::OUTSIDE);
    for (request, want) in [
        (role(a, inside, true), Ok(())),
        (role(a, inside, true), Err(-81)),
        (role(a, outside, true), Err(-81)),
        (role(b, outside, true), Ok(())),
        (role(b, inside, false), Err(-6)),
        (role(InterfaceIndex(99), inside, true), Err(-2)),
    ] {
        assert_eq!(client.call(request), want);
    }
    let all = client.dump(Nat66InterfaceDump {});
    let all: Vec<_> = all.iter().map(|d| (d.sw_if_index, d.flags)).collect();
    assert_eq!(all, [(a, inside), (b, outside)]);
    assert_eq!(client.call(role(b, outside, false)), Ok(()));
    assert_eq!(client.call(enable(false)), Ok(()));
    assert_eq!(client.dump(Nat66StaticMappingDump {}).len(), 0);
    assert_eq!(client.dump(Nat66InterfaceDump {}).len(), 0);
}

/// A number that is used again counts from zero.
#[suite::test]
fn counters_begin_at_zero() {
    let mut rig = router();
    let udp = packet(0, HOST, WORLD).udp(1, 2).build();
    assert_eq!(rig.pass(0, &udp).len(), 1);
    assert_eq!(counted(&rig).0, 1);
    let line = format!("nat66 add static mapping local {HOST} external {PUBLIC}");
    rig.cli(&format!("{line} del"));
    assert!(rig.cli("show ip6 fib").contains("2001:db8:1::"));
    rig.cli(&line);
    assert_eq!(counted(&rig).0, 0);
    assert!(rig.cli("show nat66 static mappings -j").contains("\"packets\": 0"));
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = bare(1);
    assert_eq!(rig.refused("set interface nat66 in p0").0, 1);
    assert_eq!(rig.refused("nat66 plugin disable").0, 1);
    rig.cli("nat66 plugin enable");
    assert_eq!(rig.refused("nat66 plugin enable").0, 1);
    rig.cli("set interface nat66 out p0");
    rig.cli("nat66 add static mapping local fd00::1 external 2001:db8::1 vrf 5");
    assert_eq!(rig.cli("show nat66 interfaces"), "NAT66 interfaces:\n p0 out\n");
    let shown = " local fd00::1 external 2001:db8::1 vrf 5\n  total pkts 0, total bytes 0\n";
    assert_eq!(rig.cli("show nat66 static mappings"), format!("NAT66 static mappings:\n{shown}"));
    assert!(rig.cli("show ip6 fib").contains(":5"), "the table is there");
    for (line, want) in [
        ("set interface nat66 in p0", "already"),
        ("set interface nat66 in p0 del", "doesn't have"),
        ("nat66 add static mapping local fd00::1 external 2001:db8::9 vrf 5", "has a mapping"),
        ("nat66 add static mapping local fd00::1 external 2001:db8::1 del", "no mapping"),
    ] {
        let (_, error) = rig.refused(line);
        assert!(error.contains(want), "{line}: {error}");
    }
    rig.cli("nat66 plugin disable");
    assert!(!rig.cli("show ip6 fib").contains(":5"), "the table is let go");
}
