// SPDX-License-Identifier: Apache-2.0
//! Resolves paths to adjacencies, and again when their dependencies change.

use super::control::{Cx, Inner};
use super::list::{ListId, PathList, Resolved, State, distinct};
use super::spread::spread;
use super::{
    Extension, Extensions, Fib, Net, Path, PathKind, PathState, ResolveVia, TableIndex, Tracked,
};
use crate::{AdjIndex, NextHop};
use cli::Error;
use graph::SwIfIndex;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use wire::Prefix;

/// Maximum number of times that a list is resolved for one change, so that circular changes end.
pub(super) const ROUNDS: u8 = 64;

/// The weight of a share of 1, where shares of packets become weights.
const SHARE: f64 = 65536.0;

/// The adjacency of a usable path.
#[derive(Clone, Copy)]
struct PathAdjacency {
    adj: AdjIndex,
    /// State for recursive paths: they can follow the path, or not.
    state: State,
    /// True if its next hop is down, or all next hops of the route that it follows.
    down: bool,
}

impl<F: Net> Inner<F> {
    /// Takes a reference on the list with these paths; makes the list if it is new.
    #[inline(never)]
    pub fn intern(&mut self, cx: &Cx<'_>, paths: &[Path<F::Addr>]) -> ListId {
        let paths = distinct(paths);
        if let Some(&id) = self.interned.get(&*paths) {
            if let Some(list) = self.lists.get_mut(id) {
                list.refs += 1;
            }
            return id;
        }
        let paths: Arc<[_]> = (&*paths).into();
        let fixed = match &paths[..] {
            [Path { kind: PathKind::Fixed(adj), .. }] if *adj != AdjIndex::NO_ROUTE => {
                Some(F::fixed(*adj))
            }
            _ => None,
        };
        let id = self.lists.insert(PathList {
            paths: paths.clone(),
            refs: 1,
            trackers: 0,
            watchers: BTreeSet::new(),
            adj: fixed.unwrap_or_default(),
            owned: fixed.is_none(),
            now: Resolved::default(),
            users: BTreeSet::new(),
        });
        for path in paths.iter() {
            if let Some(sw_if) = path.sw_if() {
                self.by_if.entry(sw_if).or_default().insert(id);
            }
            match path.kind {
                PathKind::Recursive { table, nexthop } => {
                    self.vias.entry((table, nexthop)).or_default().insert(id);
                }
                PathKind::RecursiveOther { table, nexthop } => {
                    self.cross_family.entry((table, nexthop)).or_default().insert(id);
                    cx.cross_family.set::<F>(self.cross_family.len());
                }
                PathKind::Extension(kind, object) => {
                    let lists = self.objects.entry((kind, object)).or_default();
                    let is_first = lists.is_empty();
                    lists.insert(id);
                    if is_first {
                        cx.world.get::<Extensions>().report_use(
                            cx.world,
                            F::LINK,
                            (kind, object),
                            true,
                        );
                    }
                }
                _ => {}
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

    /// Gives a reference on a list back; the last one removes the list.
    #[inline(never)]
    pub fn let_go(&mut self, cx: &Cx<'_>, id: ListId) {
        let Some(list) = self.lists.get_mut(id) else { return };
        list.refs -= 1;
        if list.paths.iter().any(|path| path.table().is_some()) {
            cx.cross_family.note_unused();
        }
        if list.refs > 0 {
            return;
        }
        let Some(list) = self.lists.remove(id) else { return };
        self.interned.remove(&list.paths);
        for path in list.paths.iter() {
            if let Some(sw_if) = path.sw_if() {
                unlist(&mut self.by_if, sw_if, id);
            }
            match path.kind {
                PathKind::Recursive { table, nexthop } => {
                    unlist(&mut self.vias, (table, nexthop), id)
                }
                PathKind::RecursiveOther { table, nexthop } => {
                    unlist(&mut self.cross_family, (table, nexthop), id);
                    cx.cross_family.set::<F>(self.cross_family.len());
                }
                PathKind::Extension(kind, object) => {
                    let key = (kind, object);
                    // A list may have several paths to an object, for example of different weights.
                    let was_used = self.objects.contains_key(&key);
                    unlist(&mut self.objects, key, id);
                    if was_used && !self.objects.contains_key(&key) {
                        cx.world.get::<Extensions>().report_use(cx.world, F::LINK, key, false);
                    }
                }
                _ => {}
            }
        }
        for followed in &list.now.follows {
            if let Some(followed) = self.lists.get_mut(*followed) {
                followed.users.remove(&id);
            }
        }
        self.index_hops(id, &list.now.hops, &[]);
        list.now.left_out.iter().for_each(|adj| cx.adjacencies.release(*adj));
        self.refresh(cx, list.users);
        if list.owned {
            cx.adjacencies.release(list.adj);
        }
    }

    /// Stores what a list resolves to now, and keeps the indices of lists up to date.
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
        if old.hops != now.hops {
            self.index_hops(id, &old.hops, &now.hops);
        }
    }

    /// Updates the index of lists by neighbour.
    fn index_hops(&mut self, id: ListId, old: &[NextHop], new: &[NextHop]) {
        for hop in old {
            if let Entry::Occupied(mut lists) = self.hops.entry(*hop) {
                lists.get_mut().remove(&id);
                if lists.get().is_empty() {
                    lists.remove();
                }
            }
        }
        for hop in new {
            self.hops.entry(*hop).or_default().insert(id);
        }
    }

    /// Resolves lists again, and those that follow them as far as that changes something. Until a
    /// list is resolved its packets may be lost, so lists with most users come first, and
    /// adjacencies are released last.
    #[inline(never)]
    pub fn refresh(&mut self, cx: &Cx<'_>, lists: impl IntoIterator<Item = ListId>) {
        let mut lists: Vec<ListId> = lists.into_iter().collect();
        lists.sort_by_cached_key(|id| Reverse(self.weight(*id)));
        let mut queue = VecDeque::from(lists);
        let mut rounds: HashMap<ListId, u8> = HashMap::new();
        let mut left = Vec::new();
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
            left.push(if list.now.target == now.target {
                now.target
            } else {
                cx.adjacencies.retarget(list.adj, now.target)
            });
            left.extend(&list.now.left_out);
            if list.now.follows != now.follows {
                // All lists between a path and its own list can make the path looped.
                queue.extend(self.all_users(id));
            } else if (list.now.state, list.now.down) != (now.state, now.down) {
                queue.extend(&list.users);
            }
            if list.now.state != now.state {
                self.watchers_due.extend(&list.watchers);
            }
            if list.now != now {
                self.note_list_moved(cx.cross_family);
            }
            self.follow(id, now);
        }
        left.into_iter().for_each(|adj| cx.adjacencies.release(adj));
    }

    /// The urgency of a list: whether it has other paths to turn to, and how many entries and lists
    /// use it.
    fn weight(&self, id: ListId) -> (bool, usize) {
        self.lists
            .get(id)
            .map_or((false, 0), |list| (list.paths.len() > 1, list.refs + list.users.len()))
    }

    /// Resolves the paths of a list. The caller gets a reference on the target.
    fn resolve(&self, cx: &Cx<'_>, id: ListId) -> Resolved {
        let Some(list) = self.lists.get(id) else { return Resolved::default() };
        let mut now = Resolved::default();
        let mut members: Vec<(PathAdjacency, Path<F::Addr>)> = Vec::new();
        for path in list.paths.iter() {
            let way = self.resolve_path(cx, id, path, &mut now);
            now.found.push(way.ok().map(|way| way.adj));
            now.states.push(match way {
                Ok(way) if way.down => PathState::Down,
                Ok(_) => PathState::Resolved,
                Err(state) => state,
            });
            members.extend(way.ok().map(|way| (way, *path)));
        }
        now.hops.sort_unstable();
        now.hops.dedup();
        // Paths that are down are left out while another is usable.
        let leads_on = members.iter().any(|(way, _)| !way.down && way.state != State::Unusable);
        now.down = !leads_on && members.iter().any(|(way, _)| way.down);
        let kept = |way: &PathAdjacency| now.down || !way.down;
        let best =
            members.iter().filter(|(way, _)| kept(way)).map(|(_, path)| path.preference).min();
        let (mut members, others): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|(way, path)| kept(way) && Some(path.preference) == best);
        for (way, _) in others {
            if kept(&way) {
                cx.adjacencies.release(way.adj);
            } else {
                now.left_out.push(way.adj);
            }
        }
        now.state = match &members[..] {
            [] => State::Unusable,
            [(first, _), others @ ..] if others.iter().all(|(way, _)| way.state == first.state) => {
                first.state
            }
            _ => State::Usable,
        };
        // Sorted, not in the order of adding: so a flow takes the same path after a restart.
        members.sort_by_key(|(_, path)| path.kind);
        now.target =
            together::<F>(cx, members.into_iter().map(|(way, path)| (way.adj, path.weight.into())));
        now
    }

