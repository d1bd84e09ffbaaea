// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::api::*;
use fib::api::table::IpTable;
use msg::Call;
use net::api::{AddressFamily, FibPath, FibPathNhProto, FibPathType};
use net::mfib::{Group, Mroutes};
use wire::Prefix;

fn mprefix(group: &str, len: u8) -> Mprefix {
    let group: std::net::Ipv4Addr = group.parse().expect("a group");
    Group::any(Prefix::new(group, len).expect("a prefix")).erased().into()
}

fn to(sw_if_index: u32, flags: u32) -> MfibPath {
    let path = FibPath { sw_if_index, proto: FibPathNhProto::Ip4, ..FibPath::default() };
    MfibPath { itf_flags: MfibItfFlags(flags), path }
}

fn call<R: Call>(bench: &Bench, request: R) -> Result<R::Reply, i32> {
    bench.api().call(request)
}

fn add_del(is_add: bool, prefix: Mprefix, flags: u32, paths: &[MfibPath]) -> IpMrouteAddDel {
    let route = IpMroute {
        table_id: 0,
        entry_flags: MfibEntryFlags(flags),
        rpf_id: u32::MAX,
        prefix,
        paths: paths.to_vec(),
    };
    IpMrouteAddDel { is_add, is_multipath: true, route }
}

fn dump(bench: &Bench, is_ip6: bool) -> Vec<IpMroute> {
    let table = IpTable { table_id: 0, is_ip6, name: "".into() };
    bench.api().dump(IpMrouteDump { table }).into_iter().map(|d| d.route).collect()
}

#[suite::test]
fn a_table_lists_what_vpp_lists_and_hears_more() {
    let mut bench = bench(3);
    let listed = |bench: &Bench, is_ip6| -> Vec<(std::net::IpAddr, u16)> {
        let of = |r: IpMroute| (r.prefix.grp_address.of(r.prefix.af), r.prefix.grp_address_length);
        dump(bench, is_ip6).into_iter().map(of).collect()
    };
    let all = |groups: &[(&str, u16)]| -> Vec<(std::net::IpAddr, u16)> {
        groups.iter().map(|(addr, len)| (addr.parse().expect("a group"), *len)).collect()
    };
    let four = all(&[("0.0.0.0", 0), ("224.0.0.1", 32), ("224.0.0.2", 32)]);
    let six = [
        ("ff00::", 8),
        ("ff02::1", 128),
        ("ff02::2", 128),
        ("ff02::16", 128),
        ("ff02::1:ff00:0", 104),
    ];
    assert_eq!((listed(&bench, false), listed(&bench, true)), (four.clone(), all(&six)));
    let taken = |bench: &mut Bench, group: &str, source: &str| {
        let ip = if group.contains(':') { "ip6" } else { "ip4" };
        let before = bench.count(&format!("{ip}-input"), "rpf_failure");
        ways(bench, 1, &packet(source, group).udp(1, 2).build());
        bench.count(&format!("{ip}-input"), "rpf_failure") == before
    };
    for (group, source) in
        [("224.0.0.5", "10.0.1.9"), ("ff02::5", "fe80::9"), ("ff05::2", "2001:db8:1::9")]
    {
        assert!(taken(&mut bench, group, source), "{group}: a routing protocol hears it");
    }
    run(&mut bench, "ip mroute add 224.0.0.0/24 Drop");
    assert!(!taken(&mut bench, "224.0.0.5", "10.0.1.9"), "an operator says otherwise");
    assert_eq!(
        listed(&bench, false),
        all(&[("0.0.0.0", 0), ("224.0.0.0", 24), ("224.0.0.1", 32), ("224.0.0.2", 32)])
    );
    run(&mut bench, "ip mroute del 224.0.0.0/24");
    assert!(taken(&mut bench, "224.0.0.5", "10.0.1.9"));
    assert_eq!(listed(&bench, false), four);
}

