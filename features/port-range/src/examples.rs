// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "ports by source",
    "create packet-generator interface pg0
     set ip source-and-port-range-check vrf 7 172.16.0.0/16 range 20 - 100
     set ip source-and-port-range-check vrf 7 172.16.0.0/16 port 444
     set ip source-and-port-range-check vrf 7 172.16.0.0/16 port 444 del
     set interface ip source-and-port-range-check pg0 udp-out-vrf 7 tcp-in-vrf 8
     set interface ip source-and-port-range-check pg0 tcp-in-vrf 8 del",
)];
