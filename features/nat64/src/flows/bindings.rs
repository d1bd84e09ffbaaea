// SPDX-License-Identifier: Apache-2.0
//! Bindings: the ends that the world sees of users.

use super::{Flows, HostState, OF_BINDINGS, Refused, all_of, logged_binding, of_kind};
use crate::key::{End, Host, Key, User, has_ports};
use crate::session::{Binding, INWARD, OUTWARD, kind};
use crate::settings::{PoolAddress, Settings, Statics};
use nat::log::{Change, Event};
use nat::ports::{PortKey, Use};
use nat::timeouts::FIRST_PORT;
use std::net::{Ipv4Addr, Ipv6Addr};
use tables::{Share, Shares};
use wire::IpProtocol;

/// Addresses of the pool that are tried for a user whose own has no port left.
const ADDRESSES: usize = 64;
/// Bindings of the largest share that are looked at for one whose port a user can get.
const CANDIDATES: usize = 16;
/// Bits of an IPv6 address that users can't choose.
const NETWORK: u32 = 64;
/// True if a user may get an address of the pool.
fn may_have(user: User, of: &PoolAddress) -> bool {
    of.fib.is_none_or(|fib| fib == user.fib)
}

impl Flows {
    /// The share of a user: those of one network have one together, since a host has any number of
    /// addresses there.
    fn share(&self, user: User) -> Share {
        let network = user.addr.to_bits() >> NETWORK << NETWORK;
        let network = Ipv6Addr::from_bits(network).octets();
        Shares::index(self.mixer.add_bytes(&network).add(user.fib.into()))
    }

    /// True if a share may have one more, of `all` that there are, though there is no room.
    pub(super) fn is_owed(&self, of: usize, share: Share, all: usize) -> bool {
        let shares = &self.shares[of];
        let own = shares.of(share) as usize;
        own < all / (shares.used() + usize::from(own == 0)).max(1)
    }

    /// Makes a binding of a user.
    ///
    /// # Errors
    /// There are too many; no port is left.
    pub fn bind(
        &mut self,
        user: User,
        protocol: IpProtocol,
        (settings, statics): (&Settings, &Statics),
    ) -> Result<u32, Refused> {
        let share = self.share(user);
        if self.bindings.len() >= settings.bibs {
            if !self.is_owed(OF_BINDINGS, share, self.bindings.len()) {
                return Err(Refused::Bindings);
            }
            let largest = all_of(self.shares[OF_BINDINGS].largest().0);
            // An operator's bindings stay.
            let oldest = self.bindings.iter(largest).take(CANDIDATES);
            let oldest = { oldest }.find(|(_, _, binding)| !binding.fixed).map(|(at, ..)| at);
            self.unbind(oldest.ok_or(Refused::Bindings)?);
        }
        let of = (settings, statics);
        let end = match self.choose(user, protocol, of) {
            Some(end) => end,
            None if self.free_port((user, share), protocol, settings) => {
                self.choose(user, protocol, of).ok_or(Refused::Ports)?
            }
            None => return Err(Refused::Ports),
        };
        Ok(self.add_binding(user, end, protocol, false))
    }

    /// Chooses the end that the world sees of a user: the address of the user's other bindings
    /// first (RFC 6146 3.5.1.1), then those of the user's table, then those of no table.
    fn choose(
        &mut self,
        user: User,
        protocol: IpProtocol,
        (settings, statics): (&Settings, &Statics),
    ) -> Option<End> {
        let host = self.hosts.find(&Host { fib: user.fib, addr: user.addr });
        let before = host.and_then(|at| self.hosts.get(at)).map(|of| Ipv4Addr::from_bits(of.addr));
        let pool = &settings.pool;
        let known = before.and_then(|addr| settings.of_pool(addr)).filter(|of| may_have(user, of));
        if let Some(end) = known.and_then(|of| self.choose_of(of, protocol, statics)) {
            return Some(end);
        }
        let (n, first) = (pool.len(), crate::key::spread_of(user.addr) as usize);
        let mut tried = 0;
        for fib in [Some(user.fib), None] {
            for at in 0..n {
                let of = &pool[(first + at) % n];
                if of.fib != fib || tried == ADDRESSES {
                    continue;
                }
                if let Some(end) = self.choose_of(of, protocol, statics) {
                    return Some(end);
                }
                tried += 1;
            }
        }
        None
    }

    /// A port of an address.
    fn choose_of(
        &mut self,
        of: &PoolAddress,
        protocol: IpProtocol,
        statics: &Statics,
    ) -> Option<End> {
        let key = |port| Key::outside(End::new(of.addr, port), End::NONE, protocol);
        if has_ports(protocol) {
            if self.used.get(&key(0)).is_some_and(|used| *used >= self.ports.capacity()) {
                return None;
            }
            let bindings = &self.bindings;
            // Shares are of bindings here, whatever port they have.
            let look = |port| bindings.find(&key(port)).map_or(Use::Free, |_| Use::Mapped);
            let port = self.ports.choose(None, key, look)?;
            return Some(End::new(of.addr, port));
        }
        let is_free = statics.thread(&key(0)).is_none() && of.claims.claim(protocol, self.thread);
        if is_free {
            self.claimed.insert(key(0), of.claims.clone());
        }
        is_free.then_some(End::new(of.addr, 0))
    }

