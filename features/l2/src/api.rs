// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `l2`.

use crate::bridge::Bridge;
use crate::cli::no_arp_term;
use crate::domain::{DomainConfig, DomainInfo};
use crate::features::Features;
use crate::fib::{FibEntry, NewEntry};
use crate::mode::{Mode, PortKind};
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Caller, Message, Messages, Module, Str, Wire};
use net::Interfaces;
use net::api::{InterfaceIndex, MacAddress};

/// The module.
pub static API: Module<World> =
    Module { name: "l2", version: "3.3.0", crc: 0x1a53_d6cc, core: true, messages };

fn messages(m: &mut Messages<World>) {
    m.call(add_del);
    m.call(add_del_v2);
    m.dump(domains);
    m.call(bridge_flags);
    m.call(|w: &World, _: &Caller<'_, World>, r: BridgeDomainSetMacAge| {
        w.get::<Bridge>().configure_domain(w, r.bd_id, |config| config.mac_age = r.mac_age)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BridgeDomainSetLearnLimit| {
        w.get::<Bridge>().set_learn_limit(w, r.bd_id, r.learn_limit)
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: BridgeDomainSetDefaultLearnLimit| {
        w.get::<Bridge>().set_default_learn_limit(w, r.learn_limit);
        Ok(())
    });
    m.call(set_bridge);
    m.call(set_xconnect);
    m.dump(xconnects);
    m.call(fib_add_del);
    m.call(|w: &World, _: &Caller<'_, World>, _: L2fibFlushAll| {
        w.get::<Bridge>().flush_all(w);
        Ok(())
    });
    m.call(|w: &World, _: &Caller<'_, World>, r: L2fibFlushBd| w.get::<Bridge>().flush_domain(w, r.bd_id));
    m.call(|w: &World, _: &Caller<'_, World>, r: L2fibFlushInt| -> Result<()> {
        w.get::<Bridge>().flush_interface(r.sw_if_index.existing(w)?);
        Ok(())
    });
    m.call(|w: &World, _: &Caller<'_, World>, _: L2FibClearTable| {
        w.get::<Bridge>().clear_entries(w);
        Ok(())
    });
    m.dump(fib);
    m.call(l2_flags);
}

msg::flags! {
    /// What a bridge domain does with frames.
    pub struct BdFlags: u32 = enum "bd_flags" {
        NONE = 0 => "BRIDGE_API_FLAG_NONE",
        LEARN = 1 => "BRIDGE_API_FLAG_LEARN",
        FWD = 2 => "BRIDGE_API_FLAG_FWD",
        FLOOD = 4 => "BRIDGE_API_FLAG_FLOOD",
        UU_FLOOD = 8 => "BRIDGE_API_FLAG_UU_FLOOD",
        ARP_TERM = 16 => "BRIDGE_API_FLAG_ARP_TERM",
        ARP_UFWD = 32 => "BRIDGE_API_FLAG_ARP_UFWD",
    }
}

/// The features that flags of messages name, by bit.
const FLAGS: [(u32, Features); 5] = [
    (1, Features::LEARN),
    (2, Features::FWD),
    (4, Features::FLOOD),
    (8, Features::UU_FLOOD),
    (32, Features::ARP_UFWD),
];
const ARP_TERM: u32 = 16;

/// What a member is to its domain.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[wire(prefix = "L2_API_PORT_TYPE_")]
pub enum L2PortType {
    /// A port.
    Normal = 0,
    /// The routed interface.
    Bvi = 1,
    /// The port that unicast to unknown destinations goes to.
    UuFwd = 2,
}

/// Creates or deletes a bridge domain.
#[derive(Message)]
pub struct BridgeDomainAddDel {
    /// Its id, from 1 to 16,777,215.
    pub bd_id: u32,
    /// Flood frames to groups.
    pub flood: bool,
    /// Flood unicast to unknown destinations.
    pub uu_flood: bool,
    /// Look destinations up.
    pub forward: bool,
    /// Learn sources.
    pub learn: bool,
    /// Answer ARP requests: not implemented.
    pub arp_term: bool,
    /// Send ARP requests to the unknown-unicast port alone.
    pub arp_ufwd: bool,
    /// Minutes after which an address that sends nothing is forgotten; 0 for never.
    pub mac_age: u8,
    /// A note.
    pub bd_tag: Str<64>,
    /// Create, not delete.
    pub is_add: bool,
}

