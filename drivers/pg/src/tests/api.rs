// SPDX-License-Identifier: Apache-2.0
//! The binary API.

use super::*;
use crate::api::*;
use crate::state::Mode;
use msg::Loopback;
use net::IfKind;
use net::api::InterfaceIndex;
use std::sync::atomic::Ordering;

const GONE: InterfaceIndex = InterfaceIndex(77);

fn create(number: u32, flags: PgInterfaceFlags, mode: PgInterfaceMode) -> PgCreateInterfaceV3 {
    PgCreateInterfaceV3 { interface_id: InterfaceIndex(number), pg_flags: flags, gso_size: 0, mode }
}

#[suite::test]
fn interfaces_are_made_and_deleted() {
    let s = Setup::new();
    let world = &s.bench.world;
    let mut client = s.bench.api();
    let make = |client: &mut Loopback<'_, World>, n, mode| {
        client.call(create(n, PgInterfaceFlags::NONE, mode)).map(|r| r.sw_if_index)
    };
    let pg3 = make(&mut client, 3, PgInterfaceMode::Ip4).expect("made");
    let old =
        PgCreateInterface { interface_id: InterfaceIndex(0), gso_enabled: false, gso_size: 0 };
    let pg0 = client.call(old).expect("made").sw_if_index;
    let v2 = |gso_enabled| PgCreateInterfaceV2 {
        interface_id: InterfaceIndex(1),
        gso_enabled,
        gso_size: 1400,
        mode: PgInterfaceMode::Ip6,
    };
    let pg1 = client.call(v2(false)).expect("made").sw_if_index;
    let interfaces = world.get::<Interfaces>();
    let known = [pg0, pg1, pg3].map(|i| {
        let i = interfaces.get(graph::SwIfIndex(i.0)).expect("there");
        (i.name, i.kind)
    });
    let want = [("pg0", IfKind::Ethernet), ("pg1", IfKind::Ip), ("pg3", IfKind::Ip)];
    assert_eq!(known, want.map(|(name, kind)| (name.to_string(), kind)));
    let generator = world.get::<Generator>();
    assert_eq!(generator.mode(world, "pg3").ok().map(|(_, mode)| mode), Some(Mode::Ip4));

    assert_eq!(make(&mut client, 3, PgInterfaceMode::Ip4), Ok(pg3), "it is there");
    assert_eq!(make(&mut client, 3, PgInterfaceMode::Ethernet), Err(-79));
    assert_eq!(client.call(v2(true)).err(), Some(-79), "it is there without offloads");
    for (number, flags, words) in [
        (5, PgInterfaceFlags::CSUM_OFFLOAD, "csum-offload-enabled"),
        (6, PgInterfaceFlags::GSO, "gso-enabled gso-size 1400"),
        (
            7,
            PgInterfaceFlags::GSO | PgInterfaceFlags::GRO_COALESCE,
            "gso-enabled gso-size 1400 coalesce-enabled",
        ),
    ] {
        let new = PgCreateInterfaceV3 {
            gso_size: 1400,
            ..create(number, flags, PgInterfaceMode::Ethernet)
        };
        let made = client.call(new).expect("made").sw_if_index;
        assert_eq!(generator.offloads(graph::SwIfIndex(made.0)).words(), words);
    }
    let large = PgCreateInterfaceV3 {
        gso_size: 65_536,
        ..create(8, PgInterfaceFlags::GSO, PgInterfaceMode::Ethernet)
    };
    assert_eq!(client.call(large).err(), Some(-7));
    let coalesce = |sw_if_index, coalesce_enabled| PgInterfaceEnableDisableCoalesce {
        sw_if_index,
        coalesce_enabled,
    };
    assert_eq!(client.call(coalesce(pg0, false)), Ok(()));
    for is_on in [true, false] {
        assert_eq!(client.call(coalesce(pg0, is_on)), Ok(()));
        assert_eq!(generator.offloads(graph::SwIfIndex(pg0.0)).coalesce, is_on);
    }
    assert_eq!(client.call(coalesce(InterfaceIndex(0), false)), Err(-2));

    assert_eq!(client.call(PgDeleteInterface { sw_if_index: pg1 }), Ok(()));
    for other in [pg1, InterfaceIndex(0), GONE] {
        assert_eq!(client.call(PgDeleteInterface { sw_if_index: other }), Err(-2));
    }
    assert!(interfaces.find("pg1").is_err());
}

#[suite::test]
fn streams_run_and_captures_are_written() {
    let mut s = Setup::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("out.pcap");
    let capture = |number, is_enabled, count| PgCapture {
        interface_id: InterfaceIndex(number),
        is_enabled,
        count,
        pcap_file_name: file.display().to_string(),
    };
    let is_enabled = |s: &Setup| {
        let streams = s.bench.world.get::<Generator>().streams();
        streams[0].enabled.load(Ordering::Acquire)
    };
    let enable = |is_enabled, name: &str| PgEnableDisable { is_enabled, stream_name: name.into() };
    {
        let mut client = s.bench.api();
        client.call(create(0, PgInterfaceFlags::NONE, PgInterfaceMode::Ethernet)).expect("made");
        s.run("set interface state pg0 up");
        s.run("packet-generator new name x limit 9 interface pg0 node pg0-output data { hex 0x0102030405060708090a0b0c0d0e0f }");
        assert_eq!(client.call(capture(0, true, 7)), Ok(()));
        assert_eq!(client.call(capture(0, true, 7)), Err(-93), "one runs");
        assert_eq!(client.call(capture(8, true, 0)), Err(-2));
        assert_eq!(client.call(enable(true, "y")), Err(-6));
        assert_eq!(client.call(enable(true, "x")), Ok(()));
        assert!(is_enabled(&s));
    }
    s.finish();
    let mut client = s.bench.api();
    assert_eq!(client.call(capture(0, false, 0)), Ok(()));
    assert_eq!(client.call(capture(0, false, 0)), Ok(()), "none runs, as was asked for");
    assert_eq!(read(&file).1.len(), 7);
    assert_eq!(client.call(capture(0, true, 0)), Err(-93), "the file is there");
    assert_eq!(client.call(enable(true, "")), Ok(()));
    assert_eq!(client.call(enable(false, "x")), Ok(()));
    assert!(!is_enabled(&s));
}
