// SPDX-License-Identifier: Apache-2.0
//! Opening: the kernel takes 14 ms for each receive queue, so a helper thread does it. A host
//! interface that isn't open yet is as one whose interface in the kernel isn't there.

use super::{HostDevice, OWN_NETNS, State, failed};
use crate::control;
use crate::{Control, HostInterface, Membership, Mode};
use cli::{Error, Output, Task, TaskState, retval};
use driver::{LinkChange, LinkUser, Netdevs};
use graph::{SwIfIndex, World};
use msg::Pending;
use net::{Interfaces, MtuKind};
use netlink::Link;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use wire::MacAddr;

/// Progress of opening the kernel's interface, which a helper thread does.
pub(super) enum Opening {
    /// It was just made.
    New,
    /// It is open, or not there.
    Idle,
    /// It is being opened: for the first time, it is deleted again where that fails.
    Runs { first: bool },
    /// That has failed, and it was deleted.
    Failed(Error),
}

/// Configures an interface that was opened: it receives frames for our own address and for groups,
/// but none before it is taken up.
fn prepare(control: &Control, mode: Mode, mac: MacAddr, promiscuous: bool) -> io::Result<()> {
    control.set_receiving(false)?;
    if mode == Mode::Ethernet {
        control.membership(Membership::Unicast(mac), true)?;
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
        let mut state = self.state();
        state.opening = Opening::Runs { first: matches!(state.opening, Opening::New) };
        state.attempt += 1;
        let (config, attempt, me) = (state.config.clone(), state.attempt, self.me.clone());
        drop(state);
        driver::aside(
            world,
            move || HostInterface::open(&config),
            move |world, open| match me.upgrade() {
                Some(device) => device.opened(world, sw_if, attempt, open),
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
        attempt: u64,
        open: io::Result<HostInterface>,
    ) {
        let first = {
            let mut state = self.state();
            if state.attempt != attempt {
                // It was deleted, or is gone.
                driver::close(world, open);
                return;
            }
            matches!(
                std::mem::replace(&mut state.opening, Opening::Idle),
                Opening::Runs { first: true }
            )
        };
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
            Err(error) => self.is_refused(world, first, error),
        }
    }

    /// The kernel's interface can't be opened: a new one is deleted again.
    fn is_refused(&self, world: &World, first: bool, error: Error) {
        let name = self.state().config.name.clone();
        if first {
            // Others may lie on it already: then it stays, and is opened when its link changes.
            let _ = control::delete(world, &name);
            self.state().opening = Opening::Failed(error);
        } else {
            log::error!(target: "af_packet", "host-{name}: the host's interface is there, but: {error}");
        }
    }

    /// Gives an open interface all that was set meanwhile.
    fn attach(&self, world: &World, sw_if: SwIfIndex, open: HostInterface) -> Result<(), Error> {
        let (config, mac, promiscuous, up) = {
            let state = self.state();
            (state.config.clone(), state.mac, state.promiscuous, state.up)
        };
        self.set_up_link(world, sw_if)?;
        let HostInterface { rx, tx, control, .. } = open;
        prepare(&control, config.mode, mac, promiscuous).map_err(failed("host interface"))?;
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
        let interfaces = world.get::<Interfaces>();
        let Ok(interface) = interfaces.get(sw_if) else { return };
        let link = self.state().link.clone();
        let mtu = link.mtu.min(u16::MAX.into()) as u16;
        if interface.mtu_of(MtuKind::Link) != mtu {
            let _ = interfaces.note_mtu(world, sw_if, mtu);
        }
        // The interface is there: it was looked up above, on this thread.
        let _ = interfaces.set_link(world, sw_if, link.is_link_up());
    }
}

impl LinkUser for HostDevice {
    fn link_changed(&self, world: &World, sw_if: SwIfIndex, news: LinkChange) {
        let interfaces = world.get::<Interfaces>();
        let Ok(name) = interfaces.get(sw_if).map(|interface| interface.name) else { return };
        match news {
            LinkChange::Gone => {
                self.release(world, false);
                let before = self.state().link.name.clone();
                log::warn!(target: "af_packet", "{name}: the host's interface {before} is gone");
                self.rx.close(world);
                self.tx.close(world);
                let _ = interfaces.set_link(world, sw_if, false);
            }
            LinkChange::Is(link) | LinkChange::Back(link) => {
                let (is_open, first) = {
                    let state = self.state();
                    let is_opening = matches!(state.opening, Opening::Runs { .. });
                    (state.control.is_some() || is_opening, matches!(state.opening, Opening::New))
                };
                if is_open {
                    self.state().link = link;
                    self.follow_link(world, sw_if);
                } else if let Err(error) = self.open(world, sw_if, link) {
                    // It is tried again when something about the link changes.
                    self.is_refused(world, first, error);
                }
            }
        }
    }
}

/// A new host interface that is being opened.
pub struct NewHost {
    pub device: Arc<HostDevice>,
    pub sw_if: SwIfIndex,
    pub name: String,
    /// Position of the kernel's name in the command.
    pub at: Option<Range<usize>>,
    pub wake: Option<Duration>,
}

/// Interval of polls: the helper thread ends without a notification of whoever waits.
const SOON: Duration = Duration::from_millis(1);

impl NewHost {
    /// The result, once it is there.
    fn look(&mut self, now: Duration) -> Option<Result<(), Error>> {
        self.wake = Some(now + SOON);
        match &self.device.state().opening {
            Opening::New | Opening::Runs { .. } => None,
            Opening::Idle => Some(Ok(())),
            Opening::Failed(error) => Some(Err(error.clone().at(self.at.clone()))),
        }
    }
}

impl Task for NewHost {
    fn poll(&mut self, now: Duration) -> TaskState {
        match self.look(now) {
            None => TaskState::Pending,
            Some(Ok(())) => {
                let json = serde_json::json!({ "name": self.name, "sw_if_index": self.sw_if.0 });
                TaskState::Done(Output::both(self.name.clone(), json))
            }
            Some(Err(error)) => TaskState::Failed(error),
        }
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}

impl<R: From<SwIfIndex>> Pending<World, R> for NewHost {
    fn poll(&mut self, _: &World, now: Duration) -> Option<Result<R, Error>> {
        Some(self.look(now)?.map(|()| self.sw_if.into()))
    }

    fn wake_at(&self) -> Option<Duration> {
        self.wake
    }
}
