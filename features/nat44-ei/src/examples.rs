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
         nat44 ei plugin enable sessions 1000 users 50 user-sessions 100 inside-vrf 10
         nat44 ei forwarding enable
         nat44 ei add address 198.51.100.1 - 198.51.100.4
         nat44 ei add address 198.51.100.9 tenant-vrf 10
         nat44 ei add address 198.51.100.2 del
         nat44 ei add interface address loop1
         set interface nat44 ei in loop0 out loop1
         set interface nat44 ei in loop1
         set interface nat44 ei in loop1 del
         set nat44 ei timeout udp 100 icmp 5
         nat44 ei mss-clamping 1400
         nat44 ei addr-port-assignment-alg map-e psid 10 psid-offset 6 psid-len 6
         nat44 ei ha listener 192.0.2.1:1234 path-mtu 1400
         nat44 ei ha failover 192.0.2.2:1234 refresh-interval 10",
    ),
    Script::here(
        "mappings of hosts",
        "create loopback interface
         create loopback interface
         set interface ip address loop0 192.0.2.1/24
         nat44 ei plugin enable
         nat44 ei add address 198.51.100.1
         nat44 ei add static mapping local 10.0.0.1 external 198.51.100.7
         nat44 ei add static mapping tcp local 10.0.0.2 8080 external 198.51.100.1 80 tag web
         nat44 ei add static mapping udp local 10.0.0.2 53 external loop0 53
         nat44 ei add static mapping icmp local 10.0.0.3 7 external 198.51.100.1 9
         nat44 ei add static mapping local 10.0.0.5 external 198.51.100.8
         nat44 ei add static mapping local 10.0.0.5 external 198.51.100.8 del
         nat44 ei add identity mapping 192.0.2.9 tcp 179
         nat44 ei add identity mapping 192.0.2.10 vrf 0
         nat44 ei add identity mapping external loop0 udp 500
         nat44 ei addr-port-assignment-alg port-range 5000 - 6000
         set interface nat44 ei out loop1 output-feature
         set interface nat44 ei in loop0 output-feature",
    ),
    Script::here(
        "static mappings alone",
        "nat44 ei plugin enable static-mapping-only connection-tracking
         nat44 ei add static mapping tcp local 10.0.0.2 8080 external 198.51.100.1 80",
    ),
    Script::here(
        "routes to the pool",
        "create loopback interface
         nat44 ei plugin enable out2in-dpo
         nat44 ei add address 198.51.100.1
         set interface nat44 ei in loop0",
    ),
];
