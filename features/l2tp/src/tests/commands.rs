// SPDX-License-Identifier: Apache-2.0
//! Commands: what they show, and what they refuse.

use super::*;

const SHOWN: &str = "\
2 L2TPv3 sessions, lookup v6-dst
[0] l2tpv3_tunnel0 client 2001:db8:1::2 our 2001:db8:1::1 local-session 5 remote-session 6 fib-idx 0 sw-if-idx 4 l2-sublayer 0
    cookies: local 0x00000000000000aa or 0x1122334455667788, remote 0x8877665544332211
    user to network: 1 packets, 51 bytes
    network to user: 1 packets, 103 bytes
[7] l2tpv3_tunnel7 client 2001:db8:99::2 our 2001:db8:2::1 local-session 1 remote-session 1 fib-idx 0 sw-if-idx 6 l2-sublayer 1 unresolved (there is no route to 2001:db8:99::2 in table 0)
    cookies: local 0xffffffffffffffff, remote 0xffffffffffffffff
    user to network: 0 packets, 0 bytes
    network to user: 0 packets, 0 bytes
";

#[suite::test]
fn sessions_are_shown() {
    let mut rig = bridge("");
    rig.cli("create l2tpv3 tunnel client 2001:db8:99::2 our 2001:db8:2::1 instance 7 l2-sublayer-present");
    rig.cli("set l2tpv3 tunnel cookie l2tpv3_tunnel0 local aa");
    rig.pass(3, &frame(2, 9));
    rig.route(&received(&l2tp(5, LOCAL, &[]), &frame(2, 9)));
    assert_eq!(rig.cli("show l2tpv3 verbose"), SHOWN);
    let brief: String = SHOWN
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(rig.cli("show l2tpv3"), brief);
    let json = rig.cli("show l2tpv3 -j");
    for field in ["\"client\"", "\"0x00000000000000aa\"", "\"user_to_network\"", "\"unresolved\""] {
        assert_eq!(json.contains(field), field != "\"unresolved\"", "{field}: {json}");
    }
    // Counts begin anew, and those of interfaces stay.
    rig.cli("clear l2tp counters");
    let shown = rig.cli("show l2tpv3 verbose");
    assert!(shown.contains("user to network: 0 packets, 0 bytes"), "{shown}");
    rig.pass(3, &frame(2, 9));
    let shown = rig.cli("show l2tpv3 verbose");
    assert!(shown.contains("network to user: 1 packets, 103 bytes"), "{shown}");
    rig.cli("test lt2p counters");
    let shown = rig.cli("show l2tpv3 verbose");
    for counts in ["network to user: 2 packets, 167 bytes", "user to network: 1 packets, 64 bytes"]
    {
        assert!(shown.contains(counts), "{shown}");
    }
    rig.cli("clear l2tp counters");
    rig.cli("clear interfaces");
    let shown = rig.cli("show l2tpv3 verbose");
    assert!(shown.contains("network to user: 0 packets, 0 bytes"), "{shown}");
}

#[suite::test]
fn bad_ones_are_refused() {
    let mut rig = rig(&[CREATE]);
    let create = |rest: &str| format!("create l2tpv3 tunnel client {rest}");
    for (line, want, code) in [
        (create("10.0.1.2 our 10.0.1.1"), "IPv6", -9),
        (create("2001:db8:1::2 our 10.0.1.1"), "IPv6", -9),
        (create("2001:db8:1::1 our 2001:db8:1::1"), "2001:db8:1::1", -82),
        (create("ff02::1 our 2001:db8:2::1"), "ff02::1", -58),
        (create(":: our 2001:db8:2::1"), "::", -58),
        (create("2001:db8:1::2 our ff02::1"), "ff02::1", -57),
        (create("2001:db8:1::2 our 2001:db8:2::1 fib-id 9"), "9", -3),
        (create("2001:db8:1::2 our 2001:db8:2::1 instance 0"), "l2tpv3_tunnel0", -147),
        (create("2001:db8:1::9 our 2001:db8:1::1"), "l2tpv3_tunnel0", -7),
        (CREATE.into(), "l2tpv3_tunnel0", -7),
        (create("2001:db8:1::2 our 2001:db8:1::1 local-session 9 del"), "l2tpv3", -6),
        ("set l2tpv3 tunnel cookie p0 local 1".into(), "l2tpv3", -2),
        ("set l2tpv3 tunnel cookie p99 local 1".into(), "p99", -2),
        ("set interface ip6 l2tpv3 p99".into(), "p99", -2),
    ] {
        let (retval, error) = rig.refused(&line);
        assert!(error.contains(want) && retval == code, "{line}: {retval} {error}");
    }
    for cookie in ["", "xyz", "+1", "0x", "11223344556677889"] {
        let line = create(&format!("2001:db8:1::2 our 2001:db8:2::1 local-cookie '{cookie}'"));
        let (_, error) = rig.refused(&line);
        assert!(error.contains("hexadecimal"), "{error}");
    }
    rig.refused("set l2tpv3 tunnel cookie l2tpv3_tunnel0");
    assert!(rig.cli("show l2tpv3").starts_with("1 L2TPv3 sessions"));
    // A deleted one leaves nothing.
    rig.cli(&format!("{CREATE} del"));
    assert_eq!(rig.cli("show l2tpv3"), "0 L2TPv3 sessions, lookup v6-dst\n");
    rig.cli(CREATE);
}
