// SPDX-License-Identifier: Apache-2.0
//! Messages of the modules `interface` and `feature`.

pub mod details;
pub mod feature;
pub mod rx;
pub mod sub;
pub mod tx;

use crate::control;
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::IfStatusFlags;
use net::api::{InterfaceIndex, MacAddress};
use net::{IfEvent, IfKind, Interfaces, MtuKind};

/// This feature's part of the module `interface`.
pub static API: Module<World> = Module::core("interface", messages);

fn messages(m: &mut Messages<World>) {
    m.dump(details::dump);
    m.call(|w, r: SwInterfaceSetFlags| {
        let up = r.flags.has(IfStatusFlags::ADMIN_UP);
        w.get::<Interfaces>().set_admin(w, r.sw_if_index.existing(w)?, up)
    });
    m.call(|w, r: SwInterfaceSetMtu| control::set_mtus(w, r.sw_if_index.existing(w)?, r.mtu));
    m.call(|w, r: HwInterfaceSetMtu| {
        w.get::<Interfaces>().set_mtu(w, r.sw_if_index.existing(w)?, MtuKind::Link, r.mtu)
    });
    m.call(|w, r: SwInterfaceSetMacAddress| {
        w.get::<Interfaces>().set_mac(w, r.sw_if_index.existing(w)?, r.mac_address.into())
    });
    m.call(get_mac);
    m.call(|w, r: SwInterfaceAddDelMacAddress| -> Result<()> {
        let sw_if = InterfaceIndex(r.sw_if_index).existing(w)?;
        control::set_further_mac(w, sw_if, r.addr.into(), r.is_add != 0)
    });
    m.call(|w, r: SwInterfaceSetInterfaceName| {
        w.get::<Interfaces>().set_name(w, r.sw_if_index.existing(w)?, r.name.as_str())
    });
    m.call(|w, r: SwInterfaceSetPromisc| {
        w.get::<Interfaces>().set_promiscuous(w, r.sw_if_index.existing(w)?, r.promisc_on)
    });
    m.call(|w, r: SwInterfaceTagAddDel| {
        let tag = r.is_add.then_some(r.tag.as_str());
        control::set_tag(w, r.sw_if_index.existing(w)?, tag)
    });
    m.call_later(|w, r: SwInterfaceClearStats| {
        Ok(control::clear_counters(w, r.sw_if_index.existing_or_all(w)?).reply(|_| Ok(())))
    });
    m.call(|w, r: CollectDetailedInterfaceStats| r.sw_if_index.existing(w).map(|_| ()));
    m.call_by(|_, c, r: WantInterfaceEvents| {
        c.hub.subscribe::<SwInterfaceEvent>(c, r.pid, r.enable_disable != 0);
        Ok(())
    });
    m.answer::<SwInterfaceEvent>();
    rx::messages(m);
    tx::messages(m);
}

msg::messages! {
    /// Takes an interface up or down.
    SwInterfaceSetFlags,
    /// Sets what an interface carries of layer 3.
    SwInterfaceSetMtu,
    /// Sets what the link carries.
    HwInterfaceSetMtu,
    /// Sets the MAC address.
    SwInterfaceSetMacAddress,
    /// Asks for the MAC address.
    SwInterfaceGetMacAddress,
    /// Adds or removes a further MAC address, for which frames are received as for the own one.
    SwInterfaceAddDelMacAddress,
    /// Gives an interface another name.
    SwInterfaceSetInterfaceName,
    /// Takes frames for whatever MAC address, or no longer.
    SwInterfaceSetPromisc,
    /// Sets a user's note, or takes it away.
    SwInterfaceTagAddDel,
    /// Starts counters again at zero.
    SwInterfaceClearStats,
    /// Asks for counters of unicast, multicast and broadcast, or no longer. They are always kept:
    /// nothing changes.
    CollectDetailedInterfaceStats,
    /// Asks for events of interfaces.
    WantInterfaceEvents,
    /// An interface is new, has gone up or down, or goes away.
    SwInterfaceEvent,
}

fn get_mac(w: &World, r: SwInterfaceGetMacAddress) -> Result<MacAddress> {
    let interface = w.get::<Interfaces>().get(r.sw_if_index.existing(w)?)?;
    let is_ethernet = interface.kind == IfKind::Ethernet;
    Ok(if is_ethernet { interface.mac.into() } else { MacAddress::default() })
}

/// Tells clients what happened to an interface.
pub fn publish(w: &World, event: IfEvent) {
    let (sw_if, deleted) = match event {
        IfEvent::Added(sw_if) | IfEvent::Admin(sw_if, _) | IfEvent::Link(sw_if, _) => {
            (sw_if, false)
        }
        IfEvent::Deleting(sw_if) => (sw_if, true),
        _ => return,
    };
    if !w.api.has_subscribers::<SwInterfaceEvent>() {
        return;
    }
    let flags = match w.get::<Interfaces>().get(sw_if) {
        Ok(interface) if !deleted => IfStatusFlags::of(&interface),
        _ => IfStatusFlags::default(),
    };
    w.api.publish(&SwInterfaceEvent { sw_if_index: sw_if.into(), flags, deleted });
}
