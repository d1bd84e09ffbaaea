// SPDX-License-Identifier: Apache-2.0
//! Numbers of routes by source.

use super::Source;
use super::entry::SourcePaths;
use crate::Link;
use std::collections::HashMap;

/// Number of routes of a source.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SourceCount {
    /// All of them, in force or not.
    pub routes: usize,
    /// Routes that it hasn't set again yet since [`Fib::replace_begin`](super::Fib::replace_begin).
    pub stale: usize,
}

/// Numbers of routes by link type and source. Counted for each change, hence the fast hash.
#[derive(Default)]
pub(super) struct Counts(HashMap<(Link, Source), SourceCount, foldhash::fast::RandomState>);

impl Counts {
    pub fn get(&self, link: Link, source: Source) -> SourceCount {
        self.0.get(&(link, source)).copied().unwrap_or_default()
    }

    /// A source has set its paths to a prefix, in place of the old ones.
    pub fn set(&mut self, link: Link, new: SourcePaths, old: Option<SourcePaths>) {
        let count = self.0.entry((link, new.source)).or_default();
        match old {
            None => count.routes += 1,
            Some(old) => count.stale -= usize::from(old.stale),
        }
    }

    /// A source's paths to a prefix were removed.
    pub fn removed(&mut self, link: Link, old: SourcePaths) {
        if let Some(count) = self.0.get_mut(&(link, old.source)) {
            count.routes -= 1;
            count.stale -= usize::from(old.stale);
        }
    }

    /// So many more routes of a source are stale.
    pub fn marked(&mut self, link: Link, source: Source, n: usize) {
        if n > 0 {
            self.0.entry((link, source)).or_default().stale += n;
        }
    }
}
