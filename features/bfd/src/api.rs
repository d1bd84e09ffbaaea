// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `bfd`.

use crate::control::{Bfd, Configured};
use crate::echo_source;
use crate::home::SessionKey;
use crate::keys::KeyUse;
use crate::packet::State;
use crate::session::Settings;
use cli::Result;
use graph::World;
use msg::{Caller, Messages, Module};
use net::api::{Address, IfStatusFlags, InterfaceIndex, Ip4Address, Ip6Address};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::{Ip4, Ip6};

/// The module.
pub static API: Module<World> = Module::core("bfd", messages);

fn messages(m: &mut Messages<World>) {
    m.call(set_echo_source);
    m.call(|w, _: BfdUdpDelEchoSource| {
        w.get::<Bfd>().set_echo_source(w, None);
        Ok(())
    });
    m.call(get_echo_source);
    m.call(add);
    m.call(update);
    m.call(modify);
    m.call(delete);
    m.dump(sessions);
    m.call(set_flags);
    m.call_by(want);
    m.answer::<BfdUdpSessionEvent>();
    m.call(set_key);
    m.call(|w, r: BfdAuthDelKey| w.get::<Bfd>().delete_key(r.conf_key_id));
    m.dump(keys);
    m.call(activate);
    m.call(deactivate);
    m.call(|w, _: BfdUdpEnableMultihop| {
        w.get::<Bfd>().enable_multihop();
        Ok(())
    });
    m.call(|w, r: BfdUdpSetTos| {
        w.get::<Bfd>().set_tos(w, r.tos);
        Ok(())
    });
    m.call(get_tos);
}

msg::messages! {
    /// State of a session.
    BfdState,
    /// Sets the interface whose addresses give echo packets their source.
    BfdUdpSetEchoSource,
    /// Ends the sending of echo packets.
    BfdUdpDelEchoSource,
    /// Requests the source of echo packets.
    BfdUdpGetEchoSource,
    /// The interface, and the source addresses that it gives.
    BfdUdpGetEchoSourceReply,
    /// Adds a session; intervals in microseconds. Without an interface (~0) its peer may be several
    /// hops away.
    BfdUdpAdd,
    /// Adds a session, or changes its intervals, its multiplier and its key.
    BfdUdpUpd,
    /// The index of the session's counters in the stats segment.
    BfdUdpUpdReply,
    /// Changes intervals and multiplier of a session.
    BfdUdpMod,
    /// Deletes a session.
    BfdUdpDel,
    /// Requests all sessions.
    BfdUdpSessionDump,
    /// A session. Of a delayed change of the key, the new one is shown.
    BfdUdpSessionDetails,
    /// Holds a session down (no flag), or lets it come up.
    BfdUdpSessionSetFlags,
    /// Subscribes to events of sessions.
    WantBfdEvents,
    /// The state of a session has changed.
    BfdUdpSessionEvent,
    /// Adds a key, or replaces one that no session uses.
    BfdAuthSetKey,
    /// Deletes a key that no session uses.
    BfdAuthDelKey,
    /// Requests all keys.
    BfdAuthKeysDump,
    /// A key, without its secret.
    BfdAuthKeysDetails,
    /// Authenticates the packets of a session by a key.
    BfdUdpAuthActivate,
    /// Ends the authentication of a session's packets.
    BfdUdpAuthDeactivate,
    /// Allows sessions over several hops.
    BfdUdpEnableMultihop,
    /// Sets the type of service, or traffic class, of packets.
    BfdUdpSetTos,
    /// Requests the type of service.
    BfdUdpGetTos,
    /// The type of service.
    BfdUdpGetTosReply,
}

impl From<State> for BfdState {
    fn from(state: State) -> Self {
        match state {
            State::AdminDown => Self::AdminDown,
            State::Down => Self::Down,
            State::Init => Self::Init,
            State::Up => Self::Up,
        }
    }
}

fn key(sw_if: InterfaceIndex, local: Address, peer: Address) -> SessionKey {
    SessionKey { sw_if: sw_if.given(), local: local.into(), peer: peer.into() }
}

fn set_echo_source(w: &World, r: BfdUdpSetEchoSource) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    w.get::<Bfd>().set_echo_source(w, Some(sw_if));
    Ok(())
}

fn get_echo_source(w: &World, _: BfdUdpGetEchoSource) -> Result<BfdUdpGetEchoSourceReply> {
    let sw_if = w.get::<Bfd>().inner().echo_source;
    let v4: Option<Ipv4Addr> = sw_if.and_then(|sw_if| echo_source::usable::<Ip4>(w, sw_if));
    let v6: Option<Ipv6Addr> = sw_if.and_then(|sw_if| echo_source::usable::<Ip6>(w, sw_if));
    Ok(BfdUdpGetEchoSourceReply {
        sw_if_index: sw_if.into(),
        is_set: sw_if.is_some(),
        have_usable_ip4: v4.is_some(),
        ip4_addr: Ip4Address(v4.map_or([0; 4], |ip| ip.octets())),
        have_usable_ip6: v6.is_some(),
        ip6_addr: Ip6Address(v6.map_or([0; 16], |ip| ip.octets())),
    })
}

