// SPDX-License-Identifier: Apache-2.0
//! Tables and sessions, as workers read them.

use crate::exact::Exact;
use crate::key::{Key, VECTOR};
use std::sync::Arc;
use sync::{Slots, Turn};

/// Next-node number of sessions and tables that let packets continue.
pub const GO_ON: u16 = u16::MAX;
/// Maximum number of tables of a chain.
pub const MAX_CHAIN: usize = 256;

/// The additional action on packets of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Action {
    /// Nothing.
    #[default]
    None,
    /// IP packets of a family are looked up in another table of routes.
    Fib {
        /// Of IPv6.
        v6: bool,
        /// The table's id.
        id: u32,
        /// The slot of [`Classifier::vrfs`](crate::state::Classifier::vrfs) with its index.
        slot: u32,
    },
    /// The packet keeps this number: the index of a segment routing policy.
    Metadata(u32),
    /// The packet takes paths of its own: the index of their forwarding object. The session is
    /// saved with the paths.
    Redirect(u32),
}

/// The next node and the actions of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Session {
    /// The number of the next node: 0 drops, [`GO_ON`] goes on.
    pub next: u16,
    /// A number that packets keep.
    pub opaque: u32,
    /// Bytes by which the start of the packet moves forward, or back if negative.
    pub advance: i32,
    /// Additional action.
    pub action: Action,
}

/// A table. Replaced as a whole by control; its sessions change in place.
#[derive(Clone)]
pub struct Table {
    /// The bits that are compared.
    pub mask: Key,
    /// The bytes in which some bit is compared ([`Key::used`]).
    pub compared: u128,
    /// Vectors that are left out in front.
    pub skip: u32,
    /// Vectors that are compared.
    pub vectors: usize,
    /// The table that is asked when no session matches.
    pub next: Option<u32>,
    /// The number of the next node of packets that match no session of the last table.
    pub miss: u16,
    /// Offset of the first vector from the packet's current header, instead of from where packets
    /// begin.
    pub offset: Option<i16>,
    /// The sessions.
    pub sessions: Arc<Exact<Session>>,
}

impl Table {
    /// Bytes that are left out in front.
    #[inline(always)]
    pub fn skipped(&self) -> usize {
        self.skip as usize * VECTOR
    }
}

/// The result of a packet's lookup in a chain of tables.
pub struct Verdict<'t> {
    /// The table that has the session, or the last one.
    pub table: u32,
    /// Index and values of the session.
    pub session: Option<(u32, &'t Session)>,
    /// The number of the next node.
    pub next: u16,
    /// The session is one of a table behind the first.
    pub chained: bool,
}

/// Looks a packet up in a chain of tables. `key` reads the masked bytes of a table.
/// `None` if the first table isn't there.
#[inline(always)]
pub fn walk<'t>(
    tables: &'t Slots<Table>,
    first: u32,
    turn: &'t Turn<'_>,
    mut key: impl FnMut(&Table) -> Key,
) -> Option<Verdict<'t>> {
    let (mut index, mut table) = (first, tables.get(first, turn)?);
    for chained in 0..MAX_CHAIN {
        if let Some((at, session)) = table.sessions.find(&key(table).and(&table.mask), turn) {
            let session = Some((at, session));
            let next = session.map_or(GO_ON, |(_, session)| session.next);
            return Some(Verdict { table: index, session, next, chained: chained > 0 });
        }
        let Some((next, behind)) =
            table.next.and_then(|next| Some((next, tables.get(next, turn)?)))
        else {
            break;
        };
        (index, table) = (next, behind);
    }
    Some(Verdict { table: index, session: None, next: table.miss, chained: false })
}
