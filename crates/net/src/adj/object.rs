// SPDX-License-Identifier: Apache-2.0
//! Adjacencies for objects of features, such as encapsulations: routes lead packets to them.

use super::control::Key;
use super::{Adj, AdjIndex, AdjKind, Adjacencies, Link, NOWHERE};
use crate::fib::Tracked;
use cli::Error;
use graph::{NodeIndex, World};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A type of objects that routes lead packets to, and that a feature's nodes process, such as
/// encapsulations. Each feature has one static value for each of its types; the name identifies the
/// type.
pub struct ObjectType {
    /// The name, as `show` prints it.
    pub name: &'static str,
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
    /// Reports that the first path of a protocol leads to the object (true), before packets take
    /// it, or that none does any more. Called while the routes are locked.
    pub used: fn(&World, Link, u32, bool),
}

impl PartialEq for ObjectType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ObjectType {}

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
        Ok(self.hold(key, || Adj {
            kind: AdjKind::Feature,
            next,
            table: object,
            link,
            ..Adj::default()
        }))
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
            self.change(index, |adj| adj.next = next);
        }
    }
}
