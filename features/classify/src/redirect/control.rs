// SPDX-License-Identifier: Apache-2.0
//! Redirects and their paths.

use super::node;
use crate::control::{ActionConfig, SessionConfig};
use crate::key::VECTOR;
use crate::state::Classifier;
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{Link, Path, Tracked};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Bytes of a match in messages at most.
pub const MATCH: usize = 80;

/// A redirect, as it was asked for.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The number that packets of the session keep.
    pub opaque: u32,
    /// It is for punted packets.
    pub is_punt: bool,
    /// The packets are of IPv6.
    pub v6: bool,
    /// Bytes that packets are compared with, from where the table's first vector is, those that it
    /// leaves out included.
    pub matched: Vec<u8>,
    /// The paths, in order.
    pub paths: Vec<Path>,
}

struct State {
    redirect: Redirect,
    tracked: Tracked,
}

/// All redirects, by table and the bytes of the match that the table compares.
#[derive(Default)]
pub struct Redirects(Mutex<BTreeMap<(u32, Vec<u8>), State>>);

impl Shared for Redirects {
    fn make(world: &World) -> Self {
        // Made first.
        world.get::<Classifier>();
        Self::default()
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        for (table, mut redirect) in self.list() {
            let n = redirect.paths.len();
            redirect.paths.retain(|path| path.sw_if() != Some(sw_if));
            let done = if redirect.paths.is_empty() {
                self.delete(world, table, &redirect.matched)
            } else if redirect.paths.len() < n {
                self.set(world, table, redirect)
            } else {
                Ok(())
            };
            if let Err(error) = done {
                log::warn!("a redirect keeps a path by an interface that is deleted: {error}");
            }
        }
    }
}

/// A match as long as the table compares; bytes that aren't given are zero.
fn padded(world: &World, table: u32, bytes: &[u8]) -> Result<Vec<u8>> {
    let info = world.get::<Classifier>().table(table)?;
    let want = info.table.skipped() + info.table.vectors * VECTOR;
    if bytes.len() > want {
        let why = format!("a match of table {table} has {want} bytes, not {}", bytes.len());
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    let mut bytes = bytes.to_vec();
    bytes.resize(want, 0);
    Ok(bytes)
}

/// The bytes that tell redirects of a table apart.
fn key(world: &World, table: u32, padded: &[u8]) -> Result<Vec<u8>> {
    let info = world.get::<Classifier>().table(table)?;
    let compared = padded.get(info.table.skipped()..).unwrap_or_default();
    Ok(compared.iter().zip(info.mask()).map(|(byte, mask)| byte & mask).collect())
}

impl Redirects {
    fn all(&self) -> MutexGuard<'_, BTreeMap<(u32, Vec<u8>), State>> {
        self.0.lock().expect("no panic inside")
    }

    /// All redirects with their tables.
    pub fn list(&self) -> Vec<(u32, Redirect)> {
        let all = self.all();
        all.iter().map(|((table, _), state)| (*table, state.redirect.clone())).collect()
    }

    /// Makes a redirect, or gives the one of this match other paths.
    ///
    /// # Errors
    /// A table that isn't there (−65); a match that is longer than the table's (−7); no path (−52);
    /// a path that a route couldn't have.
    pub fn set(&self, world: &World, table: u32, redirect: Redirect) -> Result<()> {
        if redirect.paths.is_empty() {
            let why = "a redirect needs a path: `via …'";
            return Err(Error::usage(why).retval(retval::NO_PATHS_IN_ROUTE));
        }
        let mut redirect = redirect;
        if redirect.matched.is_empty() {
            // A match without a byte has no words in commands.
            redirect.matched.push(0);
        }
        let bytes = padded(world, table, &redirect.matched)?;
        let key = (table, key(world, table, &bytes)?);
        let link = if redirect.v6 { Link::IP6 } else { Link::IP4 };
        let tracked = Tracked::over(world, link, &redirect.paths)?;
        let node = world.node(node::name(redirect.v6)).unwrap_or_default();
        let config = SessionConfig {
            next: node.0,
            opaque: redirect.opaque,
            advance: 0,
            action: ActionConfig::Redirect(tracked.adj.0),
        };
        let classifier = world.get::<Classifier>();
        classifier
            .add_session(world, table, &bytes, config)
            .inspect_err(|_| tracked.release(world))?;
        match self.all().insert(key, State { redirect, tracked }) {
            Some(old) => old.tracked.release(world),
            None => classifier.hold_table(table),
        }
        world.note_config_change();
        Ok(())
    }

    /// Deletes a redirect.
    ///
    /// # Errors
    /// A table that isn't there (−65); a match that is longer than the table's (−7); no such
    /// redirect (−6).
    pub fn delete(&self, world: &World, table: u32, matched: &[u8]) -> Result<()> {
        let bytes = padded(world, table, matched)?;
        let Some(old) = self.all().remove(&(table, key(world, table, &bytes)?)) else {
            let why = format!("table {table} has no such redirect");
            return Err(Error::not_found(why).retval(retval::NO_SUCH_ENTRY));
        };
        let classifier = world.get::<Classifier>();
        let done = classifier.delete_any_session(world, table, &bytes);
        classifier.let_table_go(table);
        old.tracked.release(world);
        world.note_config_change();
        done
    }
}
