// SPDX-License-Identifier: Apache-2.0
//! Messages of a peer, applied to the tables of routes.

use crate::links::Links;
use crate::objects::Objects;
use crate::refused::Refused;
use crate::routes::{Routes, named};
use crate::sink::{Counts, Sink, With};
use crate::walk::{After, Sweep, Walk};
use graph::World;
use linux_nl::convert::MOST_HOPS;
use net::fib::SourceCount;
use net::{Fib, Source, Sources};
use netlink::{Change, KernelRoute, Message, NextHopTarget};
use std::collections::HashSet;
use wire::{Ip4, Ip6};

/// The priority of the source: behind the kernel's routes (0x10, 0x11), before the API (0x80).
const PRIORITY: u8 = 0x12;
/// Changes of one protocol that are given to the tables at once.
const AT_ONCE: usize = 8192;
/// Prefixes that a step of a walk looks at, however many paths each may get.
const AT_LEAST: usize = 64;

/// The state of what comes from a peer.
pub struct Engine {
    pub source: Source,
    pub counts: Counts,
    pub links: Links,
    pub objects: Objects,
    /// True if routes that are in force are reported to the peer (RTM_F_OFFLOAD).
    pub answers: bool,
    /// Number of routes at most.
    pub most: usize,
    pub(crate) ip4: Routes<Ip4>,
    pub(crate) ip6: Routes<Ip6>,
    /// By the index of a route: the object that it names, or 0. What else a route has is in the
    /// table only.
    named: Vec<u32>,
    /// Messages of routes for answers, one behind the other.
    originals: Vec<u8>,
    /// Next hops of the routes of the present message.
    hops: usize,
    /// Routes that have to be set anew, since an object has changed.
    walk: Option<Walk>,
    /// Next hops of the largest object whose routes the walk sets anew.
    widest: usize,
    /// Number of routes at most that there are.
    total: usize,
    /// True if there may be fewer: changes since the last count replace routes, or remove some.
    may_be_fewer: bool,
}

impl Engine {
    /// Without anything of a peer.
    pub fn new(world: &World) -> Self {
        let added = world.get::<Sources>().add("fpm", PRIORITY);
        Self {
            source: added.unwrap_or(Source::Plugin),
            counts: Counts::default(),
            links: Links::default(),
            objects: Objects::default(),
            answers: false,
            most: usize::MAX,
            ip4: Routes::default(),
            ip6: Routes::default(),
            named: Vec::new(),
            originals: Vec::new(),
            hops: 0,
            walk: None,
            widest: 1,
            total: 0,
            may_be_fewer: false,
        }
    }

    /// Bytes that routes take beside the table.
    #[cfg(feature = "tests")]
    pub fn bytes_beside(&self) -> usize {
        self.named.capacity() * size_of::<u32>()
    }

    /// Number of routes of both protocols.
    pub fn routes(&self, world: &World) -> [SourceCount; 2] {
        let (ip4, ip6) = (world.get::<Fib<Ip4>>(), world.get::<Fib<Ip6>>());
        [ip4.count(self.source), ip6.count(self.source)]
    }

    /// Takes over a message. It has its effect with [`Self::flush`] at the latest; `out` gets
    /// answers. Returns the work that it is: 1, and the next hops of a route.
    pub fn apply(&mut self, world: &World, message: &Message<'_>, out: &mut Vec<u8>) -> usize {
        if let Err(why) = self.take(world, message, out) {
            self.counts.refuse(why);
            self.may_be_fewer |= why != Refused::Routes;
            // The former target of an object isn't what the peer means any more.
            if let Some(id) = message.nexthop_set() {
                self.flush_for(world, id, out);
                self.objects.remove(id);
            }
        }
        if self.ip4.pending().max(self.ip6.pending()) >= AT_ONCE {
            self.flush(world, out);
        }
        1 + std::mem::take(&mut self.hops)
    }

    fn take(
        &mut self,
        world: &World,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let is_route = matches!(message.kind(), libc::RTM_NEWROUTE | libc::RTM_DELROUTE);
        if is_route && i32::from(message.family()) == libc::AF_MPLS {
            return Err(Refused::Labels);
        }
        if matches!(message.kind(), libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH) {
            return Err(Refused::Macs);
        }
        match message.change().map_err(|_| Refused::Malformed)?.ok_or(Refused::Other)? {
            Change::NextHop(object) => {
                if matches!(&object.target, NextHopTarget::Group(all) if all.len() > MOST_HOPS) {
                    return Err(Refused::Hops);
                }
                self.counts.objects += 1;
                self.flush_for(world, object.id, out);
                self.objects.set(object.id, object.target).then_some(()).ok_or(Refused::Objects)
            }
            Change::NextHopGone(id) => {
                self.counts.objects += 1;
                self.flush_for(world, id, out);
                self.objects.remove(id);
                Ok(())
            }
            Change::Route(route) => self.route(world, &route, message.bytes, out),
            Change::RouteGone(route) => {
                self.may_be_fewer = true;
                match route.prefix.is_ipv6() {
                    false => self.ip4.withdraw(world, &route)?,
                    true => self.ip6.withdraw(world, &route)?,
                }
                self.counts.withdrawn += 1;
                Ok(())
            }
            _ => Err(Refused::Other),
        }
    }

