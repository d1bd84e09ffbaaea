// SPDX-License-Identifier: Apache-2.0
//! Addresses of interfaces, and unnumbered ones.

use super::*;

fn address(bench: &Bench, is_add: bool, sw_if: SwIfIndex, text: &str) -> Result<(), i32> {
    let prefix = AddressWithPrefix(dest(text));
    call(
        bench,
        SwInterfaceAddDelAddress { sw_if_index: sw_if.into(), is_add, del_all: false, prefix },
    )
}

fn addresses(bench: &Bench, sw_if: SwIfIndex) -> Vec<Prefix> {
    let all = bench.api().dump(IpAddressDump { sw_if_index: sw_if.into(), is_ipv6: false });
    all.into_iter().map(|d| d.prefix.0).collect()
}

#[suite::test]
fn addresses_come_and_go_by_the_api() {
    let mut bench = router();
    assert_eq!(address(&bench, true, T1, "11.0.0.1/24"), Ok(()));
    assert_eq!(addresses(&bench, T1), [dest("10.0.1.1/24"), dest("11.0.0.1/24")]);
    assert_eq!(goes(&mut bench, "11.0.0.1"), "ip4-local");
    assert_eq!(address(&bench, true, T1, "11.0.0.1/24"), Err(-105));
    assert_eq!(address(&bench, true, T2, "11.0.0.9/16"), Err(-105), "overlaps");
    for odd in ["12.0.0.0/24", "12.0.1.255/24", "127.0.0.1/32", "224.0.0.5/32"] {
        assert_eq!(address(&bench, true, T1, odd), Ok(()), "{odd}");
        assert_eq!(address(&bench, false, T1, odd), Ok(()), "{odd}");
    }
    assert_eq!(address(&bench, false, T1, "12.0.0.1/24"), Err(-60));
    assert_eq!(address(&bench, true, SwIfIndex(77), "12.0.0.1/24"), Err(-2));
    assert_eq!(address(&bench, true, SwIfIndex(0), "12.0.0.1/24"), Err(-126));
    assert_eq!(address(&bench, false, T1, "10.0.1.1/24"), Ok(()));
    assert_eq!(addresses(&bench, T1), [dest("11.0.0.1/24")]);
    let change = |len| SwInterfaceAddDelAddress {
        sw_if_index: T1.into(),
        is_add: true,
        del_all: false,
        prefix: AddressWithPrefix(Prefix { len, ..dest("12.0.0.1/24") }),
    };
    assert_eq!(call(&bench, change(33)), Err(-59));
    assert_eq!(call(&bench, change(0)), Err(-59));
    let six = AddressWithPrefix(ip6("2001:db8::1", 64));
    assert_eq!(call(&bench, SwInterfaceAddDelAddress { prefix: six, ..change(24) }), Ok(()));
    assert_eq!(
        call(&bench, SwInterfaceAddDelAddress { prefix: six, ..change(24) }),
        Err(-127),
        "there already"
    );
    assert_eq!(
        bench.api().dump(IpAddressDump { sw_if_index: T1.into(), is_ipv6: true })[0].prefix,
        six
    );
    assert_eq!(
        call(&bench, SwInterfaceAddDelAddress { del_all: true, is_add: false, ..change(24) }),
        Ok(())
    );
    assert_eq!(addresses(&bench, T1), []);
    assert_eq!(goes(&mut bench, "11.0.0.1"), "ip4-icmp-error");

    let interfaces = |is_ipv6| {
        bench.api().dump(IpDump { is_ipv6 }).iter().map(|d| d.sw_if_index.0).collect::<Vec<_>>()
    };
    assert_eq!(interfaces(false), [0, 1, 2]);
    assert_eq!(interfaces(true), [0, 1, 2]);
    assert!(bench.api().dump(IpAddressDump { sw_if_index: T2.into(), is_ipv6: true }).is_empty());
    assert!(
        bench
            .api()
            .dump(IpAddressDump { sw_if_index: InterfaceIndex(77), is_ipv6: false })
            .is_empty()
    );

    let enable = |enable| SwInterfaceIp4EnableDisable { sw_if_index: T1.into(), enable };
    let out = bench.node("ip4-input", &[udp("20.1.2.3").build()], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip4-not-enabled");
    assert_eq!(call(&bench, enable(true)), Ok(()));
    let out = bench.node("ip4-input", &[udp("20.1.2.3").build()], |b| b.rx_if = T1.0);
    assert_eq!(out[0].node, "ip4-lookup");
    let nowhere = SwInterfaceIp4EnableDisable { sw_if_index: InterfaceIndex(77), enable: true };
    assert_eq!(call(&bench, nowhere), Err(-2));
}

#[suite::test]
fn an_interface_uses_anothers_addresses() {
    let mut bench = router();
    let (t1, t2) = (InterfaceIndex::from(T1), InterfaceIndex::from(T2));
    let all = InterfaceIndex::NONE;
    let set = |sw_if_index, unnumbered_sw_if_index, is_add| SwInterfaceSetUnnumbered {
        sw_if_index,
        unnumbered_sw_if_index,
        is_add,
    };
    let known = |bench: &Bench, sw_if_index| {
        let all = bench.api().dump(IpUnnumberedDump { sw_if_index });
        all.iter().map(|d| (d.sw_if_index, d.ip_sw_if_index)).collect::<Vec<_>>()
    };
    bench.cli("set interface ip address del t1 all").expect("removed");
    assert_eq!(call(&bench, set(t2, InterfaceIndex(77), true)), Err(-2));
    assert_eq!(call(&bench, set(InterfaceIndex(77), t1, true)), Err(-10));
    bench.cli("ip table add 9").expect("added");
    bench.cli("ip6 table add 9").expect("added");
    for table in ["set interface ip table t1 9", "set interface ip6 table t1 9"] {
        bench.cli(table).expect("set");
        assert_eq!(call(&bench, set(t2, t1, true)), Err(-74), "{table}");
        assert!(known(&bench, all).is_empty());
        bench.cli(&table.replace('9', "0")).expect("set");
    }
    assert!(known(&bench, all).is_empty());
    assert_eq!(call(&bench, set(t2, t1, true)), Ok(()));
    assert_eq!((known(&bench, all), known(&bench, t1)), (vec![(t1, t2)], vec![(t1, t2)]));
    assert!(known(&bench, t2).is_empty());
    assert!(bench.cli("show interface address").expect("shown").contains("unnumbered, use t2"));
    assert!(addresses(&bench, T1).is_empty(), "they are the other's");
    assert!(bench.api().dump(IpDump { is_ipv6: false }).iter().all(|d| d.sw_if_index != t1));
    assert_eq!(call(&bench, set(t2, t1, false)), Ok(()));
    assert!(known(&bench, all).is_empty());
}

#[suite::test]
fn addresses_that_are_not_said_again_go() {
    let bench = router();
    for (sw_if, text) in [(T1, "11.0.0.1/24"), (T1, "12.0.0.1/24"), (T2, "13.0.0.1/24")] {
        address(&bench, true, sw_if, text).expect("added");
    }
    assert_eq!(call(&bench, SwInterfaceAddressReplaceBegin {}), Ok(()));
    assert_eq!(address(&bench, true, T1, "11.0.0.1/24"), Ok(()), "it is there, and said again");
    assert_eq!(address(&bench, true, T1, "11.0.0.1/24"), Err(-105), "once");
    assert_eq!(address(&bench, true, T2, "12.0.0.1/24"), Ok(()), "it has moved");
    assert_eq!(address(&bench, true, T1, "14.0.0.1/24"), Ok(()), "it is new");
    assert_eq!(addresses(&bench, T2).len(), 3);
    assert_eq!(call(&bench, SwInterfaceAddressReplaceEnd {}), Ok(()));
    assert_eq!(addresses(&bench, T1), [dest("11.0.0.1/24"), dest("14.0.0.1/24")]);
    assert_eq!(addresses(&bench, T2), [dest("12.0.0.1/24")]);
    assert_eq!(call(&bench, SwInterfaceAddressReplaceEnd {}), Ok(()), "nothing is marked");
    assert_eq!(addresses(&bench, T1).len(), 2);
}
