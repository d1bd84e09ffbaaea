// SPDX-License-Identifier: Apache-2.0
//! Look-ups of interfaces and of what belongs to all of them.

use super::{IfKind, Interface, Interfaces, no_interface};
use crate::device::FloodRole;
use cli::{Error, Matches};
use graph::SwIfIndex;
use msg::retval;
use wire::MacAddr;

impl Interfaces {
    /// Checks that an interface exists.
    ///
    /// # Errors
    /// No such interface (−2).
    pub fn check(&self, sw_if: SwIfIndex) -> Result<(), Error> {
        match self.inner().all.get(sw_if.at()) {
            Some(Some(_)) => Ok(()),
            _ => Err(no_interface(sw_if)),
        }
    }

    /// Returns a copy of an interface's control state.
    ///
    /// # Errors
    /// One that isn't there (−2).
    pub fn get(&self, sw_if: SwIfIndex) -> Result<Interface, Error> {
        let found = self.inner().all.get(sw_if.at()).cloned().flatten();
        found.ok_or_else(|| no_interface(sw_if))
    }

    /// Returns true if packets can be sent by the interface: admin and link state are up.
    pub(crate) fn is_up(&self, sw_if: SwIfIndex) -> bool {
        let inner = self.inner();
        inner.all.get(sw_if.at()).and_then(Option::as_ref).is_some_and(|i| i.admin_up && i.link_up)
    }

    /// The kind of packets that an interface carries.
    pub(crate) fn kind(&self, sw_if: SwIfIndex) -> Result<IfKind, Error> {
        let kind = self.inner().all.get(sw_if.at()).and_then(Option::as_ref).map(|i| i.kind);
        kind.ok_or_else(|| no_interface(sw_if))
    }

    /// Returns true for an interface with one peer: all its neighbours share one adjacency.
    pub fn is_point_to_point(&self, sw_if: SwIfIndex) -> bool {
        self.peer(sw_if).is_some() || self.kind(sw_if).is_ok_and(|kind| kind == IfKind::Ip)
    }

    /// The MAC address of an interface's only peer, if it has only one.
    pub(crate) fn peer(&self, sw_if: SwIfIndex) -> Option<MacAddr> {
        self.inner().all.get(sw_if.at()).and_then(Option::as_ref).and_then(Interface::peer)
    }

    /// The name of an interface's driver.
    pub fn driver(&self, sw_if: SwIfIndex) -> Option<&'static str> {
        let inner = self.inner();
        inner.all.get(sw_if.at()).and_then(Option::as_ref).map(|i| i.device.driver())
    }

    /// The role of an interface in floods of its bridge domain.
    pub fn flood_role(&self, sw_if: SwIfIndex) -> FloodRole {
        let inner = self.inner();
        let interface = inner.all.get(sw_if.at()).and_then(Option::as_ref);
        interface.map_or(FloodRole::Port, |i| i.device.flood_role())
    }

    /// The interface of a command that takes a number as `index` or a name as `interface`. A number
    /// isn't checked.
    ///
    /// # Errors
    /// No interface has this name (−2).
    pub fn named_or_numbered(&self, m: &Matches) -> Result<SwIfIndex, Error> {
        match m.opt("index")? {
            Some(index) => Ok(SwIfIndex(index)),
            None => self.find(m.str("interface")).map_err(|e| e.at(m.span("interface"))),
        }
    }

    /// The interface of this name.
    ///
    /// # Errors
    /// One that isn't there (−2), with the nearest name.
    pub fn find(&self, name: &str) -> Result<SwIfIndex, Error> {
        let inner = self.inner();
        inner.names.get(name).copied().ok_or_else(|| {
            Error::not_found(format!("no interface is named `{name}'"))
                .near(name, inner.names.keys())
                .retval(retval::INVALID_SW_IF_INDEX)
        })
    }

    /// The name of an interface, or its number if it is gone.
    pub fn name(&self, sw_if: SwIfIndex) -> String {
        let inner = self.inner();
        let found = inner.all.get(sw_if.at()).and_then(Option::as_ref);
        found.map_or_else(|| format!("sw_if_index {sw_if}"), |i| i.name.clone())
    }

    /// [`Self::name`] as a word of a command.
    pub fn word(&self, sw_if: SwIfIndex) -> String {
        cli::quote(&self.name(sw_if))
    }

    /// All interfaces, by index.
    pub fn list(&self) -> Vec<Interface> {
        self.inner().all.iter().flatten().cloned().collect()
    }

    /// All indices ever allocated, also unused ones: for walks in slices, which call [`Self::get`]
    /// when an interface's turn comes.
    pub fn indices(&self) -> impl Iterator<Item = SwIfIndex> + use<> {
        (0..self.max() as u32).map(SwIfIndex)
    }

    /// The names of all interfaces, with their indices.
    pub fn names(&self) -> Vec<(String, SwIfIndex)> {
        let inner = self.inner();
        inner
            .all
            .iter()
            .flatten()
            .map(|interface| (interface.name.clone(), interface.sw_if))
            .collect()
    }

    /// The original and the current name of each renamed interface. Sub-interfaces aren't listed:
    /// their names follow their parent's.
    pub fn renamed(&self) -> Vec<(String, String)> {
        let inner = self.inner();
        let renamed =
            inner.all.iter().flatten().filter(|i| i.sub.is_none() && i.name != i.original.name);
        renamed.map(|i| (i.original.name.clone(), i.name.clone())).collect()
    }

    /// Number of indices ever used, for the length of counter vectors.
    pub fn max(&self) -> usize {
        self.inner().all.len()
    }
}
