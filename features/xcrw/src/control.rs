// SPDX-License-Identifier: Apache-2.0
//! Cross-connects with rewrite, by the interface that receives.

use crate::tx::XcrwTx;
use cli::{Error, Result, retval};
use graph::{Deleted, NodeIndex, Shared, SwIfIndex, World};
use l2::{Bridge, OutputFeatures};
use net::fib::DeletedTable;
use net::{Device, IfKind, Implied, Interface, Interfaces, NewInterface, TableIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use sync::{Slots, Turn};
use wire::{Ip4, Ip6, MacAddr};

/// Most bytes that are put in front: all buffers of devices have this room.
pub const MAX_BYTES: usize = 128;

/// Nodes that take packets from their first byte on. Outputs of interfaces do too.
pub const NEXT: [&str; 6] =
    ["ip4-lookup", "ip6-lookup", "ip4-input", "ip6-input", "ethernet-input", "error-drop"];

/// A rewrite as workers read it.
#[derive(Clone, Copy)]
pub struct WorkerRewrite {
    bytes: [u8; MAX_BYTES],
    len: u8,
    /// Index of the table for the next lookup; without one, it is that of the receiving interface.
    pub table: Option<u32>,
    /// The next node.
    pub next: NodeIndex,
}

impl WorkerRewrite {
    /// The bytes in front.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len).min(MAX_BYTES)]
    }
}

/// The next node of a cross-connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextNode {
    /// One of [`NEXT`].
    Node(&'static str),
    /// The output of an interface.
    Output(SwIfIndex),
}

impl NextNode {
    /// The node of a name.
    ///
    /// # Errors
    /// No node, one that takes packets only from certain other nodes, or the output of an interface
    /// `xcrwN`.
    pub fn find(world: &World, name: &str) -> Result<Self> {
        if let Some(node) = NEXT.into_iter().find(|node| *node == name) {
            return Ok(Self::Node(node));
        }
        let index = world.node(name);
        let all = world.get::<Interfaces>().list();
        // A node that several interfaces share doesn't know by which of them it is to send.
        let output =
            all.iter().find(|interface| !interface.shares_nodes && index == Some(interface.output));
        // An interface `xcrwN` sends nothing, and the line of a cross-connect that names one, its
        // own perhaps, couldn't be restored.
        let output = output.filter(|interface| !world.get::<Bridge>().is_sink(interface.sw_if));
        output.map(|interface| Self::Output(interface.sw_if)).ok_or_else(|| {
            let what = if index.is_some() { "takes no packets from here" } else { "is no node" };
            let nodes = NEXT.join(", ");
            let all = format!("{nodes} do, and the outputs of interfaces that send");
            Error::not_found(format!("`{name}' {what}: {all}")).retval(retval::INVALID_VALUE)
        })
    }

    /// The name.
    pub fn name(self, world: &World) -> String {
        self.name_by(world, |interface| world.node_name(interface.output).to_string())
    }

    /// The name before interfaces are renamed.
    pub fn made_name(self, world: &World) -> String {
        self.name_by(world, |interface| format!("{}-output", interface.original.name))
    }

    fn name_by(self, world: &World, output: impl FnOnce(Interface) -> String) -> String {
        match self {
            Self::Node(name) => name.into(),
            Self::Output(sw_if) => {
                world.get::<Interfaces>().get(sw_if).map(output).unwrap_or_default()
            }
        }
    }

    /// The interface whose output it is.
    pub fn output(self) -> Option<SwIfIndex> {
        match self {
            Self::Node(_) => None,
            Self::Output(sw_if) => Some(sw_if),
        }
    }

    fn index(self, world: &World) -> Option<NodeIndex> {
        match self {
            Self::Node(name) => world.node(name),
            Self::Output(sw_if) => {
                world.get::<Interfaces>().get(sw_if).ok().map(|interface| interface.output)
            }
        }
    }
}

/// A route table of a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    pub is_ip6: bool,
    pub index: TableIndex,
}

/// The bytes that frames get in front, and their next node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rewrite {
    pub bytes: Vec<u8>,
    pub next: NextNode,
    /// The table of the next lookup.
    pub table: Option<Table>,
}

/// A cross-connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CrossConnect {
    /// The number of its interface `xcrwN`.
    pub instance: u32,
    /// That interface.
    pub sink: SwIfIndex,
    pub rewrite: Rewrite,
}

struct XcrwDevice;

impl Device for XcrwDevice {
    fn driver(&self) -> &'static str {
        "Xcrw"
    }
}

/// All cross-connects with rewrite.
pub struct Rewrites {
    /// By index of the interface `xcrwN`.
    work: Slots<WorkerRewrite>,
    all: Mutex<BTreeMap<SwIfIndex, CrossConnect>>,
}

impl Shared for Rewrites {
    fn make(world: &World) -> Self {
        Self { work: Slots::new(world.qsbr.clone()), all: Mutex::default() }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        if let Some(&sw_if) = deleted.of::<SwIfIndex>() {
            // The layer-2 mode of the receiving interface ends by itself, and that deletes the
            // cross-connect.
            self.take(sw_if);
            self.delete_if(world, |rewrite| rewrite.next == NextNode::Output(sw_if));
        } else if let Some(table) = deleted.of::<DeletedTable<Ip4>>() {
            let table = Some(Table { is_ip6: false, index: table.index });
            self.delete_if(world, |rewrite| rewrite.table == table);
        } else if let Some(table) = deleted.of::<DeletedTable<Ip6>>() {
            let table = Some(Table { is_ip6: true, index: table.index });
            self.delete_if(world, |rewrite| rewrite.table == table);
        }
    }
}

impl Rewrites {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SwIfIndex, CrossConnect>> {
        self.all.lock().expect("no panic inside")
    }