    /// Ends a binding of the largest share, so that a user with less than an equal share gets its
    /// port.
    fn free_port(
        &mut self,
        (user, share): (User, Share),
        protocol: IpProtocol,
        settings: &Settings,
    ) -> bool {
        let kind = kind(protocol);
        if !self.is_owed(kind, share, self.n[kind]) {
            return false;
        }
        let largest = of_kind(kind, self.shares[kind].largest().0);
        let fits = |at: u32, binding: &Binding| {
            let keys = self.bindings.keys(at)?;
            let of = settings.of_pool(keys[INWARD].end().addr)?;
            let same = keys[INWARD].protocol() == protocol;
            (same && !binding.fixed && may_have(user, of)).then_some(at)
        };
        let oldest = self.bindings.iter(largest).take(CANDIDATES);
        let found = { oldest }.find_map(|(at, _, binding)| fits(at, binding));
        found.map(|at| self.unbind(at)).is_some()
    }

    fn add_binding(&mut self, user: User, end: End, protocol: IpProtocol, fixed: bool) -> u32 {
        let share = self.share(user);
        let keys = [Key::inside(user, End::NONE, protocol), Key::outside(end, End::NONE, protocol)];
        let binding = Binding { fixed, share, sessions: 0 };
        let made = self.bindings.insert_keys(keys, binding, 0, u32::MAX);
        let at = made.expect("the table has no limit of its own");
        let kind = kind(protocol);
        self.bindings.renew(at, all_of(share));
        self.bindings.renew(at, of_kind(kind, share));
        self.shares[kind].add(share);
        self.shares[OF_BINDINGS].add(share);
        self.n[kind] += 1;
        self.ports.note(&keys[INWARD], Use::Mapped);
        if u32::from(end.port) >= FIRST_PORT {
            *self.used.entry(keys[INWARD].without_port()).or_default() += 1;
        }
        let host = Host { fib: user.fib, addr: user.addr };
        match self.hosts.find(&host) {
            Some(at) => {
                if let Some(of) = self.hosts.get_mut(at) {
                    of.bindings += 1;
                }
            }
            None => {
                let of = HostState { addr: end.addr.to_bits(), bindings: 1 };
                self.hosts.insert_untimed(host, of);
            }
        }
        self.gauges[0].set(0, self.bindings.len() as u64);
        self.logger.post(|| Event::Binding64(Change::Created, logged_binding(&keys)));
        at
    }

    /// Adds a binding that an operator sets.
    ///
    /// # Errors
    /// The user's end has one; another user has the end that the world would see.
    pub fn add_fixed(&mut self, user: User, end: End, protocol: IpProtocol) -> Result<(), Refused> {
        if self.bindings.find(&Key::inside(user, End::NONE, protocol)).is_some() {
            return Err(Refused::Exists);
        }
        if self.bindings.find(&Key::outside(end, End::NONE, protocol)).is_some() {
            return Err(Refused::Taken);
        }
        self.add_binding(user, end, protocol, true);
        Ok(())
    }

    /// Removes a binding: its sessions are none any more.
    pub fn unbind(&mut self, at: u32) {
        let Some(keys) = self.bindings.keys(at).copied() else { return };
        let Some(binding) = self.bindings.remove(at) else { return };
        let kind = kind(keys[0].protocol());
        self.shares[kind].remove(binding.share);
        self.shares[OF_BINDINGS].remove(binding.share);
        self.n[kind] -= 1;
        self.ports.note(&keys[INWARD], Use::Free);
        if u32::from(keys[INWARD].end().port) >= FIRST_PORT {
            let of = keys[INWARD].without_port();
            let left = self.used.get(&of).map_or(0, |used| used - 1);
            match left {
                0 => self.used.remove(&of),
                left => self.used.insert(of, left),
            };
        }
        if let Some(claims) = self.claimed.remove(&keys[INWARD]) {
            claims.release(keys[0].protocol());
        }
        let user = keys[OUTWARD].user();
        if let Some(at) = self.hosts.find(&Host { fib: user.fib, addr: user.addr })
            && let Some(of) = self.hosts.get_mut(at)
        {
            of.bindings -= 1;
            if of.bindings == 0 {
                self.hosts.remove(at);
            }
        }
        self.gauges[0].set(0, self.bindings.len() as u64);
        self.logger.post(|| Event::Binding64(Change::Deleted, logged_binding(&keys)));
    }
}
