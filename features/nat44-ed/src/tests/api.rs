// SPDX-License-Identifier: Apache-2.0
//! The messages.

use super::*;
use crate::api::*;
use ::net::api::{InterfaceIndex, Ip4Address};
use std::cell::RefCell;

fn ip4(text: &str) -> Ip4Address {
    Ip4Address(addr(text).octets())
}

fn static_mapping(local: &str, external: &str, ports: (u16, u16)) -> Nat44AddDelStaticMapping {
    Nat44AddDelStaticMapping {
        is_add: true,
        flags: NatConfigFlags::ADDR_ONLY.when(ports == (0, 0)),
        local_ip_address: ip4(local),
        external_ip_address: ip4(external),
        protocol: 6,
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
    {
        let client = RefCell::new(rig.bench.api());
        let enable = |enable, flags| {
            client.borrow_mut().call(Nat44EdPluginEnableDisable {
                inside_vrf: 0,
                outside_vrf: 0,
                sessions: 100,
                session_memory: 0,
                enable,
                flags,
            })
        };
        let none = Nat44ConfigFlags(0);
        assert_eq!(enable(true, Nat44ConfigFlags::STATIC_MAPPING_ONLY), Err(-126));
        assert_eq!(enable(true, none), Ok(()));
        assert_eq!(enable(true, none), Err(-170));
        let running = client.borrow_mut().call(Nat44ShowRunningConfig {}).expect("a reply");
        assert_eq!((running.sessions, running.timeouts.tcp_established), (100, 7440));
        let range = |first: &str, last: &str, is_add| {
            client.borrow_mut().call(Nat44AddDelAddressRange {
                first_ip_address: ip4(first),
                last_ip_address: ip4(last),
                vrf_id: u32::MAX,
                is_add,
                flags: NatConfigFlags(0),
            })
        };
        assert_eq!(range("192.0.2.1", "192.0.2.3", true), Ok(()));
        assert_eq!(range("192.0.2.1", "192.0.2.1", true), Err(-81));
        assert_eq!(range("192.0.2.3", "192.0.2.3", false), Ok(()));
        assert_eq!(range("192.0.2.3", "192.0.2.3", false), Err(-6));
        assert_eq!(client.borrow_mut().dump(Nat44AddressDump {}).len(), 2);
        let map = |r| client.borrow_mut().call::<Nat44AddDelStaticMapping>(r);
        let port = || static_mapping("10.0.0.2", "192.0.2.1", (8080, 80));
        let address = || static_mapping("10.0.0.3", "192.0.2.9", (0, 0));
        assert_eq!(map(port()), Ok(()));
        assert_eq!(map(port()), Err(-81));
        let twice = Nat44AddDelStaticMapping {
            flags: address().flags | NatConfigFlags::TWICE_NAT,
            ..address()
        };
        assert_eq!(map(twice), Err(-126));
        assert_eq!(map(address()), Ok(()));
        let by_interface = Nat44AddDelStaticMapping {
            external_sw_if_index: rig.ports[1].into(),
            ..static_mapping("10.0.0.4", "0.0.0.0", (22, 22))
        };
        assert_eq!(map(by_interface), Ok(()));
        let all = client.borrow_mut().dump(Nat44StaticMappingDump {});
        assert_eq!(all.len(), 4, "the last one twice");
        let resolved: Vec<_> = all.iter().filter(|of| of.local_port == 22).collect();
        assert_eq!(resolved[0].external_sw_if_index, rig.ports[1].into());
        assert_eq!(resolved[1].external_ip_address, ip4("10.0.1.1"));
        assert_eq!(map(Nat44AddDelStaticMapping { is_add: false, ..address() }), Ok(()));
        assert_eq!(map(Nat44AddDelStaticMapping { is_add: false, ..address() }), Err(-6));
        let identity = |vrf_id, is_add| {
            client.borrow_mut().call(Nat44AddDelIdentityMapping {
                is_add,
                flags: NatConfigFlags::ADDR_ONLY,
                ip_address: ip4("10.0.0.7"),
                protocol: 0,
                port: 0,
                sw_if_index: InterfaceIndex::NONE,
                vrf_id,
                tag: String::new().into(),
            })
        };
        assert_eq!(identity(0, true), Ok(()));
        assert_eq!(identity(0, true), Err(-81));
        assert_eq!(identity(5, true), Ok(()), "for users of another table");
        assert_eq!(client.borrow_mut().dump(Nat44IdentityMappingDump {}).len(), 2);
        assert_eq!(identity(5, false), Ok(()));
        let local = |last: u8| Nat44LbAddrPort {
            addr: Ip4Address([10, 0, 0, last]),
            port: 80,
            probability: 50,
            vrf_id: 0,
        };
        let balance = |external: &str, locals: Vec<Nat44LbAddrPort>| {
            client.borrow_mut().call(Nat44AddDelLbStaticMapping {
                is_add: true,
                flags: NatConfigFlags(0),
                external_addr: ip4(external),
                external_port: 443,
                protocol: 6,
                affinity: 0,
                tag: String::new().into(),
                locals,
            })
        };
        assert_eq!(balance("192.0.2.1", vec![local(2)]), Err(-7));
        assert_eq!(balance("192.0.2.77", vec![local(2), local(3)]), Err(-6));
        assert_eq!(balance("192.0.2.1", vec![local(2), local(3)]), Ok(()));
        assert_eq!(client.borrow_mut().dump(Nat44LbStaticMappingDump {})[0].locals.len(), 2);
        for (inside, port) in [(true, 0), (false, 1)] {
            let role = Nat44InterfaceAddDelFeature {
                is_add: true,
                flags: NatConfigFlags::INSIDE.when(inside),
                sw_if_index: rig.ports[port].into(),
            };
            assert_eq!(client.borrow_mut().call(role), Ok(()));
        }
        assert_eq!(client.borrow_mut().dump(Nat44InterfaceDump {}).len(), 2);
        let queue = Nat44EdSetFqOptions { frame_queue_nelts: 128 };
        assert_eq!(client.borrow_mut().call(queue), Err(-170));
        for enable in [true, false] {
            let ipfix = NatIpfixEnableDisable { domain_id: 1, src_port: 4739, enable };
            client.borrow_mut().call(ipfix).expect("done");
            let running = client.borrow_mut().call(Nat44ShowRunningConfig {}).expect("there");
            assert_eq!(running.ipfix_logging_enabled, enable);
        }
        assert_eq!(client.borrow_mut().call(NatSetWorkers { worker_mask: 1 }), Err(-30));
    }
    one(&mut rig, 0, &packet(0, "10.0.0.9", "10.0.1.2").udp(5000, 53));
    one(&mut rig, 1, &syn(packet(1, "10.0.1.2", "192.0.2.1"), 4000, 80));
}