    /// All cross-connects, by the interface that receives.
    pub fn list(&self) -> Vec<(SwIfIndex, CrossConnect)> {
        self.all().iter().map(|(from, one)| (*from, one.clone())).collect()
    }

    /// The rewrite of frames for an interface `xcrwN`.
    #[inline(always)]
    pub fn work<'t>(&'t self, sink: u32, turn: &'t Turn<'_>) -> Option<&'t WorkerRewrite> {
        self.work.get(sink, turn)
    }

    /// Puts bytes in front of the frames that an interface receives, and sends them to a node. Ends
    /// the layer-2 mode that the interface had. A cross-connect with rewrite that is there
    /// already keeps its interface.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−71); no bytes or more
    /// than [`MAX_BYTES`] (−7); a node that isn't there (−7); a number that another interface
    /// has (−56), or other than the one that this cross-connect has (−81); what the device says.
    pub fn set(
        &self,
        world: &World,
        from: SwIfIndex,
        instance: Option<u32>,
        rewrite: Rewrite,
    ) -> Result<()> {
        world.get::<Interfaces>().check(from)?;
        let work = work(world, &rewrite)?;
        let old = self.all().get(&from).map(|old| (old.instance, old.sink));
        match old {
            Some((number, sink)) if instance.is_none_or(|instance| instance == number) => {
                self.work.set(sink.0, work);
                if let Some(one) = self.all().get_mut(&from) {
                    one.rewrite = rewrite;
                }
                world.note_config_change();
                return Ok(());
            }
            Some((number, _)) => {
                let name = world.get::<Interfaces>().name(from);
                return Err(Error::failed(format!("the cross-connect of {name} is xcrw{number}"))
                    .retval(retval::VALUE_EXIST));
            }
            None => {}
        }
        let used: BTreeSet<u32> = self.all().values().map(|one| one.instance).collect();
        let free = || (0..).find(|number| !used.contains(number)).unwrap_or_default();
        let instance = instance.unwrap_or_else(free);
        let sink = create(world, instance, from)?;
        self.work.set(sink.0, work);
        self.all().insert(from, CrossConnect { instance, sink, rewrite });
        let bridge = world.get::<Bridge>();
        bridge
            .set_sink(world, from, (sink, OutputFeatures::XCRW), ended)
            .and_then(|()| net::imply(world, sink, Implied { up: true, ..Implied::default() }))
            .inspect_err(|_| ended(world, sink))?;
        world.note_config_change();
        Ok(())
    }

    /// Lets an interface route again.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or has no cross-connect with rewrite (−6); what its
    /// device says.
    pub fn delete(&self, world: &World, from: SwIfIndex) -> Result<()> {
        world.get::<Interfaces>().check(from)?;
        if !self.all().contains_key(&from) {
            let name = world.get::<Interfaces>().name(from);
            return Err(Error::not_found(format!("{name} has no cross-connect with rewrite"))
                .retval(retval::NO_SUCH_ENTRY));
        }
        world.get::<Bridge>().set_l3(world, from)
    }

    /// Deletes the cross-connects of which this is true.
    fn delete_if(&self, world: &World, unwanted: impl Fn(&Rewrite) -> bool) {
        let gone = self.list().into_iter().filter(|(_, one)| unwanted(&one.rewrite));
        for (from, _) in gone {
            if let Err(error) = self.delete(world, from) {
                log::warn!("the end of a cross-connect with rewrite: {error}");
            }
        }
    }

    /// Removes the cross-connect of an interface `xcrwN`. Returns whether there was one.
    fn take(&self, sink: SwIfIndex) -> bool {
        let mut all = self.all();
        let before = all.len();
        all.retain(|_, one| one.sink != sink);
        let is_taken = all.len() < before;
        drop(all);
        if is_taken {
            self.work.clear(sink.0);
        }
        is_taken
    }
}

/// A cross-connect has ended, or couldn't be made: its interface goes.
fn ended(world: &World, sink: SwIfIndex) {
    if world.get::<Rewrites>().take(sink)
        && let Err(error) = world.get::<Interfaces>().delete(world, sink)
    {
        log::warn!("an interface of a cross-connect with rewrite stays: {error}");
    }
}

/// Makes the interface of a cross-connect. The lines of the saved configuration are in the order of
/// these interfaces, and name the ones that receive.
fn create(world: &World, instance: u32, above: SwIfIndex) -> Result<SwIfIndex> {
    let new = NewInterface {
        name: format!("xcrw{instance}"),
        // It carries nothing, so it has neither addresses nor sub-interfaces.
        kind: IfKind::Local,
        device: Arc::new(XcrwDevice),
        mac: MacAddr::ZERO,
        mtu: 0,
        link_up: true,
    };
    world.get::<Interfaces>().create_above(world, new, Some(above), |_, _, _| XcrwTx)
}

/// Checks a rewrite and makes the form that workers read.
fn work(world: &World, rewrite: &Rewrite) -> Result<WorkerRewrite> {
    let len = rewrite.bytes.len();
    if len == 0 || len > MAX_BYTES {
        return Err(Error::parse(format!("a rewrite has 1 to {MAX_BYTES} bytes, not {len}"))
            .retval(retval::INVALID_VALUE));
    }
    let next = rewrite.next.index(world).ok_or_else(|| {
        Error::not_found("the next node isn't there: startup.conf disables its plugin")
            .retval(retval::INVALID_VALUE)
    })?;
    let mut bytes = [0; MAX_BYTES];
    bytes[..len].copy_from_slice(&rewrite.bytes);
    Ok(WorkerRewrite {
        bytes,
        len: len as u8,
        table: rewrite.table.map(|table| table.index.0),
        next,
    })
}