/// Creates or deletes a bridge domain, and tells its id.
#[derive(Message)]
#[msg(reply)]
pub struct BridgeDomainAddDelV2 {
    /// Its id, from 1 to 16,777,215. All bits set is any id that is free.
    pub bd_id: u32,
    /// Flood frames to groups.
    pub flood: bool,
    /// Flood unicast to unknown destinations.
    pub uu_flood: bool,
    /// Look destinations up.
    pub forward: bool,
    /// Learn sources.
    pub learn: bool,
    /// Answer ARP requests: not implemented.
    pub arp_term: bool,
    /// Send ARP requests to the unknown-unicast port alone.
    pub arp_ufwd: bool,
    /// Minutes after which an address that sends nothing is forgotten; 0 for never.
    pub mac_age: u8,
    /// A note.
    pub bd_tag: Str<64>,
    /// Create, not delete.
    pub is_add: bool,
}

/// The domain.
#[derive(Message)]
pub struct BridgeDomainAddDelV2Reply {
    /// Its id.
    pub bd_id: u32,
}

fn add_del(w: &World, _: &Caller<'_, World>, r: BridgeDomainAddDel) -> Result<()> {
    let bridge = w.get::<Bridge>();
    if !r.is_add {
        return bridge.delete_domain(w, r.bd_id);
    }
    if r.arp_term {
        return Err(no_arp_term());
    }
    let config = DomainConfig {
        learn: r.learn,
        forward: r.forward,
        flood: r.flood,
        uu_flood: r.uu_flood,
        arp_ufwd: r.arp_ufwd,
        mac_age: r.mac_age,
        tag: r.bd_tag.to_string(),
    };
    bridge.create_domain(w, r.bd_id, config)
}

fn add_del_v2(
    w: &World,
    caller: &Caller<'_, World>,
    r: BridgeDomainAddDelV2,
) -> Result<BridgeDomainAddDelV2Reply> {
    let BridgeDomainAddDelV2 { mut bd_id, flood, uu_flood, forward, learn, arp_term, arp_ufwd, .. } = r;
    if r.is_add && bd_id == u32::MAX && !arp_term {
        let config = DomainConfig {
            learn,
            forward,
            flood,
            uu_flood,
            arp_ufwd,
            mac_age: r.mac_age,
            tag: r.bd_tag.to_string(),
        };
        bd_id = w.get::<Bridge>().create_any_domain(w, config)?;
        return Ok(BridgeDomainAddDelV2Reply { bd_id });
    }
    let (mac_age, bd_tag, is_add) = (r.mac_age, r.bd_tag, r.is_add);
    let same = BridgeDomainAddDel {
        bd_id,
        flood,
        uu_flood,
        forward,
        learn,
        arp_term,
        arp_ufwd,
        mac_age,
        bd_tag,
        is_add,
    };
    add_del(w, caller, same)?;
    Ok(BridgeDomainAddDelV2Reply { bd_id })
}

/// Asks for bridge domains.
#[derive(Message)]
#[msg(details)]
pub struct BridgeDomainDump {
    /// The domain; all bits set for all.
    pub bd_id: u32,
    /// Only the domain that has this interface; all bits set for any.
    pub sw_if_index: InterfaceIndex,
}

/// A member of a bridge domain.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeDomainSwIf {
    /// Not used.
    pub context: u32,
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Its split-horizon group, 0 for none.
    pub shg: u8,
}

