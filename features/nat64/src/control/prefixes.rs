// SPDX-License-Identifier: Apache-2.0
//! The prefixes that users have for hosts of the world.

use super::{Control, State, error, source};
use crate::prefix::Pref64;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use net::{Fib, Interfaces, Objects, Path, PathKind, TableIndex};
use wire::{Ip6, Ip6Prefix};

/// The prefix of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    /// See [`Pref64`].
    pub prefix: Pref64,
    /// The interface that packets to it are taken for received by, where that isn't the one of
    /// users.
    pub via: Option<SwIfIndex>,
}

impl Control {
    /// Sets the prefix of a table, in place of the one that it had, or removes it.
    ///
    /// # Errors
    /// The feature is disabled (−126); a length that isn't 32, 40, 48, 56, 64 or 96, or bits 64 to
    /// 71 that aren't zero (−7); no such interface (−2); to remove, another prefix or none (−6).
    pub fn set_prefix(
        &self,
        world: &World,
        (prefix, vrf): (Ip6Prefix, u32),
        via: Option<SwIfIndex>,
        add: bool,
    ) -> Result<()> {
        let Some(pref64) = Pref64::new(prefix) else {
            let why = format!(
                "expected a prefix of 32, 40, 48, 56, 64 or 96 bits whose bits 64 to 71 are zero, \
                 not {prefix}"
            );
            return Err(error(retval::INVALID_VALUE, why));
        };
        self.enabled(world, |state| {
            if let Some(via) = via {
                world.get::<Interfaces>().check(via)?;
            }
            let old = state.prefixes.get(&vrf).copied();
            if !add && old.is_none_or(|old| old.prefix != pref64) {
                let why = format!("{pref64} isn't the prefix of table {vrf}");
                return Err(error(retval::NO_SUCH_ENTRY, why));
            }
            if let Some(old) = old {
                state.route_prefix(world, (vrf, old), false)?;
                state.prefixes.remove(&vrf);
                state.held.release(vrf);
            }
            if add {
                state.hold_table(world, vrf)?;
                let new = Prefix { prefix: pref64, via };
                state.prefixes.insert(vrf, new);
                state.route_prefix(world, (vrf, new), true)?;
            }
            Ok(())
        })
    }
}

impl State {
    /// Leads packets to a prefix to its interface, or no longer.
    pub(super) fn route_prefix(
        &self,
        world: &World,
        (vrf, of): (u32, Prefix),
        on: bool,
    ) -> Result<()> {
        let Some(via) = of.via else { return Ok(()) };
        let fib = world.get::<Fib<Ip6>>();
        let table: TableIndex = fib.find_table(vrf)?;
        let (addr, len) = of.prefix.prefix();
        let Some(prefix) = Ip6Prefix::new(addr, len) else { return Ok(()) };
        let kind = PathKind::Object(world.get::<Objects>().get("interface-rx")?, via.0);
        let (source, path) = (source(world), [Path::new(kind)]);
        let done = match on {
            true => fib.add(world, table, prefix, source, &path).map(|_| ()),
            false => fib.remove(world, table, prefix, source, &path),
        };
        done.map_err(|e| Error::failed(e.to_string()))
    }

    /// Forgets the routes over an interface that is being deleted: the prefixes stay.
    pub(super) fn forget_routes_by(&mut self, world: &World, sw_if: SwIfIndex) {
        let by = |of: &Prefix| of.via == Some(sw_if);
        let all: Vec<_> =
            self.prefixes.iter().filter(|(_, of)| by(of)).map(|(v, of)| (*v, *of)).collect();
        for (vrf, of) in all {
            let _ = self.route_prefix(world, (vrf, of), false);
            self.prefixes.insert(vrf, Prefix { via: None, ..of });
        }
    }
}
