// SPDX-License-Identifier: Apache-2.0
//! From paths to adjacencies, and again when something has changed.

use super::control::{Cx, Inner};
use super::list::{ListId, PathList, Resolved, State};
use super::spread::spread;
use super::{Extensions, Net, Path, PathKind, TableIndex};
use crate::AdjIndex;
use graph::SwIfIndex;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use wire::Prefix;

/// How often a list is resolved for one change. Changes that go round in a circle end there.
const ROUNDS: u8 = 64;

impl<F: Net> Inner<F> {
    /// The list with these paths, for one more entry.
    pub fn intern(&mut self, cx: &Cx<'_>, paths: &[Path<F::Addr>]) -> ListId {
        if let Some(&id) = self.interned.get(paths) {
            if let Some(list) = self.lists.get_mut(id) {
                list.refs += 1;
            }
            return id;
        }
        let paths: Arc<[_]> = paths.into();
        let fixed = match &paths[..] {
            [Path { kind: PathKind::Fixed(adj), .. }] if *adj != AdjIndex::NO_ROUTE => Some(F::fixed(*adj)),
            _ => None,
        };
        let id = self.lists.insert(PathList {
            paths: paths.clone(),
            refs: 1,
            adj: fixed.unwrap_or_default(),
            owned: fixed.is_none(),
            now: Resolved::default(),
            users: BTreeSet::new(),
        });
        for path in paths.iter() {
            if let PathKind::Recursive { table, nexthop } = path.kind {
                self.vias.entry((table, nexthop)).or_default().insert(id);
            }
        }
        self.interned.insert(paths, id);
        let now = self.resolve(cx, id);
        if fixed.is_none() {
            let adj = cx.adjacencies.alias(now.target);
            if let Some(list) = self.lists.get_mut(id) {
                list.adj = adj;
            }
        }
        self.follow(id, now);
        id
    }

    /// One entry less has the list.
    pub fn let_go(&mut self, cx: &Cx<'_>, id: ListId) {
        let Some(list) = self.lists.get_mut(id) else { return };
        list.refs -= 1;
        if list.refs > 0 {
            return;
        }
        let Some(list) = self.lists.remove(id) else { return };
        self.interned.remove(&list.paths);
        for path in list.paths.iter() {
            if let PathKind::Recursive { table, nexthop } = path.kind
                && let Some(ids) = self.vias.get_mut(&(table, nexthop))
            {
                ids.remove(&id);
                if ids.is_empty() {
                    self.vias.remove(&(table, nexthop));
                }
            }
        }
        for followed in &list.now.follows {
            if let Some(followed) = self.lists.get_mut(*followed) {
                followed.users.remove(&id);
            }
        }
        self.refresh(cx, list.users);
        if list.owned {
            cx.adjacencies.release(list.adj);
        }
    }

    /// Notes what a list comes to now.
    fn follow(&mut self, id: ListId, now: Resolved) {
        let Some(list) = self.lists.get_mut(id) else { return };
        let old = std::mem::replace(&mut list.now, now.clone());
        for gone in old.follows.difference(&now.follows) {
            if let Some(list) = self.lists.get_mut(*gone) {
                list.users.remove(&id);
            }
        }
        for new in now.follows.difference(&old.follows) {
            if let Some(list) = self.lists.get_mut(*new) {
                list.users.insert(id);
            }
        }
    }

    /// Resolves lists again, and those that follow them as far as it matters.
    pub fn refresh(&mut self, cx: &Cx<'_>, lists: impl IntoIterator<Item = ListId>) {
        let mut queue: VecDeque<ListId> = lists.into_iter().collect();
        let mut rounds: HashMap<ListId, u8> = HashMap::new();
        while let Some(id) = queue.pop_front() {
            if !self.lists.contains(id) {
                continue;
            }
            let round = rounds.entry(id).or_default();
            *round += 1;
            if *round > ROUNDS {
                continue;
            }
            let now = self.resolve(cx, id);
            let Some(list) = self.lists.get(id) else { continue };
            if !list.owned {
                continue;
            }
            if list.now.target == now.target {
                cx.adjacencies.release(now.target);
            } else {
                cx.adjacencies.retarget(list.adj, now.target);
            }
            if list.now.follows != now.follows {
                // Whether a path leads back to its own list depends on all that lies between.
                queue.extend(self.all_users(id));
            } else if list.now.state != now.state {
                queue.extend(&list.users);
            }
            self.follow(id, now);
        }
    }