fn add(w: &World, r: BfdUdpAdd) -> Result<()> {
    let auth = KeyUse { conf_key_id: r.conf_key_id, bfd_key_id: r.bfd_key_id };
    let settings = Settings {
        desired_min_tx: r.desired_min_tx,
        required_min_rx: r.required_min_rx,
        detect_mult: r.detect_mult,
    };
    let key = key(r.sw_if_index, r.local_addr, r.peer_addr);
    w.get::<Bfd>().add(w, key, settings, r.is_authenticated.then_some(auth)).map(|_| ())
}

fn update(w: &World, r: BfdUdpUpd) -> Result<u32> {
    let auth = KeyUse { conf_key_id: r.conf_key_id, bfd_key_id: r.bfd_key_id };
    let settings = Settings {
        desired_min_tx: r.desired_min_tx,
        required_min_rx: r.required_min_rx,
        detect_mult: r.detect_mult,
    };
    let key = key(r.sw_if_index, r.local_addr, r.peer_addr);
    w.get::<Bfd>().update(w, key, settings, r.is_authenticated.then_some(auth))
}

fn modify(w: &World, r: BfdUdpMod) -> Result<()> {
    let settings = Settings {
        desired_min_tx: r.desired_min_tx,
        required_min_rx: r.required_min_rx,
        detect_mult: r.detect_mult,
    };
    w.get::<Bfd>().modify(w, &key(r.sw_if_index, r.local_addr, r.peer_addr), settings).map(|_| ())
}

fn delete(w: &World, r: BfdUdpDel) -> Result<()> {
    w.get::<Bfd>().delete(w, &key(r.sw_if_index, r.local_addr, r.peer_addr))
}

fn sessions(w: &World, _: BfdUdpSessionDump) -> Result<Vec<BfdUdpSessionDetails>> {
    let details = |(_, s): (u32, Configured)| BfdUdpSessionDetails {
        sw_if_index: s.key.sw_if.into(),
        local_addr: s.key.local.into(),
        peer_addr: s.key.peer.into(),
        state: s.state.into(),
        is_authenticated: s.auth.is_some(),
        bfd_key_id: s.auth.map_or(0, |auth| auth.bfd_key_id),
        conf_key_id: s.auth.map_or(0, |auth| auth.conf_key_id),
        required_min_rx: s.settings.required_min_rx,
        desired_min_tx: s.settings.desired_min_tx,
        detect_mult: s.settings.detect_mult,
    };
    Ok(w.get::<Bfd>().list().into_iter().map(details).collect())
}

fn set_flags(w: &World, r: BfdUdpSessionSetFlags) -> Result<()> {
    let up = r.flags.has(IfStatusFlags::ADMIN_UP);
    w.get::<Bfd>().set_admin(w, &key(r.sw_if_index, r.local_addr, r.peer_addr), up)
}

fn want(_: &World, c: &Caller<'_, World>, r: WantBfdEvents) -> Result<()> {
    c.hub.subscribe::<BfdUdpSessionEvent>(c, r.pid, r.enable_disable);
    Ok(())
}

/// Sends clients the event of a session.
pub fn publish(w: &World, s: &Configured) {
    w.api.publish(&BfdUdpSessionEvent {
        sw_if_index: s.key.sw_if.into(),
        local_addr: s.key.local.into(),
        peer_addr: s.key.peer.into(),
        state: s.state.into(),
        is_authenticated: s.auth.is_some(),
        bfd_key_id: s.auth.map_or(0, |auth| auth.bfd_key_id),
        conf_key_id: s.auth.map_or(0, |auth| auth.conf_key_id),
        required_min_rx: s.settings.required_min_rx,
        desired_min_tx: s.settings.desired_min_tx,
        detect_mult: s.settings.detect_mult,
    });
}

fn set_key(w: &World, r: BfdAuthSetKey) -> Result<()> {
    // A length above that of the field is refused there.
    let secret = r.key.get(..usize::from(r.key_len)).unwrap_or(&[]);
    w.get::<Bfd>().set_key(r.conf_key_id, r.auth_type, secret)
}

fn keys(w: &World, _: BfdAuthKeysDump) -> Result<Vec<BfdAuthKeysDetails>> {
    let bfd = w.get::<Bfd>();
    let inner = bfd.inner();
    let details = |(id, key): (&u32, &crate::keys::Key)| BfdAuthKeysDetails {
        conf_key_id: *id,
        use_count: key.uses,
        auth_type: key.kind as u8,
    };
    Ok(inner.keys.0.iter().map(details).collect())
}

fn activate(w: &World, r: BfdUdpAuthActivate) -> Result<()> {
    let auth = KeyUse { conf_key_id: r.conf_key_id, bfd_key_id: r.bfd_key_id };
    let key = key(r.sw_if_index, r.local_addr, r.peer_addr);
    w.get::<Bfd>().set_auth(w, &key, Some(auth), r.is_delayed)
}

fn deactivate(w: &World, r: BfdUdpAuthDeactivate) -> Result<()> {
    let key = key(r.sw_if_index, r.local_addr, r.peer_addr);
    w.get::<Bfd>().set_auth(w, &key, None, r.is_delayed)
}

fn get_tos(w: &World, _: BfdUdpGetTos) -> Result<u8> {
    Ok(w.get::<Bfd>().inner().tos)
}
