// SPDX-License-Identifier: Apache-2.0
//! Control's state of bonds, and the copy of it for workers.

use crate::model::{Balance, BondInfo, Lacp, MemberInfo, Mode, NewBond};
use graph::{Deleted, Shared, Signal, SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, OnceLock};
use sync::{Slots, Turn};

/// The part of a bond that workers read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BondView {
    pub balance: Balance,
    /// Admin up.
    pub up: bool,
    /// Active members, in the order of the hash; in mode active-backup the current one only.
    pub active: Vec<u32>,
}

/// The acceptance of a member's received frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acceptance {
    /// It takes all frames.
    All,
    /// None: it is admin down.
    Down,
    /// None: another member of the active-backup bond is the current one.
    Backup,
    /// None: LACP hasn't brought it into the bond.
    Waiting,
}

/// The part of a member that workers read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberView {
    pub bond: u32,
    pub acceptance: Acceptance,
}

/// A bond, as control knows it.
pub(crate) struct Bond {
    pub id: u32,
    pub made: NewBond,
    /// In the order in which they joined.
    pub members: Vec<SwIfIndex>,
    /// Active members as of the last change.
    pub active: Vec<SwIfIndex>,
    /// Active-backup: the member that was the current one last.
    pub current: Option<SwIfIndex>,
}

#[derive(Default)]
pub(crate) struct Control {
    pub bonds: BTreeMap<SwIfIndex, Bond>,
    /// Members of all bonds.
    pub members: BTreeMap<SwIfIndex, MemberInfo>,
    /// Numbers in names.
    pub ids: BTreeSet<u32>,
    /// Interfaces whose addresses are to be announced.
    pub unannounced: BTreeSet<SwIfIndex>,
}

impl Control {
    /// The lowest number that no bond has.
    pub fn free_id(&self) -> u32 {
        let n = self.ids.len() as u32;
        if self.ids.last().is_none_or(|last| *last < n) {
            return n;
        }
        let mut taken = self.ids.iter().copied();
        (0..n).find(|id| taken.next() != Some(*id)).unwrap_or(n)
    }

    /// The bond of a member.
    pub fn bond_of(&self, sw_if: SwIfIndex) -> Option<SwIfIndex> {
        self.members.get(&sw_if).map(|member| member.bond)
    }

    /// A member, with the mode of its bond.
    pub fn member_mut(&mut self, sw_if: SwIfIndex) -> Option<(Mode, &mut MemberInfo)> {
        let member = self.members.get_mut(&sw_if)?;
        Some((self.bonds.get(&member.bond)?.made.mode, member))
    }

    fn info(&self, sw_if: SwIfIndex, bond: &Bond) -> BondInfo {
        BondInfo {
            sw_if,
            id: bond.id,
            made: bond.made,
            balance: Balance::of(bond.made.mode, bond.made.balance),
            active: bond.active.clone(),
            members: bond
                .members
                .iter()
                .filter_map(|member| self.members.get(member).copied())
                .collect(),
        }
    }
}

/// All bonds of an instance.
pub struct Bonds {
    control: Mutex<Control>,
    /// By bond.
    pub(crate) views: Slots<BondView>,
    /// By member.
    pub(crate) members: Slots<MemberView>,
    pub(crate) lacp: OnceLock<Lacp>,
    /// Wakes the process that announces addresses.
    pub(crate) signal: Signal,
}

impl Shared for Bonds {
    fn make(world: &World) -> Self {
        Self {
            control: Mutex::default(),
            views: Slots::new(world.qsbr.clone()),
            members: Slots::new(world.qsbr.clone()),
            lacp: OnceLock::new(),
            signal: world.processes.signal(),
        }
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(&sw_if) = deleted.of::<SwIfIndex>() else { return };
        self.forget_interface(world, sw_if);
    }
}

impl Bonds {
    pub(crate) fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no panic inside")
    }

    /// The bond as workers see it.
    #[inline(always)]
    pub(crate) fn view<'t>(&'t self, bond: u32, turn: &'t Turn<'_>) -> Option<&'t BondView> {
        self.views.get(bond, turn)
    }

    /// The member as workers see it; `None` for an interface that is none.
    #[inline(always)]
    pub(crate) fn member_view(&self, sw_if: u32, turn: &Turn<'_>) -> Option<MemberView> {
        self.members.get(sw_if, turn).copied()
    }

    /// The bond of a member.
    pub(crate) fn bond_of(&self, sw_if: SwIfIndex) -> Option<SwIfIndex> {
        self.control().bond_of(sw_if)
    }

    /// A bond.
    pub fn get(&self, sw_if: SwIfIndex) -> Option<BondInfo> {
        let control = self.control();
        control.bonds.get(&sw_if).map(|bond| control.info(sw_if, bond))
    }

    /// The indices of all bonds.
    pub fn indices(&self) -> Vec<SwIfIndex> {
        self.control().bonds.keys().copied().collect()
    }

    /// All bonds, by index.
    pub fn list(&self) -> Vec<BondInfo> {
        let control = self.control();
        control.bonds.iter().map(|(sw_if, bond)| control.info(*sw_if, bond)).collect()
    }
}
