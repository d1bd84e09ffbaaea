// SPDX-License-Identifier: Apache-2.0
//! Configuration of tables and sessions.

use crate::exact::{EntryInfo, Exact, MAX_ENTRIES};
use crate::key::{Key, MAX_VECTORS, VECTOR};
use crate::object::CLASSIFIED;
use crate::state::{Classifier, Control, ReferencedTable, TableState};
use crate::table::{Action, GO_ON, MAX_CHAIN, Session, Table};
use cli::{Error, Result, retval};
use graph::World;
use net::{Fib, Net, Objects, Source, TableIndex};
use std::collections::BTreeSet;
use std::sync::Arc;
use wire::{Ip4, Ip6};

/// Maximum number of skipped vectors of a table: as many as the largest packet has.
pub const MAX_SKIP: u32 = 4095;
/// Tables at most.
pub const MAX_TABLES: usize = 1 << 16;
/// Buckets and bytes that VPP takes for a table if a request doesn't name them.
pub const DEFAULT_BUCKETS: u32 = 2;

/// Settings of a new table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableConfig {
    /// The bits that are compared: a multiple of 16 bytes.
    pub mask: Vec<u8>,
    /// Vectors that are left out in front.
    pub skip: u32,
    /// Reported as they were asked for, up to a power of 2: the table grows.
    pub buckets: u32,
    /// The table that is looked up when no session matches.
    pub next: Option<u32>,
    /// The number of the next node of packets without session; [`u32::MAX`] goes on.
    pub miss: u32,
    /// Offset of the first vector from the packet's current header, instead of from where packets
    /// begin.
    pub offset: Option<i16>,
}

/// Settings of a new session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionConfig {
    /// The number of the next node: 0 drops, [`u32::MAX`] goes on.
    pub next: u32,
    /// A number that packets keep.
    pub opaque: u32,
    /// Bytes by which the start of the packet moves forward, or back if negative.
    pub advance: i32,
    /// Additional action.
    pub action: ActionConfig,
}

/// The additional action on packets of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ActionConfig {
    /// Nothing.
    #[default]
    None,
    /// IP packets are looked up in the table of routes of this id; with `true` those of IPv6.
    Fib(bool, u32),
    /// Packets keep this number.
    Metadata(u32),
    /// Packets take the paths of this forwarding object.
    Redirect(u32),
}

/// A copy of a table's state, for commands and the API.
#[derive(Clone)]
pub struct TableInfo {
    /// Its index.
    pub index: u32,
    /// As workers read it.
    pub table: Table,
    /// Buckets that were asked for.
    pub buckets: u32,
    /// It was made for a filter.
    pub of_filter: bool,
}

impl TableInfo {
    /// The mask's bytes.
    pub fn mask(&self) -> Vec<u8> {
        self.table.mask.bytes(self.table.vectors)
    }
}

/// The error for a table that isn't there.
pub fn no_table(index: u32) -> Error {
    Error::not_found(format!("there is no classifier table {index}")).retval(retval::NO_SUCH_TABLE)
}

/// Sessions of redirects are changed and deleted with these only: else they would be said to be
/// there, and weren't.
fn check_owner(table: &Table, key: &Key) -> Result<()> {
    let session = table.sessions.value(key);
    if !session.is_some_and(|session| matches!(session.action, Action::Redirect(_))) {
        return Ok(());
    }
    let why = "the session is of a redirect";
    Err(Error::failed(why).hint("`ip session redirect del' deletes both"))
}

/// The number of a next node: 16 bits, as sessions hold it.
fn number(next: u32) -> u16 {
    u16::try_from(next).unwrap_or(GO_ON)
}

impl Control {
    fn table(&self, index: u32) -> Result<&TableState> {
        self.tables.get(&index).ok_or_else(|| no_table(index))
    }

    /// Tables of the chain that begins with one.
    pub fn chain(&self, first: u32) -> Vec<u32> {
        let next = |index: &u32| self.tables.get(index)?.table.next;
        let all = std::iter::successors(Some(first), next)
            .filter(|index| self.tables.contains_key(index));
        all.take(MAX_CHAIN).collect()
    }

    /// Checks that a chain may go on behind a table with another one.
    fn check_next(&self, index: Option<u32>, next: Option<u32>) -> Result<()> {
        let Some(next) = next else { return Ok(()) };
        self.table(next)?;
        let chain = self.chain(next);
        if index.is_some_and(|index| chain.contains(&index)) {
            return Err(Error::failed(format!("table {next} leads back to the table"))
                .retval(retval::INVALID_VALUE));
        }
        // Chains may lead there as well.
        let in_front = index.map_or(0, |index| self.tables_in_front(index));
        if in_front + 1 + chain.len() > MAX_CHAIN {
            let why = format!("a chain has at most {MAX_CHAIN} tables");
            return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
        }
        Ok(())
    }

