// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `vrrp`.

use crate::control::Vrrp;
use crate::machine::State;
use crate::model::{VrConfig, VrInfo, VrKey, VrSettings};
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, retval};
use net::api::{Address, InterfaceIndex, MacAddress};
use std::net::IpAddr;

/// The module.
pub static API: Module<World> = Module::plugin("vrrp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.call(update);
    m.call(|w, r: VrrpVrDel| w.get::<Vrrp>().remove_index(w, r.vrrp_index));
    m.dump(dump);
    m.call(|w, r: VrrpVrStartStop| {
        let key = key(w, r.sw_if_index, r.vr_id, r.is_ipv6)?;
        w.get::<Vrrp>().set_started(w, key, r.is_start != 0)
    });
    m.call(set_peers);
    m.dump(peer_dump);
    m.call(track);
    m.dump(track_dump);
    m.call_by(|_, c, r: WantVrrpVrEvents| {
        c.hub.subscribe::<VrrpVrEvent>(c, r.pid, r.enable_disable);
        Ok(())
    });
    m.answer::<VrrpVrEvent>();
}

msg::messages! {
    /// Settings of a virtual router: preempt, accept mode, unicast, IPv6.
    flags VrrpVrFlags,
    /// State of a virtual router.
    VrrpVrState,
    /// Name of a virtual router.
    VrrpVrKey,
    /// Settings of a virtual router.
    VrrpVrConf,
    /// The priority as tracked interfaces lower it.
    VrrpVrTracking,
    /// State and timers of a virtual router, in centiseconds.
    VrrpVrRuntime,
    /// An interface that a virtual router tracks.
    VrrpVrTrackIf,
    /// Adds or removes a virtual router.
    VrrpVrAddDel,
    /// Changes a virtual router in place, or adds one (index with all bits set).
    VrrpVrUpdate,
    /// The index of the virtual router.
    VrrpVrUpdateReply,
    /// Removes a virtual router.
    VrrpVrDel,
    /// Requests the virtual routers of an interface, or of all (0, or all bits set).
    VrrpVrDump,
    /// A virtual router.
    VrrpVrDetails,
    /// Starts or stops a virtual router.
    VrrpVrStartStop,
    /// Sets the routers to which a unicast virtual router sends.
    VrrpVrSetPeers,
    /// Requests the peers of a virtual router, or of all.
    VrrpVrPeerDump,
    /// The peers of a virtual router.
    VrrpVrPeerDetails,
    /// Adds or removes interfaces that a virtual router tracks.
    VrrpVrTrackIfAddDel,
    /// Requests the interfaces that a virtual router tracks, or those of all.
    VrrpVrTrackIfDump,
    /// The interfaces that a virtual router tracks.
    VrrpVrTrackIfDetails,
    /// Subscribes to changes of states.
    WantVrrpVrEvents,
    /// A virtual router has changed its state.
    VrrpVrEvent,
}

impl From<State> for VrrpVrState {
    fn from(state: State) -> Self {
        match state {
            State::Init => Self::Init,
            State::Backup => Self::Backup,
            State::Master => Self::Master,
            State::InterfaceDown => Self::IntfDown,
        }
    }
}

impl From<VrKey> for VrrpVrKey {
    fn from(key: VrKey) -> Self {
        Self { sw_if_index: key.sw_if.into(), vr_id: key.id, is_ipv6: key.v6.into() }
    }
}

fn key(w: &World, sw_if: InterfaceIndex, id: u8, v6: u8) -> Result<VrKey> {
    Ok(VrKey { sw_if: sw_if.existing(w)?, v6: v6 != 0, id })
}

/// The configuration that a request names.
fn config(
    w: &World,
    sw_if: InterfaceIndex,
    (id, priority, interval): (u8, u8, u16),
    flags: VrrpVrFlags,
    addresses: &[Address],
) -> Result<VrConfig> {
    let settings = VrSettings {
        priority,
        interval,
        no_preempt: !flags.has(VrrpVrFlags::PREEMPT),
        accept_mode: flags.has(VrrpVrFlags::ACCEPT),
        unicast: flags.has(VrrpVrFlags::UNICAST),
    };
    let key = VrKey { sw_if: sw_if.existing(w)?, v6: flags.has(VrrpVrFlags::IPV6), id };
    Ok(VrConfig { key, settings, addresses: addresses.iter().map(|a| IpAddr::from(*a)).collect() })
}

fn add_del(w: &World, r: VrrpVrAddDel) -> Result<()> {
    let vrrp = w.get::<Vrrp>();
    if r.is_add == 0 {
        let v6 = u8::from(r.flags.has(VrrpVrFlags::IPV6));
        return vrrp.remove(w, key(w, r.sw_if_index, r.vr_id, v6)?);
    }
    let numbers = (r.vr_id, r.priority, r.interval);
    vrrp.add(w, config(w, r.sw_if_index, numbers, r.flags, &r.addrs)?).map(|_| ())
}

