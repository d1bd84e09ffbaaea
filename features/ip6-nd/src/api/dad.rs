// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip6_dad`.

use crate::dad::{Change, Dad, Settings};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module, Wire};
use net::api::{InterfaceIndex, Ip6Address};
use std::net::Ipv6Addr;

/// The module.
pub static API: Module<World> =
    Module { name: "ip6_dad", version: "1.0.0", crc: 0xf43f_b69c, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(enable_disable);
    m.dump(dump);
    m.call(want);
    m.answer::<Ip6DadEvent>();
}

/// State of an address.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[wire(prefix = "IP6_DAD_STATE_")]
pub enum Ip6DadState {
    /// Not probed.
    #[default]
    Idle = 0,
    /// Being probed.
    Tentative = 1,
    /// Ours.
    Preferred = 2,
    /// Another node's.
    Duplicate = 3,
}

/// Enables or disables duplicate address detection.
#[derive(Message)]
pub struct Ip6DadEnableDisable {
    /// Enable, not disable.
    #[wire(default = "true")]
    pub enable: bool,
    /// Number of solicitations, 1 to 10.
    #[wire(default = "1")]
    pub dad_transmits: u8,
    /// Seconds between two solicitations, and after the last.
    #[wire(default = "1.0")]
    pub dad_retransmit_delay: f64,
}

fn enable_disable(w: &World, _: &Caller<'_, World>, r: Ip6DadEnableDisable) -> Result<()> {
    let dad = w.get::<Dad>();
    if !r.enable {
        return dad.set(w, Settings { enabled: false, ..dad.settings() });
    }
    let (transmits, delay) = (r.dad_transmits, r.dad_retransmit_delay);
    dad.set(w, Settings { enabled: true, transmits, delay, ..dad.settings() })
}

/// Asks for the settings of duplicate address detection.
#[derive(Message)]
#[msg(details)]
pub struct Ip6DadDump {}

/// Settings of duplicate address detection.
#[derive(Message)]
pub struct Ip6DadDetails {
    /// True if it is enabled.
    pub enabled: bool,
    /// Number of solicitations.
    pub dad_transmits: u8,
    /// Seconds between two solicitations, and after the last.
    pub dad_retransmit_delay: f64,
}

fn dump(w: &World, _: &Caller<'_, World>, _: Ip6DadDump) -> Result<Vec<Ip6DadDetails>> {
    let Settings { enabled, transmits, delay, .. } = w.get::<Dad>().settings();
    Ok(vec![Ip6DadDetails { enabled, dad_transmits: transmits, dad_retransmit_delay: delay }])
}

/// Asks for events of our addresses.
#[derive(Message)]
#[msg(events(Ip6DadEvent))]
pub struct WantIp6DadEvents {
    /// Ask, not stop asking.
    pub enable_disable: bool,
    /// Comes back with every event.
    pub pid: u32,
}

fn want(_: &World, c: &Caller<'_, World>, r: WantIp6DadEvents) -> Result<()> {
    c.hub.subscribe::<Ip6DadEvent>(c, r.pid, r.enable_disable);
    Ok(())
}

/// An address of ours is being probed, is ours, or is another node's.
#[derive(Message)]
pub struct Ip6DadEvent {
    /// Its state now.
    pub state: Ip6DadState,
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The address.
    pub address: Ip6Address,
    /// Solicitations sent.
    pub dad_count: u8,
    /// Solicitations to send.
    pub dad_transmits: u8,
}

/// Publishes the state of an address to clients.
pub fn publish(w: &World, sw_if: SwIfIndex, ip: Ipv6Addr, change: Change, sent: u8, transmits: u8) {
    let state = match change {
        Change::Tentative => Ip6DadState::Tentative,
        Change::Preferred => Ip6DadState::Preferred,
        Change::Duplicate => Ip6DadState::Duplicate,
    };
    w.api.publish(&Ip6DadEvent {
        state,
        sw_if_index: sw_if.into(),
        address: Ip6Address(ip.octets()),
        dad_count: sent,
        dad_transmits: transmits,
    });
}
