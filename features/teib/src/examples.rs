// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "tunnel endpoints",
    "create packet-generator interface pg0
     create packet-generator interface pg1
     ip table add 7
     create teib pg0 peer 10.9.0.5 nh 192.0.2.1
     create teib pg0 peer 2001:db8::5 nh 192.0.2.2 nh-table-id 7
     create teib pg1 peer 10.9.0.5 nh 2001:db8::1
     delete teib pg1 peer 10.9.0.5",
)];