    /// Number of tables in front of a table in the longest chain that leads to it.
    fn tables_in_front(&self, index: u32) -> usize {
        let mut links: Vec<(u32, u32)> =
            self.tables.iter().filter_map(|(of, state)| Some((state.table.next?, *of))).collect();
        links.sort_unstable();
        let (mut count, mut level) = (0, vec![index]);
        loop {
            let leading = |to: u32| {
                let from = links.partition_point(|(next, _)| *next < to);
                links[from..]
                    .iter()
                    .take_while(move |(next, _)| *next == to)
                    .map(move |(_, of)| *of)
            };
            level = level.into_iter().flat_map(leading).collect();
            if level.is_empty() || count > MAX_CHAIN {
                return count;
            }
            count += 1;
        }
    }

    /// The first of these tables that is used by something other than one of them, and a
    /// description of the user.
    fn user(&self, world: &World, all: &BTreeSet<u32>) -> Option<(u32, String)> {
        let name = |sw_if| world.get::<net::Interfaces>().name(sw_if);
        let own = |index: &u32| all.contains(index);
        for (of, state) in self.tables.iter().filter(|(of, _)| !own(of)) {
            if let Some(next) = state.table.next.filter(own) {
                return Some((next, format!("it is the next table of table {of}")));
            }
        }
        if let Some(((direction, sw_if, _), table)) = self.acls.iter().find(|(_, table)| own(table))
        {
            return Some((
                *table,
                format!("it is an {} ACL of {}", direction.word(), name(*sw_if)),
            ));
        }
        for ((direction, sw_if), tables) in &self.l2 {
            if let Some(table) = tables.iter().copied().flatten().find(own) {
                return Some((
                    table,
                    format!("it classifies {} of {}", direction.word(), name(*sw_if)),
                ));
            }
        }
        if let Some(((sw_if, _), (table, _))) =
            self.routed.iter().find(|(_, (table, _))| own(table))
        {
            return Some((*table, format!("it classifies packets to {}", name(*sw_if))));
        }
        if let Some(first) = self.filters.values().find(|first| own(first)) {
            return Some((*first, "it is a filter of traces or captures".into()));
        }
        if let Some(held) = self.held.keys().find(|table| own(table)) {
            return Some((*held, "it has sessions that are redirected".into()));
        }
        let routed = all.iter().find(|index| Objects::is_used(world, &CLASSIFIED, **index));
        routed.map(|index| (*index, "a route leads to it".into()))
    }
}

impl Classifier {
    /// Publishes a table, after control has changed it.
    pub(crate) fn publish(&self, control: &Control, index: u32) {
        match control.tables.get(&index) {
            Some(state) => self.tables.set(index, state.table.clone()),
            None => _ = self.tables.clear(index),
        }
    }

    /// Makes a table; `at` an index that is free, or at the lowest free one. Returns its index.
    ///
    /// # Errors
    /// A mask of no or more than 5 vectors, no buckets, too many vectors that are left out, or a
    /// chain that leads back (−7); a next table that isn't there (−65); an index in use (−81);
    /// too many tables (−162).
    pub fn add_table(&self, world: &World, config: &TableConfig, at: Option<u32>) -> Result<u32> {
        self.make_table(world, config, at, false)
    }

