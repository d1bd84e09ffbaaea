// SPDX-License-Identifier: Apache-2.0
//! Operations of commands and messages.

use crate::binding::{Binding, Match, Rewrite, mask};
use crate::nodes::Pnat;
use crate::table::{Attachment, Attachments, Place};
use cli::{Error, Result, retval};
use graph::{Deleted, Shared, SwIfIndex, World};
use ip_reassembly::{Side, use_ports};
use net::Interfaces;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use wire::IpProtocol;

/// Bindings at most, and attachments.
pub const BINDINGS: u32 = 1 << 16;
/// All bits that a match may have, and a rewrite.
const OF_MATCH: u32 = mask::SOURCE | mask::DESTINATION | mask::PORTS | mask::PROTOCOL;
/// See there.
const OF_REWRITE: u32 = mask::SOURCE | mask::DESTINATION | mask::PORTS | mask::COPY | mask::CLEAR;

/// The configuration.
#[derive(Default)]
pub struct State {
    /// The bindings, by number.
    pub bindings: BTreeMap<u32, Binding>,
    /// No number below this one is free.
    lowest: u32,
    /// Numbers of attachments, by place and binding; all bindings of a place have one mask.
    places: BTreeMap<Place, BTreeMap<u32, u32>>,
    /// Numbers of bindings, by place and what they match.
    matches: HashMap<(Place, Match), u32>,
    /// Numbers of attachments that aren't used, below `used`.
    free: Vec<u32>,
    used: u32,
}

/// See [`State`].
pub struct Control(Mutex<State>);

impl Shared for Control {
    fn make(world: &World) -> Self {
        // Made first, so that they are still there when interfaces are forgotten.
        let _ = (world.get::<Attachments>(), world.get::<ip_reassembly::Users>());
        Self(Mutex::default())
    }

    fn forget(&self, world: &World, deleted: &Deleted<'_>) {
        let Some(sw_if) = deleted.of::<SwIfIndex>() else { return };
        let mut state = self.0.lock().expect("no panic inside");
        for output in [false, true] {
            let place = Place { sw_if: sw_if.0, output };
            let there = state.places.get(&place).cloned().unwrap_or_default();
            there.keys().for_each(|number| _ = state.detach(world, place, *number));
        }
    }
}

fn error(retval: cli::retval::Retval, why: impl Into<String>) -> Error {
    Error::failed(why).retval(retval)
}

/// Numbers of VPP for mistakes of a binding, which aren't those of an enumeration.
const NO_PORTS: cli::retval::Retval = retval::INVALID_SW_IF_INDEX;
const OTHER_MASK: cli::retval::Retval = retval::INVALID_SW_IF_INDEX;
const SAME_MATCH: cli::retval::Retval = retval::NO_SUCH_FIB;

fn no_binding(number: u32) -> Error {
    error(retval::UNSPECIFIED, format!("there is no binding {number}"))
}

/// The error for ports of a protocol without (−2).
pub fn no_ports() -> Error {
    error(NO_PORTS, "ports are those of TCP or UDP: expected one of them")
}

impl Control {
    fn change<R>(&self, world: &World, f: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
        let result = f(&mut self.0.lock().expect("no panic inside"));
        world.note_config_change();
        result
    }

    /// Reads the state.
    pub fn read<R>(&self, f: impl FnOnce(&State) -> R) -> R {
        f(&self.0.lock().expect("no panic inside"))
    }

    /// Adds a binding, with a number or with the first that is free; returns the number.
    ///
    /// # Errors
    /// An empty mask (−1); ports of a protocol without (−2); bits that there aren't (−7); the
    /// number is used (−81); too many (−162).
    pub fn add(
        &self,
        world: &World,
        number: Option<u32>,
        (what, rewrite): (Match, Rewrite),
    ) -> Result<u32> {
        if what.mask == 0 || rewrite.mask == 0 {
            let why = "expected something to match and something to rewrite";
            return Err(error(retval::UNSPECIFIED, why));
        }
        if what.mask & !OF_MATCH != 0 || rewrite.mask & !OF_REWRITE != 0 {
            let why = format!("unknown bits in the masks {:#x} and {:#x}", what.mask, rewrite.mask);
            return Err(error(retval::INVALID_VALUE, why));
        }
        let ports = (what.mask | rewrite.mask) & mask::PORTS != 0;
        // Where none is named, packets of both are meant.
        let is_named = what.mask & mask::PROTOCOL != 0 || what.protocol.0 != 0;
        if ports && is_named && !matches!(what.protocol, IpProtocol::TCP | IpProtocol::UDP) {
            return Err(no_ports());
        }
        self.change(world, |state| {
            let number = match number {
                Some(number) if state.bindings.contains_key(&number) => {
                    return Err(error(retval::VALUE_EXIST, format!("binding {number} is there")));
                }
                Some(number) => number,
                None => state.first_free(),
            };
            if number >= BINDINGS {
                let why = format!("there may be bindings 0 to {}", BINDINGS - 1);
                return Err(error(retval::LIMIT_EXCEEDED, why));
            }
            let binding = Binding { what: what.only(what.mask), rewrite };
            state.bindings.insert(number, binding);
            if number == state.lowest {
                state.lowest += 1;
            }
            Ok(number)
        })
    }

    /// Removes a binding, also from interfaces.
    ///
    /// # Errors
    /// No such binding (−1).
    pub fn del(&self, world: &World, number: u32) -> Result<()> {
        self.change(world, |state| {
            if !state.bindings.contains_key(&number) {
                return Err(no_binding(number));
            }
            for place in state.places.keys().copied().collect::<Vec<_>>() {
                let _ = state.detach(world, place, number);
            }
            state.bindings.remove(&number);
            state.lowest = state.lowest.min(number);
            Ok(())
        })
    }

