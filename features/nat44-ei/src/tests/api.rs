// SPDX-License-Identifier: Apache-2.0
//! The messages.

use super::*;
use crate::api::*;
use ::net::api::{InterfaceIndex, Ip4Address};
use msg::Loopback;

fn ip4(text: &str) -> Ip4Address {
    Ip4Address(addr(text).octets())
}

fn enable(enable: bool, flags: Nat44EiConfigFlags) -> Nat44EiPluginEnableDisable {
    Nat44EiPluginEnableDisable {
        inside_vrf: 0,
        outside_vrf: 0,
        users: 20,
        user_memory: 0,
        sessions: 100,
        session_memory: 0,
        user_sessions: 0,
        enable,
        flags,
    }
}

fn range(first: &str, last: &str, is_add: bool) -> Nat44EiAddDelAddressRange {
    Nat44EiAddDelAddressRange {
        first_ip_address: ip4(first),
        last_ip_address: ip4(last),
        vrf_id: u32::MAX,
        is_add,
    }
}

fn mapping(local: &str, external: &str, ports: (u16, u16)) -> Nat44EiAddDelStaticMapping {
    Nat44EiAddDelStaticMapping {
        is_add: true,
        flags: Nat44EiConfigFlags::ADDR_ONLY_MAPPING.when(ports == (0, 0)),
        local_ip_address: ip4(local),
        external_ip_address: ip4(external),
        protocol: if ports == (0, 0) { 0 } else { 6 },
        local_port: ports.0,
        external_port: ports.1,
        external_sw_if_index: InterfaceIndex::NONE,
        vrf_id: 0,
        tag: "a tag".into(),
    }
}

