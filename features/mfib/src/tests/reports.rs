// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::api::*;
use net::mfib::Signals;

/// Pending reports: interface, table, bits of the group, bytes of the packet.
fn taken(bench: &Bench) -> Vec<(u32, u32, u16, u16)> {
    let all = bench.api().dump(MfibSignalDump {}).into_iter();
    all.map(|s| (s.sw_if_index.0, s.table_id, s.prefix.grp_address_length, s.ip_packet_len))
        .collect()
}

#[suite::test]
fn packets_are_reported_once_until_somebody_asks() {
    let mut bench = bench(3);
    run(
        &mut bench,
        "ip mroute add 239.1.0.0/16 Signal via t1 Accept via t3 Forward Negate-Signal Accept",
    );
    let frame = packet("10.0.1.9", "239.1.1.1").udp(1, 2).payload_len(30).build();
    for _ in 0..3 {
        assert_eq!(ways(&mut bench, 1, &frame), [3]);
    }
    assert!(run(&mut bench, "show ip mfib 239.1.1.1").contains("t1: A,SP\n"));
    let report = bench.api().dump(MfibSignalDump {}).remove(0);
    assert_eq!(
        (report.sw_if_index.0, report.table_id, report.prefix.grp_address_length),
        (1, 0, 16)
    );
    assert_eq!(report.ip_packet_data[..usize::from(report.ip_packet_len)], frame[14..]);
    assert_eq!(taken(&bench), []);
    assert!(run(&mut bench, "show ip mfib 239.1.1.1").contains("t1: A\n"));
    // Again; by an interface that isn't named; not by one that says no.
    for rx_if in [1, 2, 2, 3] {
        ways(&mut bench, rx_if, &frame);
    }
    // The youngest first.
    assert_eq!(taken(&bench), [(2, 0, 16, 58), (1, 0, 16, 58)]);
    // Long ones are cut, and some are left out.
    let long = packet("10.0.1.9", "239.1.1.1").udp(1, 2).payload_len(900).build();
    ways(&mut bench, 1, &long);
    assert_eq!(taken(&bench), [(1, 0, 16, 256)]);
    run(&mut bench, "ip mroute add 239.1.0.0/16 via t1 Accept Dont-Preserve");
    ways(&mut bench, 1, &long);
    assert_eq!(taken(&bench), [(1, 0, 16, 0)]);
    // Without the flag of the entry, its interface's turns it round.
    run(&mut bench, "ip mroute add 239.1.0.0/16");
    ways(&mut bench, 1, &frame);
    ways(&mut bench, 3, &frame);
    assert_eq!(taken(&bench), [(3, 0, 16, 58)]);
    // Senders of the link.
    run(&mut bench, "ip mroute add ff0e::1 Connected via t1 Accept");
    ways(&mut bench, 1, &packet("2001:db8:2::9", "ff0e::1").udp(1, 2).build());
    assert_eq!(taken(&bench), []);
    ways(&mut bench, 1, &packet("2001:db8:1::9", "ff0e::1").udp(1, 2).build());
    assert_eq!(taken(&bench), [(1, 0, 128, 48)]);
}

#[suite::test]
fn reports_that_find_no_room_come_later() {
    let mut bench = bench(1);
    let frame =
        |i: u16| packet("10.0.1.9", &format!("239.1.{}.{}", i >> 8, i & 255)).udp(1, 2).build();
    for i in 0..300 {
        run(&mut bench, &format!("ip mroute add 239.1.{}.{} Signal", i >> 8, i & 255));
        ways(&mut bench, 1, &frame(i));
    }
    assert_eq!((bench.world.get::<Signals>().lost(), taken(&bench).len()), (300 - 256, 256));
    for i in 0..300 {
        ways(&mut bench, 1, &frame(i));
    }
    assert_eq!(taken(&bench).len(), 256);
}
