// SPDX-License-Identifier: Apache-2.0
//! Output and errors of commands.

use super::*;

#[suite::test]
fn tables_and_sessions_are_shown() {
    let mut rig = routers(2);
    assert_eq!(rig.cli("show classify tables"), "No classifier tables configured\n");
    assert_eq!(rig.cli("show classify tables -j"), "[]\n");
    rig.cli("classify table mask l3 ip4 src buckets 5 acl-miss-next deny");
    rig.cli("classify table mask hex 00000000000000000000000000000000ff next-table 0 current-data-flag 1 current-data-offset -14 miss-next 7");
    rig.cli("classify session table-index 0 match l3 ip4 src 10.0.0.2 acl-hit-next 9 opaque-index 3 advance -2 action set-ip4-fib-id 0");
    rig.cli("classify session table-index 0 match l3 ip4 src 10.0.0.3");
    let mask = "00000000000000000000ffffffff0000";
    let head = format!(
        "  TableIdx  Sessions   NextTbl  NextNode\n\
         \u{20}        0         2        -1         0\n\
         \u{20} nbuckets 8, skip 1 match 1 flag 0 offset 0\n\
         \u{20} mask {mask}\n"
    );
    let second = "         1         0         0         7\n\
                  \u{20} nbuckets 2, skip 1 match 1 flag 1 offset -14\n\
                  \u{20} mask ff000000000000000000000000000000\n";
    assert_eq!(rig.cli("show classify tables"), head.clone() + second);
    let sessions = "[0]: next_index 9 advance -2 opaque 3 action 1 metadata 0\n\
                    \u{20}       k: 000000000000000000000a0000020000\n\
                    \u{20}       hits 0, last_heard 0.00\n\
                    [1]: next_index 65535 advance 0 opaque -1 action 0 metadata 0\n\
                    \u{20}       k: 000000000000000000000a0000030000\n\
                    \u{20}       hits 0, last_heard 0.00\n"
        .replace("k: 00", "k: ");
    let shown = rig.cli("show classify tables verbose index 0");
    assert_eq!(shown.replace("k: 00", "k: "), head.clone() + &sessions);
    assert!(rig.cli("show cla t verbose 2").starts_with(&head));
    // Hits and their time; the same session again starts anew.
    rig.cli("classify session table-index 0 match l3 ip4 src 10.0.0.2");
    rig.cli("set interface input acl intfc p0 ip4-table 0");
    rig.bench.world.clock.adjust(5_000_000_000);
    rig.pass(0, &packet(false, None, "10.0.1.2", (1, 2)));
    let shown = rig.cli("show classify tables verbose");
    assert!(shown.contains("        hits 1, last_heard "), "{shown}");
    let json = rig.cli("show classify tables verbose -j");
    assert!(json.contains("\"hits\": 1") && json.contains("\"next_table\": 0"), "{json}");
    rig.cli("classify session table-index 0 match l3 ip4 src 10.0.0.2");
    assert_eq!(hits(&rig, 0, 0), 0);
    let acls = rig.cli("show inacl type ip4");
    assert_eq!(
        acls,
        format!(
            "Intfc idx      Classify table\t\tInterface name\n{:>10}{:>20}\t\tp0\n",
            rig.ports[0].0, 0
        )
        .replacen("Intfc idx", " Intfc idx", 1)
    );
    assert_eq!(rig.cli("show outacl type l2"), "No output ACL tables configured\n");
    assert_eq!(rig.cli("show inacl type ip6 -j"), "[]\n");
}