    /// Resolves a path. The caller gets a reference on its adjacency; the error says why the path
    /// can't be used.
    fn resolve_path(
        &self,
        cx: &Cx<'_>,
        id: ListId,
        path: &Path<F::Addr>,
        now: &mut Resolved,
    ) -> Result<PathAdjacency, PathState> {
        let adjacencies = cx.adjacencies;
        let unresolved = |_: Error| PathState::Unresolved;
        let up =
            |sw_if| if cx.interfaces.is_up(sw_if) { Ok(()) } else { Err(PathState::Unresolved) };
        let way = |adj, state| Ok(PathAdjacency { adj, state, down: false });
        match path.kind {
            PathKind::Attached { sw_if, address } => {
                up(sw_if)?;
                let adj = adjacencies.glean(cx.world, sw_if, address.into()).map_err(unresolved)?;
                way(adj, State::Attached(sw_if))
            }
            PathKind::Neighbor { sw_if, nexthop } => {
                let hop = NextHop { sw_if, ip: nexthop };
                now.hops.push(hop);
                up(sw_if)?;
                let adj = adjacencies
                    .neighbor_for(cx.world, F::LINK, sw_if, nexthop)
                    .map_err(unresolved)?;
                Ok(PathAdjacency { adj, state: State::Usable, down: cx.nexthops.is_down(hop) })
            }
            PathKind::Receive { sw_if, address } => {
                let adj =
                    adjacencies.receive(cx.world, sw_if, address.into()).map_err(unresolved)?;
                way(adj, State::Unusable)
            }
            PathKind::Lookup(table) => way(adjacencies.lookup(F::LINK, table.0), State::Usable),
            PathKind::SourceLookup(table) => {
                way(adjacencies.lookup_source(F::LINK, table.0), State::Usable)
            }
            PathKind::Fixed(adj) => way(F::fixed(adj), State::Unusable),
            PathKind::Extension(kind, object) => {
                if kind == Extension::Dvr {
                    up(SwIfIndex(object))?;
                }
                let of = cx.world.get::<Extensions>().object_type(kind).map_err(unresolved)?;
                if let Some(over) = (of.over)(cx.world, object) {
                    self.check_over(cx, id, over, now)?;
                }
                let adj = adjacencies.object(cx.world, of, F::LINK, object).map_err(unresolved)?;
                way(adj, State::Usable)
            }
            PathKind::Recursive { table, nexthop } => {
                let (route, via) =
                    self.covering(table, nexthop, F::BITS).ok_or(PathState::Unresolved)?;
                now.follows.insert(via);
                if self.leads_to(via, id) {
                    return Err(PathState::Looped);
                }
                let list = self.lists.get(via).ok_or(PathState::Unresolved)?;
                if !self.may_follow(path, list, (table, nexthop)) {
                    return Err(PathState::Unresolved);
                }
                let (adj, down) = match list.now.state {
                    State::Unusable => return Err(PathState::Unresolved),
                    State::Attached(sw_if) => {
                        let hop = NextHop { sw_if, ip: nexthop.into() };
                        now.hops.push(hop);
                        let adj =
                            adjacencies.neighbor(cx.world, sw_if, hop.ip).map_err(unresolved)?;
                        (adj, cx.nexthops.is_down(hop))
                    }
                    State::Usable => {
                        adjacencies.hold_again(list.adj);
                        (list.adj, list.now.down)
                    }
                };
                Ok(PathAdjacency { adj: adjacencies.via(route.0, adj), state: State::Usable, down })
            }
            PathKind::RecursiveOther { table, nexthop } => {
                let other = cx.world.get::<Fib<F::Other>>();
                let (route, hops) =
                    other.neighbors_of(table, nexthop).ok_or(PathState::Unresolved)?;
                now.hops.extend(hops.keys());
                let mut hops: Vec<_> =
                    hops.into_iter().filter(|(hop, _)| cx.interfaces.is_up(hop.sw_if)).collect();
                let down = hops.iter().all(|(hop, _)| cx.nexthops.is_down(*hop));
                hops.retain(|(hop, _)| down || !cx.nexthops.is_down(*hop));
                let adj =
                    |hop: NextHop| adjacencies.neighbor_for(cx.world, F::LINK, hop.sw_if, hop.ip);
                let weight = |share: f64| (share * SHARE).round() as u32;
                let adjs =
                    hops.iter().filter_map(|(hop, share)| Some((adj(*hop).ok()?, weight(*share))));
                let adjs: Vec<_> = adjs.collect();
                if adjs.is_empty() {
                    return Err(PathState::Unresolved);
                }
                let adj = together::<F>(cx, adjs.into_iter());
                Ok(PathAdjacency { adj: adjacencies.via(route.0, adj), state: State::Usable, down })
            }
        }
    }

