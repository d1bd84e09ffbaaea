// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "icmp",
    "create packet-generator interface pg0
     create packet-generator interface pg1
     set ip icmp error-rate 5 burst 2
     set ip icmp echo disable
     set ip icmp echo-broadcast enable
     set ip icmp redirect pg0 enable
     set ip icmp redirect pg1 enable
     set ip icmp redirect pg1 disable
     set ip6 icmp error-rate 7 burst 3
     set ip6 icmp echo disable
     set ip6 icmp echo-multicast disable",
)];
