// SPDX-License-Identifier: Apache-2.0
//! Tables as objects of paths.

use crate::hook::Hook;
use crate::state::Classifier;
use cli::Error;
use net::{Link, ObjectType};

/// Tables as objects of paths: packets of such routes are classified.
pub static CLASSIFIED: ObjectType = ObjectType {
    name: "classify",
    words: "classify",
    node: |world, link, table| {
        world.get::<Classifier>().table(table)?;
        if !matches!(link, Link::IP4 | Link::IP6) {
            return Err(Error::unsupported("packets of such routes are IP"));
        }
        let name = Hook::Route(link == Link::IP6).node();
        world.node(name).ok_or_else(|| Error::unsupported("the node of such routes isn't there"))
    },
    describe: |_, table| format!("table {table}"),
    ..ObjectType::PLAIN
};
