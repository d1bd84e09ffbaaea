// SPDX-License-Identifier: Apache-2.0
//! Tab and `?`.

use super::*;

fn words(line: &str) -> String {
    tree().complete(&Toy::new(), line, line.len()).words().join(" ")
}

#[suite::test]
fn completes_paths_literals_and_live_objects() {
    assert_eq!(words(""), "count echo endless exec fail ip packet-generator set show");
    assert_eq!(words("sh"), "show");
    assert_eq!(words("show i"), "interface ip ip6");
    assert_eq!(words("sh int "), "address host-eth0 host-eth1 local0");
    assert_eq!(words("sh int h"), "host-eth0 host-eth1");
    assert_eq!(words("set int state host-eth0 "), "down up");
    assert_eq!(words("set int mtu "), "ip4 ip6 packet");
    assert_eq!(words("ip route "), "add del");
    assert_eq!(words("ip route add 10.0.0.0/8 "), "count drop table via");
    assert_eq!(words("ip route add 10.0.0.0/8 table 1 "), "count drop via");
    assert_eq!(
        words("ip route add 10.0.0.0/8 via 10.1.1.1 "),
        "drop host-eth0 host-eth1 local0 preference via weight"
    );
    assert_eq!(words("ip route add 10.0.0.0/99 "), "");
    assert_eq!(words("nothing "), "");
    assert_eq!(words("packet-generator new { name "), "");
}

#[suite::test]
fn completes_at_the_cursor() {
    let c = tree().complete(&Toy::new(), "show int host-eth0", 11);
    assert_eq!((c.start, c.common()), (9, Some("host-eth")));
    assert_eq!(tree().complete(&Toy::new(), "é", 1).start, 0);
    assert_eq!(tree().complete(&Toy::new(), "x", 99).words(), [""; 0]);
}

#[suite::test]
fn helps() {
    let help = |line: &str| tree().complete(&Toy::new(), line, line.len()).help();
    assert_eq!(
        help("set interface "),
        "  ip     address\n  mtu    Set an MTU\n  state  Bring an interface up or down\n"
    );
    assert_eq!(
        help("set interface mtu 1500 "),
        "set interface mtu [packet|ip4|ip6] <mtu> <interface>\nSet an MTU\n  host-eth0    interface\n  host-eth1    interface\n  \
         local0       interface\n  <interface>  the name of an interface\n"
    );
    assert!(
        help("show ip fib ").contains("  table     <table>: a number, 0 to 4294967295\n"),
        "{}",
        help("show ip fib ")
    );
    assert!(help("show ip fib ").ends_with(
        "  <cr>      run it\n  <prefix>  a prefix such as 192.0.2.0/24 or 2001:db8::/32\n"
    ));
    assert_eq!(help("nothing "), "  nothing fits here\n");
    assert_eq!(help("sh"), "  show  errors, interface, ip, ip6, version\n");
}
