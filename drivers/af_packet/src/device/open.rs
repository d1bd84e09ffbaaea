// SPDX-License-Identifier: Apache-2.0
//! Opening: the kernel takes 14 ms for each receive queue, so a helper thread does it. A host
//! interface that isn't open yet is as one whose interface in the kernel isn't there.

use super::{HostDevice, OWN_NETNS, State, failed};
use crate::{Control, HostInterface, Membership, Mode};
use cli::{Error, retval};
use driver::{LinkChange, LinkUser, Netdevs};
use graph::{SwIfIndex, World};
use net::Interfaces;
use netlink::Link;
use std::io;
use wire::MacAddr;

/// Configures an interface that was opened: it receives frames for our own addresses and for
/// groups, but none before it is taken up.
fn prepare(
    control: &Control,
    mode: Mode,
    macs: impl IntoIterator<Item = MacAddr>,
    promiscuous: bool,
) -> io::Result<()> {
    control.set_receiving(false)?;
    if mode == Mode::Ethernet {
        for mac in macs {
            control.membership(Membership::Unicast(mac), true)?;
        }
        control.membership(Membership::AllMulticast, true)?;
        if promiscuous {
            control.membership(Membership::Promiscuous, true)?;
        }
    }
    Ok(())
}

/// The error of a host interface that the kernel refuses to open.
pub fn refused(error: &io::Error) -> Error {
    let retval = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => retval::INVALID_INTERFACE,
        _ => retval::SYSCALL_ERROR_1,
    };
    Error::failed(error.to_string()).retval(retval)
}

impl HostDevice {
    /// The kernel's interface is there, or there again: has it opened.
    fn open(&self, world: &World, sw_if: SwIfIndex, link: Link) -> Result<(), Error> {
        let interfaces = world.get::<Interfaces>();
        {
            let mut state = self.state();
            if !state.made.force {
                driver::refuse_used(&mut state.rtnl, &link, true)?;
            }
            state.link = link.clone();
        }
        self.take(world, &link);
        if self.state().unseen {
            let (name, given) = {
                let state = self.state();
                (state.config.name.clone(), state.made.mac)
            };
            let mac = given.unwrap_or_else(|| driver::own_mac(&name, link.mac));
            interfaces.note_made(world, sw_if, mac, link.mtu.min(u16::MAX.into()) as u16)?;
            let mut state = self.state();
            (state.mac, state.unseen) = (interfaces.get(sw_if)?.mac, false);
        }
        self.set_up_link(world, sw_if)?;
        let (config, me) = (self.state().config.clone(), self.me.clone());
        self.opening.start(
            world,
            move || HostInterface::open(&config),
            move |world, first, open| match me.upgrade() {
                Some(device) => device.opened(world, sw_if, first, open),
                None => driver::close(world, open),
            },
        );
        Ok(())
    }

    /// Gives the link the MTU and the admin state that ours has.
    fn set_up_link(&self, world: &World, sw_if: SwIfIndex) -> Result<(), Error> {
        let mtu = world.get::<Interfaces>().get(sw_if)?.mtu.configured.map(u32::from);
        let netdevs = world.get::<Netdevs>();
        let State { rtnl, link, up, .. } = &mut *self.state();
        if let Some(mtu) = mtu.filter(|mtu| *mtu != link.mtu) {
            netdevs.set_mtu(rtnl, OWN_NETNS, link, mtu).map_err(failed("MTU"))?;
            link.mtu = mtu;
        }
        if *up && !link.is_admin_up() {
            netdevs.set_up(rtnl, OWN_NETNS, link).map_err(failed("admin state"))?;
        }
        Ok(())
    }

    /// The helper thread has opened the kernel's interface, or could not.
    fn opened(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        first: bool,
        open: io::Result<HostInterface>,
    ) {
        let name = self.state().link.name.clone();
        let done =
            open.map_err(|error| refused(&error)).and_then(|open| self.attach(world, sw_if, open));
        match done {
            Ok(()) => {
                if !first {
                    log::info!(target: "af_packet", "host-{name}: the host's interface {name} is there");
                }
                self.follow_link(world, sw_if);
            }
            Err(error) => self.is_refused(world, sw_if, first, error),
        }
    }

    /// The kernel's interface can't be opened: a new one is deleted again.
    fn is_refused(&self, world: &World, sw_if: SwIfIndex, first: bool, error: Error) {
        if first {
            self.opening.fail(world, sw_if, error);
        } else {
            let name = &self.state().config.name;
            log::error!(target: "af_packet", "host-{name}: the host's interface is there, but: {error}");
        }
    }

    /// Gives an open interface all that was set meanwhile.
    fn attach(&self, world: &World, sw_if: SwIfIndex, open: HostInterface) -> Result<(), Error> {
        let (config, macs, promiscuous, up) = {
            let state = self.state();
            let macs: Vec<_> = state.further.iter().copied().chain([state.mac]).collect();
            (state.config.clone(), macs, state.promiscuous, state.up)
        };
        self.set_up_link(world, sw_if)?;
        let HostInterface { rx, tx, control, .. } = open;
        prepare(&control, config.mode, macs, promiscuous).map_err(failed("host interface"))?;
        control.set_qdisc_bypass(config.qdisc_bypass).map_err(failed("queueing discipline"))?;
        self.rx.open(world, sw_if, config.mode == Mode::Ip, rx)?;
        if up {
            control.set_receiving(true).map_err(failed("receive queues"))?;
        }
        self.rx.set_up(world, up)?;
        self.tx.open(world, tx);
        self.state().control = Some(control);
        Ok(())
    }

    /// Follows the link as it is.
    fn follow_link(&self, world: &World, sw_if: SwIfIndex) {
        let link = self.state().link.clone();
        driver::note_link(world, sw_if, &link, link.is_link_up());
    }
}

impl LinkUser for HostDevice {
    fn link_changed(&self, world: &World, sw_if: SwIfIndex, news: LinkChange) {
        let interfaces = world.get::<Interfaces>();
        let Ok(name) = interfaces.get(sw_if).map(|interface| interface.name) else { return };
        match news {
            LinkChange::Gone => {
                self.release(world, false);
                self.opening.release();
                let before = self.state().link.name.clone();
                log::warn!(target: "af_packet", "{name}: the host's interface {before} is gone");
                self.rx.close(world);
                self.tx.close(world);
                let _ = interfaces.set_link(world, sw_if, false);
            }
            LinkChange::Is(link) | LinkChange::Back(link) => {
                let first = self.opening.is_new();
                if !first && (self.opening.is_pending() || self.state().control.is_some()) {
                    self.state().link = link;
                    self.follow_link(world, sw_if);
                } else if let Err(error) = self.open(world, sw_if, link) {
                    // It is tried again when something about the link changes.
                    self.is_refused(world, sw_if, first, error);
                }
            }
        }
    }
}