fn update(w: &World, r: VrrpVrUpdate) -> Result<VrrpVrUpdateReply> {
    let vrrp = w.get::<Vrrp>();
    let numbers = (r.vr_id, r.priority, r.interval);
    let config = config(w, r.sw_if_index, numbers, r.flags, &r.addrs)?;
    let vrrp_index = match net::api::given(r.vrrp_index) {
        None => vrrp.add(w, config)?,
        Some(index) => {
            vrrp.update(w, index, config)?;
            index
        }
    };
    Ok(VrrpVrUpdateReply { vrrp_index })
}

/// The virtual routers that a dump selects; `which` returns true for them.
fn select(w: &World, which: impl Fn(&VrInfo) -> bool) -> Vec<VrInfo> {
    let vrrp = w.get::<Vrrp>();
    vrrp.indices().into_iter().filter_map(|index| vrrp.get(w, index)).filter(which).collect()
}

fn addresses(all: &[IpAddr]) -> Vec<Address> {
    all.iter().map(|ip| Address::from(*ip)).collect()
}

fn dump(w: &World, r: VrrpVrDump) -> Result<Vec<VrrpVrDetails>> {
    let only = r.sw_if_index.given().filter(|sw_if| *sw_if != SwIfIndex(0));
    let all = select(w, |vr| only.is_none_or(|only| vr.config.key.sw_if == only));
    Ok(all.iter().map(VrrpVrDetails::from).collect())
}

impl From<&VrInfo> for VrrpVrDetails {
    fn from(vr: &VrInfo) -> Self {
        let VrConfig { key, settings, addresses: addrs } = &vr.config;
        let flags = VrrpVrFlags::PREEMPT.when(!settings.no_preempt)
            | VrrpVrFlags::ACCEPT.when(settings.accept_mode)
            | VrrpVrFlags::UNICAST.when(settings.unicast)
            | VrrpVrFlags::IPV6.when(key.v6);
        Self {
            config: VrrpVrConf {
                sw_if_index: key.sw_if.into(),
                vr_id: key.id,
                priority: settings.priority,
                interval: settings.interval,
                flags,
            },
            runtime: VrrpVrRuntime {
                state: vr.state.into(),
                master_adv_int: vr.master_interval,
                skew: vr.skew,
                master_down_int: vr.down_interval,
                mac: MacAddress::from(vr.mac),
                tracking: VrrpVrTracking { interfaces_dec: vr.lowered, priority: vr.priority },
            },
            addrs: addresses(addrs),
        }
    }
}

fn set_peers(w: &World, r: VrrpVrSetPeers) -> Result<()> {
    if r.addrs.is_empty() {
        let text = "a unicast virtual router has at least one peer";
        return Err(Error::parse(text).retval(retval::INVALID_DST_ADDRESS));
    }
    let peers: Vec<_> = r.addrs.iter().map(|a| IpAddr::from(*a)).collect();
    w.get::<Vrrp>().set_peers(w, key(w, r.sw_if_index, r.vr_id, r.is_ipv6)?, &peers)
}

/// The virtual routers that a dump names, or all.
fn named(w: &World, all: bool, sw_if: InterfaceIndex, id: u8, v6: u8) -> Vec<VrInfo> {
    select(w, |vr| {
        let key = vr.config.key;
        all || (Some(key.sw_if), key.id, key.v6) == (sw_if.given(), id, v6 != 0)
    })
}

fn peer_dump(w: &World, r: VrrpVrPeerDump) -> Result<Vec<VrrpVrPeerDetails>> {
    let all = matches!(r.sw_if_index.0, 0 | u32::MAX);
    let chosen = named(w, all, r.sw_if_index, r.vr_id, r.is_ipv6);
    let details = |vr: &VrInfo| VrrpVrPeerDetails {
        sw_if_index: vr.config.key.sw_if.into(),
        vr_id: vr.config.key.id,
        is_ipv6: vr.config.key.v6.into(),
        peer_addrs: addresses(&vr.peers),
    };
    Ok(chosen.iter().filter(|vr| vr.config.is_unicast()).map(details).collect())
}

fn track(w: &World, r: VrrpVrTrackIfAddDel) -> Result<()> {
    let interfaces: Vec<_> =
        r.ifs.iter().map(|i| (SwIfIndex(i.sw_if_index.0), i.priority)).collect();
    let key = key(w, r.sw_if_index, r.vr_id, r.is_ipv6)?;
    w.get::<Vrrp>().track(w, key, r.is_add != 0, &interfaces)
}

fn track_dump(w: &World, r: VrrpVrTrackIfDump) -> Result<Vec<VrrpVrTrackIfDetails>> {
    let chosen = named(w, r.dump_all != 0, r.sw_if_index, r.vr_id, r.is_ipv6);
    let details = |vr: &VrInfo| VrrpVrTrackIfDetails {
        sw_if_index: vr.config.key.sw_if.into(),
        vr_id: vr.config.key.id,
        is_ipv6: vr.config.key.v6.into(),
        ifs: vr
            .tracked
            .iter()
            .map(|(sw_if, by)| VrrpVrTrackIf { sw_if_index: (*sw_if).into(), priority: *by })
            .collect(),
    };
    Ok(chosen.iter().filter(|vr| !vr.tracked.is_empty()).map(details).collect())
}
