// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `l2tp`.

use crate::model::{Cookie, L2tp, LocalCookies, LookupBy};
use crate::sessions::Sessions;
use cli::{Error, retval};
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::Interfaces;
use net::api::{Address, InterfaceIndex};
use object::Choice;
use tunnel::{HeaderMarking, Tunnel, TunnelEndpoints, Tunnels};

/// The module.
pub static API: Module<World> = Module::plugin("l2tp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: L2tpv3CreateTunnel| L2tp::from(r).create(w, None));
    m.call(|w, r: L2tpv3DeleteTunnel| {
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Tunnels<L2tp>>().delete(w, sw_if)
    });
    m.call(|w, r: L2tpv3SetTunnelCookies| {
        let sw_if = r.sw_if_index.existing(w)?;
        let (local, remote) = (r.new_local_cookie, r.new_remote_cookie);
        w.get::<Sessions>().set_cookies(w, sw_if, Some(local), Some(remote))
    });
    m.call(|w, r: L2tpv3InterfaceEnableDisable| {
        w.get::<Sessions>().enable(w, r.sw_if_index.existing(w)?, r.enable_disable)
    });
    m.call(|w, r: L2tpv3SetLookupKey| {
        let by = LookupBy::ALL.iter().copied().find(|(_, by)| *by as u8 == r.key.0);
        let Some((_, by)) = by else {
            let why = format!("there is no lookup {}", r.key.0);
            return Err(Error::parse(why).retval(retval::INVALID_VALUE));
        };
        w.get::<Sessions>().set_lookup(w, by)
    });
    m.dump(|w, _: SwIfL2tpv3TunnelDump| {
        let all = w.get::<Tunnels<L2tp>>().list();
        Ok(all.into_iter().map(|tunnel| details(w, tunnel)).collect::<Vec<_>>())
    });
}

msg::messages! {
    /// The field by which sessions are found.
    flags L2tLookupKey,
    /// Makes a session.
    #[derive(Clone, Copy)]
    L2tpv3CreateTunnel,
    /// Deletes a session. VPP has no such message.
    L2tpv3DeleteTunnel,
    /// Changes the cookies of a session; the local one before is accepted until the next change.
    L2tpv3SetTunnelCookies,
    /// Takes packets of sessions out of what an interface receives before they are looked up, or no
    /// longer.
    L2tpv3InterfaceEnableDisable,
    /// Sets the field of received packets by which sessions are found.
    L2tpv3SetLookupKey,
    /// Asks for all sessions.
    SwIfL2tpv3TunnelDump,
    /// A session.
    SwIfL2tpv3TunnelDetails,
}

impl From<L2tpv3CreateTunnel> for L2tp {
    fn from(r: L2tpv3CreateTunnel) -> Self {
        Self {
            ends: TunnelEndpoints::new(
                r.our_address.into(),
                r.client_address.into(),
                r.encap_vrf_id,
                None,
            ),
            marks: HeaderMarking::default(),
            local_session: r.local_session_id,
            remote_session: r.remote_session_id,
            local_cookies: LocalCookies::new(r.local_cookie),
            remote_cookie: Cookie(r.remote_cookie),
            sublayer: r.l2_sublayer_present,
        }
    }
}

fn details(w: &World, Tunnel { sw_if, spec, .. }: Tunnel<L2tp>) -> SwIfL2tpv3TunnelDetails {
    SwIfL2tpv3TunnelDetails {
        sw_if_index: sw_if.into(),
        interface_name: w.get::<Interfaces>().name(sw_if).into(),
        client_address: spec.ends.remote.into(),
        our_address: spec.ends.local.into(),
        local_session_id: spec.local_session,
        remote_session_id: spec.remote_session,
        local_cookie: [spec.local_cookies.now.0, spec.local_cookies.before.0],
        remote_cookie: spec.remote_cookie.0,
        l2_sublayer_present: spec.sublayer,
    }
}
