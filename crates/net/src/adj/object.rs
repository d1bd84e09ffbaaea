// SPDX-License-Identifier: Apache-2.0
//! Adjacencies for objects of features, such as encapsulations: routes lead packets to them.

use super::control::Key;
use super::{Adj, AdjIndex, AdjKind, Adjacencies, Link};
use crate::fib::Tracked;
use cli::Error;
use graph::{NodeIndex, World};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A type of objects that a feature's nodes take packets for. A static of the feature; types are told apart by their names.
pub struct ObjectType {
    /// The name, as `show` prints it.
    pub name: &'static str,
    /// The feature's node for packets of a link to the object of this number. Packets find the number in [`Adj::table`].
    ///
    /// # Errors
    /// An object that isn't there, or doesn't take such packets.
    pub node: fn(&World, Link, u32) -> Result<NodeIndex, Error>,
    /// What the object of this number is, for `show`.
    pub describe: fn(&World, u32) -> String,
    /// The route that the object sends packets on by, if it does: a path to the object can be used as long as that route can, and
    /// not if that route leads back to the path. Called while the routes are locked.
    pub over: fn(&World, u32) -> Option<Tracked>,
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
        Ok(self.hold(key, || Adj { kind: AdjKind::Feature, next, table: object, link, ..Adj::default() }))
    }

    /// An object has changed: packets go to the nodes that its type says now.
    ///
    /// # Errors
    /// As [`Self::object`].
    pub fn refresh_object(&self, world: &World, of: &'static ObjectType, object: u32) -> Result<(), Error> {
        for link in [Link::Ip4, Link::Ip6] {
            let index = self.inner().by_key.get(&Key::Object(of, link, object)).copied();
            if let Some(index) = index {
                let next = (of.node)(world, link, object)?;
                self.change(index, |adj| adj.next = next);
            }
        }
        Ok(())
    }
}
