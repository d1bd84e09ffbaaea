// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[
    Script::here(
        "bridge domains",
        "create packet-generator interface pg0
         create packet-generator interface pg1
         create packet-generator interface pg2
         create loopback interface instance 7
         create loopback interface instance 8
         bvi create instance 4
         bvi create mac 02:00:00:00:00:99
         bvi create instance 5
         bvi delete bvi5
         set bridge-domain default-learn-limit 1000
         create bridge-domain 1 mac-age 5 bd-tag \"the first\"
         create bridge-domain 2 learn 0 forward 1 uu-flood 1 flood 1 arp-term 1 arp-ufwd 1
         create bridge-domain 3
         create bridge-domain 3 del
         set bridge-domain learn-limit 1 77
         set bridge-domain mac-age 2 9
         set bridge-domain uu-flood 2 disable
         set bridge-domain flood 2 disable
         set bridge-domain forward 2 disable
         set bridge-domain learn 2
         set bridge-domain arp-ufwd 1
         set bridge-domain arp term 1
         set bridge-domain arp snoop 1
         set bridge-domain arp snoop 2
         set bridge-domain arp snoop 2 disable
         set bridge-domain arp entry 1 10.0.0.1 02:00:00:00:00:05
         set bridge-domain arp entry 1 2001:db8::1 02:00:00:00:00:06
         set bridge-domain arp entry 1 10.0.0.2 02:00:00:00:00:07
         set bridge-domain arp entry 1 10.0.0.2 02:00:00:00:00:07 del
         set bridge-domain arp entry 2 10.0.0.2 02:00:00:00:00:07
         set bridge-domain arp entry 2 del-all
         set interface l2 bridge pg0 1 3
         set interface l2 bridge loop7 1 bvi
         set interface l2 bridge loop8 1
         set interface l2 bridge pg1 1
         set interface l2 bridge pg2 2 uu-fwd
         set interface l2 bridge bvi4 2 bvi
         set interface l2 learn pg0 disable
         set interface l2 forward pg0 disable
         set interface l2 flood pg1 disable
         set interface l2 uu-flood pg1 disable
         set interface l2 arp-ufwd pg1 disable
         set interface l2 arp-term pg1 disable
         set interface l2 storm-control pg0 all packets-per-second 100
         set interface l2 storm-control pg0 unknown-unicast packets-per-second 7
         set interface l2 storm-control pg0 multicast off
         set interface l2 storm-control pg1 broadcast packets-per-second 5
         set interface l2 storm-control pg1 all off
         set interface ip address loop7 10.77.0.1/24
         l2fib add 02:00:00:00:00:01 1 pg0 static
         l2fib add 02:00:00:00:00:02 1 pg1
         l2fib add 02:00:00:00:00:03 1 filter
         l2fib add 02:00:00:00:00:04 1 loop7 bvi
         l2fib add 02:00:00:00:00:05 1 pg1
         l2fib del 02:00:00:00:00:05 1",
    ),
    Script::here(
        "cross-connects",
        "create packet-generator interface pg0
         create packet-generator interface pg1
         create packet-generator interface pg2
         set interface l2 xconnect pg0 pg1
         set interface l2 xconnect pg1 pg0
         set interface l2 xconnect pg2 pg0
         set interface l3 pg2",
    ),
    Script::here(
        "VLANs in bridge domains",
        "create packet-generator interface pg0
         create sub-interfaces pg0 10
         create sub-interfaces pg0 20
         create sub-interfaces pg0 30 dot1ad 3 inner-dot1q 4 exact-match
         create sub-interfaces pg0 40
         set interface l2 bridge pg0.10 1
         set interface l2 tag-rewrite pg0.10 pop 1
         set interface l2 bridge pg0.20 1
         set interface l2 tag-rewrite pg0.20 translate 1-2 dot1ad 7 8
         set interface l2 efp-filter pg0.20
         set interface l2 bridge pg0.30 1
         set interface l2 tag-rewrite pg0.30 pop 2
         set interface l2 tag-rewrite pg0.40 push dot1q 5
         set interface l2 tag-rewrite pg0.10 disable
         set interface l2 tag-rewrite pg0.10 push dot1q 5 6
         set interface l2 pbb-tag-rewrite pg0.40 push dmac 02:00:00:00:00:01 smac 02:00:00:00:00:02 s_id 16777215
         set interface l2 pbb-tag-rewrite pg0.30 pop dmac 02:00:00:00:00:01 smac 02:00:00:00:00:02 b_vlanid 5 s_id 6
         set interface l2 pbb-tag-rewrite pg0.20 pop dmac 02:00:00:00:00:01 smac 02:00:00:00:00:02 b_vlanid 5 s_id 6
         set interface l2 pbb-tag-rewrite pg0.20 disable
         set interface l2 xconnect pg0 pg0.40",
    ),
];