    /// What the paths of a list come to. The caller holds the target once more.
    fn resolve(&self, cx: &Cx<'_>, id: ListId) -> Resolved {
        let Some(list) = self.lists.get(id) else { return Resolved::default() };
        let mut now = Resolved::default();
        let mut members: Vec<(AdjIndex, Path<F::Addr>, State)> = Vec::new();
        for path in list.paths.iter() {
            let mut looped = false;
            let found = self.resolve_path(cx, id, path, &mut now.follows, &mut looped);
            now.found.push(found.map(|(adj, _)| adj));
            now.looped.push(looped);
            members.extend(found.map(|(adj, state)| (adj, *path, state)));
        }
        let best = members.iter().map(|(_, path, _)| path.preference).min().unwrap_or(0);
        let (members, others): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|(_, path, _)| path.preference == best);
        others.into_iter().for_each(|(adj, ..)| cx.adjacencies.release(adj));
        now.state = match &members[..] {
            [] => State::Unusable,
            [(.., first), others @ ..] if others.iter().all(|(.., state)| state == first) => *first,
            _ => State::Usable,
        };
        now.target = together::<F>(cx, members.into_iter().map(|(adj, path, _)| (adj, path.weight)));
        now
    }

    /// Where a path leads, held once for the caller, and what that is good for; `None` if it can't be taken now.
    fn resolve_path(
        &self,
        cx: &Cx<'_>,
        id: ListId,
        path: &Path<F::Addr>,
        follows: &mut BTreeSet<ListId>,
        looped: &mut bool,
    ) -> Option<(AdjIndex, State)> {
        let up = |sw_if: SwIfIndex| cx.interfaces.get(sw_if).is_ok_and(|i| i.admin_up && i.link_up);
        let adjacencies = cx.adjacencies;
        Some(match path.kind {
            PathKind::Attached { sw_if, address } => {
                let adj = up(sw_if).then(|| adjacencies.glean(cx.world, sw_if, address.into()).ok())??;
                (adj, State::Attached(sw_if))
            }
            PathKind::Neighbor { sw_if, nexthop } => {
                let to = || adjacencies.neighbor_for(cx.world, F::LINK, sw_if, nexthop).ok();
                (up(sw_if).then(to)??, State::Usable)
            }
            PathKind::Receive { sw_if, address } => {
                (adjacencies.receive(cx.world, sw_if, address.into()).ok()?, State::Unusable)
            }
            PathKind::Lookup(table) => (adjacencies.lookup(F::LINK, table.0), State::Usable),
            PathKind::Fixed(adj) => (F::fixed(adj), State::Unusable),
            PathKind::Extension(kind, object) => {
                let taker = cx.world.get::<Extensions>().taker(kind).ok()?;
                (taker(cx.world, F::LINK, object).ok()?, State::Usable)
            }
            PathKind::Recursive { table, nexthop } => {
                let (route, via) = self.covering(table, nexthop, F::BITS)?;
                follows.insert(via);
                if self.leads_to(via, id) {
                    *looped = true;
                    return None;
                }
                let list = self.lists.get(via)?;
                let adj = match list.now.state {
                    State::Unusable => return None,
                    State::Attached(sw_if) => adjacencies.neighbor(cx.world, sw_if, nexthop.into()).ok()?,
                    State::Usable => {
                        adjacencies.hold_again(list.adj);
                        list.adj
                    }
                };
                (adjacencies.via(route.0, adj), State::Usable)
            }
        })
    }

    /// Whether whoever follows `from` comes to `to`.
    fn leads_to(&self, from: ListId, to: ListId) -> bool {
        let (mut left, mut seen) = (vec![from], BTreeSet::new());
        while let Some(id) = left.pop() {
            if id == to {
                return true;
            }
            if seen.insert(id)
                && let Some(list) = self.lists.get(id)
            {
                left.extend(&list.now.follows);
            }
        }
        false
    }

    /// The lists that follow one, those that follow these, and so on.
    fn all_users(&self, id: ListId) -> BTreeSet<ListId> {
        let (mut left, mut seen) = (vec![id], BTreeSet::new());
        while let Some(list) = left.pop().and_then(|id| self.lists.get(id)) {
            left.extend(list.users.iter().copied().filter(|user| seen.insert(*user)));
        }
        seen
    }

    /// Lists with a next hop in this prefix: what an entry for it decides.
    pub fn affected(&self, table: TableIndex, prefix: Prefix<F::Addr>) -> BTreeSet<ListId> {
        let range = (table, prefix.network().addr())..=(table, prefix.last());
        self.vias.range(range).flat_map(|(_, ids)| ids).copied().collect()
    }
}

/// One adjacency for several. The caller holds each once, and the result once.
fn together<F: Net>(cx: &Cx<'_>, members: impl Iterator<Item = (AdjIndex, u8)>) -> AdjIndex {
    let mut weights: BTreeMap<AdjIndex, u32> = BTreeMap::new();
    for (adj, weight) in members {
        let sum = weights.entry(adj).or_default();
        if *sum > 0 {
            // Two paths to the same place are one with the weight of both.
            cx.adjacencies.release(adj);
        }
        *sum += u32::from(weight.max(1));
    }
    let adjs: Vec<AdjIndex> = weights.keys().copied().collect();
    match adjs[..] {
        [] => AdjIndex::UNREACH,
        [one] => one,
        _ => {
            let weights: Vec<u32> = weights.into_values().collect();
            let counts = spread(&weights);
            let buckets: Vec<AdjIndex> =
                adjs.iter().zip(counts).flat_map(|(adj, n)| std::iter::repeat_n(*adj, n)).collect();
            cx.adjacencies.load_balance(F::LINK, &buckets)
        }
    }
}