    /// Checks that an object can send the packets of a path list by this route. The list is
    /// resolved again when that changes.
    fn check_over(
        &self,
        cx: &Cx<'_>,
        id: ListId,
        over: Tracked,
        now: &mut Resolved,
    ) -> Result<(), PathState> {
        let Some(list) = over.list_of::<F>() else {
            let is_usable = cx.world.get::<Fib<F::Other>>().watch(over, id);
            return if is_usable { Ok(()) } else { Err(PathState::Unresolved) };
        };
        now.follows.insert(list);
        if self.leads_to(list, id) {
            return Err(PathState::Looped);
        }
        let is_usable = self.lists.get(list).is_some_and(|list| list.now.state != State::Unusable);
        if is_usable { Ok(()) } else { Err(PathState::Unresolved) }
    }

    /// Returns true if the path's constraint lets it follow this list, which covers its next hop.
    fn may_follow(
        &self,
        path: &Path<F::Addr>,
        list: &PathList<F>,
        at: (TableIndex, F::Addr),
    ) -> bool {
        let (table, nexthop) = at;
        let is_attached = |path: &Path<F::Addr>| match path.kind {
            PathKind::Attached { .. } => true,
            PathKind::Neighbor { nexthop: neighbor, .. } => neighbor == nexthop.into(),
            _ => false,
        };
        match path.resolve_via {
            ResolveVia::Any => true,
            ResolveVia::Host => {
                let host = self.prefix_entry(table, Prefix::host(nexthop));
                host.is_ok_and(|place| place.route.is_some())
            }
            ResolveVia::Attached => list.paths.iter().any(is_attached),
        }
    }

