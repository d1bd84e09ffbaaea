// SPDX-License-Identifier: Apache-2.0
//! Resolves paths to adjacencies, and again when their dependencies change.

use super::inner::{Cx, Inner};
use super::key::{bits_of, width_of};
use super::list::{ListId, Resolved, State};
use super::spread::spread;
use super::{Path, PathKind, PathState, ResolveVia, RouteKey, TableIndex, TableRef};
use crate::adj::ObjectInterface;
use crate::nexthop::HopState;
use crate::{AdjIndex, Link, NextHop};
use cli::Error;
use graph::SwIfIndex;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;

/// Maximum number of times that a list is resolved for one change, so that circular changes end.
const ROUNDS: u8 = 64;

/// The adjacency of a usable path.
#[derive(Clone, Copy)]
struct PathAdjacency {
    adj: AdjIndex,
    /// State for recursive paths: they can follow the path, or not.
    state: State,
    /// True if its next hop is down, or all next hops of the route that it follows.
    down: bool,
}

impl Inner {
    /// Resolves lists again, and those that follow them as far as that changes something. Until a
    /// list is resolved its packets may be lost, so lists with most users come first, and
    /// adjacencies are released last.
    pub fn refresh(&mut self, cx: &Cx<'_>, lists: impl IntoIterator<Item = ListId>) {
        self.refresh_all(cx, lists.into_iter().collect());
    }

