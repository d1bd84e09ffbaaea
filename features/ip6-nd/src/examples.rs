// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "neighbour discovery",
    "create packet-generator interface pg0
     create packet-generator interface pg1
     set ip6 nd announce on
     set ip6 dad enable transmits 2
     set ip6 dad disable
     set ip6 dad enable transmits 3 delay 0.5
     ip6 nd pg0 no ra-suppress
     ip6 nd pg0 ra-managed-config-flag
     ip6 nd pg0 ra-other-config-flag
     ip6 nd pg0 no ra-other-config-flag
     ip6 nd pg0 ra-suppress-link-layer
     ip6 nd pg0 ra-send-unicast
     ip6 nd pg0 ra-cease
     ip6 nd pg0 ra-interval 1000 30
     ip6 nd pg0 ra-lifetime 4000
     ip6 nd pg0 ra-initial 2 9
     ip6 nd pg0 ra-hop-limit 33
     ip6 nd pg0 prefix 2001:db8:1::/64 infinite no-autoconfig
     ip6 nd pg0 prefix 2001:db8:2::/64 900 800 off-link no-onlink
     ip6 nd pg0 prefix 2001:db8:3::/64 default no-advertise
     ip6 nd pg0 ra-dns 2001:db8::53 lifetime 700
     ip6 nd pg0 ra-search example.org lifetime 700
     ip6 nd address autoconfig pg0 default-route
     ip6 nd address autoconfig pg1
     ip6 nd address autoconfig pg1 disable
     set ip6 nd proxy pg1 2001:db8::77
     set ip6 nd proxy pg1 2001:db8::78
     set ip6 nd proxy pg1 del 2001:db8::78
     set interface ip6-nd proxy pg0 enable
     set interface ip6-nd proxy pg1
     set interface ip6-nd proxy pg1 disable
     set ip6 icmp redirect pg0 enable",
)];
