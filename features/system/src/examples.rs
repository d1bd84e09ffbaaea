// SPDX-License-Identifier: Apache-2.0
//! Commands that set what is kept here, for the tests that save and restore it.

use graph::Script;

pub const EXAMPLES: &[Script] = &[Script::here(
    "variants",
    "create packet-generator interface pg0
     set node variant default v1
     set node variant ip4-lookup v1
     set node function pg0-output v1
     set node variant ip6-lookup v1
     set node variant ip6-lookup default
     create packet-generator interface pg1
     set node variant pg1-output v1
     delete packet-generator interface pg1",
)];
