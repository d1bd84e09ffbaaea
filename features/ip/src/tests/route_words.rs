// SPDX-License-Identifier: Apache-2.0
//! The words of `ip route`.

use super::*;

/// VPP's `ip route` takes the words of a path, and those in front of the paths, in any order.
#[suite::test]
fn the_words_of_a_route_stand_in_any_order() {
    let mut bench = router();
    bench.cli("ip table add 7").expect("a table");
    bench.cli("ip6 table add 7").expect("a table");
    for (lines, wanted) in [
        (
            &[
                "30.0.0.0/24 via 10.0.2.2 t2 weight 3 preference 2",
                "30.0.0.0/24 via t2 10.0.2.2 weight 3 preference 2",
                "30.0.0.0/24 via weight 3 t2 preference 2 10.0.2.2",
                "30.0.0.0/24 via 10.0.2.2 preference 2 weight 3 t2",
            ][..],
            "weight=3 pref=2 attached-nexthop: 10.0.2.2 t2",
        ),
        (&["::/0 via 2001:db8:2::2 t2", "::/0 via t2 2001:db8:2::2"], "2001:db8:2::2 t2"),
        (
            &["30.0.0.0/24 via weight 2 t2", "30.0.0.0/24 via t2 weight 2"],
            "weight=2 pref=0 attached: t2",
        ),
        (
            &[
                "30.0.0.0/24 table 7 via 10.0.2.2",
                "count 1 30.0.0.0/24 table 7 via 10.0.2.2",
                "table 7 30.0.0.0/24 count 1 via 10.0.2.2",
            ],
            "recursive: via 10.0.2.2 in table 7",
        ),
        (
            &[
                "30.0.0.0/24 via resolve-via-host 10.0.2.2",
                "30.0.0.0/24 via 10.0.2.2 resolve-via-host",
            ],
            "recursive: via 10.0.2.2 in table 0",
        ),
        (
            &["30.0.0.0/24 via ip4-lookup-in-table 7", "30.0.0.0/24 via lookup in table 1"],
            "lookup in table 7",
        ),
        (
            &[
                "30.0.0.0/24 via ip4-source-lookup-in-table 7",
                "30.0.0.0/24 via src-lookup ip4-lookup-in-table 7",
                "30.0.0.0/24 via lookup in table 1 src-lookup",
            ],
            "source lookup in table 7",
        ),
        (&["30.0.0.0/24 via local", "30.0.0.0/24 via weight 1 local"], "special:"),
        (&["30.0.0.0/24 via local 10.0.2.1 t2"], "receive: 10.0.2.1 t2"),
    ] {
        let of = |line: &str| if line.contains("table 7 ") { "table 7 " } else { "" };
        let (version, prefix) =
            if lines[0].starts_with("::") { ("6", "::/0") } else { ("", "30.0.0.0/24") };
        for line in lines {
            for add in [format!("ip route add {line}"), format!("ip route {line}")] {
                bench.cli(&add).unwrap_or_else(|e| panic!("{add}: {e}"));
                let show = format!("show ip{version} fib {}{prefix}", of(line));
                let shown = bench.cli(&show).expect("shown");
                assert!(shown.contains(wanted), "{add}: {shown}");
                // Whatever adds a path also takes it away.
                bench
                    .cli(&add.replace(" add", "").replace("ip route", "ip route del"))
                    .expect("there");
            }
        }
    }
    for (line, why) in [
        ("30.0.0.0/24 via weight 3", "a path needs a next hop"),
        ("30.0.0.0/24 via drop t2", "`t2' stands beside a next hop or alone"),
        ("30.0.0.0/24 via 10.0.2.2 next-hop-table 7 t2", "looked up in no table"),
        ("30.0.0.0/24 via src-lookup t2", "`src-lookup' needs"),
        ("30.0.0.0/24 via lookup in table 9", "fib_index 9"),
        ("30.0.0.0/24 via local 2001:db8::1 t2", "of the route's protocol"),
        ("30.0.0.0/24 via 10.0.2.2 t2 dvr", "no next hop"),
        ("30.0.0.0/24 via classify 9", "classify"),
    ] {
        let said = bench.cli(&format!("ip route add {line}")).expect_err(line).to_string();
        assert!(said.contains(why), "{line}: {said}");
    }
}
