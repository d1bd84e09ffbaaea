// SPDX-License-Identifier: Apache-2.0
//! Fields of the packet's metadata, from node to node.

use crate::drive::Bench;
use crate::*;
use buffer::{Buffer, Field, FieldValue};
use zerocopy::{FromBytes, Immutable, IntoBytes};

#[derive(Clone, Copy, PartialEq, Default, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Seen {
    length: u32,
    first: u32,
}
impl FieldValue for Seen {}

#[derive(Clone, Copy, PartialEq, Default, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Large([u32; 15]);
impl FieldValue for Large {}

/// Keeps what it sees of a packet; with `READS`, writes what was kept over it.
struct Watcher<const READS: bool>(Field<Seen>);

#[derive(Next, Clone, Copy)]
enum To {
    #[next("reads")]
    Reads,
    #[next("end")]
    End,
}

impl<const READS: bool> Build for Watcher<READS> {
    fn build(world: &World, _: ThreadIndex) -> Self {
        Self(world.field())
    }
}

impl<const READS: bool> Node for Watcher<READS> {
    const NAME: &'static str = if READS { "reads" } else { "writes" };
    type Next = To;
    type Trace = ();
    fn packet<const TRACED: bool>(&mut self, b: &mut Buffer, _: &mut Cx<'_, TRACED>) -> To {
        if READS {
            let Seen { length, first } = b.field(self.0);
            b.data_mut()[..8].copy_from_slice([length, first].as_bytes());
            return To::End;
        }
        b.set_field(self.0, Seen { length: b.len() as u32, first: b.data()[0].into() });
        To::Reads
    }
}

static WRITES: Plugin = Plugin {
    name: "writes",
    fields: &[FieldDef::of::<Seen>()],
    nodes: &[NodeDef::of::<Watcher<false>>()],
    ..Plugin::EMPTY
};
static READS: Plugin = Plugin {
    name: "reads",
    fields: &[FieldDef::of::<Seen>()],
    nodes: &[NodeDef::of::<Watcher<true>>()],
    ..Plugin::EMPTY
};
static LARGE: Plugin =
    Plugin { name: "large", fields: &[FieldDef::of::<Large>()], ..Plugin::EMPTY };

static BOTH: &[&Plugin] = &[&WRITES, &READS];
static TOO_MANY: &[&Plugin] = &[&WRITES, &LARGE];

#[suite::test]
fn what_one_plugin_keeps_another_one_reads() {
    let mut bench = Bench::new(BOTH);
    bench.rt.receive();
    let packets = [vec![5; 20], vec![6; 30]];
    for bytes in &packets {
        let b = bench.buffer(bytes);
        bench.rt.inject(bench.index("writes"), b);
    }
    bench.rt.run_node(bench.index("writes"));
    bench.rt.run_node(bench.index("reads"));
    let out: Vec<_> = bench.collect().into_iter().map(|out| out.bytes[..8].to_vec()).collect();
    assert_eq!(out, [[20u32, 5].as_bytes(), [30u32, 6].as_bytes()]);
}

#[suite::test]
fn too_many_bytes_are_refused_at_start() {
    let config = WorldConfig { buffers: 63, ..WorldConfig::default() };
    let error = World::new(&config, TOO_MANY).err().expect("no room");
    assert!(error.starts_with("plugin large: ") && error.contains("8 by writes for"), "{error}");
}

#[suite::test]
#[should_panic(expected = "no plugin declares a field for")]
fn a_field_that_no_plugin_declares_is_refused() {
    let _: Field<Large> = Bench::new(BOTH).world.field();
}
