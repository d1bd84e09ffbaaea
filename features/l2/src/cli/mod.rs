// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

mod show;
mod storm;
mod tags;

use crate::bridge::Bridge;
use crate::domain::DomainConfig;
use crate::features::Features;
use crate::fib::NewEntry;
use crate::mode::{Mode, PortKind};
use cli::{Command, Matches, Output, Result};
use graph::World;
use net::args::{interface, made};
use object::Arguments;

const FLAG: &str = "<id:u32> [disable]";
const PORT_FLAG: &str = "<interface:interface> [disable]";

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Make an interface to be the routed one of a bridge domain
    "bvi create", "[mac <mac:mac>] [instance <instance:u32>]"
        => |w, m| ethernet::create_bvi(w, m.opt("mac")?, m.opt("instance")?).map(|i| made(w, i));
    /// Take such an interface away
    "bvi delete", "<interface:interface>"
        => |w, m| ethernet::delete_bvi(w, interface(w, m, "interface")?);
    /// Create or delete a bridge domain
    "create bridge-domain",
    cli::join!("<id:u32>", DomainConfig::USAGE, "[del]") => create;
    /// Learn sources in a bridge domain, or don't
    "set bridge-domain learn", FLAG => |w, m| flag(w, m, Features::LEARN);
    /// Look destinations up in a bridge domain, or don't
    "set bridge-domain forward", FLAG => |w, m| flag(w, m, Features::FWD);
    /// Flood frames to groups in a bridge domain, or don't
    "set bridge-domain flood", FLAG => |w, m| flag(w, m, Features::FLOOD);
    /// Flood unicast to unknown destinations in a bridge domain, or don't
    "set bridge-domain uu-flood", FLAG => |w, m| flag(w, m, Features::UU_FLOOD);
    /// Send ARP requests of a bridge domain to its unknown-unicast port alone, or don't
    "set bridge-domain arp-ufwd", FLAG => |w, m| flag(w, m, Features::ARP_UFWD);
    /// Answer ARP requests and neighbour solicitations for hosts that are configured or snooped, or
    /// flood them
    "set bridge-domain arp term", FLAG => |w, m| flag(w, m, Features::ARP_TERM);
    /// Learn hosts from the ARP and ND messages that `arp term' reads, and forget them 10 minutes
    /// after the last one; or don't. Entries of `arp entry' win
    "set bridge-domain arp snoop", FLAG => |w, m| {
        let set = w.get::<Bridge>().set_snooping(w, m.req("id")?, !m.flag("disable"));
        set.map_err(m.at("id"))
    };
    /// Let a bridge domain answer for a host, or no longer
    "set bridge-domain arp entry", "<id:u32> {<ip:ip> <mac:mac> [del] | del-all}" => host;
    /// Set after how many minutes a bridge domain forgets an address that sends nothing; 0 for
    /// never
    "set bridge-domain mac-age", "<id:u32> <minutes:0-255>" => mac_age;
    /// Set how many addresses a bridge domain learns
    "set bridge-domain learn-limit", "<id:u32> <limit:u32>" => |w, m| {
        let set = w.get::<Bridge>().set_learn_limit(w, m.req("id")?, m.req("limit")?);
        set.map_err(m.at("id"))
    };
    /// Set how many addresses new bridge domains learn
    "set bridge-domain default-learn-limit", "<limit:u32>" => |w, m| {
        w.get::<Bridge>().set_default_learn_limit(w, m.req("limit")?);
        Ok(())
    };
    /// Let an interface route
    "set interface l3", "<interface:interface>"
        => |w, m| w.get::<Bridge>().set_l3(w, interface(w, m, "interface")?);
    /// Make an interface a member of a bridge domain
    "set interface l2 bridge",
    "<interface:interface> <id:u32> [bvi|uu-fwd] [<shg:0-255>]" => bridge;
    /// Rewrite the VLAN tags of an interface's frames while they are switched
    "set interface l2 tag-rewrite", tags::USAGE => tags::rewrite;
    /// Put the header of a backbone bridge in front of an interface's frames while they are
    /// switched, or take it off
    "set interface l2 pbb-tag-rewrite", tags::BACKBONE_USAGE => tags::rewrite_backbone;
    /// Let a sub-interface send only frames that it would receive
    "set interface l2 efp-filter", "<interface:interface> [disable]" => |w, m| {
        w.get::<Bridge>().set_efp_filter(w, interface(w, m, "interface")?, !m.flag("disable"))
    };
    /// Send the frames that an interface receives to another interface
    "set interface l2 xconnect", "<interface:interface> <peer:interface>" => |w, m| {
        let (sw_if, peer) = (interface(w, m, "interface")?, interface(w, m, "peer")?);
        w.get::<Bridge>().set_xconnect(w, sw_if, peer)
    };
    /// Learn sources on a bridged interface, or don't
    "set interface l2 learn", PORT_FLAG => |w, m| port_flag(w, m, Features::LEARN);
    /// Look up the destinations of frames from a bridged interface, or don't
    "set interface l2 forward", PORT_FLAG => |w, m| port_flag(w, m, Features::FWD);
    /// Flood frames to groups from a bridged interface, or don't
    "set interface l2 flood", PORT_FLAG => |w, m| port_flag(w, m, Features::FLOOD);
    /// Flood unicast to unknown destinations from a bridged interface, or don't
    "set interface l2 uu-flood", PORT_FLAG => |w, m| port_flag(w, m, Features::UU_FLOOD);
    /// Answer questions for neighbours from a bridged interface, if the domain does, or flood them
    "set interface l2 arp-term", PORT_FLAG => |w, m| port_flag(w, m, Features::ARP_TERM);
    /// Send ARP requests from a bridged interface to the unknown-unicast port alone, if the domain
    /// does, or don't
    "set interface l2 arp-ufwd", PORT_FLAG => |w, m| port_flag(w, m, Features::ARP_UFWD);
    /// Limit how many frames a second an interface floods while it is bridged: at once a tenth of
    /// that, at least 10. For the BVI it has no effect
    "set interface l2 storm-control", storm::USAGE => storm::set;
    /// Limits of flooded frames, in packets a second, and the frames that were dropped
    "show l2 storm-control" => storm::show;
    /// Add a MAC address to a bridge domain: at an interface, or dropped
    "l2fib add", "<mac:mac> <id:u32> {filter | <interface:interface> [static|bvi]}" => add;
    /// Delete a MAC address from a bridge domain
    "l2fib del", "<mac:mac> <id:u32>"
        => |w, m| w.get::<Bridge>().delete_entry(w, m.req("mac")?, m.req("id")?, None);
    /// Forget all learned MAC addresses
    "l2fib flush-mac all" => |w, _| {
        w.get::<Bridge>().flush_all(w);
        Ok(())
    };
    /// Forget the MAC addresses learned in a bridge domain
    "l2fib flush-mac bridge-domain", "<id:u32>"
        => |w, m| w.get::<Bridge>().flush_domain(w, m.req("id")?).map_err(m.at("id"));
    /// Forget the MAC addresses learned on an interface
    "l2fib flush-mac interface", "<interface:interface>" => |w, m| {
        w.get::<Bridge>().flush_interface(w, interface(w, m, "interface")?);
        Ok(())
    };
    /// Forget all MAC addresses, also those that were configured
    "clear l2fib" => |w, _| {
        w.get::<Bridge>().clear_entries(w);
        Ok(())
    };
    /// Bridge domains, or one with its members
    "show bridge-domain", "[<id:u32> [detail|int|arp|bd-tag]]" => show::domains;
    /// MAC addresses of bridge domains
    "show l2fib", "[{all | verbose | bd_id <id:u32>}] [learn|add]" => show::fib;
    /// Which interfaces route, and which are bridged or cross-connected
    "show mode", "[<interface:interface>]..." => show::modes;
};