    /// Attaches a binding to a place.
    ///
    /// # Errors
    /// No such binding (−1); no such interface (−2); bindings there have another mask (−2); one of
    /// them matches the same (−3); too many (−162).
    pub fn attach(&self, world: &World, place: Place, number: u32) -> Result<()> {
        self.change(world, |state| state.attach(world, place, number))
    }

    /// Detaches a binding from a place.
    ///
    /// # Errors
    /// No such binding (−1); it isn't attached there (−6).
    pub fn detach(&self, world: &World, place: Place, number: u32) -> Result<()> {
        self.change(world, |state| {
            if !state.bindings.contains_key(&number) {
                return Err(no_binding(number));
            }
            state.detach(world, place, number)
        })
    }

    /// Adds a binding and attaches it.
    ///
    /// # Errors
    /// Those of [`Self::add`] and [`Self::attach`].
    pub fn translate(&self, world: &World, place: Place, of: (Match, Rewrite)) -> Result<()> {
        let number = self.add(world, None, of)?;
        self.attach(world, place, number).inspect_err(|_| _ = self.del(world, number))
    }

    /// Removes a binding that is attached to a place.
    ///
    /// # Errors
    /// There is none (−6).
    pub fn untranslate(&self, world: &World, place: Place, of: (Match, Rewrite)) -> Result<()> {
        let number = self.read(|state| {
            let number = *state.matches.get(&(place, of.0))?;
            let binding = state.bindings.get(&number)?;
            (binding.rewrite == of.1).then_some(number)
        });
        let why = "there is no such translation";
        let number = number.ok_or_else(|| error(retval::NO_SUCH_ENTRY, why))?;
        self.detach(world, place, number)?;
        if self.read(|state| state.places.values().any(|there| there.contains_key(&number))) {
            return Ok(());
        }
        self.del(world, number)
    }

    /// The binding of a flow at a place.
    ///
    /// # Errors
    /// There is none (−1).
    pub fn lookup(&self, place: Place, flow: Match) -> Result<u32> {
        let found = self.read(|state| {
            let flow = flow.only(state.mask(place)?);
            state.matches.get(&(place, flow)).copied()
        });
        found.ok_or_else(|| error(retval::UNSPECIFIED, "no binding matches this flow there"))
    }
}

impl State {
    fn first_free(&mut self) -> u32 {
        while self.bindings.contains_key(&self.lowest) {
            self.lowest += 1;
        }
        self.lowest
    }

    /// Numbers of the bindings of a place.
    pub fn numbers(&self, place: Place) -> Vec<u32> {
        self.places.get(&place).map_or_else(Vec::new, |there| there.keys().copied().collect())
    }

    /// The places with bindings.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        self.places.keys().copied()
    }

    /// The mask of the bindings of a place.
    pub fn mask(&self, place: Place) -> Option<u32> {
        let (number, _) = self.places.get(&place)?.first_key_value()?;
        self.bindings.get(number).map(|binding| binding.what.mask)
    }

    fn attach(&mut self, world: &World, place: Place, number: u32) -> Result<()> {
        let binding = *self.bindings.get(&number).ok_or_else(|| no_binding(number))?;
        let sw_if = SwIfIndex(place.sw_if);
        world.get::<Interfaces>().check(sw_if)?;
        let mask = binding.what.mask;
        if let Some(other) = self.mask(place).filter(|other| *other != mask) {
            let why = format!("bindings there have the mask {other:#x}, not {mask:#x}");
            return Err(error(OTHER_MASK, why));
        }
        if let Some(other) = self.matches.get(&(place, binding.what)) {
            return Err(error(SAME_MATCH, format!("binding {other} matches the same there")));
        }
        let at = self.free.pop().unwrap_or(self.used);
        if at >= BINDINGS {
            let why = format!("there may be {BINDINGS} attachments at most");
            return Err(error(retval::LIMIT_EXCEEDED, why));
        }
        if !self.places.contains_key(&place) {
            switch(world, place, Some(mask))?;
        }
        self.used = self.used.max(at + 1);
        self.places.entry(place).or_default().insert(number, at);
        self.matches.insert((place, binding.what), number);
        world.get::<Attachments>().insert(at, Attachment { place, number, binding });
        Ok(())
    }

    fn detach(&mut self, world: &World, place: Place, number: u32) -> Result<()> {
        let not_there = || {
            let why = format!("binding {number} isn't attached there");
            error(retval::NO_SUCH_ENTRY, why)
        };
        let there = self.places.get_mut(&place).ok_or_else(not_there)?;
        let at = there.remove(&number).ok_or_else(not_there)?;
        let is_last = there.is_empty();
        if let Some(binding) = self.bindings.get(&number) {
            self.matches.remove(&(place, binding.what));
        }
        world.get::<Attachments>().remove(at);
        self.free.push(at);
        if is_last {
            self.places.remove(&place);
            switch(world, place, None)?;
        }
        Ok(())
    }
}

/// Switches the node of a place on with a mask, or off.
fn switch(world: &World, place: Place, mask: Option<u32>) -> Result<()> {
    let sw_if = SwIfIndex(place.sw_if);
    let side = if place.output { Side::Output } else { Side::Input };
    if mask.is_some() {
        use_ports(world, sw_if, false, side, true)?;
    }
    let done = match place.output {
        false => world.configure_feature::<Pnat<false>>("ip4-unicast", sw_if, mask),
        true => world.configure_feature::<Pnat<true>>("ip4-output", sw_if, mask),
    };
    done.map_err(Error::failed)?;
    if mask.is_none() {
        use_ports(world, sw_if, false, side, false)?;
    }
    Ok(())
}
