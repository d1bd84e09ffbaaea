// SPDX-License-Identifier: Apache-2.0
//! Settings as workers read them, and what they count.

use crate::map::Maps;
use graph::{Shared, World};
use nat::key::spread_of;
use nat::timeouts::Timeouts;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use sync::{Snapshot, Turn};

/// The node of users' packets.
pub const IN2OUT: &str = "det44-in2out";
/// The node of the world's packets.
pub const OUT2IN: &str = "det44-out2in";
/// Maps at most.
pub const MAPS: usize = 4096;

/// Bits of [`Settings::roles`].
pub mod role {
    /// Users are behind the interface.
    pub const INSIDE: u8 = 1;
    /// The world is behind it.
    pub const OUTSIDE: u8 = 2;
}

/// The settings.
#[derive(Clone, Default, Debug)]
pub struct Settings {
    /// True while the feature is enabled.
    pub enabled: bool,
    /// See [`Timeouts`].
    pub timeouts: Timeouts,
    /// The maps.
    pub maps: Maps,
    /// By interface: see [`role`].
    pub roles: Vec<u8>,
    /// Index of the world's table, where no interface has one.
    pub outside: u32,
    /// Indices of the tables of the interfaces to the world.
    pub outsides: Vec<u32>,
    /// Number of the instance's threads.
    pub threads: u16,
}

impl Settings {
    /// The roles of an interface.
    #[inline(always)]
    pub fn role(&self, sw_if: u32) -> u8 {
        self.roles.get(sw_if as usize).copied().unwrap_or(0)
    }

    /// The thread that has the sessions of a user.
    #[inline(always)]
    pub fn thread_of(&self, user: Ipv4Addr) -> u16 {
        match u32::from(self.threads) {
            0 | 1 => 0,
            n => (1 + spread_of(user) % (n - 1)) as u16,
        }
    }
}

/// State that control publishes, and the number of sessions of each map.
pub struct Det {
    settings: Snapshot<Settings>,
    sessions: Box<[AtomicU32]>,
}

impl Shared for Det {
    fn make(world: &World) -> Self {
        Self {
            settings: Snapshot::new(world.qsbr.clone(), Settings::default()),
            sessions: (0..MAPS).map(|_| AtomicU32::new(0)).collect(),
        }
    }
}

impl Det {
    /// The settings.
    #[inline(always)]
    pub fn settings<'t>(&'t self, turn: &'t Turn<'_>) -> &'t Settings {
        self.settings.get(turn)
    }

    /// Control: publishes other settings.
    pub fn publish(&self, settings: Settings) {
        self.settings.set(settings);
    }

    /// Control: the maps.
    pub fn maps(&self) -> Maps {
        self.settings.read(|settings| settings.maps.clone())
    }

    /// Control: the timeouts.
    pub fn timeouts(&self) -> Timeouts {
        self.settings.read(|settings| settings.timeouts)
    }

    /// Number of sessions of a map.
    pub fn sessions(&self, map: u32) -> u32 {
        self.sessions.get(map as usize).map_or(0, |n| n.load(Ordering::Relaxed))
    }

    /// Counts a session of a map that begins, or ends.
    pub fn count(&self, map: u32, begins: bool) {
        let Some(n) = self.sessions.get(map as usize) else { return };
        match begins {
            true => n.fetch_add(1, Ordering::Relaxed),
            false => n.fetch_sub(1, Ordering::Relaxed),
        };
    }
}
