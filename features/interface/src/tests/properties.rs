// SPDX-License-Identifier: Apache-2.0
//! Columns of a plugin that `net` doesn't know.

use super::*;
use graph::StateDef;
use net::{Column, ColumnId, IfEvent, IfFlags, IfView, Interface, Property};
use std::sync::Mutex;

/// Packets are handled gently: workers read a flag.
#[derive(Clone, Default, PartialEq, Debug)]
struct Gentle(bool);

impl Property for Gentle {
    const HAS_FLAG: bool = true;

    fn show(&self, _: &Interface, flag: IfFlags, view: &mut IfView) {
        view.flags.set(flag, self.0);
    }
}

/// Another property with a flag.
#[derive(Clone, Default, PartialEq, Debug)]
struct Quick(bool);

impl Property for Quick {
    const HAS_FLAG: bool = true;

    fn show(&self, _: &Interface, flag: IfFlags, view: &mut IfView) {
        view.flags.set(flag, self.0);
    }
}

/// A ceiling for frames: workers read it in a word of the view.
#[derive(Clone, Default)]
struct Ceiling(Option<u16>);

impl Property for Ceiling {
    fn show(&self, _: &Interface, _: IfFlags, view: &mut IfView) {
        view.mtu = self.0.map_or(view.mtu, |ceiling| view.mtu.min(ceiling));
    }
}

/// Words that only control reads.
#[derive(Clone, Default, PartialEq, Debug)]
struct Remarks(Vec<String>);

impl Property for Remarks {}

static OWN: Plugin = Plugin {
    name: "own",
    state: &[
        StateDef::of::<Column<Gentle>>(),
        StateDef::of::<Column<Quick>>(),
        StateDef::of::<Column<Ceiling>>(),
        StateDef::of::<Column<Remarks>>(),
    ],
    ..Plugin::EMPTY
};

static WITH_OWN: &[&Plugin] = &[&PLUGIN, &OWN];

fn view(world: &World, sw_if: SwIfIndex) -> IfView {
    let mut reader = world.qsbr.register();
    let turn = reader.turn();
    world.get::<Interfaces>().views(&turn).get(sw_if.at()).expect("an index in use")
}

#[suite::test]
fn a_plugin_has_columns_of_its_own() {
    let bench = Bench::new(WITH_OWN);
    let world = &bench.world;
    let interfaces = world.get::<Interfaces>();
    let add = |name: &str| {
        let new = ethernet(name, MacAddr([2, 0, 0, 0, 0, 1]));
        interfaces.create(world, new, |_, _, _| Tx).expect("created")
    };
    let (a, b) = (add("a"), add("b"));
    let (gentle, quick) = (world.get::<Column<Gentle>>(), world.get::<Column<Quick>>());
    let (ceiling, remarks) = (world.get::<Column<Ceiling>>(), world.get::<Column<Remarks>>());
    let usual = view(world, a);
    assert_eq!((gentle.get(a), remarks.get(a)), (Gentle(false), Remarks(vec![])));

    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    interfaces.subscribe(move |_, event| log.lock().expect("no panic inside").push(event));
    let events = || std::mem::take(&mut *seen.lock().expect("no panic inside"));
    let changes = world.config_changes();
    gentle.set(world, a, Gentle(true)).expect("set");
    assert_eq!(events(), [IfEvent::Changed(a, ColumnId::of::<Gentle>())]);
    assert!(world.config_changes() > changes, "the saved configuration may name it");
    assert_eq!((gentle.get(a), gentle.get(b)), (Gentle(true), Gentle(false)));

    // Each column has its own flag, beside those that `net` names.
    let named = usual.flags | IfFlags::GSO | IfFlags::SUB;
    let own = [gentle.flag(), quick.flag()];
    assert!(own[0] != own[1] && own.iter().all(|flag| flag.bits().count_ones() == 1));
    assert!(own.iter().all(|flag| !named.intersects(*flag)));
    assert_eq!((ceiling.flag(), remarks.flag()), (IfFlags::empty(), IfFlags::empty()));
    assert_eq!(view(world, a).flags, usual.flags | own[0]);
    ceiling.set(world, a, Ceiling(Some(1200))).expect("set");
    assert_eq!((usual.mtu, view(world, a).mtu), (1500, 1200));
    // Another change of the interface keeps the part that columns write.
    interfaces.set_admin(world, a, true).expect("up");
    let flags = usual.flags | IfFlags::ADMIN | own[0];
    assert_eq!((view(world, a).flags, view(world, a).mtu), (flags, 1200));
    assert_eq!(
        view(world, b),
        IfView { output: view(world, b).output, tx: view(world, b).tx, ..usual }
    );
    for text in ["one", "two"] {
        remarks.update(world, a, |remarks| remarks.0.push(text.into())).expect("updated");
    }
    assert_eq!(remarks.get(a), Remarks(vec!["one".into(), "two".into()]));

    // The next interface with the index starts with the defaults.
    events();
    interfaces.delete(world, a).expect("deleted");
    assert!(!events().iter().any(|event| matches!(event, IfEvent::Changed(..))));
    assert_eq!((gentle.get(a), remarks.get(a)), (Gentle(false), Remarks(vec![])));
    assert_eq!(view(world, a), IfView::default());
    for error in [
        gentle.set(world, a, Gentle(true)).expect_err("deleted"),
        remarks.update(world, a, |remarks| remarks.0.clear()).expect_err("deleted"),
    ] {
        assert_eq!(error.code(), -2);
    }
    assert_eq!(add("c"), a, "the index is free again");
    assert_eq!((view(world, a).flags, view(world, a).mtu), (usual.flags, 1500));
    assert_eq!((gentle.get(a), remarks.get(a)), (Gentle(false), Remarks(vec![])));
}
