// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "arp",
    "ip table add 7
     create packet-generator interface pg0
     create packet-generator interface pg1
     set arp gratuitous learn
     set arp announce on
     set arp proxy start 10.0.0.1 end 10.0.0.9
     set arp proxy table-id 7 start 10.0.0.1 end 10.0.0.9
     set arp proxy start 10.1.0.1 end 10.1.0.9
     set arp proxy del start 10.1.0.1 end 10.1.0.9
     set interface proxy-arp pg0
     set interface proxy-arp pg1 enable
     set interface proxy-arp pg1 disable",
)];
