// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "packets in datagrams",
    "create packet-generator interface pg0
     set interface state pg0 up
     set interface ip address pg0 192.0.2.1/24
     ip table add 7
     udp encap add id 5 192.0.2.1 192.0.2.9 4000 4001
     udp encap add 192.0.2.1 192.0.2.9 4002 src-port-is-entropy
     udp encap add id 1 2001:db8::1 2001:db8::9 5 6
     udp encap add id 2 10.7.0.1 10.7.0.9 7 8 table-id 7
     udp encap del id 1
     ip route add 10.9.0.0/16 via udp-encap 5
     ip route add 10.8.0.0/16 via udp-encap 0 weight 2 via udp-encap 5
     ip route add 2001:db8:9::/48 via udp-encap 2
     udp decap add ipv4 4001 next-proto ip4
     udp decap add ipv4 4002 next-proto ip6
     udp decap add ipv6 4001 next-proto ip6
     udp decap del ipv4 4002",
)];
