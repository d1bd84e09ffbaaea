// SPDX-License-Identifier: Apache-2.0
//! Addresses that a netdev accepts beyond its own. They go with the socket.

use super::sys;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use wire::MacAddr;

/// The addresses that one of our interfaces needs.
pub struct Filter {
    socket: OwnedFd,
    index: u32,
}

impl Filter {
    /// Lets netdev `index` accept frames for this address and for all groups.
    pub fn new(index: u32, mac: MacAddr) -> io::Result<Self> {
        let this = Self { socket: sys::packet_socket()?, index };
        this.unicast(mac, true)?;
        this.change(libc::PACKET_MR_ALLMULTI, MacAddr::ZERO, true)?;
        Ok(this)
    }

    fn change(&self, kind: libc::c_int, mac: MacAddr, add: bool) -> io::Result<()> {
        sys::membership(self.socket.as_fd(), self.index, kind, mac, add)
    }

    /// Adds or drops an address.
    pub fn unicast(&self, mac: MacAddr, add: bool) -> io::Result<()> {
        self.change(libc::PACKET_MR_UNICAST, mac, add)
    }

    /// Accepts frames for all addresses, or not.
    pub fn promiscuous(&self, on: bool) -> io::Result<()> {
        self.change(libc::PACKET_MR_PROMISC, MacAddr::ZERO, on)
    }
}