#[suite::test]
fn clients_configure_nat() {
    let mut rig = bare(2);
    let (inside, outside) = (rig.ports[0], rig.ports[1]);
    {
        let mut client = rig.bench.api();
        let none = Nat44EiConfigFlags(0);
        // Nothing works while it is off.
        assert_eq!(client.call(range("192.0.2.1", "192.0.2.1", true)), Err(-169));
        assert_eq!(client.call(enable(false, none)), Err(-169));
        assert_eq!(client.call(enable(true, none)), Ok(()));
        assert_eq!(client.call(enable(true, none)), Err(-170));
        let running = client.call(Nat44EiShowRunningConfig {}).expect("a reply");
        assert_eq!((running.users, running.sessions, running.user_sessions), (20, 100, 100));
        assert_eq!((running.timeouts.udp, running.flags), (300, none));
        assert_eq!(client.call(range("192.0.2.1", "192.0.2.3", true)), Ok(()));
        assert_eq!(client.call(range("192.0.2.1", "192.0.2.1", true)), Err(-81));
        assert_eq!(client.call(range("192.0.2.3", "192.0.2.3", false)), Ok(()));
        assert_eq!(client.call(range("192.0.2.3", "192.0.2.3", false)), Err(-6));
        let addresses = client.dump(Nat44EiAddressDump {});
        assert_eq!((addresses.len(), addresses[0].vrf_id), (2, u32::MAX));
        let port = || mapping("10.0.0.2", "192.0.2.1", (8080, 80));
        assert_eq!(client.call(port()), Ok(()));
        assert_eq!(client.call(port()), Err(-81));
        assert_eq!(client.call(mapping("10.0.0.2", "192.0.2.77", (9, 9))), Err(-6));
        let whole = || mapping("10.0.0.3", "192.0.2.9", (0, 0));
        assert_eq!(client.call(whole()), Ok(()));
        let by_interface = Nat44EiAddDelStaticMapping {
            external_sw_if_index: outside.into(),
            ..mapping("10.0.0.4", "0.0.0.0", (22, 22))
        };
        assert_eq!(client.call(by_interface), Ok(()));
        let all = client.dump(Nat44EiStaticMappingDump {});
        assert_eq!(all.len(), 4, "the last one twice");
        assert_eq!(all[1].flags, Nat44EiConfigFlags::ADDR_ONLY_MAPPING);
        let resolved: Vec<_> = all.iter().filter(|of| of.local_port == 22).collect();
        assert_eq!(resolved[0].external_sw_if_index, outside.into());
        assert_eq!(resolved[1].external_ip_address, ip4("10.0.1.1"));
        let gone = || Nat44EiAddDelStaticMapping { is_add: false, ..whole() };
        assert_eq!((client.call(gone()), client.call(gone())), (Ok(()), Err(-6)));
        let identity = |vrf_id, is_add| Nat44EiAddDelIdentityMapping {
            is_add,
            flags: Nat44EiConfigFlags::ADDR_ONLY_MAPPING,
            ip_address: ip4("10.0.0.7"),
            protocol: 0,
            port: 0,
            sw_if_index: InterfaceIndex::NONE,
            vrf_id,
            tag: String::new().into(),
        };
        assert_eq!(client.call(identity(0, true)), Ok(()));
        assert_eq!(client.call(identity(0, true)), Err(-81));
        assert_eq!(client.call(identity(5, true)), Ok(()), "for users of another table");
        assert_eq!(client.dump(Nat44EiIdentityMappingDump {}).len(), 2);
        assert_eq!(client.call(identity(5, false)), Ok(()));
        for (flags, sw_if) in
            [(Nat44EiConfigFlags::IF_INSIDE, inside), (Nat44EiConfigFlags::IF_OUTSIDE, outside)]
        {
            let role =
                |is_add| Nat44EiInterfaceAddDelFeature { is_add, flags, sw_if_index: sw_if.into() };
            assert_eq!(client.call(role(true)), Ok(()));
            assert_eq!(client.call(role(true)), Err(-81));
            assert_eq!(client.call(role(false)), Ok(()));
            assert_eq!(client.call(role(false)), Err(-6));
            assert_eq!(client.call(role(true)), Ok(()));
        }
        let roles = client.dump(Nat44EiInterfaceDump {});
        assert_eq!(roles[0].flags, Nat44EiConfigFlags::IF_INSIDE);
        assert_eq!(roles[1].flags, Nat44EiConfigFlags::IF_OUTSIDE);
        let output = Nat44EiAddDelOutputInterface { is_add: true, sw_if_index: outside.into() };
        assert_eq!(client.call(output), Err(-81));
        assert_eq!(client.call(Nat44EiSetFqOptions { frame_queue_nelts: 128 }), Err(-170));
        let ipfix = Nat44EiIpfixEnableDisable { domain_id: 1, src_port: 4739, enable: true };
        assert_eq!(client.call(ipfix), Ok(()));
        let running = client.call(Nat44EiShowRunningConfig {}).expect("a reply");
        assert!(running.ipfix_logging_enabled);
        let off = Nat44EiIpfixEnableDisable { domain_id: 0, src_port: 0, enable: false };
        assert_eq!(client.call(off), Ok(()));
        assert_eq!(client.call(Nat44EiSetWorkers { worker_mask: 1 }), Err(-30));
        let alg = |alg, offset| Nat44EiSetAddrAndPortAllocAlg {
            alg,
            psid_offset: offset,
            psid_length: 6,
            psid: 10,
            start_port: 0,
            end_port: 0,
        };
        assert_eq!(client.call(alg(1, 6)), Ok(()));
        let now = client.call(Nat44EiGetAddrAndPortAllocAlg {}).expect("a reply");
        assert_eq!((now.alg, now.psid_offset, now.psid_length, now.psid), (1, 6, 6, 10));
        assert_eq!(client.call(alg(1, 0)), Err(-7));
        assert_eq!(client.call(alg(7, 6)), Err(-7));
        assert_eq!(client.call(alg(0, 6)), Ok(()));
    }
    one(&mut rig, 0, &syn(packet(0, "10.0.0.9", "10.0.1.2"), 5000, 80));
    one(&mut rig, 0, &packet(0, "10.0.0.9", "10.0.1.2").udp(5000, 53));
    one(&mut rig, 0, &packet(0, "10.0.0.9", "10.0.1.2").icmp_echo(5000, 53));
    one(&mut rig, 1, &syn(packet(1, "10.0.1.2", "192.0.2.1"), 4000, 80));
    let world = rig.world();
    let mut client = Loopback::new(&*world, &world.api);
    let users = client.dump_while(Nat44EiUserDump {}, || rig.bench.settle());
    let of: Vec<_> =
        users.iter().map(|of| (of.ip_address, of.nsessions, of.nstaticsessions)).collect();
    assert_eq!(of, [(ip4("10.0.0.2"), 0, 1), (ip4("10.0.0.9"), 3, 0)]);
    let dump = |user: &str| Nat44EiUserSessionV2Dump { ip_address: ip4(user), vrf_id: 0 };
    let sessions = client.dump_while(dump("10.0.0.9"), || rig.bench.settle());
    let protocols: Vec<_> = sessions.iter().map(|of| of.protocol).collect();
    assert_eq!(protocols, [6, 17, 1], "in the order in which they were made");
    assert_eq!((sessions[1].inside_port, sessions[1].total_pkts), (5000, 1));
    assert_eq!((sessions[1].ext_host_address, sessions[1].ext_host_port), (ip4("10.0.1.2"), 53));
    let fixed = client.dump_while(dump("10.0.0.2"), || rig.bench.settle());
    assert_eq!(fixed[0].flags, Nat44EiConfigFlags::STATIC_MAPPING);
    assert_eq!((fixed[0].outside_port, fixed[0].inside_port), (80, 8080));
    let del = |inside: bool, address: &str, port| Nat44EiDelSession {
        address: ip4(address),
        protocol: 17,
        port,
        vrf_id: 0,
        flags: Nat44EiConfigFlags::IF_INSIDE.when(inside),
        ext_host_address: ip4("0.0.0.0"),
        ext_host_port: 0,
    };
    assert_eq!(client.call_while(del(true, "10.0.0.9", 5000), || rig.bench.settle()), Ok(()));
    assert_eq!(client.call_while(del(true, "10.0.0.9", 5000), || rig.bench.settle()), Err(-6));
    let user = |user| Nat44EiDelUser { ip_address: ip4(user), fib_index: 0 };
    assert_eq!(client.call_while(user("10.0.0.9"), || rig.bench.settle()), Ok(()));
    assert_eq!(client.call_while(user("10.0.0.9"), || rig.bench.settle()), Err(-6));
    assert_eq!(client.call(enable(false, Nat44EiConfigFlags(0))), Ok(()));
    assert!(client.dump_while(Nat44EiUserDump {}, || rig.bench.settle()).is_empty());
}

/// The modes of the switch.
#[suite::test]
fn modes_are_chosen() {
    let rig = bare(2);
    let outside = rig.ports[1];
    let mut client = rig.bench.api();
    assert_eq!(client.call(enable(true, Nat44EiConfigFlags::STATIC_MAPPING_ONLY)), Ok(()));
    assert_eq!(client.call(range("192.0.2.1", "192.0.2.1", true)), Err(-30));
    assert_eq!(client.call(enable(false, Nat44EiConfigFlags(0))), Ok(()));
    assert_eq!(client.call(enable(true, Nat44EiConfigFlags::OUT2IN_DPO)), Ok(()));
    let role = Nat44EiInterfaceAddDelFeature {
        is_add: true,
        flags: Nat44EiConfigFlags::IF_OUTSIDE,
        sw_if_index: outside.into(),
    };
    assert_eq!(client.call(role), Err(-126));
    let running = client.call(Nat44EiShowRunningConfig {}).expect("a reply");
    assert_eq!(running.flags, Nat44EiConfigFlags::OUT2IN_DPO);
}
