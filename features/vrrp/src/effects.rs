// SPDX-License-Identifier: Apache-2.0
//! Carries out the effects of state machines: packets, addresses, events.

use crate::api::VrrpVrEvent;
use crate::check;
use crate::control::Vrrp;
use crate::counters::Event;
use crate::machine::{Effect, State};
use crate::model::{VrConfig, VrKey};
use crate::packet::{self, Content};
use crate::table::{Accepted, Vr};
use graph::{SwIfIndex, World};
use net::{Addresses, FurtherMacs, Interface, Interfaces, MacUser, Net, transmit};
use std::net::IpAddr;
use wire::{Address, Ip4, Ip6, Prefix};

/// The user of the virtual MAC address of a virtual router.
const fn mac_user(index: u32) -> MacUser {
    MacUser { feature: "vrrp", id: index }
}

/// The parts of a virtual router that effects need, copied so that the table isn't locked.
struct Acting {
    config: VrConfig,
    peers: Vec<IpAddr>,
    priority: u8,
    is_plain: bool,
}

impl Vrrp {
    fn acting(&self, index: u32) -> Option<Acting> {
        let table = self.table();
        let vr = table.routers.get(&index)?;
        Some(Acting {
            config: vr.config.clone(),
            peers: vr.peers.clone(),
            priority: vr.machine.settings().priority,
            is_plain: vr.is_plain,
        })
    }

    /// Carries out effects of a virtual router's machine, in order.
    pub fn apply(&self, world: &World, index: u32, effects: Vec<Effect>) {
        for effect in effects {
            let Some(acting) = self.acting(index) else { return };
            match effect {
                Effect::Changed { from, to } => self.changed(world, index, &acting, (from, to)),
                Effect::Advertise(priority) => self.advertise(world, index, &acting, priority),
                Effect::Announce => announce(world, &acting.config),
            }
        }
    }

    fn changed(&self, world: &World, index: u32, acting: &Acting, (from, to): (State, State)) {
        let key = acting.config.key;
        if from == State::Master {
            self.withdraw(world, index);
        }
        // Requests are answered, or no longer answered, before other routers and stations hear of
        // it.
        self.publish(world, key.sw_if);
        if to == State::Master {
            self.counters.count(index, Event::Master);
            self.assume(world, index, &acting.config);
        }
        if matches!(to, State::Backup | State::Master) && !acting.config.is_unicast() {
            join(world, &acting.config);
        }
        let name = world.get::<Interfaces>().name(key.sw_if);
        let (version, id) = (key.version(), key.id);
        log::info!("{name}: IPv{version} virtual router {id} is {} now", to.name());
        let (old_state, new_state) = (from.into(), to.into());
        world.api.publish(&VrrpVrEvent { vr: key.into(), old_state, new_state });
    }

    /// Gives a master the MAC address and, in accept mode, the addresses of its virtual router.
    fn assume(&self, world: &World, index: u32, config: &VrConfig) {
        let key = config.key;
        if !config.is_unicast() {
            let macs = world.get::<FurtherMacs>();
            if let Err(e) = macs.add(world, key.sw_if, key.mac(), mac_user(index)) {
                log::warn!("virtual router {}: no frames for {}: {e}", key.id, key.mac());
            }
        }
        if !config.settings.accept_mode {
            return;
        }
        for ip in &config.addresses {
            let accepted = match ip {
                IpAddr::V4(ip) => accept::<Ip4>(world, key.sw_if, *ip, 24).map(Accepted::Ip4),
                IpAddr::V6(ip) if ip.is_unicast_link_local() => None,
                IpAddr::V6(ip) => accept::<Ip6>(world, key.sw_if, *ip, 64).map(Accepted::Ip6),
            };
            if let (Some(accepted), Some(vr)) = (accepted, self.table().routers.get_mut(&index)) {
                vr.accepted.push(accepted);
            }
        }
    }

    /// Takes back what [`Self::assume`] did.
    pub fn withdraw(&self, world: &World, index: u32) {
        let taken = self.table().routers.get_mut(&index).map(|vr| {
            let accepted: Vec<Accepted> = std::mem::take(&mut vr.accepted);
            (vr.config.key, accepted)
        });
        let Some((key, accepted)) = taken else { return };
        // An interface that was deleted has lost them already.
        _ = world.get::<FurtherMacs>().remove(world, key.sw_if, key.mac(), mac_user(index));
        for accepted in accepted {
            _ = match accepted {
                Accepted::Ip4(p) => world.get::<Addresses<Ip4>>().remove(world, key.sw_if, p),
                Accepted::Ip6(p) => world.get::<Addresses<Ip6>>().remove(world, key.sw_if, p),
            };
        }
    }

