// SPDX-License-Identifier: Apache-2.0
//! Next-hop objects: next hops and groups of them, which routes name by number.

use netlink::{Hop, NextHopTarget, RouteKind};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Number of objects of a peer at most.
pub const MOST: usize = 1 << 16;
/// Number of members of all groups at most.
pub const MOST_MEMBERS: usize = 1 << 20;

/// The objects of a peer.
#[derive(Default)]
pub struct Objects {
    all: HashMap<u32, NextHopTarget>,
    /// By an object, there or not, the groups that have it.
    groups_of: HashMap<u32, BTreeSet<u32>>,
    /// Number of members of all groups.
    members: usize,
    /// Number of routes that name an object.
    uses: HashMap<u32, u32>,
    /// Objects whose routes have to be set anew.
    changed: HashSet<u32>,
}

impl Objects {
    /// Number of objects.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Number of next hops that a route by an object may have.
    pub fn width(&self, id: u32) -> usize {
        match self.all.get(&id) {
            Some(NextHopTarget::Group(members)) => members.len(),
            _ => 1,
        }
    }

    /// Sets an object. Returns false if there are too many.
    pub fn set(&mut self, id: u32, target: NextHopTarget) -> bool {
        if self.all.get(&id) == Some(&target) {
            return true;
        }
        let members = |target: &NextHopTarget| match target {
            NextHopTarget::Group(members) => members.len(),
            _ => 0,
        };
        let before = self.all.get(&id).map(members);
        let after = self.members - before.unwrap_or_default() + members(&target);
        if before.is_none() && self.all.len() >= MOST || after > MOST_MEMBERS {
            return false;
        }
        self.unlist(id);
        if let NextHopTarget::Group(members) = &target {
            for (member, _) in members {
                self.groups_of.entry(*member).or_default().insert(id);
            }
        }
        self.members = after;
        self.all.insert(id, target);
        self.touch(id);
        true
    }

    /// Removes an object, if it is there.
    pub fn remove(&mut self, id: u32) {
        self.unlist(id);
        if let Some(NextHopTarget::Group(members)) = self.all.remove(&id) {
            self.members -= members.len();
        }
        self.touch(id);
    }

    /// Takes a group out of the lists of its members.
    fn unlist(&mut self, id: u32) {
        let Some(NextHopTarget::Group(members)) = self.all.get(&id) else { return };
        for (member, _) in members {
            if let Some(groups) = self.groups_of.get_mut(member) {
                groups.remove(&id);
                if groups.is_empty() {
                    self.groups_of.remove(member);
                }
            }
        }
    }

    /// Notes that routes by an object lead elsewhere, and those by groups that have it.
    fn touch(&mut self, id: u32) {
        let groups = self.groups_of.get(&id);
        for id in groups.into_iter().flatten().copied().chain([id]) {
            if self.uses.contains_key(&id) {
                self.changed.insert(id);
            }
        }
    }

    /// One route less names the object `old`, and one more the object `new`; 0 is none.
    pub fn moved(&mut self, old: u32, new: u32) {
        if old == new {
            return;
        }
        if let Some(uses) = self.uses.get_mut(&old) {
            *uses -= 1;
            if *uses == 0 {
                self.uses.remove(&old);
            }
        }
        if new != 0 {
            *self.uses.entry(new).or_default() += 1;
        }
    }

    /// Returns true if a route may lead by an object: it is there, or a group has it.
    pub fn may_be_named(&self, id: u32) -> bool {
        self.all.contains_key(&id) || self.groups_of.contains_key(&id)
    }

    /// Takes the objects whose routes have to be set anew.
    pub fn take_changed(&mut self) -> HashSet<u32> {
        std::mem::take(&mut self.changed)
    }

    /// Returns true if routes have to be set anew.
    pub fn have_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// The next hops of an object; `None` if there is none: packets can't be sent by it. Members of
    /// a group that aren't there are left out; a group has no groups as members.
    pub fn resolve(&self, id: u32) -> Option<(RouteKind, Vec<Hop>)> {
        let members = match self.all.get(&id)? {
            NextHopTarget::Hop(hop) => return Some((RouteKind::Unicast, vec![*hop])),
            NextHopTarget::Blackhole => return Some((RouteKind::Blackhole, Vec::new())),
            NextHopTarget::Group(members) => members,
        };
        let mut kind = None;
        let mut hops = Vec::with_capacity(members.len());
        for (member, weight) in members {
            match self.all.get(member) {
                Some(NextHopTarget::Hop(hop)) => hops.push(Hop { weight: *weight, ..*hop }),
                Some(NextHopTarget::Blackhole) => kind = Some(RouteKind::Blackhole),
                Some(NextHopTarget::Group(_)) | None => {}
            }
        }
        match hops.is_empty() {
            true => kind.map(|kind| (kind, hops)),
            false => Some((RouteKind::Unicast, hops)),
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn hop(n: u8) -> NextHopTarget {
        let gateway = Some([10, 0, 0, n].into());
        NextHopTarget::Hop(Hop { index: 3, gateway, weight: 1, is_encapsulated: false })
    }

    fn weights(objects: &Objects, id: u32) -> Option<Vec<(String, u16)>> {
        let (_, hops) = objects.resolve(id)?;
        Some(hops.iter().map(|h| (h.gateway.expect("one").to_string(), h.weight)).collect())
    }

    #[suite::test]
    fn groups_follow_their_members() {
        let mut objects = Objects::default();
        assert!(objects.set(3, NextHopTarget::Group(vec![(1, 2), (2, 5)])));
        assert_eq!(weights(&objects, 3), None, "its members aren't there");
        objects.moved(0, 3);
        assert!(objects.set(1, hop(1)));
        assert_eq!(objects.take_changed(), [3].into());
        assert_eq!(weights(&objects, 3), Some(vec![("10.0.0.1".into(), 2)]));
        assert!(objects.set(2, hop(2)) && objects.set(2, hop(2)));
        assert_eq!(objects.take_changed(), [3].into());
        let both = vec![("10.0.0.1".to_string(), 2), ("10.0.0.2".to_string(), 5)];
        assert_eq!(weights(&objects, 3), Some(both));
        objects.remove(1);
        assert_eq!(objects.take_changed(), [3].into());
        assert_eq!(weights(&objects, 3), Some(vec![("10.0.0.2".into(), 5)]));
        assert!(objects.set(2, NextHopTarget::Blackhole));
        assert_eq!(objects.resolve(3).map(|(kind, _)| kind), Some(RouteKind::Blackhole));
        // A group in a group, or in itself, is no next hop.
        assert!(objects.set(4, NextHopTarget::Group(vec![(3, 1), (4, 1)])));
        assert_eq!(objects.resolve(4), None);
        // Nobody uses it any more.
        objects.moved(3, 0);
        objects.take_changed();
        objects.remove(2);
        objects.remove(3);
        objects.remove(4);
        assert!(!objects.have_changed());
        assert_eq!((objects.len(), objects.members, objects.groups_of.len()), (0, 0, 0));
    }

    #[suite::test]
    fn objects_are_bounded() {
        let mut objects = Objects::default();
        let most = MOST as u32;
        assert!((1..=most).all(|id| objects.set(id, hop(1))));
        assert!(!objects.set(most + 1, hop(1)));
        assert!(objects.set(5, hop(2)), "those that are there may change");
        let group = |n: usize| NextHopTarget::Group(vec![(1, 1); n]);
        let full = (1..=most).take_while(|id| objects.set(*id, group(8000))).count();
        assert_eq!(full, MOST_MEMBERS / 8000);
        objects.remove(1);
        assert!(objects.set(most, group(8000)));
    }
}
