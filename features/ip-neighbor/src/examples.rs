// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "neighbours",
    "create packet-generator interface pg0
     set interface ip address pg0 10.0.0.1/24
     set ip neighbor-config ip4 limit 2 age 100 recycle confirm 7
     set ip neighbor-config ip6 limit 20 retry 9
     set ip neighbor pg0 10.0.0.2 02:00:00:00:00:02 static
     ip neighbor pg0 10.0.0.3 02:00:00:00:00:03 static no-fib-entry
     ip neighbor pg0 2001:db8::1 02:00:00:00:00:04 static
     set ip neighbor-config ip4 limit 1
     set interface state pg0 up",
)];
