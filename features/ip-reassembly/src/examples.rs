// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "reassembly",
    "create packet-generator interface pg0
     create packet-generator interface pg1
     set ip4-full-reassembly timeout 200 max-reassemblies 2000 max-reassembly-length 30
     set ip4-full-reassembly expire-walk-interval 50
     set ip4-sv-reassembly timeout 100
     set ip4-sv-reassembly max-reassemblies 9
     set ip4-sv-reassembly max-reassemblies 1024
     set interface reassembly pg0 ip4
     set interface virtual-reassembly pg1 ip4
     set ip6-full-reassembly timeout 60000
     set ip6-sv-reassembly timeout 70
     set ip local-reassembly ip4 disable
     set ip reassembly extended ip4 on
     set ip reassembly extended ip6 on
     set ip local-reassembly ip6 disable
     set ip local-reassembly ip4 enable
     create packet-generator interface pg2
     create packet-generator interface pg3
     set interface reassembly pg2 on
     set interface virtual-reassembly pg3 ip6
     set interface reassembly pg1 on
     set interface reassembly pg1 off",
)];
