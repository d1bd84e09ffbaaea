// SPDX-License-Identifier: Apache-2.0
//! Messages about hosts that a bridge domain answers for, and about hosts that are seen.

use crate::bridge::Bridge;
use crate::termination::Sighting;
use cli::{Error, Result, retval};
use graph::World;
use msg::{Caller, Messages};
use net::api::{Address, InterfaceIndex, MacAddress, given};

pub fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.call(|w, r: BdIpMacFlush| w.get::<Bridge>().remove_hosts(w, r.bd_id));
    m.dump(hosts);
    m.call_by(want);
    m.answer::<L2ArpTermEvent>();
}

msg::messages! {
    /// A host that a bridge domain answers for.
    BdIpMac,
    /// Lets a bridge domain answer for a host, or no longer.
    BdIpMacAddDel,
    /// A bridge domain answers for no host any more.
    BdIpMacFlush,
    /// Requests the hosts that bridge domains answer for, configured or snooped.
    BdIpMacDump,
    /// A host that a bridge domain answers for.
    BdIpMacDetails,
    /// Subscribes to events of hosts that are detected in bridge domains with ARP termination.
    WantL2ArpTermEvents,
    /// A host was detected by its ARP or ND message. The same sighting isn't reported again within
    /// 10 seconds.
    L2ArpTermEvent,
}

fn add_del(w: &World, r: BdIpMacAddDel) -> Result<()> {
    let (bridge, BdIpMac { bd_id, ip, mac }) = (w.get::<Bridge>(), r.entry);
    match r.is_add {
        true => bridge.set_host(w, bd_id, ip.into(), mac.into()),
        false => bridge.remove_host(w, bd_id, ip.into(), mac.into()),
    }
}

fn hosts(w: &World, r: BdIpMacDump) -> Result<impl Iterator<Item = BdIpMacDetails> + use<>> {
    let all = w.get::<Bridge>().known_hosts(given(r.bd_id), w.clock.now());
    Ok(all.map(|host| BdIpMacDetails {
        entry: BdIpMac { bd_id: host.id, ip: host.ip.into(), mac: host.mac.into() },
    }))
}

impl From<Sighting> for L2ArpTermEvent {
    fn from(s: Sighting) -> Self {
        Self { ip: s.ip.into(), sw_if_index: InterfaceIndex(s.sw_if), mac: s.mac.into() }
    }
}

fn want(w: &World, c: &Caller<'_, World>, r: WantL2ArpTermEvents) -> Result<()> {
    let asks =
        c.hub.subscriptions::<L2ArpTermEvent>().iter().any(|(_, _, client)| *client == c.client);
    if asks == r.enable {
        let why = if asks {
            "you have asked for these events"
        } else {
            "you haven't asked for these events"
        };
        return Err(Error::failed(why).retval(retval::INVALID_REGISTRATION));
    }
    c.hub.subscribe::<L2ArpTermEvent>(c, r.pid, r.enable);
    w.get::<Bridge>().sightings.set_subscribed(c.hub.has_subscribers::<L2ArpTermEvent>());
    Ok(())
}
