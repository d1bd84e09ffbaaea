// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `ip6_dad`.

use crate::dad::{Change, Dad, Settings};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Caller, Messages, Module};
use net::api::{InterfaceIndex, Ip6Address};
use std::net::Ipv6Addr;

/// The module.
pub static API: Module<World> = Module::core("ip6_dad", messages);

fn messages(m: &mut Messages<World>) {
    m.call(enable_disable);
    m.dump(dump);
    m.call_by(want);
    m.answer::<Ip6DadEvent>();
}

msg::messages! {
    /// State of an address.
    Ip6DadState,
    /// Enables or disables duplicate address detection.
    Ip6DadEnableDisable,
    /// Asks for the settings of duplicate address detection.
    Ip6DadDump,
    /// Settings of duplicate address detection.
    Ip6DadDetails,
    /// Asks for events of our addresses.
    WantIp6DadEvents,
    /// An address of ours is being probed, is ours, or is another node's.
    Ip6DadEvent,
}

fn enable_disable(w: &World, r: Ip6DadEnableDisable) -> Result<()> {
    let dad = w.get::<Dad>();
    if !r.enable {
        return dad.set(w, Settings { enabled: false, ..dad.settings() });
    }
    let (transmits, delay) = (r.dad_transmits, r.dad_retransmit_delay);
    dad.set(w, Settings { enabled: true, transmits, delay, ..dad.settings() })
}

fn dump(w: &World, _: Ip6DadDump) -> Result<Vec<Ip6DadDetails>> {
    let Settings { enabled, transmits, delay, .. } = w.get::<Dad>().settings();
    Ok(vec![Ip6DadDetails { enabled, dad_transmits: transmits, dad_retransmit_delay: delay }])
}

fn want(_: &World, c: &Caller<'_, World>, r: WantIp6DadEvents) -> Result<()> {
    c.hub.subscribe::<Ip6DadEvent>(c, r.pid, r.enable_disable);
    Ok(())
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