/// A bridge domain.
#[derive(Message)]
pub struct BridgeDomainDetails {
    /// Its id.
    pub bd_id: u32,
    /// Frames to groups are flooded.
    pub flood: bool,
    /// Unicast to unknown destinations is flooded.
    pub uu_flood: bool,
    /// Destinations are looked up.
    pub forward: bool,
    /// Sources are learned.
    pub learn: bool,
    /// ARP requests are answered.
    pub arp_term: bool,
    /// ARP requests go to the unknown-unicast port alone.
    pub arp_ufwd: bool,
    /// Minutes after which an address that sends nothing is forgotten; 0 for never.
    pub mac_age: u8,
    /// A note.
    pub bd_tag: Str<64>,
    /// The routed interface; all bits set for none.
    pub bvi_sw_if_index: InterfaceIndex,
    /// The unknown-unicast port; all bits set for none.
    pub uu_fwd_sw_if_index: InterfaceIndex,
    /// The members: the routed interface, ports, then those that floods don't go to.
    #[count(n_sw_ifs: u32)]
    pub sw_if_details: Vec<BridgeDomainSwIf>,
}

fn index(sw_if: Option<SwIfIndex>) -> InterfaceIndex {
    sw_if.map_or(InterfaceIndex::NONE, InterfaceIndex::from)
}

fn details(d: DomainInfo) -> BridgeDomainDetails {
    let members = d.members.iter().map(|member| BridgeDomainSwIf {
        context: 0,
        sw_if_index: member.sw_if.into(),
        shg: member.shg,
    });
    BridgeDomainDetails {
        bd_id: d.id,
        flood: d.config.flood,
        uu_flood: d.config.uu_flood,
        forward: d.config.forward,
        learn: d.config.learn,
        arp_term: false,
        arp_ufwd: d.config.arp_ufwd,
        mac_age: d.config.mac_age,
        bd_tag: d.config.tag.as_str().into(),
        bvi_sw_if_index: index(d.bvi),
        uu_fwd_sw_if_index: index(d.uu_fwd),
        sw_if_details: members.collect(),
    }
}

fn domains(w: &World, _: &Caller<'_, World>, r: BridgeDomainDump) -> Result<Vec<BridgeDomainDetails>> {
    let bridge = w.get::<Bridge>();
    let of = r.sw_if_index.given();
    let ids = bridge.domain_ids().into_iter().filter(|id| r.bd_id == u32::MAX || r.bd_id == *id);
    let all = ids.filter_map(|id| bridge.domain_info(w, id));
    let has = |d: &DomainInfo| {
        of.is_none_or(|of| d.uu_fwd == Some(of) || d.members.iter().any(|member| member.sw_if == of))
    };
    Ok(all.filter(has).map(details).collect())
}

/// Switches what a bridge domain does on or off.
#[derive(Message)]
#[msg(reply)]
pub struct BridgeFlags {
    /// The domain.
    pub bd_id: u32,
    /// On, not off.
    pub is_set: bool,
    /// What is switched; the rest stays as it is.
    pub flags: BdFlags,
}

/// What the domain does now.
#[derive(Message)]
pub struct BridgeFlagsReply {
    /// Its features, at the bits of the input feature bitmap.
    pub resulting_feature_bitmap: u32,
}

fn bridge_flags(w: &World, _: &Caller<'_, World>, r: BridgeFlags) -> Result<BridgeFlagsReply> {
    let bridge = w.get::<Bridge>();
    bridge.domain_features(r.bd_id)?;
    if r.is_set && r.flags.0 & ARP_TERM != 0 {
        return Err(no_arp_term());
    }
    bridge.configure_domain(w, r.bd_id, |config| {
        for (_, feature) in FLAGS.into_iter().filter(|(bit, _)| r.flags.0 & bit != 0) {
            if let Some(flag) = config.flag(feature) {
                *flag = r.is_set;
            }
        }
    })?;
    Ok(BridgeFlagsReply { resulting_feature_bitmap: bridge.domain_features(r.bd_id)?.0 })
}

/// Sets after how many minutes a bridge domain forgets an address that sends nothing.
#[derive(Message)]
pub struct BridgeDomainSetMacAge {
    /// The domain.
    pub bd_id: u32,
    /// Minutes; 0 for never.
    pub mac_age: u8,
}

/// Sets how many addresses a bridge domain learns at most.
#[derive(Message)]
pub struct BridgeDomainSetLearnLimit {
    /// The domain.
    pub bd_id: u32,
    /// The limit.
    pub learn_limit: u32,
}