    /// Before an object changes: routes that name it have to be counted as its users.
    fn flush_for(&mut self, world: &World, id: u32, out: &mut Vec<u8>) {
        if self.ip4.pending() + self.ip6.pending() > 0 && self.objects.may_be_named(id) {
            self.flush(world, out);
        }
    }

    fn route(
        &mut self,
        world: &World,
        route: &KernelRoute,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        // Only the tables know what replaces a route.
        if self.total >= self.most && self.may_be_fewer {
            self.flush(world, out);
        }
        let has_room = self.total < self.most;
        let (at, len) = (self.originals.len() as u32, bytes.len() as u32);
        let with = With {
            object: named(route).unwrap_or_default(),
            answer: if self.answers { (at, len) } else { (0, 0) },
        };
        let Self { objects, links, source, ip4, ip6, .. } = self;
        self.hops = match route.prefix.is_ipv6() {
            false => {
                ip4.set(world, route, with, *source, has_room, (objects, links), &mut ip6.tables)?
            }
            true => {
                ip6.set(world, route, with, *source, has_room, (objects, links), &mut ip4.tables)?
            }
        };
        // One without room replaces another.
        if has_room {
            self.total += 1;
            self.may_be_fewer = true;
        }
        if self.answers {
            self.originals.extend_from_slice(bytes);
        }
        self.counts.routes += 1;
        Ok(())
    }

    /// Gives what was read so far to the tables. To be called before control does anything else.
    pub fn flush(&mut self, world: &World, out: &mut Vec<u8>) {
        let Self { objects, counts, named, originals, source, .. } = self;
        let mut sink = Sink { objects, counts, named, originals, out };
        self.ip4.flush(world, *source, &mut sink);
        self.ip6.flush(world, *source, &mut sink);
        self.originals.clear();
        self.total = self.routes(world).iter().map(|of| of.routes).sum();
        self.may_be_fewer = false;
    }

    /// Sets some of the routes anew whose objects have changed. Returns true if there are more.
    pub fn go_on(&mut self, world: &World, n: usize, out: &mut Vec<u8>) -> bool {
        if self.walk.is_none() && self.objects.have_changed() {
            let tables =
                [self.ip4.tables.tables::<Ip4>(world), self.ip6.tables.tables::<Ip6>(world)];
            let changed = self.objects.take_changed();
            self.widest = changed.iter().map(|id| self.objects.width(*id)).max().unwrap_or(1);
            self.walk = Some(Walk::over(changed, tables));
        }
        // Each of the prefixes may get so many paths.
        let n = (n / self.widest.max(1)).max(n.min(AT_LEAST));
        let Some(mut walk) = self.walk.take() else { return false };
        let Self { objects, links, named, source, ip4, ip6, .. } = self;
        let is_left = walk.step(n, |is_v6, table, after, n, changed| {
            let wants = |index: usize| {
                let object = named.get(index).copied().unwrap_or_default();
                changed.contains(&object).then_some(object)
            };
            let of = (&*objects, &mut *links);
            match is_v6 {
                false => {
                    let after = after.ip4;
                    let last =
                        ip4.set_anew(world, (table, after, n), *source, wants, of, &mut ip6.tables);
                    After { ip4: last, ip6: None }
                }
                true => {
                    let after = after.ip6;
                    let last =
                        ip6.set_anew(world, (table, after, n), *source, wants, of, &mut ip4.tables);
                    After { ip4: None, ip6: last }
                }
            }
        });
        self.walk = is_left.then_some(walk);
        self.flush(world, out);
        is_left || self.objects.have_changed()
    }

    /// The peer is gone: its routes stay in force, as stale ones, and its objects are forgotten,
    /// since another peer numbers its own. Returns true if some weren't stale already.
    pub fn lost(&mut self, world: &World) -> bool {
        // Messages that came whole count.
        self.flush(world, &mut Vec::new());
        (self.objects, self.walk) = (Objects::default(), None);
        self.named = Vec::new();
        self.links.forget_misses();
        let is_fresh = |of: SourceCount| of.stale < of.routes;
        let [ip4, ip6] = self.routes(world).map(is_fresh);
        // A mark takes a walk.
        if ip4 {
            self.ip4.mark(world, self.source);
        }
        if ip6 {
            self.ip6.mark(world, self.source);
        }
        ip4 || ip6
    }

    /// The sweep of what is stale.
    pub fn sweep(&self, world: &World) -> Sweep {
        Sweep::over(
            HashSet::new(),
            [self.ip4.tables.tables::<Ip4>(world), self.ip6.tables.tables::<Ip6>(world)],
        )
    }

    /// Goes on with a sweep, with at most `n` prefixes. Returns true if there are more.
    pub fn sweep_on(&self, world: &World, sweep: &mut Sweep, n: usize) -> bool {
        sweep.step(n, |is_v6, table, after, n, _| {
            // A table that an operator has deleted has nothing left.
            match is_v6 {
                false => After {
                    ip4: self.ip4.sweep(world, table, self.source, after.ip4, n),
                    ip6: None,
                },
                true => After {
                    ip4: None,
                    ip6: self.ip6.sweep(world, table, self.source, after.ip6, n),
                },
            }
        })
    }

    /// Ends the ownership of tables, once they have no routes of it.
    pub fn release(&mut self, world: &World) {
        self.ip4.tables.release::<Ip4>(world, self.source);
        self.ip6.tables.release::<Ip6>(world, self.source);
    }
}