    /// Lets a changed configuration of a master take effect: as when it became the master, but
    /// without an event.
    pub fn advance(&self, world: &World, index: u32) {
        let Some(acting) = self.acting(index) else { return };
        let state = self.table().routers.get(&index).map(|vr: &Vr| vr.machine.state());
        if state == Some(State::Master) {
            self.assume(world, index, &acting.config);
            self.advertise(world, index, &acting, acting.priority);
            announce(world, &acting.config);
        }
    }

    fn advertise(&self, world: &World, index: u32, acting: &Acting, priority: u8) {
        let key = acting.config.key;
        let content = Content {
            id: key.id,
            priority,
            interval: acting.config.settings.interval,
            addresses: &acting.config.addresses,
            is_plain: acting.is_plain,
        };
        let sent = match acting.config.is_unicast() {
            true => to_peers(world, key, &content, &acting.peers),
            false => match (up(world, key.sw_if), check::source(world, key)) {
                (Some(interface), Some(src)) => {
                    send(world, &interface, vec![content.frame(key.mac(), src)]);
                    true
                }
                _ => false,
            },
        };
        if sent {
            self.counters.count(index, Event::Sent);
            if priority == 0 {
                self.counters.count(index, Event::SentZero);
            }
        }
    }
}

/// Adds an address to an interface, with the length of a network of the interface that it is in,
/// or else this one. `None` if the interface has it, or can't have it.
fn accept<F: Net>(
    world: &World,
    sw_if: SwIfIndex,
    ip: F::Addr,
    usual: u8,
) -> Option<Prefix<F::Addr>> {
    let addresses = world.get::<Addresses<F>>();
    let own = addresses.own(sw_if);
    if own.iter().any(|prefix| prefix.addr() == ip) {
        return None;
    }
    let len = own.iter().find(|prefix| prefix.contains(ip)).map_or(usual, |prefix| prefix.len());
    let prefix = Prefix::new(ip, len)?;
    match addresses.add_learned(world, sw_if, prefix) {
        Ok(()) => Some(prefix),
        Err(e) => {
            let name = world.get::<Interfaces>().name(sw_if);
            log::warn!("{name}: the virtual address {ip} isn't accepted: {e}");
            None
        }
    }
}

/// The interface, if it can send.
fn up(world: &World, sw_if: SwIfIndex) -> Option<Interface> {
    let interface = world.get::<Interfaces>().get(sw_if).ok()?;
    Some(interface).filter(|interface| interface.admin_up && interface.link_up)
}

fn send(world: &World, interface: &Interface, frames: Vec<Vec<u8>>) {
    transmit(world, interface, frames, &world.stats.simple("/net/vrrp/tx/no-buffers"));
}

/// Reports the groups of a virtual router, from the interface's own MAC address.
fn join(world: &World, config: &VrConfig) {
    let key = config.key;
    if let (Some(interface), Some(src)) = (up(world, key.sw_if), check::source(world, key)) {
        send(world, &interface, packet::reports(interface.mac, src, &config.addresses));
    }
}

/// Announces the addresses of a master, unless they stay at the interface's own MAC address.
fn announce(world: &World, config: &VrConfig) {
    let key = config.key;
    if let Some(interface) = up(world, key.sw_if)
        && !config.is_unicast()
    {
        let frames = config.addresses.iter().map(|ip| packet::announcement(key, *ip)).collect();
        send(world, &interface, frames);
    }
}

/// Sends an advertisement to each peer, by lookup. False if no peer can be reached from an address
/// of the interface.
fn to_peers(world: &World, key: VrKey, content: &Content<'_>, peers: &[IpAddr]) -> bool {
    let packets: Vec<_> = peers
        .iter()
        .filter_map(|peer| {
            let packet = content.packet(check::source_for(world, key, *peer)?, *peer);
            Some((packet, link_table(world, key, *peer)?))
        })
        .collect();
    let any = !packets.is_empty();
    crate::unicast::send(world, key, packets);
    any
}

/// The table in which a peer is looked up.
fn link_table(world: &World, key: VrKey, peer: IpAddr) -> Option<net::TableIndex> {
    match peer {
        IpAddr::V4(_) => world.get::<Addresses<Ip4>>().table_of(key.sw_if).ok(),
        IpAddr::V6(ip) if ip.link_local() => world.get::<net::LinkLocals>().table(key.sw_if),
        IpAddr::V6(_) => world.get::<Addresses<Ip6>>().table_of(key.sw_if).ok(),
    }
}