/// Sets how many addresses a bridge domain that is created later learns at most.
#[derive(Message)]
pub struct BridgeDomainSetDefaultLearnLimit {
    /// The limit.
    pub learn_limit: u32,
}

/// Makes an interface a member of a bridge domain, or lets it route.
#[derive(Message)]
pub struct SwInterfaceSetL2Bridge {
    /// The interface.
    pub rx_sw_if_index: InterfaceIndex,
    /// The domain; it is created if it isn't there.
    pub bd_id: u32,
    /// What the interface is to the domain.
    pub port_type: L2PortType,
    /// Split-horizon group: frames from a member don't go to members of the same group. 0 for none.
    pub shg: u8,
    /// A member, not routed.
    pub enable: bool,
}

fn set_bridge(w: &World, _: &Caller<'_, World>, r: SwInterfaceSetL2Bridge) -> Result<()> {
    let (bridge, sw_if) = (w.get::<Bridge>(), r.rx_sw_if_index.existing(w)?);
    let kind = match r.port_type {
        L2PortType::Normal => PortKind::Normal,
        L2PortType::Bvi => PortKind::Bvi,
        L2PortType::UuFwd => PortKind::UuFwd,
    };
    if r.enable { bridge.set_bridge(w, sw_if, r.bd_id, kind, r.shg) } else { bridge.set_l3(w, sw_if) }
}

/// Sends the frames that an interface receives to another one, or lets it route.
#[derive(Message)]
pub struct SwInterfaceSetL2Xconnect {
    /// The interface.
    pub rx_sw_if_index: InterfaceIndex,
    /// The other one.
    pub tx_sw_if_index: InterfaceIndex,
    /// Connected, not routed.
    pub enable: bool,
}

fn set_xconnect(w: &World, _: &Caller<'_, World>, r: SwInterfaceSetL2Xconnect) -> Result<()> {
    let (bridge, sw_if) = (w.get::<Bridge>(), r.rx_sw_if_index.existing(w)?);
    if !r.enable {
        return bridge.set_l3(w, sw_if);
    }
    bridge.set_xconnect(w, sw_if, SwIfIndex(r.tx_sw_if_index.0))
}

/// Asks for cross-connects.
#[derive(Message)]
#[msg(details)]
pub struct L2XconnectDump {}

/// A cross-connect, of one direction.
#[derive(Message)]
pub struct L2XconnectDetails {
    /// Frames received here
    pub rx_sw_if_index: InterfaceIndex,
    /// are sent here.
    pub tx_sw_if_index: InterfaceIndex,
}

fn xconnects(w: &World, _: &Caller<'_, World>, _: L2XconnectDump) -> Result<Vec<L2XconnectDetails>> {
    let all = w.get::<Bridge>().modes().into_iter();
    let crossed = all.filter_map(|(sw_if, mode)| match mode {
        Mode::Xconnect(peer) => {
            Some(L2XconnectDetails { rx_sw_if_index: sw_if.into(), tx_sw_if_index: peer.into() })
        }
        Mode::Bridge { .. } => None,
    });
    Ok(crossed.collect())
}

/// Adds or deletes a MAC address of a bridge domain.
#[derive(Message)]
pub struct L2fibAddDel {
    /// The address.
    pub mac: MacAddress,
    /// The domain.
    pub bd_id: u32,
    /// The interface that it is at. Not looked at for a filter. To delete, 0 is any.
    pub sw_if_index: InterfaceIndex,
    /// Add, not delete.
    pub is_add: bool,
    /// It never moves to another interface.
    pub static_mac: bool,
    /// Frames from and to it are dropped.
    pub filter_mac: bool,
    /// It is the routed interface's.
    pub bvi_mac: bool,
}

fn fib_add_del(w: &World, _: &Caller<'_, World>, r: L2fibAddDel) -> Result<()> {
    let (bridge, mac) = (w.get::<Bridge>(), r.mac.into());
    if !r.is_add {
        let of = SwIfIndex(r.sw_if_index.0);
        let of = (of.0 != 0 && r.sw_if_index != InterfaceIndex::NONE).then_some(of);
        return bridge.delete_entry(w, mac, r.bd_id, of);
    }
    let new = match r.filter_mac {
        true => NewEntry::Filter,
        false => {
            NewEntry::Port { sw_if: SwIfIndex(r.sw_if_index.0), is_static: r.static_mac, is_bvi: r.bvi_mac }
        }
    };
    bridge.add_entry(w, mac, r.bd_id, new)
}