    pub(crate) fn make_table(
        &self,
        world: &World,
        config: &TableConfig,
        at: Option<u32>,
        of_filter: bool,
    ) -> Result<u32> {
        let invalid = |why: String| Err(Error::parse(why).retval(retval::INVALID_VALUE));
        let TableConfig { mask, skip, buckets, next, miss, offset } = config;
        let vectors = mask.len() / VECTOR;
        if !mask.len().is_multiple_of(VECTOR) || vectors == 0 || vectors > MAX_VECTORS {
            return invalid(format!(
                "a mask has 1 to {MAX_VECTORS} vectors of {VECTOR} bytes, not {} bytes",
                mask.len()
            ));
        }
        if *skip > MAX_SKIP {
            return invalid(format!("at most {MAX_SKIP} vectors can be left out, not {skip}"));
        }
        if *buckets == 0 {
            return invalid("a table needs a bucket".into());
        }
        self.links.note(world, number(*miss));
        let mut control = self.control();
        control.check_next(None, *next)?;
        if control.tables.len() >= MAX_TABLES {
            let why = format!("there are {MAX_TABLES} tables, the most there may be");
            return Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED));
        }
        let free = || (0..).zip(control.tables.keys()).find(|(i, key)| i != *key).map(|(i, _)| i);
        let index = at.or_else(free).unwrap_or(control.tables.len() as u32);
        if control.tables.contains_key(&index) {
            return Err(
                Error::failed(format!("there is a table {index}")).retval(retval::VALUE_EXIST)
            );
        }
        if index as usize >= MAX_TABLES {
            return invalid(format!("indices of tables are below {MAX_TABLES}"));
        }
        let table = Table {
            mask: Key::of(mask),
            compared: Key::of(mask).used(),
            skip: *skip,
            vectors,
            next: *next,
            miss: number(*miss),
            offset: *offset,
            sessions: Arc::new(Exact::new(
                &world.qsbr,
                world.threads(),
                vectors,
                self.total.clone(),
            )),
        };
        let buckets = buckets.checked_next_power_of_two().unwrap_or(1 << 31);
        control.tables.insert(index, TableState { table, buckets, of_filter });
        self.publish(&control, index);
        drop(control);
        // Routes may have waited for it.
        Objects::refresh(world, &CLASSIFIED, index);
        world.note_config_change();
        Ok(index)
    }

    /// Sets the table that is asked behind a table.
    ///
    /// # Errors
    /// A table that isn't there (−65); a chain that leads back (−7) or is too long (−162).
    pub fn set_next(&self, world: &World, index: u32, next: Option<u32>) -> Result<()> {
        let mut control = self.control();
        control.table(index)?;
        control.check_next(Some(index), next)?;
        if let Some(state) = control.tables.get_mut(&index) {
            state.table.next = next;
        }
        self.publish(&control, index);
        drop(control);
        world.note_config_change();
        Ok(())
    }

    /// Deletes a table with its sessions; with `chain`, the tables behind it too.
    ///
    /// # Errors
    /// A table that isn't there (−65); one that is used (−155): nothing is deleted then.
    pub fn delete_table(&self, world: &World, index: u32, chain: bool) -> Result<()> {
        let mut control = self.control();
        control.table(index)?;
        let all = if chain { control.chain(index) } else { vec![index] };
        let all: BTreeSet<u32> = all.into_iter().collect();
        if let Some((index, user)) = control.user(world, &all) {
            return Err(Error::failed(format!("table {index} is in use: {user}"))
                .retval(retval::RSRC_IN_USE));
        }
        for index in all {
            let gone = control.tables.remove(&index);
            control.remains.extend(gone.map(|state| (state.table.sessions, 0)));
            self.publish(&control, index);
        }
        drop(control);
        self.sweep(world);
        self.signal.raise();
        world.note_config_change();
        Ok(())
    }

    /// The part of a match that a table compares.
    fn key_of(&self, index: u32, bytes: &[u8]) -> Result<(Table, Key)> {
        let table = self.control().table(index)?.table.clone();
        let want = table.skipped() + table.vectors * VECTOR;
        if bytes.len() != want {
            let why = format!("a match of table {index} has {want} bytes, not {}", bytes.len());
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        }
        let key = Key::of(&bytes[table.skipped()..]).and(&table.mask);
        Ok((table, key))
    }

    /// Sets a session. Bytes of the match under the skipped vectors are ignored, and bits outside
    /// the mask. Its hits are 0 then.
    ///
    /// # Errors
    /// A table that isn't there (−65); a match of another length (−7); too many sessions (−162); a
    /// session of a redirect, which no other kind may replace.
    pub fn add_session(
        &self,
        world: &World,
        index: u32,
        bytes: &[u8],
        config: SessionConfig,
    ) -> Result<()> {
        let (table, key) = self.key_of(index, bytes)?;
        let SessionConfig { next, opaque, advance, action } = config;
        if !matches!(action, ActionConfig::Redirect(_)) {
            check_owner(&table, &key)?;
        }
        self.links.note(world, number(next));
        let action = self.hold(world, action)?;
        let session = Session { next: number(next), opaque, advance, action };
        match table.sessions.set(&key, session) {
            Ok(old) => {
                world.note_config_change();
                old.map_or(Ok(()), |old| self.release(world, old.action))
            }
            Err(_) => {
                self.release(world, action)?;
                let why = format!(
                    "all tables together have {MAX_ENTRIES} sessions, the most there may be"
                );
                Err(Error::limit(why).retval(retval::LIMIT_EXCEEDED))
            }
        }
    }

    /// Deletes a session.
    ///
    /// # Errors
    /// A table that isn't there (−65); a match of another length (−7); no such session (−6); a
    /// session of a redirect.
    pub fn delete_session(&self, world: &World, index: u32, bytes: &[u8]) -> Result<()> {
        let (table, key) = self.key_of(index, bytes)?;
        check_owner(&table, &key)?;
        self.delete_any_session(world, index, bytes)
    }

    /// The same, for the owner of a redirect too.
    pub(crate) fn delete_any_session(&self, world: &World, index: u32, bytes: &[u8]) -> Result<()> {
        let (table, key) = self.key_of(index, bytes)?;
        let none = || {
            Error::not_found(format!("table {index} has no such session"))
                .retval(retval::NO_SUCH_ENTRY)
        };
        let old = table.sessions.remove(&key).ok_or_else(none)?;
        world.note_config_change();
        self.release(world, old.action)
    }

    /// Keeps a table from being deleted, until [`Self::let_table_go`] was called as often.
    pub fn hold_table(&self, index: u32) {
        *self.control().held.entry(index).or_default() += 1;
    }

    /// See [`Self::hold_table`].
    pub fn let_table_go(&self, index: u32) {
        let mut control = self.control();
        if let Some(held) = control.held.get_mut(&index) {
            *held -= 1;
            if *held == 0 {
                control.held.remove(&index);
            }
        }
    }

    /// Creates the table of routes that an action names if it doesn't exist, and takes a reference
    /// on it.
    fn hold(&self, world: &World, action: ActionConfig) -> Result<Action> {
        fn add<F: Net>(world: &World, id: u32) -> Result<TableIndex> {
            let fib = world.get::<Fib<F>>();
            if id == 0 {
                Ok(TableIndex::DEFAULT)
            } else {
                fib.add_table(world, id, "", Source::Classify)
            }
        }
        let (v6, id) = match action {
            ActionConfig::None => return Ok(Action::None),
            ActionConfig::Metadata(n) => return Ok(Action::Metadata(n)),
            ActionConfig::Redirect(n) => return Ok(Action::Redirect(n)),
            ActionConfig::Fib(v6, id) => (v6, id),
        };
        let index = if v6 { add::<Ip6>(world, id)? } else { add::<Ip4>(world, id)? };
        let mut control = self.control();
        let Control { fibs, free_vrfs, .. } = &mut *control;
        let used = fibs.len() as u32;
        let held = fibs.entry((v6, id)).or_insert_with(|| ReferencedTable {
            slot: free_vrfs.pop().unwrap_or(used),
            index,
            sessions: 0,
        });
        held.sessions += 1;
        if held.sessions == 1 {
            self.vrfs.set(held.slot, index);
            // The table stays, whoever deletes it: a load of the sessions makes it again.
            match (id, v6) {
                (0, _) => {}
                (_, true) => _ = world.get::<Fib<Ip6>>().hold_table(id)?,
                (_, false) => _ = world.get::<Fib<Ip4>>().hold_table(id)?,
            }
        }
        Ok(Action::Fib { v6, id, slot: held.slot })
    }

    /// Drops the reference of an action on a table of routes.
    pub(crate) fn release(&self, world: &World, action: Action) -> Result<()> {
        let Action::Fib { v6, id, slot } = action else { return Ok(()) };
        let index = {
            let mut control = self.control();
            let Some(held) = control.fibs.get_mut(&(v6, id)) else { return Ok(()) };
            held.sessions -= 1;
            if held.sessions > 0 {
                return Ok(());
            }
            let index = held.index;
            control.fibs.remove(&(v6, id));
            control.free_vrfs.push(slot);
            self.vrfs.clear(slot);
            index
        };
        if id == 0 {
            return Ok(());
        }
        fn delete<F: Net>(world: &World, id: u32, index: TableIndex) -> Result<()> {
            let fib = world.get::<Fib<F>>();
            // Its last owner may have deleted it.
            fib.release_table(world, index);
            let owned = fib.owners(index).contains(&Source::Classify);
            if owned { fib.delete_table(world, id, Source::Classify).map(drop) } else { Ok(()) }
        }
        if v6 { delete::<Ip6>(world, id, index) } else { delete::<Ip4>(world, id, index) }
    }

    /// The table of an index.
    ///
    /// # Errors
    /// One that isn't there (−65).
    pub fn table(&self, index: u32) -> Result<TableInfo> {
        let control = self.control();
        let TableState { table, buckets, of_filter } = control.table(index)?;
        Ok(TableInfo { index, table: table.clone(), buckets: *buckets, of_filter: *of_filter })
    }

    /// All tables, by index.
    pub fn list(&self) -> Vec<TableInfo> {
        let control = self.control();
        let info = |(index, state): (&u32, &TableState)| TableInfo {
            index: *index,
            table: state.table.clone(),
            buckets: state.buckets,
            of_filter: state.of_filter,
        };
        control.tables.iter().map(info).collect()
    }

    /// The session at an index of a table, while both are there.
    pub fn session(&self, table: u32, at: u32) -> Option<EntryInfo<Session>> {
        let sessions = self.control().table(table).ok()?.table.sessions.clone();
        sessions.get(at)
    }
}
