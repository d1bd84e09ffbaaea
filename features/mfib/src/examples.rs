// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "multicast routes",
    "create packet-generator interface pg0
     create packet-generator interface pg1
     ip table add 7
     ip6 table add 7
     ip mroute add 239.1.1.1 via pg0 Accept
     ip mroute add 239.1.1.1 via pg1 Forward via local Forward
     ip mroute add 239.1.1.1 via 10.0.0.2 pg1 Forward Negate-Signal
     ip mroute 10.0.0.9 239.1.1.1 via pg1 Accept Dont-Preserve
     ip mroute add 239.2.0.0/16 Signal
     ip mroute add 239.2.0.0/16 via pg0 Accept Forward
     ip mroute add 239.3.0.0/16 table 7 rpf-id 5 Drop Connected Accept-all-itf
     ip mroute add table 7 ff0e::1 via pg1 Accept
     ip mroute add 2001:db8::1 ff3e::1 via pg0 Accept via pg1 Forward
     ip mroute add ff0e::/16 via local Forward
     ip mroute add 239.9.9.9 via pg0 Accept via pg1 Forward
     ip mroute del 239.9.9.9 via pg0
     ip mroute add 239.9.9.8 via pg0 Accept
     ip mroute del 239.9.9.8",
)];
