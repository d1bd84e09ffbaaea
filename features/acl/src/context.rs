// SPDX-License-Identifier: Apache-2.0
//! Lookup contexts: lists of ACLs of other features, which ask for the first match and do with it
//! what they are for.
//!
//! A feature makes a context ([`Acls::make_context`](crate::control::Acls::make_context)) and gives
//! it ACLs, each with a value of its own. Its node looks packets up ([`Contexts::find`]) and gets
//! the rule and the value of its ACL. ACLs of contexts can't be deleted; rules that are replaced
//! decide at once.

use crate::list::{Hit, List, Listed};
use crate::packet::{Skipped, read};
use crate::settings::Settings;
use graph::{Shared, World};
use std::sync::Arc;
use sync::{Slots, Turn};

/// A context as workers read it.
pub struct Published {
    pub list: Arc<List>,
    /// By the position of an ACL.
    pub values: Vec<u32>,
}

/// The contexts, by number.
pub struct Contexts {
    published: Slots<Published>,
    settings: Arc<Settings>,
}

impl Shared for Contexts {
    fn make(world: &World) -> Self {
        Self { published: Slots::new(world.qsbr.clone()), settings: world.get() }
    }
}

impl Contexts {
    /// Looks up the packet whose IP header is at `packet[0]`: the first rule that matches it, and
    /// the value of its ACL.
    #[inline(always)]
    pub fn find<F: Listed>(
        &self,
        context: u32,
        packet: &[u8],
        turn: &Turn<'_>,
    ) -> Option<(Hit, u32)> {
        let context = self.published.get(context, turn)?;
        let skipped: &Skipped = &self.settings.skipped;
        let hit = context.list.find::<F>(&read::<F>(packet, skipped)?, turn)?;
        Some((hit, context.values.get(usize::from(hit.position)).copied()?))
    }

    /// Publishes a context, or that there is none.
    pub fn set(&self, context: u32, published: Option<Published>) {
        match published {
            Some(published) => self.published.set(context, published),
            None => _ = self.published.clear(context),
        }
    }
}
