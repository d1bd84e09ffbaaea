// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[
    Script::here(
        "users of IPv6",
        "create loopback interface
         create loopback interface
         create loopback interface
         ip6 table add 64
         set interface ip address loop1 192.0.2.1/24
         nat64 plugin enable bib-buckets 100 st-buckets 300
         set nat64 timeout udp 100 icmp 5
         nat64 add prefix 2001:db8:64::/96
         nat64 add prefix 2001:db8::/32
         nat64 add prefix 2001:db8:122:300::/56 tenant-vrf 64 interface loop2
         nat64 add prefix 2001:db8:7::/48 tenant-vrf 65
         nat64 add prefix 2001:db8:7::/48 tenant-vrf 65 del
         nat64 add pool address 198.51.100.1 - 198.51.100.4
         nat64 add pool address 198.51.100.9 tenant-vrf 64
         nat64 add pool address 198.51.100.2 del
         nat64 add interface address loop1
         set interface nat64 in loop0
         set interface nat64 out loop1
         set interface nat64 in loop2
         set interface nat64 out loop2
         set interface nat64 in loop2 del",
    ),
    Script::here(
        "ports of users",
        "create loopback interface
         nat64 plugin enable
         nat64 add pool address 198.51.100.1
         nat64 add static bib 2001:db8::1 80 198.51.100.1 80 tcp
         nat64 add static bib 2001:db8::1 53 198.51.100.1 53 udp vrf 64
         nat64 add static bib 2001:db8::1 7 198.51.100.1 9 icmp
         nat64 add static bib 2001:db8::1 0 198.51.100.1 0 47
         nat64 add static bib 2001:db8::2 22 198.51.100.1 22 tcp
         nat64 add static bib 2001:db8::2 22 198.51.100.1 22 tcp del
         set interface nat64 in loop0
         set interface nat64 out loop0",
    ),
];
