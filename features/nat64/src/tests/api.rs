// SPDX-License-Identifier: Apache-2.0
//! The messages.

use super::*;
use crate::api::*;
use ::net::api::{InterfaceIndex, Ip4Address, Ip6Address, Ip6Prefix};
use std::cell::RefCell;

fn ip4(text: &str) -> Ip4Address {
    Ip4Address(text.parse::<Ipv4Addr>().expect("an address").octets())
}

fn ip6(text: &str) -> Ip6Address {
    Ip6Address(text.parse::<Ipv6Addr>().expect("an address").octets())
}

#[suite::test]
fn clients_configure_nat64() {
    let mut rig = bare(2);
    let ports: Vec<InterfaceIndex> = rig.ports.iter().map(|port| (*port).into()).collect();
    let world = rig.bench.world.clone();
    let client = RefCell::new(::msg::Loopback::new(&*world, &world.api));
    let bench = RefCell::new(&mut rig.bench);
    let meanwhile = || bench.borrow_mut().settle();
    let enable = |enable| {
        client.borrow_mut().call(Nat64PluginEnableDisable {
            bib_buckets: 128,
            bib_memory_size: 0,
            st_buckets: 256,
            st_memory_size: 0,
            enable,
        })
    };
    assert_eq!(enable(false), Err(-169));
    assert_eq!(enable(true), Ok(()));
    assert_eq!(enable(true), Err(-170));
    let timeouts = |udp, icmp| {
        let (tcp_established, tcp_transitory) = (7450, 250);
        client.borrow_mut().call(Nat64SetTimeouts { udp, tcp_established, tcp_transitory, icmp })
    };
    let current = || client.borrow_mut().call(Nat64GetTimeouts {}).expect("a reply");
    assert_eq!((current().udp, current().icmp, current().tcp_established), (300, 60, 7440));
    assert_eq!(timeouts(200, 0), Ok(()));
    assert_eq!((current().udp, current().icmp, current().tcp_transitory), (200, 60, 250));
    let range = |first: &str, last: &str, vrf_id, is_add| {
        let (start_addr, end_addr) = (ip4(first), ip4(last));
        client.borrow_mut().call(Nat64AddDelPoolAddrRange { start_addr, end_addr, vrf_id, is_add })
    };
    assert_eq!(range("192.0.2.1", "192.0.2.3", u32::MAX, true), Ok(()));
    assert_eq!(range("192.0.2.1", "192.0.2.1", 0, true), Err(-81));
    assert_eq!(range("192.0.2.3", "192.0.2.3", u32::MAX, false), Ok(()));
    assert_eq!(range("192.0.2.3", "192.0.2.3", u32::MAX, false), Err(-6));
    assert_eq!(range("192.0.2.3", "192.0.2.1", u32::MAX, true), Err(-7));
    assert_eq!(range("192.0.2.9", "192.0.2.9", 7, true), Ok(()));
    let pool = client.borrow_mut().dump(Nat64PoolAddrDump {});
    let vrfs: Vec<_> = pool.iter().map(|of| of.vrf_id).collect();
    assert_eq!((pool[0].address, vrfs), (ip4("192.0.2.1"), vec![u32::MAX, u32::MAX, 7]));
    let role = |port: usize, flags, is_add| {
        let sw_if_index = ports[port];
        client.borrow_mut().call(Nat64AddDelInterface { is_add, flags, sw_if_index })
    };
    let (inside, outside) = (NatConfigFlags::INSIDE, NatConfigFlags(0));
    assert_eq!(role(0, inside, false), Err(-6));
    assert_eq!((role(0, inside, true), role(0, outside, true)), (Ok(()), Ok(())));
    assert_eq!(role(1, outside, true), Ok(()));
    let all = client.borrow_mut().dump(Nat64InterfaceDump {});
    assert!(all[0].flags.has(inside) && all[0].flags.has(NatConfigFlags::OUTSIDE));
    assert_eq!(all[1].flags, NatConfigFlags::OUTSIDE);
    // An interface with one role loses it, whichever is named.
    assert_eq!((role(0, outside, false), role(1, inside, false)), (Ok(()), Ok(())));
    let all = client.borrow_mut().dump(Nat64InterfaceDump {});
    assert_eq!((all.len(), all[0].flags), (1, inside));
    let prefix = |text: &str, len, vrf_id, is_add| {
        let prefix = Ip6Prefix { address: ip6(text), len };
        client.borrow_mut().call(Nat64AddDelPrefix { prefix, vrf_id, is_add })
    };
    assert_eq!(prefix("2001:db8::", 32, 0, true), Ok(()));
    assert_eq!(prefix("2001:db8:122:300::", 56, 10, true), Ok(()));
    assert_eq!(prefix("2001:db8:122:300::", 57, 10, true), Err(-7));
    assert_eq!(prefix("2001:db8::", 32, 10, false), Err(-6));
    let all = client.borrow_mut().dump(Nat64PrefixDump {});
    assert_eq!((all.len(), all[1].vrf_id, all[1].prefix.len), (2, 10, 56));
    let bib = |o_port, i_port, proto, is_add| {
        let request = Nat64AddDelStaticBib {
            i_addr: ip6("2001:db8::9"),
            o_addr: ip4("192.0.2.1"),
            i_port,
            o_port,
            vrf_id: 0,
            proto,
            is_add,
        };
        client.borrow_mut().call_while(request, meanwhile)
    };
    assert_eq!((bib(80, 8080, 6, true), bib(0, 0, 47, true)), (Ok(()), Ok(())));
    assert_eq!((bib(80, 8080, 6, true), bib(80, 8081, 6, true)), (Err(-81), Err(-7)));
    let dump = |proto| client.borrow_mut().dump_while(Nat64BibDump { proto }, meanwhile);
    assert_eq!((dump(255).len(), dump(6).len(), dump(47).len(), dump(17).len()), (2, 1, 1, 0));
    let tcp = dump(6).remove(0);
    assert_eq!((tcp.i_addr, tcp.i_port, tcp.o_port), (ip6("2001:db8::9"), 8080, 80));
    assert!(tcp.flags.has(NatConfigFlags::STATIC) && tcp.ses_num == 0);
    assert_eq!((bib(80, 8080, 6, false), bib(80, 8080, 6, false)), (Ok(()), Err(-6)));
    assert_eq!(client.borrow_mut().dump_while(Nat64StDump { proto: 255 }, meanwhile).len(), 0);
    let follow = |is_add| {
        let sw_if_index = ports[1];
        client.borrow_mut().call(Nat64AddDelInterfaceAddr { is_add, sw_if_index })
    };
    assert_eq!((follow(true), follow(true)), (Ok(()), Err(-81)));
    assert_eq!((follow(false), follow(false)), (Ok(()), Err(-6)));
    assert_eq!(enable(false), Ok(()));
    assert_eq!(client.borrow_mut().dump(Nat64PoolAddrDump {}).len(), 0);
}

/// The session of a packet as clients see it.
#[suite::test]
fn clients_see_sessions() {
    let mut rig = with_pool();
    let port = one(&mut rig, 0, &of_user(USER, HOST6).udp(5000, 53)).from.1;
    let (world, bench) = (rig.bench.world.clone(), &mut rig.bench);
    let mut client = ::msg::Loopback::new(&*world, &world.api);
    let all = client.dump_while(Nat64StDump { proto: 17 }, || bench.settle());
    assert_eq!(all.len(), 1);
    let of = &all[0];
    assert_eq!((of.il_addr, of.il_port, of.ir_addr), (ip6(USER), 5000, ip6(HOST6)));
    assert_eq!((of.ol_addr, of.ol_port, of.or_addr), (ip4(PUBLIC), port, ip4(HOST)));
    assert_eq!((of.r_port, of.vrf_id, of.proto), (53, 0, 17));
}
