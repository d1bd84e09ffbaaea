// SPDX-License-Identifier: Apache-2.0

use super::*;

#[suite::test]
fn messages_are_as_published() {
    let r = bare();
    assert_eq!(msg::published::read().differences(r.bench.world.api.table()), Vec::<String>::new());
}