    fn refresh_all(&mut self, cx: &Cx<'_>, mut lists: Vec<ListId>) {
        lists.sort_by_cached_key(|id| Reverse(self.weight(*id)));
        let mut queue = VecDeque::from(lists);
        let mut rounds: HashMap<ListId, u8> = HashMap::new();
        let (mut left, mut twins_left) = (Vec::new(), BTreeSet::new());
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
            twins_left.extend(list.now.twins.difference(&now.twins));
            self.follow(id, now);
        }
        left.into_iter().for_each(|adj| cx.adjacencies.release(adj));
        twins_left.into_iter().for_each(|twin| self.collect(cx, twin));
    }

    /// The urgency of a list: whether it has other paths to turn to, and how many entries and lists
    /// use it.
    fn weight(&self, id: ListId) -> (bool, usize) {
        self.lists
            .get(id)
            .map_or((false, 0), |list| (list.paths.len() > 1, list.refs + list.users.len()))
    }

    /// Resolves the paths of a list. The caller gets a reference on the target.
    pub(super) fn resolve(&mut self, cx: &Cx<'_>, id: ListId) -> Resolved {
        let mut now = Resolved::default();
        let Some(list) = self.lists.get(id) else { return now };
        let (link, paths) = (list.link, list.paths.clone());
        let mut members: Vec<(PathAdjacency, Path)> = Vec::new();
        for path in paths.iter() {
            let way = self.resolve_path(cx, (id, link), path, &mut now);
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
        let members = members.into_iter().map(|(way, path)| (way.adj, path.weight.into()));
        now.target = together(cx, link, members);
        now
    }

    /// Resolves a path. The caller gets a reference on its adjacency; the error says why the path
    /// can't be used.
    fn resolve_path(
        &mut self,
        cx: &Cx<'_>,
        (id, link): (ListId, Link),
        path: &Path,
        now: &mut Resolved,
    ) -> Result<PathAdjacency, PathState> {
        let adjacencies = cx.adjacencies;
        let unresolved = |_: Error| PathState::Unresolved;
        let up =
            |sw_if| if cx.interfaces.is_up(sw_if) { Ok(()) } else { Err(PathState::Unresolved) };
        // A list of another link type may name tables of that link type.
        let own = |table: TableRef| {
            (table.link == link).then_some(table.index.0).ok_or(PathState::Unresolved)
        };
        let way = |adj, state| Ok(PathAdjacency { adj, state, down: false });
        match path.kind {
            PathKind::Attached { sw_if, address } => {
                only_peer(cx, link, sw_if, now)?;
                up(sw_if)?;
                let adj = adjacencies.glean(cx.world, sw_if, address).map_err(unresolved)?;
                way(adj, State::Attached(sw_if))
            }
            PathKind::Neighbor { sw_if, nexthop } => {
                let down = depend(cx, NextHop { sw_if, ip: nexthop }, now);
                only_peer(cx, link, sw_if, now)?;
                up(sw_if)?;
                let down = down?;
                let adj =
                    adjacencies.neighbor_for(cx.world, link, sw_if, nexthop).map_err(unresolved)?;
                Ok(PathAdjacency { adj, state: State::Usable, down })
            }
            PathKind::Receive { sw_if, address } => {
                let adj = adjacencies.receive(cx.world, sw_if, address).map_err(unresolved)?;
                way(adj, State::Unusable)
            }
            PathKind::Lookup(table) => way(adjacencies.lookup(link, own(table)?), State::Usable),
            PathKind::SourceLookup(table) => {
                way(adjacencies.lookup_source(link, own(table)?), State::Usable)
            }
            PathKind::Fixed(adj) => way(adj.for_link(link), State::Unusable),
            PathKind::Object(of, number) => {
                if of.interface == Some(ObjectInterface::Sends) {
                    up(SwIfIndex(number))?;
                }
                if let Some(over) = (of.over)(cx.world, number) {
                    self.check_followed(over.list, id, now)?;
                }
                let adj = adjacencies.object(cx.world, of, link, number).map_err(unresolved)?;
                way(adj, State::Usable)
            }
            PathKind::Recursive { table, nexthop } => {
                if table == TableIndex::DEFAULT {
                    depend(cx, NextHop::host(nexthop), now)?;
                }
                let table = TableRef::of_address(table, nexthop);
                let (route, covering) = self
                    .covering(table, bits_of(nexthop), width_of(nexthop))
                    .ok_or(PathState::Unresolved)?;
                let via = self.for_link(cx, covering, link, now);
                let state = self.check_followed(via, id, now)?;
                if !self.may_follow(path.resolve_via, via, (table, nexthop)) {
                    return Err(PathState::Unresolved);
                }
                let (adj, down) = match state {
                    State::Attached(sw_if) => {
                        let down = depend(cx, NextHop { sw_if, ip: nexthop }, now)?;
                        let adj = adjacencies
                            .neighbor_for(cx.world, link, sw_if, nexthop)
                            .map_err(unresolved)?;
                        (adj, down)
                    }
                    _ => {
                        let list = self.lists.get(via).ok_or(PathState::Unresolved)?;
                        adjacencies.hold_again(list.adj);
                        (list.adj, list.now.down)
                    }
                };
                Ok(PathAdjacency { adj: adjacencies.via(route.0, adj), state: State::Usable, down })
            }
        }
    }

    /// The list with the paths of another one for packets of a link type: IPv4 packets may follow a
    /// route of IPv6 (RFC 8950).
    fn for_link(&mut self, cx: &Cx<'_>, id: ListId, link: Link, now: &mut Resolved) -> ListId {
        let other = self.lists.get(id).filter(|list| list.link != link);
        let Some(paths) = other.map(|list| list.paths.clone()) else { return id };
        let twin = self.list_of(cx, link, &paths);
        now.twins.insert(twin);
        twin
    }

    /// Follows a list, which has to be usable and mustn't lead back to `id`: that one is resolved
    /// again when this changes.
    fn check_followed(
        &self,
        followed: ListId,
        id: ListId,
        now: &mut Resolved,
    ) -> Result<State, PathState> {
        now.follows.insert(followed);
        if self.leads_to(followed, id) {
            return Err(PathState::Looped);
        }
        let state = self.lists.get(followed).map(|list| list.now.state);
        state.filter(|state| *state != State::Unusable).ok_or(PathState::Unresolved)
    }

    /// Returns true if a constraint lets a path follow this list, which covers its next hop.
    fn may_follow(
        &self,
        resolve_via: ResolveVia,
        via: ListId,
        (table, nexthop): (TableRef, IpAddr),
    ) -> bool {
        let is_attached = |path: &Path| match path.kind {
            PathKind::Attached { .. } => true,
            PathKind::Neighbor { nexthop: neighbor, .. } => neighbor == nexthop,
            _ => false,
        };
        match resolve_via {
            ResolveVia::Any => true,
            ResolveVia::Host => {
                let host = RouteKey { bits: bits_of(nexthop), len: width_of(nexthop) };
                self.prefix_entry(table, host).is_ok_and(|place| place.route.is_some())
            }
            ResolveVia::Attached => {
                self.lists.get(via).is_some_and(|list| list.paths.iter().any(is_attached))
            }
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
}

/// Resolves the list again when the next hop changes. Returns true if the next hop is down: it is
/// used only if there is no other.
///
/// # Errors
/// The next hop is unusable.
fn depend(cx: &Cx<'_>, hop: NextHop, now: &mut Resolved) -> Result<bool, PathState> {
    now.hops.push(hop);
    match cx.nexthops.state(hop) {
        HopState::Up => Ok(false),
        HopState::Down => Ok(true),
        HopState::Unusable => Err(PathState::Down),
    }
}

/// As [`depend`], for the peer of an interface that has only one.
///
/// # Errors
/// The peer is unusable.
fn only_peer(
    cx: &Cx<'_>,
    link: Link,
    sw_if: SwIfIndex,
    now: &mut Resolved,
) -> Result<(), PathState> {
    if cx.interfaces.is_point_to_point(sw_if) {
        depend(cx, NextHop::only_peer(sw_if, link == Link::IP6), now)?;
    }
    Ok(())
}

/// Makes one adjacency of several. Takes over the caller's reference on each, and gives one on the
/// result.
fn together(cx: &Cx<'_>, link: Link, members: impl Iterator<Item = (AdjIndex, u32)>) -> AdjIndex {
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
            cx.adjacencies.load_balance(link, &buckets)
        }
    }
}
