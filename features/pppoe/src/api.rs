// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `pppoe`.

use crate::clients::Clients;
use crate::sessions::{Config, Session, Sessions};
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::Interfaces;
use net::api::{Address, InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> = Module::plugin("pppoe", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: PppoeAddDelSession| {
        let (sessions, mac) = (w.get::<Sessions>(), r.client_mac.into());
        let sw_if = if r.is_add {
            let config = Config {
                session: r.session_id,
                mac,
                address: r.client_ip.into(),
                table: r.decap_vrf_id,
            };
            sessions.create(w, config, None, None)?
        } else {
            sessions.delete(w, mac, r.session_id)?
        };
        Ok(sw_if)
    });
    m.call(|w, r: PppoeAddDelCp| {
        let (clients, sw_if) = (w.get::<Clients>(), r.sw_if_index.existing(w)?);
        match r.is_add {
            0 => clients.remove_control_plane(w, sw_if),
            _ => clients.set_control_plane(w, sw_if),
        }
    });
    m.dump(|w, r: PppoeSessionDump| {
        let sessions = w.get::<Sessions>();
        let all = match r.sw_if_index.given() {
            Some(sw_if) => sessions.get(sw_if).into_iter().collect(),
            None => sessions.list(),
        };
        Ok(all.into_iter().map(|session| details(w, session)).collect::<Vec<_>>())
    });
}

fn details(w: &World, session: Session) -> PppoeSessionDetails {
    let at = w.get::<Interfaces>().get(session.encap);
    PppoeSessionDetails {
        sw_if_index: session.sw_if.into(),
        session_id: session.config.session,
        client_ip: session.config.address.into(),
        encap_if_index: session.encap.into(),
        decap_vrf_id: session.config.table,
        local_mac: at.map(|at| at.mac).unwrap_or_default().into(),
        client_mac: session.config.mac.into(),
    }
}

msg::messages! {
    /// Makes or deletes a session.
    #[derive(Clone, Copy)]
    PppoeAddDelSession,
    /// Sets the control plane's interface, or takes it back.
    PppoeAddDelCp,
    /// Asks for one session, or for all.
    PppoeSessionDump,
    /// A session.
    PppoeSessionDetails,
}
