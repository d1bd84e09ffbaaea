// SPDX-License-Identifier: Apache-2.0
//! The messages and commands.

use super::*;
use crate::api::*;
use ::net::api::{InterfaceIndex, Ip4Address};
use msg::Loopback;

fn ip4(text: &str) -> Ip4Address {
    Ip4Address(addr(text).octets())
}

fn map(inside: (&str, u8), outside: (&str, u8), is_add: bool) -> Det44AddDelMap {
    Det44AddDelMap {
        is_add,
        in_addr: ip4(inside.0),
        in_plen: inside.1,
        out_addr: ip4(outside.0),
        out_plen: outside.1,
    }
}

#[suite::test]
fn clients_configure_maps() {
    let rig = bare(2);
    let mut client = rig.bench.api();
    let enable = |enable| Det44PluginEnableDisable { inside_vrf: 0, outside_vrf: 0, enable };
    let users = ("10.0.0.0", 24);
    assert_eq!(client.call(map(users, (PUBLIC, 32), true)), Err(1));
    assert_eq!(client.call(enable(false)), Err(1));
    assert_eq!(client.call(enable(true)), Ok(()));
    assert_eq!(client.call(enable(true)), Err(1));
    for (request, want) in [
        (map(users, (PUBLIC, 32), true), Ok(())),
        (map(users, (PUBLIC, 32), true), Err(-81)),
        (map(("10.0.0.128", 25), ("192.0.2.8", 32), true), Err(-81)),
        (map(("10.9.0.0", 24), ("192.0.2.0", 28), true), Err(-81)),
        (map(("10.9.0.0", 33), ("192.0.2.8", 32), true), Err(-7)),
        (map(("10.9.0.0", 24), ("192.0.3.0", 23), true), Err(-7)),
        (map(("10.9.0.0", 16), ("192.0.3.0", 32), true), Err(-7)),
        (map(("10.9.0.77", 24), ("192.0.3.1", 30), true), Ok(())),
        (map(("10.9.0.0", 24), ("192.0.3.0", 30), false), Ok(())),
        (map(("10.9.0.0", 24), ("192.0.3.0", 30), false), Err(-6)),
    ] {
        assert_eq!(client.call(request), want);
    }
    let ports = client.call(Det44Forward { in_addr: ip4("10.0.0.20") }).expect("a reply");
    assert_eq!((ports.out_addr, ports.out_port_lo), (ip4(PUBLIC), port_of(20, 0)));
    assert_eq!(ports.out_port_hi, port_of(20, PORTS as u16 - 1));
    let user = |port| Det44Reverse { out_port: port, out_addr: ip4(PUBLIC) };
    assert_eq!(client.call(user(ports.out_port_hi)).map(|r| r.in_addr), Ok(ip4("10.0.0.20")));
    assert_eq!(client.call(user(1023)).map(|r| r.in_addr), Err(-6));
    assert!(matches!(client.call(Det44Forward { in_addr: ip4("10.0.1.1") }), Err(-6)));
    let maps = client.dump(Det44MapDump {});
    assert_eq!((maps.len(), maps[0].sharing_ratio, maps[0].ports_per_host), (1, 256, 252));
    assert_eq!(client.dump(NatDetMapDump {}).len(), 1);
    let old = client.call(NatDetForward { in_addr: ip4("10.0.0.20") }).expect("a reply");
    assert_eq!(old.out_port_lo, ports.out_port_lo);
    let [a, b] = [0, 1].map(|i: usize| InterfaceIndex::from(rig.ports[i]));
    let role = |sw_if_index, is_inside, is_add| Det44InterfaceAddDelFeature {
        is_add,
        is_inside,
        sw_if_index,
    };
    for (request, want) in [
        (role(a, true, true), Ok(())),
        (role(a, true, true), Err(-7)),
        (role(b, false, true), Ok(())),
        (role(b, true, false), Err(-7)),
        (role(InterfaceIndex(99), true, true), Err(-2)),
    ] {
        assert_eq!(client.call(request), want);
    }
    let all = client.dump(Det44InterfaceDump {});
    let all: Vec<_> = all.iter().map(|d| (d.sw_if_index, d.is_inside, d.is_outside)).collect();
    assert_eq!(all, [(a, true, false), (b, false, true)]);
    let times = |udp, icmp| Det44SetTimeouts { udp, tcp_established: 0, tcp_transitory: 9, icmp };
    assert_eq!(client.call(times(5, 0)), Ok(()));
    let now = client.call(Det44GetTimeouts {}).expect("a reply");
    assert_eq!((now.udp, now.tcp_established, now.tcp_transitory, now.icmp), (5, 7440, 9, 60));
    assert_eq!(client.call(enable(false)), Ok(()));
    assert_eq!(client.dump(Det44MapDump {}).len() + client.dump(Det44InterfaceDump {}).len(), 0);
}

