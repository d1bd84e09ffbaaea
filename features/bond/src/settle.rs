// SPDX-License-Identifier: Apache-2.0
//! Selection of the active members and of the current one.

use crate::model::{Balance, MemberInfo, Mode, Stage};
use crate::state::{Acceptance, BondView, Bonds, Control, MemberView};
use graph::{SwIfIndex, World};
use net::Interfaces;
use std::cmp::Reverse;

/// Active members in the order of the hash: that of joining. Of an active-backup bond the best one
/// is first: the highest weight, then the current one, so that a link that comes back takes nothing
/// over, then the lowest index.
pub fn order(
    mode: Mode,
    mut active: Vec<MemberInfo>,
    current: Option<SwIfIndex>,
) -> Vec<SwIfIndex> {
    if mode == Mode::ActiveBackup {
        active.sort_by_key(|member| {
            (Reverse(member.weight), Some(member.sw_if) != current, member.sw_if)
        });
    }
    active.into_iter().map(|member| member.sw_if).collect()
}

impl Bonds {
    /// Finds the active members of a bond, publishes them to workers and sets the bond's link
    /// state. Announces addresses if the current member of an active-backup bond has changed.
    pub(crate) fn settle(&self, world: &World, sw_if: SwIfIndex) {
        let interfaces = world.get::<Interfaces>();
        let Ok(interface) = interfaces.get(sw_if) else { return };
        let (has_link, has_switched) = {
            let mut control = self.control();
            let Control { bonds, members, .. } = &mut *control;
            let Some(bond) = bonds.get_mut(&sw_if) else { return };
            let mode = bond.made.mode;
            let (mut active, mut acceptance) = (Vec::new(), Vec::new());
            for member in bond.members.iter().filter_map(|member| members.get(member)) {
                let state = interfaces.get(member.sw_if);
                let (admin, link) = state.map_or((false, false), |i| (i.admin_up, i.link_up));
                let takes_frames = match mode {
                    _ if !admin => Acceptance::Down,
                    Mode::Lacp if member.stage == Stage::Idle => Acceptance::Waiting,
                    _ => Acceptance::All,
                };
                acceptance.push((member.sw_if, takes_frames));
                if admin && link && (mode != Mode::Lacp || member.stage == Stage::Distributing) {
                    active.push(*member);
                }
            }
            bond.active = order(mode, active, bond.current);
            let (mut current, mut used) = (None, &bond.active[..]);
            if mode == Mode::ActiveBackup {
                current = used.first().copied();
                used = used.get(..1).unwrap_or_default();
                let is_backup = |(member, acceptance): &&mut (_, Acceptance)| {
                    Some(*member) != current && *acceptance == Acceptance::All
                };
                acceptance
                    .iter_mut()
                    .filter(is_backup)
                    .for_each(|(_, acceptance)| *acceptance = Acceptance::Backup);
            }
            let view = BondView {
                balance: Balance::of(mode, bond.made.balance),
                up: interface.admin_up,
                active: used.iter().map(|member| member.0).collect(),
            };
            self.publish(sw_if, view, &acceptance);
            let has_switched =
                current.is_some() && bond.current.is_some() && bond.current != current;
            // The last one stays known while there is none: another one that comes up then is a
            // switch too.
            bond.current = current.or(bond.current);
            (!bond.active.is_empty(), has_switched)
        };
        // The interface is there.
        _ = interfaces.set_link(world, sw_if, interface.admin_up && has_link);
        if has_switched {
            self.announce(world, sw_if);
        }
    }

    fn publish(&self, sw_if: SwIfIndex, view: BondView, members: &[(SwIfIndex, Acceptance)]) {
        if self.views.read(sw_if.0, |old| old != Some(&view)) {
            self.views.set(sw_if.0, view);
        }
        for (member, acceptance) in members {
            let view = MemberView { bond: sw_if.0, acceptance: *acceptance };
            if self.members.read(member.0, |old| old != Some(&view)) {
                self.members.set(member.0, view);
            }
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn the_best_member_of_an_active_backup_bond_is_first() {
        let member = |sw_if, weight| MemberInfo {
            sw_if: SwIfIndex(sw_if),
            bond: SwIfIndex(9),
            passive: false,
            long_timeout: false,
            weight,
            stage: Stage::Idle,
        };
        let first = |members: &[(u32, u32)], current: Option<u32>| {
            let active = members.iter().map(|(sw_if, weight)| member(*sw_if, *weight)).collect();
            order(Mode::ActiveBackup, active, current.map(SwIfIndex))[0].0
        };
        assert_eq!(first(&[(3, 0), (2, 0), (4, 0)], None), 2, "the lowest index");
        assert_eq!(first(&[(3, 0), (2, 0), (4, 0)], Some(4)), 4, "the current one stays");
        assert_eq!(first(&[(3, 7), (2, 0), (4, 0)], Some(4)), 3, "weight comes first");
        assert_eq!(first(&[(3, 7), (2, 7), (4, 7)], Some(5)), 2);
        let xor = order(Mode::Xor, vec![member(3, 0), member(2, 9)], Some(SwIfIndex(2)));
        assert_eq!(xor, [SwIfIndex(3), SwIfIndex(2)], "others: the order of joining");
    }
}
