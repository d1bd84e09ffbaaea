// SPDX-License-Identifier: Apache-2.0
//! The driver's interface to a device.

use cli::Error;
use graph::{InputMode, SwIfIndex, ThreadIndex, World};
use msg::retval;
use std::net::IpAddr;
use wire::MacAddr;

/// A receive queue of a device, as placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxQueue {
    /// Its number, from 0.
    pub queue: u16,
    /// The thread that polls it.
    pub thread: ThreadIndex,
    /// The receive mode: polling, interrupt or adaptive.
    pub mode: InputMode,
}

/// The role of an interface in floods of its bridge domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FloodRole {
    /// It gets a copy.
    #[default]
    Port,
    /// It leads to one of the hosts that a [`Self::Group`] of the same domain leads to: with one,
    /// it gets no copy.
    OneOfGroup,
    /// It leads to a group of hosts.
    Group,
}

/// A driver's side of one interface. All calls are made on the control thread.
pub trait Device: Send + Sync + 'static {
    /// The driver's name: the first word of `show hardware-interfaces`' details.
    fn driver(&self) -> &'static str;

    /// The input node of its received packets, as in `trace add`.
    fn input_node(&self) -> &'static str {
        ""
    }

    /// The arc that its received frames start, at whose end is `ethernet-input`.
    fn input_arc(&self) -> &'static str {
        if self.is_tunnel() { "tunnel-input-ethernet" } else { "device-input" }
    }

    /// Sets the admin state, up or down.
    ///
    /// # Errors
    /// Why the device refuses.
    fn set_admin(&self, _world: &World, _sw_if: SwIfIndex, _up: bool) -> Result<(), Error> {
        Ok(())
    }

    /// Reports to the device's other end whether the interface that it mirrors has a link.
    ///
    /// # Errors
    /// Why the device refuses.
    fn set_carrier(&self, _up: bool) -> Result<(), Error> {
        Ok(())
    }

    /// Changes the MAC address.
    ///
    /// # Errors
    /// Why the device refuses.
    fn set_mac(&self, _world: &World, _mac: MacAddr) -> Result<(), Error> {
        Ok(())
    }

    /// Changes the maximum length of a frame, without Ethernet header, in bytes.
    ///
    /// # Errors
    /// Why the device refuses.
    fn set_mtu(&self, _world: &World, _mtu: u16) -> Result<(), Error> {
        Ok(())
    }

    /// Turns promiscuous mode on or off: frames for all MAC addresses are received.
    ///
    /// # Errors
    /// Why the device refuses.
    fn set_promiscuous(&self, _world: &World, _on: bool) -> Result<(), Error> {
        Ok(())
    }

    /// Adds a further MAC address to the device's filter of received frames, or removes it. Returns
    /// false if the device has no such filter: then it receives frames for other addresses only in
    /// promiscuous mode.
    ///
    /// # Errors
    /// Why the device refuses.
    fn set_further_mac(&self, _world: &World, _mac: MacAddr, _on: bool) -> Result<bool, Error> {
        Ok(false)
    }

    /// The receive queues, each with the thread that polls it; none for a device that has nothing
    /// to poll.
    fn rx_queues(&self) -> Vec<RxQueue> {
        Vec::new()
    }

    /// Number of transmit queues; of `n`, thread `t` sends by queue `t % n`, unless it was moved.
    fn tx_queues(&self) -> u16 {
        0
    }

    /// Moves a receive queue to another thread, or changes its receive mode.
    ///
    /// # Errors
    /// A queue that doesn't exist; a mode that the device hasn't got.
    fn place(&self, _world: &World, _queue: RxQueue) -> Result<(), Error> {
        Err(Error::unsupported("this interface has no receive queue to place"))
    }

    /// Moves threads to transmit queues: each sends by the queue at its index, or can't send.
    ///
    /// # Errors
    /// A device with a queue of its own for each thread.
    fn place_tx(&self, _world: &World, _queues: &[Option<u16>]) -> Result<(), Error> {
        let text = match self.driver() {
            "" => "this interface has no transmit queue to place".to_string(),
            driver => format!("{driver}: each thread has a transmit queue of its own"),
        };
        Err(Error::unsupported(text).retval(retval::UNIMPLEMENTED))
    }

    /// Spreads received packets over some receive queues only, or over all.
    ///
    /// # Errors
    /// A device that can't choose them.
    fn set_rss_queues(&self, _world: &World, _queues: Option<&[u16]>) -> Result<(), Error> {
        let text =
            format!("{}: received packets can't be spread over chosen queues", self.driver());
        Err(Error::unsupported(text).retval(retval::UNIMPLEMENTED))
    }

    /// The header for packets to a neighbour on a multipoint interface, if it follows from the
    /// neighbour's address. The unspecified address stands for each packet's own destination.
    fn header_to(&self, _neighbor: IpAddr) -> Option<Vec<u8>> {
        None
    }

    /// Returns the role of the interface in floods of its bridge domain.
    fn flood_role(&self) -> FloodRole {
        FloodRole::Port
    }

    /// Returns true if an interface of IP packets carries Ethernet frames while it is in layer-2
    /// mode: it can be a port of a bridge domain.
    fn carries_frames_in_l2(&self) -> bool {
        false
    }

    /// Returns true if packets of the interface are taken out of other packets. They pass the arcs
    /// `tunnel-input-ip4`, `tunnel-input-ip6` and `tunnel-input-ethernet`, and not `device-input`.
    fn is_tunnel(&self) -> bool {
        false
    }

    /// The link's speed in kilobits per second, if it is known.
    fn link_speed(&self) -> Option<u64> {
        None
    }

    /// Lines for `show hardware-interfaces`.
    fn details(&self) -> Vec<String> {
        Vec::new()
    }

    /// Releases all resources of an interface that is being deleted. Called once.
    fn delete(&self, _world: &World) {}
}
