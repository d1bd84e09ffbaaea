// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "reverse path checks",
    "ip table add 7
     create packet-generator interface pg0
     create packet-generator interface pg1
     set interface ip address pg0 10.0.0.1/24
     set urpf ip4 rx strict pg0
     set urpf ip4 tx loose pg0 table 7
     set urpf ip6 loose deny-default pg0
     set urpf ip6 tx strict pg1
     set urpf loose pg1
     set urpf off pg1
     set urpf-accept add 192.0.2.0/24
     set urpf-accept table 7 add 192.0.2.0/24
     set urpf-accept 198.51.100.0/24
     set urpf-accept del 198.51.100.0/24
     set urpf-accept add 2001:db8::/48",
)];
