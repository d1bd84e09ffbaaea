// SPDX-License-Identifier: Apache-2.0
//! State that plugins declare, and how it forgets what is deleted.

use super::*;
use crate::{Deleted, Shared, StateDef};

/// Log of the calls of `forget`.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Shared for Told {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

fn tell(world: &World, name: &str, deleted: &Deleted<'_>) {
    let what = match (deleted.of::<SwIfIndex>(), deleted.of::<u8>()) {
        (Some(sw_if), _) => format!("{name} forgets interface {sw_if}"),
        (_, Some(number)) => format!("{name} forgets number {number}"),
        _ => return,
    };
    world.get::<Told>().0.lock().expect("no panic inside").push(what);
}

struct Base;

impl Shared for Base {
    fn make(_: &World) -> Self {
        Self
    }
    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        tell(world, "base", deleted);
    }
}

struct Above;

impl Shared for Above {
    fn make(world: &World) -> Self {
        world.get::<Base>();
        Self
    }
    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        tell(world, "above", deleted);
    }
}

struct Undeclared;

impl Shared for Undeclared {
    fn make(_: &World) -> Self {
        Self
    }
}

const PLUGINS: &[&Plugin] = &[&STATEFUL];

static STATEFUL: Plugin = Plugin {
    name: "stateful",
    // `Above` first: it is made from `Base`, which so comes before it all the same.
    state: &[StateDef::of::<Told>(), StateDef::of::<Above>(), StateDef::of::<Base>()],
    ..Plugin::EMPTY
};

#[suite::test]
fn a_state_forgets_before_those_that_it_was_made_from() {
    let bench = Bench::new(PLUGINS);
    bench.world.forget(&SwIfIndex(3));
    bench.world.forget(&7u8);
    // No state knows of this object.
    bench.world.forget(&"a name");
    let told = bench.world.get::<Told>().0.lock().expect("no panic inside").clone();
    let wanted = [
        "above forgets interface 3",
        "base forgets interface 3",
        "above forgets number 7",
        "base forgets number 7",
    ];
    assert_eq!(told, wanted);
}

#[suite::test]
#[should_panic(expected = "no plugin declares the state graph::tests::shared::Undeclared")]
fn state_that_nobody_declares_is_named() {
    Bench::new(PLUGINS).world.get::<Undeclared>();
}