/// A session is listed and ended by either of its ends.
#[suite::test]
fn clients_list_and_end_sessions() {
    let mut rig = router();
    let port = port_of(2, 5000);
    for own in [5000, 77, 8000] {
        one(&mut rig, 0, &packet(0, "10.0.0.2", "10.0.1.2").udp(own, 53));
    }
    one(&mut rig, 0, &packet(0, "10.0.0.3", "10.0.1.2").udp(1, 53));
    let world = rig.world();
    let mut client = Loopback::new(&*world, &world.api);
    {
        let user_addr = ip4("10.0.0.2");
        let all = client.dump_while(Det44SessionDump { user_addr }, || rig.bench.settle());
        let all: Vec<_> =
            all.iter().map(|s| (s.in_port, s.out_port, s.ext_port, s.state)).collect();
        let of = |own| (own, port_of(2, own), 53, 1);
        assert_eq!(all, [of(5000), of(77), of(8000)], "in the order of their making");
        let close = |in_port| Det44CloseSessionIn {
            in_addr: ip4("10.0.0.2"),
            in_port,
            ext_addr: ip4("10.0.1.2"),
            ext_port: 53,
        };
        assert_eq!(client.call_while(close(77), || rig.bench.settle()), Ok(()));
        assert_eq!(client.call_while(close(77), || rig.bench.settle()), Err(-6));
        let close = |out_addr| Det44CloseSessionOut {
            out_addr,
            out_port: port,
            ext_addr: ip4("10.0.1.2"),
            ext_port: 53,
        };
        assert_eq!(client.call(close(ip4("192.0.2.9"))), Err(-6));
        assert_eq!(client.call_while(close(ip4(PUBLIC)), || rig.bench.settle()), Ok(()));
        let left = client.dump_while(NatDetSessionDump { user_addr }, || rig.bench.settle());
        assert_eq!(left.iter().map(|s| s.in_port).collect::<Vec<_>>(), [8000]);
        assert_eq!(client.dump(Det44MapDump {})[0].ses_num, 2);
    }
    assert!(is_dropped(&mut rig, 1, &packet(1, "10.0.1.2", PUBLIC).udp(53, port)));
}

#[suite::test]
fn commands_show_and_refuse() {
    let mut rig = bare(2);
    assert_eq!(rig.refused("det44 add in 10.0.0.0/24 out 192.0.2.7/32").0, 1);
    assert_eq!(rig.refused("det44 plugin disable").0, 1);
    rig.cli("det44 plugin enable");
    assert_eq!(rig.refused("det44 plugin enable").0, 1);
    rig.cli("det44 add in 10.0.0.0/24 out 192.0.2.7/32");
    rig.cli("set interface det44 inside p0");
    rig.cli("set det44 timeouts udp 5 tcp transitory 7");
    let shown = " in 10.0.0.0/24 out 192.0.2.7/32\n  outside address sharing ratio: 256\n  number \
                 of ports per inside host: 252\n  sessions number: 0\n";
    let head = "NAT44 deterministic mappings:\n";
    assert_eq!(rig.cli("show det44 mappings"), format!("{head}{shown}"));
    assert_eq!(rig.cli("det44 forward 10.0.0.2"), "192.0.2.7:<1528-1779>\n");
    assert_eq!(rig.cli("det44 reverse 192.0.2.7:1600"), "10.0.0.2\n");
    assert_eq!(
        rig.cli("show det44 timeouts"),
        "udp timeout: 5sec\ntcp established timeout: 7440sec\ntcp transitory timeout: 7sec\nicmp timeout: 60sec\n"
    );
    rig.cli("set det44 timeouts reset");
    assert!(rig.cli("show det44 timeouts").starts_with("udp timeout: 300sec\n"));
    assert_eq!(rig.cli("show det44 sessions -j"), "[]\n");
    for (line, want) in [
        ("det44 reverse 192.0.2.7", "as 10.0.0.1:80"),
        ("det44 reverse 192.0.2.9:1600", "no map"),
        ("det44 forward 10.0.1.1", "no map has the user"),
        ("det44 close session in 10.0.0.2:1 10.0.1.2:2", "no such session"),
        ("set interface det44 inside p0", "already"),
        ("set interface det44", "expected inside or outside"),
        ("set det44 timeouts", "expected a timeout"),
    ] {
        let (_, error) = rig.refused(line);
        assert!(error.contains(want), "{line}: {error}");
    }
    rig.cli("det44 plugin disable");
    assert_eq!(rig.cli("show det44 mappings"), head);
}
