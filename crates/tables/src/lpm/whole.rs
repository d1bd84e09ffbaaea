// SPDX-License-Identifier: Apache-2.0
//! Which structure a table is made of.

use super::Leaf;
use super::bits::Bits;
use super::engine::{Change, Engine, Grounds, Refused};
use super::forest::Forest;
use super::tree::Tree;
use simd::Isa;
use std::sync::Arc;

/// When a table changes its structure.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Below so many routes, it takes the small one,
    pub small: usize,
    /// and from so many on the large one.
    pub large: usize,
}

/// The bitmap trie takes 2 MiB at least.
pub(super) const SIZES: Sizes = Sizes { small: 256, large: 512 };

/// A structure that a table can do with alone, or change for another.
pub trait Whole: Sized {
    /// Which it is.
    type Kind: Copy + Send;

    /// What a table begins with.
    const FIRST: Self::Kind;

    /// What would be better for so many routes.
    fn better(kind: Self::Kind, routes: usize, sizes: Sizes) -> Option<Self::Kind>;

    /// What takes every hop, if this kind doesn't.
    fn wider(kind: Self::Kind) -> Option<Self::Kind>;

    /// One of that kind, without routes.
    fn of_kind(kind: Self::Kind, forest: &Arc<Forest>) -> Result<Self, Refused>;
}

impl Whole for Tree {
    type Kind = ();
    const FIRST: () = ();

    fn better((): (), _: usize, _: Sizes) -> Option<()> {
        None
    }

    fn wider((): ()) -> Option<()> {
        None
    }

    fn of_kind((): (), forest: &Arc<Forest>) -> Result<Self, Refused> {
        Tree::new(forest)
    }
}

/// For IPv4.
pub enum Either {
    /// Small.
    Tree(Tree),
    /// Large, with fewer than 2^15 hops.
    Narrow(Bits<4>),
    /// Large.
    Wide(Bits<2>),
}

/// See [`Either`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// [`Either::Tree`].
    Tree,
    /// [`Either::Narrow`].
    Narrow,
    /// [`Either::Wide`].
    Wide,
}

impl Whole for Either {
    type Kind = Kind;
    const FIRST: Kind = Kind::Tree;

    fn better(kind: Kind, routes: usize, sizes: Sizes) -> Option<Kind> {
        match kind {
            Kind::Tree => (routes >= sizes.large).then_some(Kind::Narrow),
            _ => (routes < sizes.small).then_some(Kind::Tree),
        }
    }

    fn wider(kind: Kind) -> Option<Kind> {
        (kind == Kind::Narrow).then_some(Kind::Wide)
    }

    fn of_kind(kind: Kind, forest: &Arc<Forest>) -> Result<Self, Refused> {
        let domain = forest.domain().clone();
        Ok(match kind {
            Kind::Tree => Self::Tree(Tree::new(forest)?),
            Kind::Narrow => Self::Narrow(Bits::new(domain).map_err(|_| Refused::Full)?),
            Kind::Wide => Self::Wide(Bits::new(domain).map_err(|_| Refused::Full)?),
        })
    }
}

/// The same call to whichever it is.
macro_rules! each {
    ($self:ident, $engine:ident => $call:expr) => {
        match $self {
            Either::Tree($engine) => $call,
            Either::Narrow($engine) => $call,
            Either::Wide($engine) => $call,
        }
    };
}

impl Engine<u32> for Either {
    #[inline(always)]
    fn lookup(&self, key: u32) -> Leaf {
        each!(self, engine => Engine::<u32>::lookup(engine, key))
    }

    fn cell(&self, key: u32) -> u64 {
        each!(self, engine => Engine::<u32>::cell(engine, key))
    }

    #[inline(always)]
    fn grounds(&self) -> Grounds<'_> {
        each!(self, engine => Engine::<u32>::grounds(engine))
    }

    #[inline(always)]
    fn approach<I: Isa>(&self, keys: &[u32], places: &mut [u32]) {
        each!(self, engine => Engine::<u32>::approach::<I>(engine, keys, places));
    }

    #[inline(always)]
    fn arrive<I: Isa, const ROUTES: bool>(&self, keys: &[u32], hops: &mut [u32], routes: &mut [u32]) {
        each!(self, engine => Engine::<u32>::arrive::<I, ROUTES>(engine, keys, hops, routes));
    }

    #[inline(always)]
    fn resolve(&self, routes: &mut [u32]) {
        each!(self, engine => Engine::<u32>::resolve(engine, routes));
    }

    #[inline(always)]
    fn leaves<I: Isa, const ROUTES: bool>(&self, keys: &[u32], hops: &mut [u32], routes: &mut [u32]) {
        each!(self, engine => Engine::<u32>::leaves::<I, ROUTES>(engine, keys, hops, routes));
    }

    fn paint(&self, change: &Change<u32>) -> Result<(), Refused> {
        each!(self, engine => Engine::<u32>::paint(engine, change))
    }

    fn paint_all(&self, changes: &[Change<u32>]) -> Result<(), (usize, Refused)> {
        each!(self, engine => Engine::<u32>::paint_all(engine, changes))
    }

    fn memory(&self) -> usize {
        each!(self, engine => Engine::<u32>::memory(engine))
    }
}
