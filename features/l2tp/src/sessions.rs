// SPDX-License-Identifier: Apache-2.0
//! The sessions as received packets find them.

use crate::model::{Cookie, L2tp, LocalCookies, LookupBy};
use crate::startup_conf::Startup;
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use net::{IfCounters, Interfaces};
use object::Choice;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard};
use sync::{Slots, Snapshot, Turn};
use tables::HashIndex;
use tunnel::{Key, Spec, Tunnel, Tunnels};

/// A session as workers read it.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// Addresses, table and local session identifier.
    pub key: Key,
    /// The cookies that its packets may carry, as they stand there.
    pub cookies: [[u8; 8]; 2],
    /// A sublayer follows the cookie.
    pub sublayer: bool,
    /// Its interface.
    pub sw_if: u32,
}

/// Interfaces of sessions by the part of their keys that counts. Replaced as a whole when another
/// part counts.
struct Table {
    by: LookupBy,
    index: HashIndex,
}

/// Packets and bytes received and sent.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Received: packets, bytes.
    pub rx: (u64, u64),
    /// Sent: packets, bytes.
    pub tx: (u64, u64),
}

/// Bytes of each packet of `test lt2p counters`.
const TESTED: u64 = 64;

#[derive(Default)]
struct Control {
    /// Interfaces whose packets for sessions are taken before they are looked up.
    enabled: BTreeSet<SwIfIndex>,
    /// Counts at the time of `clear l2tp counters`.
    cleared: BTreeMap<SwIfIndex, Counts>,
    /// Runs of `test lt2p counters` since then.
    tested: BTreeMap<SwIfIndex, u64>,
}

/// All sessions.
pub struct Sessions {
    table: Snapshot<Table>,
    /// By the index of the interface.
    all: Slots<Session>,
    /// Secret: senders of packets can't choose identifiers that collide.
    seed: u64,
    control: Mutex<Control>,
}

impl Shared for Sessions {
    fn make(world: &World) -> Self {
        // There is no such node if startup.conf switches the plugin off.
        _ = world.link("l2tp-decap", "l2tp-decap-local");
        let by = world.startup::<Startup>().lookup();
        let table = Table { by, index: HashIndex::new(&world.qsbr) };
        Self {
            table: Snapshot::new(world.qsbr.clone(), table),
            all: Slots::new(world.qsbr.clone()),
            seed: RandomState::new().hash_one("l2tp"),
            control: Mutex::default(),
        }
    }

    fn forget(&self, _: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        {
            let mut control = self.control();
            control.enabled.remove(&sw_if);
            control.cleared.remove(&sw_if);
            control.tested.remove(&sw_if);
        }
        let session = self.all.read(sw_if.0, |session| session.copied());
        if let Some(session) = session {
            self.table.read(|table| {
                let hash = table.by.part(session.key).hash(self.seed);
                table.index.remove(hash, sw_if.0);
            });
            self.all.clear(sw_if.0);
        }
    }
}

impl Sessions {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    /// The field by which sessions are found.
    #[inline(always)]
    pub fn by(&self, turn: &Turn<'_>) -> LookupBy {
        self.table.get(turn).by
    }

    /// As [`Self::by`], for control.
    pub fn lookup(&self) -> LookupBy {
        self.table.read(|table| table.by)
    }

