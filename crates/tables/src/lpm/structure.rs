// SPDX-License-Identifier: Apache-2.0
//! The structure that a table is made of, by its size.

use super::bits::Bits;
use super::engine::{Change, Engine, LookupArrays, Refused};
use super::forest::Forest;
use super::index::Indexed;
use super::tree::Tree;
use super::{Key, Leaf, ResultKind};
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

/// A lookup structure that a table can consist of, and replace by one of another kind.
pub trait Structure: Sized {
    /// The kinds of structure that it can be.
    type Kind: Copy + Send + PartialEq;

    /// The kind of a small table.
    const SMALL: Self::Kind;
    /// The kind of a large table.
    fn large(wanted: ResultKind) -> Self::Kind;

    /// The numbers of routes at which it changes.
    const SIZES: Sizes;

    /// Returns true if it is laid out for what lookups want, if it is large.
    fn suits(_: Self::Kind, _: ResultKind) -> bool {
        true
    }

    /// The kind that would be better for so many routes, if another would.
    fn better(
        kind: Self::Kind,
        routes: usize,
        wanted: ResultKind,
        sizes: Sizes,
    ) -> Option<Self::Kind> {
        if kind == Self::SMALL {
            (routes >= sizes.large).then(|| Self::large(wanted))
        } else if routes < sizes.small {
            Some(Self::SMALL)
        } else {
            (!Self::suits(kind, wanted)).then(|| Self::large(wanted))
        }
    }

    /// The kind that takes every hop, if this kind doesn't.
    fn wider(_: Self::Kind) -> Option<Self::Kind> {
        None
    }

    /// One of that kind, without routes.
    fn of_kind(kind: Self::Kind, forest: &Arc<Forest>) -> Result<Self, Refused>;

    /// This one as that kind, if the routes needn't be added again for it.
    fn turned(&self, _: Self::Kind, _: &Arc<Forest>) -> Option<Result<Self, Refused>> {
        None
    }
}

/// One structure, or what replaces it when it isn't enough.
pub enum Either<A, B> {
    /// For few routes, or few hops.
    Small(A),
    /// For more.
    Large(B),
}

/// For IPv4: a search tree while it is small; then a bitmap trie, with wider leaves from 2^15 hops
/// on.
pub type Engine4 = Either<Tree, Either<Bits<4>, Bits<2>>>;

/// For IPv6: a search tree, and an index of it once it is large.
pub type Engine6 = Either<Tree, Indexed>;

/// The kind of an [`Engine4`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind4 {
    /// A search tree.
    Tree,
    /// A bitmap trie with fewer than 2^15 hops.
    Narrow,
    /// A bitmap trie with any.
    Wide,
}

impl Structure for Engine4 {
    type Kind = Kind4;
    const SMALL: Kind4 = Kind4::Tree;
    /// The bitmap trie takes 2 MiB at least.
    const SIZES: Sizes = Sizes { small: 256, large: 512 };

    fn large(_: ResultKind) -> Kind4 {
        Kind4::Narrow
    }

    fn wider(kind: Kind4) -> Option<Kind4> {
        (kind == Kind4::Narrow).then_some(Kind4::Wide)
    }

    fn of_kind(kind: Kind4, forest: &Arc<Forest>) -> Result<Self, Refused> {
        let domain = forest.domain().clone();
        Ok(match kind {
            Kind4::Tree => Self::Small(Tree::new(forest)?),
            Kind4::Narrow => {
                Self::Large(Either::Small(Bits::new(domain).map_err(|_| Refused::Full)?))
            }
            Kind4::Wide => {
                Self::Large(Either::Large(Bits::new(domain).map_err(|_| Refused::Full)?))
            }
        })
    }
}

/// The kind of an [`Engine6`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind6 {
    /// A search tree.
    Tree,
    /// With an index, laid out for what is wanted.
    Indexed(ResultKind),
}

impl Structure for Engine6 {
    type Kind = Kind6;
    const SMALL: Kind6 = Kind6::Tree;
    /// The index takes 8 MiB at least.
    const SIZES: Sizes = Sizes { small: 4096, large: 8192 };

    fn large(wanted: ResultKind) -> Kind6 {
        Kind6::Indexed(wanted)
    }

    fn suits(kind: Kind6, wanted: ResultKind) -> bool {
        kind == Kind6::Indexed(wanted)
    }

    fn of_kind(kind: Kind6, forest: &Arc<Forest>) -> Result<Self, Refused> {
        Ok(match kind {
            Kind6::Tree => Self::Small(Tree::new(forest)?),
            Kind6::Indexed(wanted) => Self::Large(Indexed::new(forest, wanted)?),
        })
    }

    fn turned(&self, kind: Kind6, forest: &Arc<Forest>) -> Option<Result<Self, Refused>> {
        match (self, kind) {
            (Self::Large(indexed), Kind6::Indexed(wanted)) => {
                Some(indexed.again(forest, wanted).map(Self::Large))
            }
            _ => None,
        }
    }
}

/// The same call to whichever it is.
macro_rules! each {
    ($self:ident, $engine:ident => $call:expr) => {
        match $self {
            Either::Small($engine) => $call,
            Either::Large($engine) => $call,
        }
    };
}

impl<K: Key, A: Engine<K>, B: Engine<K>> Engine<K> for Either<A, B> {
    #[inline(always)]
    fn lookup(&self, key: K) -> Leaf {
        each!(self, engine => Engine::<K>::lookup(engine, key))
    }

    fn cell(&self, key: K) -> u64 {
        each!(self, engine => Engine::<K>::cell(engine, key))
    }

    #[inline(always)]
    fn arrays(&self) -> LookupArrays<'_> {
        each!(self, engine => Engine::<K>::arrays(engine))
    }

    #[inline(always)]
    fn locate<I: Isa>(&self, keys: &[K], places: &mut [u32]) {
        each!(self, engine => Engine::<K>::locate::<I>(engine, keys, places));
    }

    #[inline(always)]
    fn read_leaves<I: Isa, const ROUTES: bool>(
        &self,
        keys: &[K],
        hops: &mut [u32],
        routes: &mut [u32],
    ) {
        each!(self, engine => Engine::<K>::read_leaves::<I, ROUTES>(engine, keys, hops, routes));
    }

    #[inline(always)]
    fn resolve(&self, routes: &mut [u32]) {
        each!(self, engine => Engine::<K>::resolve(engine, routes));
    }

    #[inline(always)]
    fn leaves<I: Isa, const ROUTES: bool>(&self, keys: &[K], hops: &mut [u32], routes: &mut [u32]) {
        each!(self, engine => Engine::<K>::leaves::<I, ROUTES>(engine, keys, hops, routes));
    }

    fn paint(&self, change: &Change<K>) -> Result<(), Refused> {
        each!(self, engine => Engine::<K>::paint(engine, change))
    }

    fn paint_all(&self, changes: &[Change<K>]) -> Result<(), (usize, Refused)> {
        each!(self, engine => Engine::<K>::paint_all(engine, changes))
    }

    fn memory(&self) -> usize {
        each!(self, engine => Engine::<K>::memory(engine))
    }
}
