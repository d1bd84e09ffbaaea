// SPDX-License-Identifier: Apache-2.0
//! What control keeps of bonds, and what workers read of them.

use crate::lacp::Lacp;
use crate::model::{Balance, BondInfo, MemberInfo, Mode, NewBond};
use graph::{Deleted, Shared, SwIfIndex, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, OnceLock};
use sync::{Slots, Turn};

/// What workers read of a bond.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BondView {
    pub mode: Mode,
    pub balance: Balance,
    /// Admin up.
    pub up: bool,
    /// Active members, in the order of the hash; in mode active-backup the current one only.
    pub active: Vec<u32>,
}

/// Which frames a member takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// All.
    All,
    /// None: another member of the active-backup bond is the current one.
    Backup,
    /// None: LACP hasn't brought it into the bond.
    Waiting,
}

/// What workers read of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberView {
    pub bond: u32,
    pub takes: Takes,
}

/// A bond, as control knows it.
pub(crate) struct Bond {
    pub id: u32,
    pub made: NewBond,
    pub members: Vec<MemberInfo>,
    /// Active members as of the last change.
    pub active: Vec<SwIfIndex>,
    /// Active-backup: the member that was the current one last.
    pub current: Option<SwIfIndex>,
    /// MTU while it has no member.
    pub mtu: u16,
}

#[derive(Default)]
pub(crate) struct Control {
    pub bonds: BTreeMap<SwIfIndex, Bond>,
    /// Numbers in names.
    pub ids: BTreeSet<u32>,
}

impl Control {
    /// The bond of a member.
    pub fn bond_of(&self, sw_if: SwIfIndex) -> Option<SwIfIndex> {
        self.bonds
            .iter()
            .find(|(_, bond)| bond.members.iter().any(|member| member.sw_if == sw_if))
            .map(|(sw_if, _)| *sw_if)
    }

    pub fn member_mut(&mut self, sw_if: SwIfIndex) -> Option<(Mode, &mut MemberInfo)> {
        self.bonds.values_mut().find_map(|bond| {
            let mode = bond.made.mode;
            Some((mode, bond.members.iter_mut().find(|member| member.sw_if == sw_if)?))
        })
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
}

impl Shared for Bonds {
    fn make(world: &World) -> Self {
        Self {
            control: Mutex::default(),
            views: Slots::new(world.qsbr.clone()),
            members: Slots::new(world.qsbr.clone()),
            lacp: OnceLock::new(),
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

    /// What workers read of a bond.
    #[inline(always)]
    pub(crate) fn view<'t>(&'t self, bond: u32, turn: &'t Turn<'_>) -> Option<&'t BondView> {
        self.views.get(bond, turn)
    }

    /// What workers read of a member; `None` for an interface that is none.
    #[inline(always)]
    pub(crate) fn member_view(&self, sw_if: u32, turn: &Turn<'_>) -> Option<MemberView> {
        self.members.get(sw_if, turn).copied()
    }

    /// A bond.
    pub fn get(&self, sw_if: SwIfIndex) -> Option<BondInfo> {
        self.control().bonds.get(&sw_if).map(|bond| info(sw_if, bond))
    }

    /// All bonds, by index.
    pub fn list(&self) -> Vec<BondInfo> {
        self.control().bonds.iter().map(|(sw_if, bond)| info(*sw_if, bond)).collect()
    }

    /// A member.
    pub fn member(&self, sw_if: SwIfIndex) -> Option<MemberInfo> {
        self.control().member_mut(sw_if).map(|(_, member)| *member)
    }
}

fn info(sw_if: SwIfIndex, bond: &Bond) -> BondInfo {
    BondInfo {
        sw_if,
        id: bond.id,
        made: bond.made,
        balance: Balance::of(bond.made.mode, bond.made.balance),
        active: bond.active.clone(),
        members: bond.members.clone(),
    }
}