#[suite::test]
fn commands_refuse() {
    let mut rig = routers(1);
    rig.cli("classify table mask l3 ip4 src");
    rig.cli("classify table mask l3 ip4 src next-table 0");
    let before = rig.cli("show classify tables verbose");
    for (line, code, want) in [
        ("classify table", -1, "mask"),
        ("classify table buckets 7", -1, "mask"),
        ("classify table mask hex 00", -7, "no bit"),
        ("classify table mask l2 src buckets 0", -7, "bucket"),
        ("classify table mask l2 src memory-size 0", -70, "memory"),
        ("classify table mask l2 src next-table 9", -65, "9"),
        ("classify table mask l2 src table 70000", -7, "65536"),
        ("classify table mask l2 src skip 1", -7, "vectors"),
        ("classify table mask l2 src match 6", -7, "5"),
        ("classify table mask l2 src skip 5000 match 1", -7, "outside"),
        ("classify table mask l2 src current-data-offset 40000", -1, "16 bits"),
        ("classify table mask hex ff skip 0 match 1 table 2 miss-next nonsense", -1, "number"),
        ("classify table mask hex ff miss-next node nowhere", -1, "nowhere"),
        ("classify table table 0 next-table 1", -7, "leads back"),
        ("classify table table 0 next-table 0", -7, "leads back"),
        ("classify table table 9 next-table 0", -65, "9"),
        ("classify table table 0 del", -155, "table 1"),
        ("classify table table 9 del", -65, "9"),
        ("classify table del", -1, "which table"),
        ("classify session table-index 9 match hex 00", -65, "9"),
        ("classify session table-index 0", -1, "match"),
        ("classify session table-index 0 match l3 ip4 src 1.1.1.1 del", -6, "no such session"),
        (
            "classify session table-index 0 match l3 ip4 src 1.1.1.1 policer-hit-next x",
            -9,
            "policers",
        ),
        ("set interface input acl intfc p0 ip4-table 9", -65, "9"),
        ("set interface input acl intfc p0 ip6-table 9", -66, "9"),
        ("set interface input acl intfc p0 l2-table 9", -67, "9"),
        ("set interface input acl intfc p0 ip4-table 0 del", -65, "no input ACL"),
        ("set interface input acl intfc p0", -1, "which table"),
        ("set interface input acl intfc p9 ip4-table 0", -2, "p9"),
        ("set interface l2 input classify intfc p0 ip4-table 0 ip6-table 9", -66, "9"),
        ("set interface l2 input classify intfc p0 other-table 9", -67, "9"),
        ("set ip classify intfc p0 table-index 9", -65, "9"),
        ("set ip classify intfc p0 table-index x", -1, "number"),
        ("classify filter trace", -1, "mask"),
        ("classify filter trace mask l2 src", -1, "match"),
        ("classify filter trace del", -6, "no such filter"),
        ("classify filter p9 mask l2 src match l2 src 02:00:00:00:00:01", -2, "p9"),
        ("show classify tables index 9", -65, "9"),
    ] {
        let (got, error) = rig.refused(line);
        assert!(got == code && error.contains(want), "{line}: {got} {error}");
    }
    assert_eq!(rig.cli("show classify tables verbose"), before);
    // The second table of an interface changes nothing, as in VPP.
    rig.cli("set interface input acl intfc p0 ip4-table 0");
    rig.cli("set interface input acl intfc p0 ip4-table 1");
    assert!(rig.cli("show inacl type ip4").contains("                   0\t\tp0"));
    rig.cli("set interface input acl intfc p0 ip4-table 0 del");
    // A chain goes as a whole, or not at all.
    rig.cli("classify table mask l2 dst next-table 1");
    rig.cli("set interface input acl intfc p0 l2-table 1");
    assert_eq!(rig.refused("classify table table 2 del-chain").0, -155);
    rig.cli("set interface input acl intfc p0 l2-table 1 del");
    rig.cli("classify table table 2 del-chain");
    assert_eq!(rig.cli("show classify tables"), "No classifier tables configured\n");
}

/// Commands answer any words.
#[suite::test]
fn random_lines_are_answered() {
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    const WORDS: &[&str] = &[
        "mask",
        "match",
        "hex",
        "l2",
        "l3",
        "l4",
        "ip4",
        "ip6",
        "src",
        "dst",
        "proto",
        "tag1",
        "tag2",
        "cos1",
        "ff",
        "00ff",
        "table",
        "table-index",
        "0",
        "1",
        "2",
        "65535",
        "4294967295",
        "-1",
        "next-table",
        "del",
        "del-chain",
        "buckets",
        "skip",
        "memory-size",
        "1G",
        "acl-miss-next",
        "miss-next",
        "acl-hit-next",
        "hit-next",
        "deny",
        "node",
        "ip4-lookup",
        "current-data-flag",
        "current-data-offset",
        "-32768",
        "32767",
        "opaque-index",
        "advance",
        "-2147483648",
        "action",
        "set-ip4-fib-id",
        "set-ip6-fib-id",
        "set-sr-policy-index",
        "1.2.3.4",
        "2001:db8::1",
        "02:00:00:00:00:01",
        "src_port",
        "intfc",
        "p0",
        "local0",
        "ip4-table",
        "ip6-table",
        "l2-table",
        "other-table",
        "ip4-punt-table",
        "ip6-punt-table",
        "trace",
        "pcap",
        "verbose",
        "type",
        "udp",
        "tcp",
    ];
    const PATHS: [&[&str]; 3] = [
        &[
            "classify table mask l3 ip4 src",
            "classify table",
            "classify filter trace mask l2 dst match l2 dst 02:00:00:00:00:01",
        ],
        &[
            "classify session table-index 0 match hex 00ff",
            "classify session table-index 1",
            "show classify tables",
        ],
        &[
            "set interface input acl intfc p0",
            "set interface output acl intfc p0",
            "set interface l2 input classify intfc p0",
            "set interface l2 output classify intfc p1",
            "set ip classify intfc p0 table-index",
            "set ip6 classify intfc p0 table-index",
            "show inacl",
            "show classify filter",
        ],
    ];
    let mut rig = routers(2);
    rig.cli("set interface l2 bridge p1 1");
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let words = prop::collection::vec(prop::sample::select(WORDS), 0..6);
    let mut done = 0;
    for n in 0..4000 {
        let paths = PATHS[n % 3];
        let path = paths[n / 3 % paths.len()];
        let words = words.new_tree(&mut runner).expect("words").current().join(" ");
        done += usize::from(rig.bench.cli(&format!("{path} {words}")).is_ok());
        if n % 50 == 0 {
            rig.pass(0, &packet(false, None, "10.0.1.2", (1, 2)));
            rig.pass(1, &packet(true, None, "2001:db8:1::2", (1, 2)));
        }
    }
    assert!(done > 50, "{done} lines were well-formed");
}
