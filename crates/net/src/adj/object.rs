// SPDX-License-Identifier: Apache-2.0
//! Adjacencies for objects of features, such as encapsulations: routes lead packets to them.

use super::control::Key;
use super::{Adj, AdjIndex, AdjKind, Adjacencies, Link, MAX_REWRITE, NOWHERE};
use crate::fib::Tracked;
use cli::{Error, retval};
use graph::{NodeIndex, Shared, World};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard};

/// A type of objects that routes lead packets to, and that a feature's nodes process, such as
/// encapsulations. Each feature has one static value for each of its types, and registers it with
/// [`Objects`]; the name identifies the type.
pub struct ObjectType {
    /// The name, as `show` prints it and messages name it.
    pub name: &'static str,
    /// The words of an `ip route` line before the object's number, or before the interface's name;
    /// `{ip}` stands for `ip4` or `ip6`.
    pub words: &'static str,
    /// Set if the objects are interfaces: their numbers are those of interfaces.
    pub interface: Option<ObjectInterface>,
    /// Returns the feature's node for packets of a link to the object of this number. The node
    /// reads the number from [`Adj::table`].
    ///
    /// # Errors
    /// An object that isn't there, or doesn't take such packets.
    pub node: fn(&World, Link, u32) -> Result<NodeIndex, Error>,
    /// Describes the object of this number, for `show`.
    pub describe: fn(&World, u32) -> String,
    /// Returns the route that the object sends its packets by, if it has one. A path to the object
    /// is usable while that route is, and unless that route leads back to the path. Called
    /// while the routes are locked.
    pub over: fn(&World, u32) -> Option<Tracked>,
    /// Returns the header that the node puts in front of packets, at most
    /// [`MAX_REWRITE`] bytes, if it is the same for all: [`Adj::rewrite`] and
    /// [`Adj::put`] have it. Called while the routes are locked.
    pub header: fn(&World, u32) -> Vec<u8>,
    /// Reports that the first path of a link type leads to the object (true), before packets take
    /// it, or that none does any more. Called while the routes are locked.
    pub used: fn(&World, Link, u32, bool),
}

/// The part of an interface that is the object of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectInterface {
    /// It receives the packets.
    Receives,
    /// It sends them: the path is usable while it is up.
    Sends,
}

impl ObjectType {
    /// A type whose objects have no interface, no route and no header of their own.
    pub const PLAIN: Self = Self {
        name: "",
        words: "",
        interface: None,
        node: |_, _, _| Err(Error::unsupported("such objects take no packets")),
        describe: |_, _| String::new(),
        over: |_, _| None,
        header: |_, _| Vec::new(),
        used: |_, _, _, _| {},
    };
}

/// The types of objects that paths may lead to.
#[derive(Default)]
pub struct Objects(Mutex<BTreeMap<&'static str, &'static ObjectType>>);

impl Shared for Objects {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Objects {
    fn types(&self) -> MutexGuard<'_, BTreeMap<&'static str, &'static ObjectType>> {
        self.0.lock().expect("no panic inside")
    }

    /// Registers a type. Called once by its feature's plugin.
    pub fn register(&self, of: &'static ObjectType) {
        self.types().insert(of.name, of);
    }

    /// The type of this name.
    ///
    /// # Errors
    /// No feature has registered it (−9).
    pub fn get(&self, name: &str) -> Result<&'static ObjectType, Error> {
        let nobody = || Error::unsupported(format!("no feature takes {name} paths yet"));
        self.types().get(name).copied().ok_or_else(|| nobody().retval(retval::UNIMPLEMENTED))
    }
}

impl PartialEq for ObjectType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ObjectType {}

impl PartialOrd for ObjectType {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectType {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl Hash for ObjectType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for ObjectType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Adjacencies {
    /// The adjacency of packets of a link to an object. The caller gets a reference on it.
    ///
    /// # Errors
    /// An object that isn't there, or doesn't take such packets.
    pub fn object(
        &self,
        world: &World,
        of: &'static ObjectType,
        link: Link,
        object: u32,
    ) -> Result<AdjIndex, Error> {
        let key = Key::Object(of, link, object);
        if let Some(index) = self.hold_known(&key) {
            return Ok(index);
        }
        let next = (of.node)(world, link, object)?;
        let mut adj = Adj { kind: AdjKind::Feature, next, table: object, link, ..Adj::default() };
        adj.stack(world, of)?;
        Ok(self.hold(key, || adj))
    }

    /// Sends packets of a link to the node that the type names now, after the object has changed.
    /// Without a node they are dropped.
    pub(crate) fn refresh_object(
        &self,
        world: &World,
        of: &'static ObjectType,
        link: Link,
        object: u32,
    ) {
        let index = self.inner().by_key.get(&Key::Object(of, link, object)).copied();
        if let Some(index) = index {
            let next = (of.node)(world, link, object).unwrap_or(NOWHERE);
            self.change(index, |adj| {
                adj.next = if adj.stack(world, of).is_ok() { next } else { NOWHERE };
            });
        }
    }
}

impl Adj {
    /// Takes over the header of its object, and the adjacency that packets take behind it.
    ///
    /// # Errors
    /// A header that is too long.
    fn stack(&mut self, world: &World, of: &ObjectType) -> Result<(), Error> {
        let header = (of.header)(world, self.table);
        if header.len() > MAX_REWRITE {
            let why = format!("a header of {} bytes; {MAX_REWRITE} are the most", header.len());
            return Err(Error::limit(why));
        }
        self.over = (of.over)(world, self.table).map_or(AdjIndex::NO_ROUTE, |over| over.adj);
        self.set_rewrite(&header);
        Ok(())
    }
}
