// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[
    Script::here(
        "streams",
        "create packet-generator interface pg0
         create packet-generator interface pg1 mode ip4
         set interface name pg1 source
         packet-generator new { name a limit 9 rate 1e3 queue 64 size 64-128 maxframe 7 interface pg0 node error-drop
           data { IP4: 1.2.3 -> 4.5.6 UDP: 10.0.0.1 -> 10.0.0.9 UDP: 1234 -> 2345 incrementing 30 } }
         packet-generator new name b interface source data { UDP: 10.0.0.1-10.0.0.9 -> 10.1.0.1 hex 0x01020304 }
         packet-generator new name c interface source data { UDP: 10.0.0.1 -> 10.1.0.1 UDP: 1 -> 2 incrementing 8 }
         packet-generator delete c",
    ),
    Script::hosts(
        "streams of workers",
        "create packet-generator interface pg0
         packet-generator new name a interface pg0 worker 1 limit 5 data { IP4: 1.2.3 -> 4.5.6 incrementing 60 }
         packet-generator configure a limit 6",
    ),
];
