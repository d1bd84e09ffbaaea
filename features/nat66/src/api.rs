// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `nat66`.

use crate::control::{Control, StaticMapping};
use cli::Result;
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::api::{InterfaceIndex, Ip6Address};
use std::sync::Arc;

/// The module.
pub static API: Module<World> = Module::plugin("nat66", messages);

msg::messages! {
    /// Properties of addresses, mappings, interfaces and sessions.
    flags NatConfigFlags,
    /// Enables NAT66, or disables it and forgets all of its configuration.
    Nat66PluginEnableDisable,
    /// Makes an interface one to users or to the world, or no longer.
    Nat66AddDelInterface,
    /// Requests these interfaces.
    Nat66InterfaceDump,
    /// An interface to users or to the world.
    Nat66InterfaceDetails,
    /// Adds a static mapping, or removes it.
    Nat66AddDelStaticMapping,
    /// Requests the static mappings.
    Nat66StaticMappingDump,
    /// A static mapping, with the packets and bytes of both directions.
    Nat66StaticMappingDetails,
}

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: Nat66PluginEnableDisable| match r.enable {
        true => control(w).enable(w, r.outside_vrf),
        false => control(w).disable(w),
    });
    m.call(|w, r: Nat66AddDelInterface| {
        let inside = r.flags.has(NatConfigFlags::INSIDE);
        control(w).set_role(w, SwIfIndex(r.sw_if_index.0), inside, r.is_add)
    });
    m.dump(|w, _: Nat66InterfaceDump| {
        let roles = control(w).read(|state| state.roles.clone());
        Ok(roles.into_iter().map(|(sw_if, inside)| Nat66InterfaceDetails {
            flags: NatConfigFlags::INSIDE.when(inside) | NatConfigFlags::OUTSIDE.when(!inside),
            sw_if_index: InterfaceIndex::from(sw_if),
        }))
    });
    m.call(|w, r: Nat66AddDelStaticMapping| {
        let mapping = StaticMapping {
            local: r.local_ip_address.0.into(),
            external: r.external_ip_address.0.into(),
            vrf: r.vrf_id,
        };
        match r.is_add {
            true => control(w).add(w, mapping),
            false => control(w).del(w, mapping),
        }
    });
    m.dump(mappings);
}

fn control(w: &World) -> Arc<Control> {
    w.get()
}

fn mappings(w: &World, _: Nat66StaticMappingDump) -> Result<Vec<Nat66StaticMappingDetails>> {
    let all = control(w).read(|state| state.mappings.clone());
    let details = |(at, mapping): (u32, StaticMapping)| {
        let (total_pkts, total_bytes) = Control::counters(w, at);
        Nat66StaticMappingDetails {
            local_ip_address: Ip6Address(mapping.local.octets()),
            external_ip_address: Ip6Address(mapping.external.octets()),
            vrf_id: mapping.vrf,
            total_bytes,
            total_pkts,
        }
    };
    Ok(all.into_iter().map(details).collect())
}