    /// Returns true if following `from` leads to `to`.
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

    /// All lists that follow this one, directly or not.
    fn all_users(&self, id: ListId) -> BTreeSet<ListId> {
        let (mut left, mut seen) = (vec![id], BTreeSet::new());
        while let Some(list) = left.pop().and_then(|id| self.lists.get(id)) {
            left.extend(list.users.iter().copied().filter(|user| seen.insert(*user)));
        }
        seen
    }

    /// Lists with a next hop in this prefix, which its entry may resolve.
    pub fn affected(&self, table: TableIndex, prefix: Prefix<F::Addr>) -> BTreeSet<ListId> {
        let range = (table, prefix.network().addr())..=(table, prefix.last());
        self.vias.range(range).flat_map(|(_, ids)| ids).copied().collect()
    }
}

/// Removes a list from an index of lists.
fn unlist<K: Ord + Copy>(lists: &mut BTreeMap<K, BTreeSet<ListId>>, key: K, id: ListId) {
    let Some(ids) = lists.get_mut(&key) else { return };
    ids.remove(&id);
    if ids.is_empty() {
        lists.remove(&key);
    }
}

/// Makes one adjacency of several. Takes over the caller's reference on each, and gives one on the
/// result.
fn together<F: Net>(cx: &Cx<'_>, members: impl Iterator<Item = (AdjIndex, u32)>) -> AdjIndex {
    let (mut adjs, mut weights, mut places) = (Vec::new(), Vec::new(), HashMap::new());
    for (adj, weight) in members {
        let at = *places.entry(adj).or_insert(adjs.len());
        if at == adjs.len() {
            adjs.push(adj);
            weights.push(0u32);
        } else {
            // Two paths to one adjacency become one with both weights.
            cx.adjacencies.release(adj);
        }
        weights[at] += weight.max(1);
    }
    match adjs[..] {
        [] => AdjIndex::UNREACH,
        [one] => one,
        _ => {
            let counts = spread(&weights);
            let buckets: Vec<AdjIndex> =
                adjs.iter().zip(counts).flat_map(|(adj, n)| std::iter::repeat_n(*adj, n)).collect();
            cx.adjacencies.load_balance(F::LINK, &buckets)
        }
    }
}
