// SPDX-License-Identifier: Apache-2.0
//! The virtual routers of an interface, as workers read them.

use crate::packet::Advertisement;
use std::net::IpAddr;
use std::sync::Arc;
use sync::Mailbox;
use wire::MacAddr;

/// A virtual router.
#[derive(Clone)]
pub struct RouterView {
    /// Its version and number.
    pub name: (bool, u8),
    /// Number of its addresses.
    pub count: u8,
    /// Advertisements queued for control. Each virtual router has its own queue, so that no router
    /// fills another's.
    pub received: Arc<Mailbox<Advertisement>>,
}

/// An address of a virtual router that was started and isn't down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressView {
    /// The address.
    pub ip: IpAddr,
    /// The MAC address that requests for it are answered with by the master; `None` for a backup,
    /// which doesn't answer.
    pub mac: Option<MacAddr>,
}

/// The virtual routers of an interface.
#[derive(Clone, Default)]
pub struct LinkView {
    /// All, sorted by name.
    pub routers: Box<[RouterView]>,
    /// Their addresses, sorted.
    pub addresses: Box<[AddressView]>,
}

impl LinkView {
    /// The virtual router of a version and number.
    #[inline(always)]
    pub fn router(&self, v6: bool, id: u8) -> Option<&RouterView> {
        let at = self.routers.binary_search_by_key(&(v6, id), |router| router.name).ok()?;
        self.routers.get(at)
    }

    /// The address of a virtual router.
    #[inline(always)]
    pub fn address(&self, ip: IpAddr) -> Option<AddressView> {
        let at = self.addresses.binary_search_by_key(&ip, |address| address.ip).ok()?;
        self.addresses.get(at).copied()
    }
}
