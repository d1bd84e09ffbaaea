// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[
    Script::here(
        "routes",
        "ip table add 7
         create packet-generator interface pg0
         create packet-generator interface pg1
         set interface ip address pg0 10.0.0.1/24
         set interface ip address pg1 10.0.1.1/24
         ip route add 10.1.0.0/16 via 10.0.0.2 pg0
         ip route add 10.1.0.0/16 via 10.0.1.2 pg1 weight 3
         ip route add 10.2.0.0/16 via 10.1.0.5 via 10.0.0.3 pg0 preference 9
         ip route add 10.3.0.0/16 via pg1
         ip route add 10.4.0.0/16 via ip4-lookup-in-table 7
         ip route add 10.5.0.0/16 via drop
         ip route add 10.6.0.0/16 drop
         ip route add 10.7.0.0/16 via punt
         ip route add 10.8.0.0/16 via local
         ip route add 10.11.0.0/16 via local 10.0.0.1 pg0
         ip route add 10.12.0.0/16 via weight 2 pg0 10.0.0.9
         ip route add 10.9.0.0/16 via unreach
         ip route add 10.10.0.0/16 via prohibit
         ip route add 0.0.0.0/0 via 10.0.0.254 pg0
         ip route add table 7 10.1.0.0/16 via 10.0.0.2 pg0
         ip route add table 7 10.2.0.0/16 via 10.1.0.1
         ip route add table 7 10.3.0.0/16 via 10.1.0.1 next-hop-table 0
         ip route add count 5 10.20.0.0/24 via 10.0.0.7 pg0
         ip route del 10.20.2.0/24
         set interface state pg0 up
         set interface state pg1 up",
    ),
    Script::here(
        "IPv6 routes",
        "ip6 table add 7
         create packet-generator interface pg0
         create packet-generator interface pg1
         set interface ip address pg0 2001:db8:1::1/64
         set interface ip address pg1 2001:db8:2::1/64
         ip route add 3001::/16 via 2001:db8:1::2 pg0
         ip route add 3001::/16 via fe80::2 pg1 weight 3
         ip route add 3002::/16 via 3001::5 via 2001:db8:1::3 pg0 preference 9
         ip route add 3003::/16 via pg1
         ip route add 3004::/16 via ip6-lookup-in-table 7
         ip route add 3005::/16 via drop
         ip route add 3006::/16 via local
         ip route add 3007::/16 via prohibit
         ip route add ::/0 via 2001:db8:1::fe pg0
         ip route add table 7 3001::/16 via 2001:db8:1::2 pg0
         ip route add table 7 3002::/16 via 3001::1 next-hop-table 0
         ip route add count 5 4000::/64 via 2001:db8:1::7 pg0
         ip route del 4000:0:0:2::/64",
    ),
    Script::here("route counters", "set ip route-counters off"),
];
