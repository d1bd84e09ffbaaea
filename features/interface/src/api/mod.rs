// SPDX-License-Identifier: Apache-2.0
//! Messages of the modules `interface` and `feature`.

pub mod details;
pub mod feature;
pub mod gso;
pub mod rx;
pub mod sub;
pub mod tx;

use crate::control;
use cli::{Error, Result};
use graph::World;
use msg::{Caller, Message, Messages, Module, Str, retval};
use net::api::IfStatusFlags;
use net::api::{InterfaceIndex, MacAddress};
use net::{IfEvent, IfKind, Interfaces, MtuKind};

/// This feature's part of the module `interface`.
pub static API: Module<World> = net::api::interface_module(messages);

type Client<'a> = Caller<'a, World>;

fn messages(m: &mut Messages<World>) {
    m.dump(details::dump);
    m.call(|w: &World, _: &Client<'_>, r: SwInterfaceSetFlags| {
        let up = r.flags.has(IfStatusFlags::ADMIN_UP);
        w.get::<Interfaces>().set_admin(w, r.sw_if_index.existing(w)?, up)
    });
    m.call(|w: &World, _: &Client<'_>, r: SwInterfaceSetMtu| {
        control::set_mtus(w, r.sw_if_index.existing(w)?, r.mtu)
    });
    m.call(|w: &World, _: &Client<'_>, r: HwInterfaceSetMtu| {
        w.get::<Interfaces>().set_mtu(w, r.sw_if_index.existing(w)?, MtuKind::Link, r.mtu)
    });
    m.call(|w: &World, _: &Client<'_>, r: SwInterfaceSetMacAddress| {
        w.get::<Interfaces>().set_mac(w, r.sw_if_index.existing(w)?, r.mac_address.into())
    });
    m.call(get_mac);
    m.call(|w: &World, _: &Client<'_>, r: SwInterfaceAddDelMacAddress| -> Result<()> {
        let sw_if = InterfaceIndex(r.sw_if_index).existing(w)?;
        let name = w.get::<Interfaces>().name(sw_if);
        Err(Error::unsupported(format!("{name}: further MAC addresses aren't built yet"))
            .retval(retval::UNIMPLEMENTED))
    });
    m.call(|w: &World, _: &Client<'_>, r: SwInterfaceSetInterfaceName| {
        w.get::<Interfaces>().set_name(w, r.sw_if_index.existing(w)?, r.name.as_str())
    });
    m.call(|w: &World, _: &Client<'_>, r: SwInterfaceSetPromisc| {
        w.get::<Interfaces>().set_promiscuous(w, r.sw_if_index.existing(w)?, r.promisc_on)
    });
    m.call(|w: &World, _: &Client<'_>, r: SwInterfaceTagAddDel| {
        let tag = r.is_add.then_some(r.tag.as_str());
        control::set_tag(w, r.sw_if_index.existing(w)?, tag)
    });
    m.call_later(|w: &World, _: &Client<'_>, r: SwInterfaceClearStats| {
        Ok(control::clear_counters(w, r.sw_if_index.existing_or_all(w)?).reply(|_| Ok(())))
    });
    m.call(|w: &World, _: &Client<'_>, r: CollectDetailedInterfaceStats| {
        r.sw_if_index.existing(w).map(|_| ())
    });
    m.call(|_: &World, c: &Client<'_>, r: WantInterfaceEvents| {
        c.hub.subscribe::<SwInterfaceEvent>(c, r.pid, r.enable_disable != 0);
        Ok(())
    });
    m.answer::<SwInterfaceEvent>();
    rx::messages(m);
    tx::messages(m);
}

/// Takes an interface up or down.
#[derive(Message)]
pub struct SwInterfaceSetFlags {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Of these, `ADMIN_UP` counts.
    pub flags: IfStatusFlags,
}

/// Sets what an interface carries of layer 3.
#[derive(Message)]
pub struct SwInterfaceSetMtu {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Bytes of any packet; of IPv4, IPv6 and MPLS, where 0 is as the first. A first of 0 is what
    /// the link carries.
    pub mtu: [u32; 4],
}

/// Sets what the link carries.
#[derive(Message)]
pub struct HwInterfaceSetMtu {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Bytes of a frame behind the Ethernet header; 0 is what the link was made with.
    pub mtu: u16,
}

/// Sets the MAC address.
#[derive(Message)]
pub struct SwInterfaceSetMacAddress {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Its address.
    pub mac_address: MacAddress,
}

/// Asks for the MAC address.
#[derive(Message)]
#[msg(reply)]
pub struct SwInterfaceGetMacAddress {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// The MAC address.
#[derive(Message)]
pub struct SwInterfaceGetMacAddressReply {
    /// Zero for an interface without Ethernet header.
    pub mac_address: MacAddress,
}

fn get_mac(
    w: &World,
    _: &Client<'_>,
    r: SwInterfaceGetMacAddress,
) -> Result<SwInterfaceGetMacAddressReply> {
    let interface = w.get::<Interfaces>().get(r.sw_if_index.existing(w)?)?;
    let mac = if interface.kind == IfKind::Ethernet {
        interface.mac.into()
    } else {
        MacAddress::default()
    };
    Ok(SwInterfaceGetMacAddressReply { mac_address: mac })
}

/// Adds or removes a further MAC address: refused, it isn't built yet.
#[derive(Message)]
pub struct SwInterfaceAddDelMacAddress {
    /// The interface.
    pub sw_if_index: u32,
    /// The address.
    pub addr: MacAddress,
    /// Add, not remove.
    pub is_add: u8,
}

/// Gives an interface another name.
#[derive(Message)]
pub struct SwInterfaceSetInterfaceName {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Its name.
    pub name: Str<64>,
}

/// Takes frames for whatever MAC address, or no longer.
#[derive(Message)]
pub struct SwInterfaceSetPromisc {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// For whatever address.
    pub promisc_on: bool,
}

/// Sets a user's note, or takes it away.
#[derive(Message)]
pub struct SwInterfaceTagAddDel {
    /// Set, not take away.
    pub is_add: bool,
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// The note.
    pub tag: Str<64>,
}

/// Starts counters again at zero.
#[derive(Message)]
pub struct SwInterfaceClearStats {
    /// The interface; all bits set for all.
    pub sw_if_index: InterfaceIndex,
}

/// Asks for counters of unicast, multicast and broadcast, or no longer. They are always kept:
/// nothing changes.
#[derive(Message)]
pub struct CollectDetailedInterfaceStats {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Ask, not stop asking.
    pub enable_disable: bool,
}

/// Asks for events of interfaces.
#[derive(Message)]
#[msg(events(SwInterfaceEvent))]
pub struct WantInterfaceEvents {
    /// Ask, not stop asking.
    pub enable_disable: u32,
    /// Comes back with every event.
    pub pid: u32,
}

/// An interface is new, has gone up or down, or goes away.
#[derive(Message)]
pub struct SwInterfaceEvent {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Its state now.
    pub flags: IfStatusFlags,
    /// It goes away.
    pub deleted: bool,
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