    /// The session of a received packet. It is one for the packet's destination.
    #[inline(always)]
    pub fn find<'t>(&'t self, key: Key, turn: &'t Turn<'_>) -> Option<&'t Session> {
        let table = self.table.get(turn);
        let part = table.by.part(key);
        let found = table.index.find(part.hash(self.seed), turn, |number| {
            self.all.get(number, turn).filter(|there| table.by.part(there.key) == part)
        });
        found.filter(|session| session.key.local == key.local)
    }

    /// Checks that received packets of a new session can be told from those of others.
    ///
    /// # Errors
    /// A table that isn't there (−3); another session that they could belong to (−7).
    pub fn check_new(&self, world: &World, spec: &L2tp) -> Result<()> {
        let ends = spec.ends();
        let key = spec.key(&ends, ends.table_index(world)?.0);
        let (by, other) = self.table.read(|table| {
            let part = table.by.part(key);
            let same = |number| {
                self.all.read(number, |there| {
                    there.filter(|there| table.by.part(there.key) == part).map(|there| there.sw_if)
                })
            };
            (table.by, table.index.read(part.hash(self.seed), same))
        });
        other.map_or(Ok(()), |sw_if| {
            let name = world.get::<Interfaces>().name(SwIfIndex(sw_if));
            let word = by.word();
            let why = format!("its packets are those of {name} already, by the lookup {word}");
            Err(Error::failed(why).retval(retval::INVALID_VALUE))
        })
    }

    /// Makes a session known to workers.
    ///
    /// # Errors
    /// A table that isn't there (−3).
    pub fn add(&self, world: &World, tunnel: &Tunnel<L2tp>) -> Result<()> {
        let (spec, sw_if) = (&tunnel.spec, tunnel.sw_if.0);
        let ends = spec.ends();
        let key = spec.key(&ends, ends.table_index(world)?.0);
        let cookies = spec.local_cookies.bytes();
        self.all.set(sw_if, Session { key, cookies, sublayer: spec.sublayer, sw_if });
        self.table.read(|table| table.index.insert(table.by.part(key).hash(self.seed), sw_if));
        Ok(())
    }

    /// Changes the cookies of a session. The local one before is accepted until the next change:
    /// the same cookie once more removes it (RFC 8159 3).
    ///
    /// # Errors
    /// An interface that isn't there or is no session (−2).
    pub fn set_cookies(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        local: Option<u64>,
        remote: Option<u64>,
    ) -> Result<()> {
        let tunnels = world.get::<Tunnels<L2tp>>();
        world.get::<Interfaces>().check(sw_if)?;
        let mut cookies = None;
        let changed = tunnels.change(world, sw_if, |spec| {
            if let Some(local) = local {
                spec.local_cookies =
                    LocalCookies { now: Cookie(local), before: spec.local_cookies.now };
            }
            spec.remote_cookie = remote.map_or(spec.remote_cookie, Cookie);
            cookies = Some(spec.local_cookies.bytes());
        });
        changed.map_err(|e| e.retval(retval::INVALID_SW_IF_INDEX))?;
        if let Some(cookies) = cookies {
            self.all.update(sw_if.0, |session| Session { cookies, ..*session });
        }
        Ok(())
    }

    /// Sets the field by which sessions are found.
    ///
    /// # Errors
    /// Two sessions that couldn't be told apart (−7).
    pub fn set_lookup(&self, world: &World, by: LookupBy) -> Result<()> {
        let mut known: HashMap<Key, u32> = HashMap::new();
        let mut same = None;
        self.all.for_each(|sw_if, session| {
            if let Some(other) = known.insert(by.part(session.key), sw_if) {
                same = Some((other, sw_if));
            }
        });
        if let Some((a, b)) = same {
            let name = |sw_if| world.get::<Interfaces>().name(SwIfIndex(sw_if));
            let (a, b, word) = (name(a), name(b), by.word());
            let why = format!("packets of {a} and {b} couldn't be told apart by the lookup {word}");
            return Err(Error::failed(why).retval(retval::INVALID_VALUE));
        }
        let index = HashIndex::new(&world.qsbr);
        for (part, sw_if) in known {
            index.insert(part.hash(self.seed), sw_if);
        }
        self.table.set(Table { by, index });
        world.note_config_change();
        Ok(())
    }

    /// Takes packets for sessions out of what an interface receives before they are looked up, or
    /// no longer.
    ///
    /// # Errors
    /// An interface that isn't there (−2).
    pub fn enable(&self, world: &World, sw_if: SwIfIndex, on: bool) -> Result<()> {
        world.get::<Interfaces>().check(sw_if)?;
        world.set_feature("ip6-unicast", "l2tp-decap", sw_if, on).map_err(Error::failed)?;
        {
            let mut control = self.control();
            _ = if on { control.enabled.insert(sw_if) } else { control.enabled.remove(&sw_if) };
        }
        world.note_config_change();
        Ok(())
    }

    /// The interfaces that [`Self::enable`] has enabled.
    pub fn enabled(&self) -> Vec<SwIfIndex> {
        self.control().enabled.iter().copied().collect()
    }

    /// Packets and bytes of a session since `clear l2tp counters`.
    pub fn counts(&self, world: &World, sw_if: SwIfIndex) -> Counts {
        let now = now(world, sw_if);
        let (before, tested) = {
            let control = self.control();
            let before = control.cleared.get(&sw_if).copied().unwrap_or_default();
            (before, control.tested.get(&sw_if).copied().unwrap_or(0))
        };
        let since = |now: (u64, u64), before: (u64, u64)| {
            // `clear interfaces` starts the interface's own counters again.
            let (packets, bytes) = if now.0 < before.0 {
                now
            } else {
                (now.0 - before.0, now.1.saturating_sub(before.1))
            };
            (packets + tested, bytes + TESTED * tested)
        };
        Counts { rx: since(now.rx, before.rx), tx: since(now.tx, before.tx) }
    }

    /// Starts the counts of all sessions again at zero.
    pub fn clear_counts(&self, world: &World) {
        let all = world.get::<Tunnels<L2tp>>().interfaces();
        let all = all.into_iter().map(|sw_if| (sw_if, now(world, sw_if))).collect();
        let mut control = self.control();
        control.cleared = all;
        control.tested.clear();
    }

    /// Adds a packet in each direction to the counts of all sessions, to test their readers. The
    /// counters of interfaces stay.
    pub fn test_counts(&self, world: &World) {
        let all = world.get::<Tunnels<L2tp>>().interfaces();
        let mut control = self.control();
        all.into_iter().for_each(|sw_if| *control.tested.entry(sw_if).or_default() += 1);
    }
}

fn now(world: &World, sw_if: SwIfIndex) -> Counts {
    let counters = world.get::<IfCounters>();
    Counts { rx: counters.rx.sum(sw_if.at()), tx: counters.tx.sum(sw_if.at()) }
}
