// SPDX-License-Identifier: Apache-2.0
//! The part of the module `ip` that is about reassembly.

use crate::control;
use crate::state::{Kind, Settings};
use cli::Result;
use graph::World;
use msg::{Messages, Module};
use net::api::InterfaceIndex;

/// This feature's part of the module.
pub static API: Module<World> = Module::core("ip", messages);

fn messages(m: &mut Messages<World>) {
    m.order(set);
    m.call(get);
    m.call(enable);
    m.call(|w, r: IpLocalReassEnableDisable| {
        control::set_local(w, false, r.enable_ip4)?;
        control::set_local(w, true, r.enable_ip6)
    });
    m.call(|w, _: IpLocalReassGet| {
        let [ip4_is_enabled, ip6_is_enabled] = [false, true].map(|v6| control::is_local(w, v6));
        Ok(IpLocalReassGetReply { ip4_is_enabled, ip6_is_enabled })
    });
}

msg::messages! {
    /// The kind of reassembly.
    IpReassType,
    /// Sets the limits of reassembly.
    IpReassemblySet,
    /// Requests the limits of reassembly.
    IpReassemblyGet,
    /// The limits of reassembly.
    IpReassemblyGetReply,
    /// Enables or disables reassembly of the packets received on an interface.
    IpReassemblyEnableDisable,
    /// Enables or disables reassembly of datagrams that are for us.
    IpLocalReassEnableDisable,
    /// Requests the state of reassembly of datagrams that are for us.
    IpLocalReassGet,
    /// State of reassembly of datagrams that are for us.
    IpLocalReassGetReply,
}

impl From<IpReassType> for Kind {
    fn from(kind: IpReassType) -> Self {
        match kind {
            IpReassType::Full => Self::Full,
            IpReassType::ShallowVirtual => Self::Shallow,
        }
    }
}

fn set(w: &World, r: IpReassemblySet) {
    let new = Settings {
        timeout_ms: r.timeout_ms,
        max_reassemblies: r.max_reassemblies,
        max_reassembly_length: r.max_reassembly_length,
        expire_walk_interval_ms: r.expire_walk_interval_ms,
    };
    control::configure(w, r.r#type.into(), r.is_ip6, new);
}

fn get(w: &World, r: IpReassemblyGet) -> Result<IpReassemblyGetReply> {
    let s = control::settings(w, r.r#type.into(), r.is_ip6);
    Ok(IpReassemblyGetReply {
        timeout_ms: s.timeout_ms,
        max_reassemblies: s.max_reassemblies,
        max_reassembly_length: s.max_reassembly_length,
        expire_walk_interval_ms: s.expire_walk_interval_ms,
        is_ip6: r.is_ip6,
    })
}

fn enable(w: &World, r: IpReassemblyEnableDisable) -> Result<()> {
    let (sw_if, kind) = (r.sw_if_index.existing(w)?, r.r#type.into());
    control::enable(w, sw_if, kind, false, r.enable_ip4)?;
    control::enable(w, sw_if, kind, true, r.enable_ip6)
}