/// Forgets all learned MAC addresses.
#[derive(Message)]
pub struct L2fibFlushAll {}

/// Forgets the MAC addresses learned in a bridge domain.
#[derive(Message)]
pub struct L2fibFlushBd {
    /// The domain.
    pub bd_id: u32,
}

/// Forgets the MAC addresses learned on an interface.
#[derive(Message)]
pub struct L2fibFlushInt {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
}

/// Forgets all MAC addresses, also those that were configured.
#[derive(Message)]
pub struct L2FibClearTable {}

/// Asks for MAC addresses.
#[derive(Message)]
#[msg(details)]
pub struct L2FibTableDump {
    /// The domain; all bits set for all.
    pub bd_id: u32,
}

/// A MAC address.
#[derive(Message)]
pub struct L2FibTableDetails {
    /// The domain.
    pub bd_id: u32,
    /// The address.
    pub mac: MacAddress,
    /// The interface that it is at; all bits set for a filter.
    pub sw_if_index: InterfaceIndex,
    /// It never moves.
    pub static_mac: bool,
    /// Frames from and to it are dropped.
    pub filter_mac: bool,
    /// It is the routed interface's.
    pub bvi_mac: bool,
}

impl From<FibEntry> for L2FibTableDetails {
    fn from(e: FibEntry) -> Self {
        Self {
            bd_id: e.id,
            mac: e.mac.into(),
            sw_if_index: index(e.sw_if),
            static_mac: e.is_static,
            filter_mac: e.is_filter,
            bvi_mac: e.is_bvi,
        }
    }
}

fn fib(
    w: &World,
    _: &Caller<'_, World>,
    r: L2FibTableDump,
) -> Result<impl Iterator<Item = L2FibTableDetails> + use<>> {
    let (bridge, now) = (w.get::<Bridge>(), w.clock.now());
    let pieces = (0..).map_while(move |piece| bridge.entries(piece, now));
    let all = pieces.flatten().filter(move |entry| r.bd_id == u32::MAX || r.bd_id == entry.id);
    Ok(all.map(L2FibTableDetails::from))
}

/// Switches features of the frames that a bridged interface receives.
#[derive(Message)]
#[msg(reply)]
pub struct L2Flags {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// On, not off.
    pub is_set: bool,
    /// What is switched: learn 1, forward 2, flood 4, flood of unknown unicast 8. ARP termination (16) isn't implemented.
    pub feature_bitmap: u32,
}

/// What the interface does now.
#[derive(Message)]
pub struct L2FlagsReply {
    /// Its features, at the bits of the input feature bitmap.
    pub resulting_feature_bitmap: u32,
}

fn l2_flags(w: &World, _: &Caller<'_, World>, r: L2Flags) -> Result<L2FlagsReply> {
    let (bridge, sw_if) = (w.get::<Bridge>(), r.sw_if_index.existing(w)?);
    if r.is_set && r.feature_bitmap & ARP_TERM != 0 {
        return Err(no_arp_term());
    }
    let known = FLAGS.iter().fold(ARP_TERM, |all, (bit, _)| all | bit);
    if r.feature_bitmap & !known != 0 {
        let name = w.get::<Interfaces>().name(sw_if);
        let why = format!("{name}: flags {:#x} are unknown", r.feature_bitmap & !known);
        return Err(Error::parse(why).retval(retval::INVALID_VALUE));
    }
    let named = FLAGS.into_iter().filter(|(bit, _)| r.feature_bitmap & bit != 0);
    let which = named.fold(Features::NONE, |all, (_, feature)| all.put(feature, true));
    let now = bridge.set_port_features(w, sw_if, which, r.is_set)?;
    Ok(L2FlagsReply { resulting_feature_bitmap: now.0 })
}