#[suite::test]
fn clients_set_and_read_routes() {
    let mut bench = bench(3);
    let defaults = (dump(&bench, false).len(), dump(&bench, true).len());
    let group = mprefix("239.1.1.1", 32);
    let local = MfibPath {
        itf_flags: MfibItfFlags::FORWARD,
        path: FibPath { r#type: FibPathType::Local, sw_if_index: u32::MAX, ..FibPath::default() },
    };
    let add = add_del(true, group, 1, &[to(1, 2), to(2, 4), local]);
    let index = call(&bench, add).expect("added").stats_index;
    let frame = packet("10.0.1.9", "239.1.1.1").udp(1, 2).build();
    assert_eq!(ways(&mut bench, 1, &frame), [2]);
    assert_eq!(
        bench.world.get::<Mroutes>().counters.sum(index as usize),
        (1, frame.len() as u64 - 14)
    );
    let read = dump(&bench, false).into_iter().find(|r| r.prefix == group).expect("there");
    // The report that waits is seen too.
    assert_eq!((read.entry_flags.0, read.rpf_id, read.paths.len()), (1, u32::MAX, 3));
    assert_eq!(
        read.paths.iter().map(|p| (p.path.sw_if_index, p.itf_flags.0)).collect::<Vec<_>>(),
        [(1, 10), (2, 4), (u32::MAX, 4)]
    );
    // Flags alone; paths one by one; what is gone is gone without an error.
    call(&bench, add_del(true, group, 0, &[])).expect("changed");
    call(&bench, add_del(true, group, 0, &[to(3, 4)])).expect("added");
    call(&bench, add_del(false, group, 0, &[to(2, 0)])).expect("removed");
    assert_eq!(ways(&mut bench, 1, &frame), [3]);
    call(&bench, add_del(false, group, 0, &[to(2, 0)])).expect("gone already");
    call(&bench, add_del(false, group, 0, &[])).expect("removed");
    assert_eq!((dump(&bench, false).len(), dump(&bench, true).len()), defaults);
    // A sender and a group of IPv6.
    let six = Mprefix {
        af: AddressFamily::Ip6,
        grp_address_length: 256,
        grp_address: std::net::IpAddr::from([0xff0e, 0, 0, 0, 0, 0, 0, 1u16]).into(),
        src_address: std::net::IpAddr::from([0x2001, 0xdb8, 1, 0, 0, 0, 0, 9u16]).into(),
    };
    let path = |sw_if, flags| {
        let mut p = to(sw_if, flags);
        p.path.proto = FibPathNhProto::Ip6;
        p
    };
    call(&bench, add_del(true, six, 0, &[path(1, 2), path(3, 4)])).expect("added");
    assert!(dump(&bench, true).iter().any(|r| r.prefix == six));
    assert_eq!(ways(&mut bench, 1, &packet("2001:db8:1::9", "ff0e::1").udp(1, 2).build()), [3]);
    let refused = |request| call(&bench, request).err();
    assert_eq!(refused(add_del(true, group, 0, &[to(9, 2)])), Some(-2));
    assert_eq!(
        refused(add_del(true, mprefix("10.0.0.1", 32), 0, &[])),
        None,
        "kept, and found by no packet"
    );
    assert_eq!(refused(add_del(false, mprefix("10.0.0.1", 32), 0, &[])), None);
    assert_eq!(
        refused(add_del(true, Mprefix { grp_address_length: 33, ..group }, 0, &[])),
        Some(-7)
    );
    let mut drop = to(u32::MAX, 4);
    drop.path.r#type = FibPathType::BierImp;
    assert_eq!(refused(add_del(true, group, 0, &[drop])), Some(-9));
    let mut elsewhere = add_del(true, group, 0, &[]);
    elsewhere.route.table_id = 5;
    assert_eq!(refused(elsewhere), Some(-3));
    run(&mut bench, "ip6 table add 9");
    let tables: Vec<_> = bench
        .api()
        .dump(IpMtableDump {})
        .into_iter()
        .map(|d| (d.table.table_id, d.table.is_ip6))
        .collect();
    assert_eq!(tables, [(0, false), (0, true), (9, true)]);
}

#[suite::test]
fn operators_set_and_see_routes() {
    let mut bench = bench(3);
    let lines = |bench: &Bench| -> Vec<String> {
        let all = bench.world.running_config().into_iter().map(|line| line.text);
        all.filter(|line| line.contains("mroute")).collect()
    };
    let all = [
        "ip mroute add 239.0.0.0/8 Signal Connected via t1 Accept",
        "ip mroute add 239.1.1.1 via 10.0.2.9 t2 Forward",
        "ip mroute add 239.1.1.1 via t1 Accept Forward Negate-Signal",
        "ip mroute add 239.1.1.1 via local Forward",
        "ip mroute add 10.0.1.9 239.1.1.1 rpf-id 7",
        "ip mroute add ff0e::1 via t3 Accept Dont-Preserve",
    ];
    for line in all {
        run(&mut bench, line);
    }
    let mut said = lines(&bench);
    said.sort();
    let mut want: Vec<String> = all.iter().map(ToString::to_string).collect();
    want[2] = "ip mroute add 239.1.1.1 via t1 Negate-Signal Accept Forward".into();
    want.sort();
    assert_eq!(said, want);
    let text = run(&mut bench, "show ip mfib 239.1.1.1");
    for part in [
        "(*, 239.1.1.1): flags:\n",
        "path: 10.0.2.9 t2: F\n",
        "  Interfaces:\n    t1: NS,A,F\n    t2: F\n",
        "mcast: t1 mtu:1500 01005e000000020000000001",
        "arp-ipv4: via 10.0.2.9 t2",
        "dpo-receive",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (line, part) in [
        ("show ip mfib 10.0.1.9 239.1.1.1", "(10.0.1.9, 239.1.1.1)"),
        ("show ip mfib 10.0.1.8 239.1.1.1", "(*, 239.1.1.1)"),
        ("show ip mfib 239.4.4.4", "(*, 239.0.0.0/8): flags:S,C"),
        ("show ip mfib 239.0.0.0/8", "(*, 239.0.0.0/8)"),
        ("show ip mfib 224.0.0.1", "(*, 224.0.0.1): flags:AA"),
        ("show ip mfib 224.0.0.5", "(*, 224.0.0.0/24): flags:AA"),
        ("show ip6 mfib", "(*, ff02::2): flags:AA"),
        ("show ip6 mfib ff02::6", "(*, ff02::/16): flags:AA"),
        ("show ip6 mfib summary", "6 entries"),
        ("show mfib entry", "(10.0.1.9, 239.1.1.1)"),
        ("show mfib interface t3", "ff0e::1)  A,DP"),
        ("show mfib itf flags", "Signal-Present"),
        ("show mfib route flags", "Accept-all-itf"),
        ("show replicate", "dpo-replicate: [index:"),
    ] {
        let text = run(&mut bench, line);
        assert!(text.contains(part), "{line}: {text}");
        assert!(run(&mut bench, &format!("{line} -j")).starts_with(['[', '{']), "{line}");
    }
    for line in [
        "ip mroute add 239.1.1.1 ff0e::1 via t1 Accept",
        "ip mroute add 239.1.1.1 via t9 Accept",
        "ip mroute add table 9 239.1.1.1 via t1 Accept",
        "ip mroute del 239.7.7.7",
        "show ip mfib 239.7.0.0/16",
        "show replicate 4711",
    ] {
        assert!(bench.cli(line).is_err(), "{line}");
    }
    // Entries go with their last path, and paths with their interface.
    run(&mut bench, "ip mroute del 239.1.1.1 via local via t1");
    bench.world.get::<Interfaces>().delete(&bench.world, SwIfIndex(2)).expect("deleted");
    bench.world.get::<Interfaces>().delete(&bench.world, SwIfIndex(3)).expect("deleted");
    assert_eq!(lines(&bench), [all[0], all[4]]);
}
