// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[
    Script::here(
        "ACLs of interfaces",
        "create loopback interface
         create loopback interface
         set acl-plugin acl permit src 10.0.0.0/8 dst 10.1.0.0/16 proto 6 sport 0-65535 dport 80 tcpflags 2 mask 18, deny src 0.0.0.0/0 dst 0.0.0.0/0
         set acl-plugin acl permit+reflect src 2001:db8::/32 dst ::/0 proto 17 sport 1-1023 dport 53 tag names
         set acl-plugin acl permit src 10.0.0.0/8
         set acl-plugin acl index 0 deny proto icmp sport 8 dport 0, permit dst 10.0.0.0/8 proto udp
         set acl-plugin acl at 7 permit
         set acl-plugin interface loop0 input acl 1
         set acl-plugin interface loop0 input acl 0
         set acl-plugin interface loop0 output acl 7
         set acl-plugin interface loop1 input acl 1
         set acl-plugin interface loop1 input acl 1 del
         set acl-plugin interface whitelist loop1 input 0806 88cc output 0806
         set acl-plugin interface whitelist loop0 input 0806
         set acl-plugin interface whitelist loop0 del
         delete acl-plugin acl index 2",
    ),
    Script::here(
        "ACLs of hosts",
        "create loopback interface
         create loopback interface
         set acl-plugin macip acl permit ip 10.0.0.0/8 mac 02:00:00:00:00:01 mask ff:ff:ff:ff:ff:ff, deny ip 0.0.0.0/0 mac 00:00:00:00:00:00 mask 0
         set acl-plugin macip acl action 3 ip 2001:db8::/32 mac 02:00:00:00:00:00 mask ff:ff:00:00:00:00 tag hosts
         set acl-plugin macip acl at 5 permit ip 10.0.0.1/32 mac 02:00:00:00:00:01 mask 48
         set acl-plugin macip acl index 0 permit ip 10.0.0.0/16 mac 02:00:00:00:00:01 mask 48
         set acl-plugin macip interface loop0 acl 0
         set acl-plugin macip interface loop1 acl 1
         set acl-plugin macip interface loop1 acl 5
         set acl-plugin macip interface loop0 acl 0 del
         delete acl-plugin macip acl index 1",
    ),
    Script::here(
        "settings of ACLs",
        "set acl-plugin session timeout udp idle 30
         set acl-plugin session timeout tcp idle 3600
         set acl-plugin session timeout tcp transient 10
         set acl-plugin session table max-entries 1000
         set acl-plugin session table hash-table-buckets 64
         set acl-plugin session table hash-table-memory 64M
         set acl-plugin session table event-trace 1
         set acl-plugin l4-match-nonfirst-fragment 0
         set acl-plugin skip-ipv6-extension-header 44 0
         set acl-plugin skip-ipv6-extension-header 17 1
         set acl-plugin use-hash-acl-matching 0
         set acl-plugin reclassify-sessions 1
         set acl-plugin counters enable",
    ),
];
