// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[
    Script::here(
        "addresses of users",
        "create loopback interface
         create loopback interface
         ip table add 10
         set interface ip address loop1 192.0.2.1/24
         nat44 plugin enable sessions 1000 inside-vrf 10
         nat44 forwarding enable
         nat44 add address 198.51.100.1 - 198.51.100.4
         nat44 add address 198.51.100.9 tenant-vrf 10
         nat44 add address 198.51.100.2 del
         nat44 add address 10.9.0.1 twice-nat
         nat44 add interface address loop1
         nat44 add interface address loop0 twice-nat
         set interface nat44 in loop0 out loop1
         set interface nat44 in loop1
         set interface nat44 in loop1 del
         set nat timeout udp 100 icmp 5
         set nat44 session limit 50 vrf 10
         set nat44 session limit 70
         set nat44 session limit off
         nat mss-clamping 1400
         nat44 vrf table add 10
         nat44 vrf route add table 10 0
         nat ipfix logging enable domain 3 src-port 4740",
    ),
    Script::here(
        "mappings of hosts",
        "create loopback interface
         create loopback interface
         set interface ip address loop0 192.0.2.1/24
         nat44 plugin enable
         nat44 add address 198.51.100.1
         nat44 add static mapping local 10.0.0.1 external 198.51.100.7
         nat44 add static mapping tcp local 10.0.0.2 8080 external 198.51.100.1 80 tag web
         nat44 add static mapping udp local 10.0.0.2 53 external loop0 53 out2in-only
         nat44 add static mapping tcp local 10.0.0.3 22 external 198.51.100.1 2222 twice-nat exact 10.9.0.1
         nat44 add static mapping icmp local 10.0.0.3 7 external 198.51.100.1 9
         nat44 add static mapping tcp local 10.0.0.4 22 external 198.51.100.1 2223 self-twice-nat
         nat44 add static mapping local 10.0.0.5 external 198.51.100.8
         nat44 add static mapping local 10.0.0.5 external 198.51.100.8 del
         nat44 add identity mapping 192.0.2.9 tcp 179
         nat44 add identity mapping 192.0.2.10 vrf 0
         nat44 add identity mapping external loop0 udp 500
         nat44 add load-balancing static mapping protocol tcp external 198.51.100.1:443 local 10.0.0.6:443 probability 70 local 10.0.0.7:443 probability 30 affinity 60
         nat44 add load-balancing back-end protocol tcp external 198.51.100.1:443 local 10.0.0.8:443 probability 10
         nat44 add load-balancing back-end protocol tcp external 198.51.100.1:443 local 10.0.0.6:443 probability 70 del
         set interface nat44 out loop1 output-feature",
    ),
];