fn create(w: &World, m: &Matches) -> Result<Output> {
    let (bridge, id) = (w.get::<Bridge>(), m.req::<u32>("id")?);
    if m.flag("del") {
        return bridge.delete_domain(w, id).map(Output::from).map_err(m.at("id"));
    }
    bridge.create_domain(w, id, DomainConfig::read(w, m)?).map_err(m.at("id"))?;
    Ok(Output::text(format!("bridge-domain {id}")))
}

fn flag(w: &World, m: &Matches, feature: Features) -> Result<()> {
    let on = !m.flag("disable");
    let set = w.get::<Bridge>().configure_domain(w, m.req("id")?, |config| {
        if let Some(flag) = config.flag(feature) {
            *flag = on;
        }
    });
    set.map_err(m.at("id"))
}

fn host(w: &World, m: &Matches) -> Result<()> {
    let (bridge, id) = (w.get::<Bridge>(), m.req("id")?);
    let set = match m.flag("del-all") {
        true => bridge.remove_hosts(w, id),
        false => {
            let (ip, mac) = (m.req("ip")?, m.req("mac")?);
            if m.flag("del") {
                bridge.remove_host(w, id, ip, mac)
            } else {
                bridge.set_host(w, id, ip, mac)
            }
        }
    };
    set.map_err(m.at("id"))
}

fn mac_age(w: &World, m: &Matches) -> Result<()> {
    let (id, minutes) = (m.req("id")?, m.req::<u8>("minutes")?);
    let set = w.get::<Bridge>().configure_domain(w, id, |config| config.mac_age = minutes);
    set.map_err(m.at("id"))
}

fn bridge(w: &World, m: &Matches) -> Result<()> {
    let kind = match (m.flag("bvi"), m.flag("uu-fwd")) {
        (true, _) => PortKind::Bvi,
        (_, true) => PortKind::UuFwd,
        _ => PortKind::Normal,
    };
    let (id, shg) = (m.req("id")?, m.opt::<u8>("shg")?.unwrap_or(0));
    let (bridge, sw_if) = (w.get::<Bridge>(), interface(w, m, "interface")?);
    let is_new = m.takes_notes() && id != 0 && !bridge.domain_ids().contains(&id);
    let before = bridge.mode(sw_if);
    bridge.set_bridge(w, sw_if, id, kind, shg)?;
    m.note(|| is_new.then(|| format!("bridge domain {id} wasn't there: it was made")));
    m.note(|| match before {
        Some(Mode::Bridge { id: old, .. }) if old != id => {
            Some(format!("{} has left bridge domain {old}", m.str("interface")))
        }
        _ => None,
    });
    Ok(())
}

fn port_flag(w: &World, m: &Matches, feature: Features) -> Result<()> {
    let on = !m.flag("disable");
    w.get::<Bridge>().set_port_features(w, interface(w, m, "interface")?, feature, on)?;
    Ok(())
}

fn add(w: &World, m: &Matches) -> Result<()> {
    let new = match m.flag("filter") {
        true => NewEntry::Filter,
        false => NewEntry::Port {
            sw_if: interface(w, m, "interface")?,
            is_static: m.flag("static"),
            is_bvi: m.flag("bvi"),
        },
    };
    w.get::<Bridge>().add_entry(w, m.req("mac")?, m.req("id")?, new)
}
