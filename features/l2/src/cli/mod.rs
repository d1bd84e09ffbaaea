// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

mod show;
mod storm;
mod tags;

use crate::bridge::Bridge;
use crate::domain::DomainConfig;
use crate::features::Features;
use crate::fib::NewEntry;
use crate::mode::PortKind;
use cli::{Command, Matches, Output, Result};
use graph::{SwIfIndex, World};
use net::Interfaces;

const FLAG: &str = "<id:u32> [disable]";
const PORT_FLAG: &str = "<interface:interface> [disable]";

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "bvi create",
        usage: "[mac <mac:mac>] [instance <instance:u32>]",
        help: "Make an interface to be the routed one of a bridge domain",
        run: create_bvi,
    },
    Command {
        path: "bvi delete",
        usage: "<interface:interface>",
        help: "Take such an interface away",
        run: |w, m| {
            ethernet::delete_bvi(w, interface(w, m, "interface")?)?;
            Ok(Output::empty())
        },
    },
    Command {
        path: "create bridge-domain",
        usage: "<id:u32> [learn <learn:0-1>] [forward <forward:0-1>] [uu-flood <uu-flood:0-1>] [flood <flood:0-1>] \
                [arp-term <arp-term:0-1>] [arp-ufwd <arp-ufwd:0-1>] [mac-age <mac-age:0-255>] [bd-tag <tag:string>] [del]",
        help: "Create or delete a bridge domain",
        run: create,
    },
    Command {
        path: "set bridge-domain learn",
        usage: FLAG,
        help: "Learn sources in a bridge domain, or don't",
        run: |w, m| flag(w, m, Features::LEARN),
    },
    Command {
        path: "set bridge-domain forward",
        usage: FLAG,
        help: "Look destinations up in a bridge domain, or don't",
        run: |w, m| flag(w, m, Features::FWD),
    },
    Command {
        path: "set bridge-domain flood",
        usage: FLAG,
        help: "Flood frames to groups in a bridge domain, or don't",
        run: |w, m| flag(w, m, Features::FLOOD),
    },
    Command {
        path: "set bridge-domain uu-flood",
        usage: FLAG,
        help: "Flood unicast to unknown destinations in a bridge domain, or don't",
        run: |w, m| flag(w, m, Features::UU_FLOOD),
    },
    Command {
        path: "set bridge-domain arp-ufwd",
        usage: FLAG,
        help: "Send ARP requests of a bridge domain to its unknown-unicast port alone, or don't",
        run: |w, m| flag(w, m, Features::ARP_UFWD),
    },
    Command {
        path: "set bridge-domain arp term",
        usage: FLAG,
        help: "Answer ARP requests and neighbour solicitations for hosts that are configured or snooped, or flood them",
        run: |w, m| flag(w, m, Features::ARP_TERM),
    },
    Command {
        path: "set bridge-domain arp snoop",
        usage: FLAG,
        help: "Learn hosts from the ARP and ND messages that `arp term' reads, and forget them 10 minutes after the last one; \
               or don't. Entries of `arp entry' win",
        run: |w, m| {
            let set = w.get::<Bridge>().set_snooping(w, m.req("id")?, !m.flag("disable"));
            set.map_err(|e| e.at(m.span("id")))?;
            Ok(Output::empty())
        },
    },
    Command {
        path: "set bridge-domain arp entry",
        usage: "<id:u32> {<ip:ip> <mac:mac> [del] | del-all}",
        help: "Let a bridge domain answer for a host, or no longer",
        run: host,
    },
    Command {
        path: "set bridge-domain mac-age",
        usage: "<id:u32> <minutes:0-255>",
        help: "Set after how many minutes a bridge domain forgets an address that sends nothing; 0 for never",
        run: mac_age,
    },
    Command {
        path: "set bridge-domain learn-limit",
        usage: "<id:u32> <limit:u32>",
        help: "Set how many addresses a bridge domain learns",
        run: learn_limit,
    },
    Command {
        path: "set bridge-domain default-learn-limit",
        usage: "<limit:u32>",
        help: "Set how many addresses new bridge domains learn",
        run: default_learn_limit,
    },
    Command {
        path: "set interface l3",
        usage: "<interface:interface>",
        help: "Let an interface route",
        run: l3,
    },
    Command {
        path: "set interface l2 bridge",
        usage: "<interface:interface> <id:u32> [bvi|uu-fwd] [<shg:0-255>]",
        help: "Make an interface a member of a bridge domain",
        run: bridge,
    },
    Command {
        path: "set interface l2 tag-rewrite",
        usage: tags::USAGE,
        help: "Rewrite the VLAN tags of an interface's frames while they are switched",
        run: tags::rewrite,
    },
    Command {
        path: "set interface l2 pbb-tag-rewrite",
        usage: tags::BACKBONE_USAGE,
        help: "Put the header of a backbone bridge in front of an interface's frames while they are switched, or take it off",
        run: tags::rewrite_backbone,
    },
    Command {
        path: "set interface l2 efp-filter",
        usage: "<interface:interface> [disable]",
        help: "Let a sub-interface send only frames that it would receive",
        run: tags::efp_filter,
    },
    Command {
        path: "set interface l2 xconnect",
        usage: "<interface:interface> <peer:interface>",
        help: "Send the frames that an interface receives to another interface",
        run: xconnect,
    },
    Command {
        path: "set interface l2 learn",
        usage: PORT_FLAG,
        help: "Learn sources on a bridged interface, or don't",
        run: |w, m| port_flag(w, m, Features::LEARN),
    },
    Command {
        path: "set interface l2 forward",
        usage: PORT_FLAG,
        help: "Look up the destinations of frames from a bridged interface, or don't",
        run: |w, m| port_flag(w, m, Features::FWD),
    },
    Command {
        path: "set interface l2 flood",
        usage: PORT_FLAG,
        help: "Flood frames to groups from a bridged interface, or don't",
        run: |w, m| port_flag(w, m, Features::FLOOD),
    },
    Command {
        path: "set interface l2 uu-flood",
        usage: PORT_FLAG,
        help: "Flood unicast to unknown destinations from a bridged interface, or don't",
        run: |w, m| port_flag(w, m, Features::UU_FLOOD),
    },
    Command {
        path: "set interface l2 arp-term",
        usage: PORT_FLAG,
        help: "Answer questions for neighbours from a bridged interface, if the domain does, or flood them",
        run: |w, m| port_flag(w, m, Features::ARP_TERM),
    },
    Command {
        path: "set interface l2 arp-ufwd",
        usage: PORT_FLAG,
        help: "Send ARP requests from a bridged interface to the unknown-unicast port alone, if the domain does, or don't",
        run: |w, m| port_flag(w, m, Features::ARP_UFWD),
    },
    Command {
        path: "set interface l2 storm-control",
        usage: storm::USAGE,
        help: "Limit how many frames a second an interface floods while it is bridged: at once a tenth of that, at least 10. \
               For the BVI it has no effect",
        run: storm::set,
    },
    Command {
        path: "show l2 storm-control",
        usage: "",
        help: "Limits of flooded frames, in packets a second, and the frames that were dropped",
        run: storm::show,
    },
    Command {
        path: "l2fib add",
        usage: "<mac:mac> <id:u32> {filter | <interface:interface> [static|bvi]}",
        help: "Add a MAC address to a bridge domain: at an interface, or dropped",
        run: add,
    },
    Command {
        path: "l2fib del",
        usage: "<mac:mac> <id:u32>",
        help: "Delete a MAC address from a bridge domain",
        run: del,
    },
    Command {
        path: "l2fib flush-mac all",
        usage: "",
        help: "Forget all learned MAC addresses",
        run: |w, _| {
            w.get::<Bridge>().flush_all(w);
            Ok(Output::empty())
        },
    },
    Command {
        path: "l2fib flush-mac bridge-domain",
        usage: "<id:u32>",
        help: "Forget the MAC addresses learned in a bridge domain",
        run: |w, m| {
            w.get::<Bridge>().flush_domain(w, m.req("id")?).map_err(|e| e.at(m.span("id")))?;
            Ok(Output::empty())
        },
    },
    Command {
        path: "l2fib flush-mac interface",
        usage: "<interface:interface>",
        help: "Forget the MAC addresses learned on an interface",
        run: |w, m| {
            w.get::<Bridge>().flush_interface(w, interface(w, m, "interface")?);
            Ok(Output::empty())
        },
    },
    Command {
        path: "clear l2fib",
        usage: "",
        help: "Forget all MAC addresses, also those that were configured",
        run: |w, _| {
            w.get::<Bridge>().clear_entries(w);
            Ok(Output::empty())
        },
    },
    Command {
        path: "show bridge-domain",
        usage: "[<id:u32> [detail|int|arp|bd-tag]]",
        help: "Bridge domains, or one with its members",
        run: show::domains,
    },
    Command {
        path: "show l2fib",
        usage: "[{all | verbose | bd_id <id:u32>}] [learn|add]",
        help: "MAC addresses of bridge domains",
        run: show::fib,
    },
    Command {
        path: "show mode",
        usage: "[<interface:interface>]...",
        help: "Which interfaces route, and which are bridged or cross-connected",
        run: show::modes,
    },
];

fn interface(w: &World, m: &Matches, name: &str) -> Result<SwIfIndex> {
    w.get::<Interfaces>().find(m.str(name)).map_err(|e| e.at(m.span(name)))
}

fn create_bvi(w: &World, m: &Matches) -> Result<Output> {
    let sw_if = ethernet::create_bvi(w, m.opt("mac")?, m.opt("instance")?)?;
    Ok(Output::text(format!("{}\n", w.get::<Interfaces>().name(sw_if))))
}

fn create(w: &World, m: &Matches) -> Result<Output> {
    let (bridge, id) = (w.get::<Bridge>(), m.req::<u32>("id")?);
    if m.flag("del") {
        bridge.delete_domain(w, id).map_err(|e| e.at(m.span("id")))?;
        return Ok(Output::empty());
    }
    let bit = |name: &str, usual: bool| -> Result<bool> {
        Ok(m.opt::<u64>(name)?.map_or(usual, |bit| bit != 0))
    };
    let usual = DomainConfig::default();
    let config = DomainConfig {
        learn: bit("learn", usual.learn)?,
        forward: bit("forward", usual.forward)?,
        flood: bit("flood", usual.flood)?,
        uu_flood: bit("uu-flood", usual.uu_flood)?,
        arp_term: bit("arp-term", usual.arp_term)?,
        arp_snoop: usual.arp_snoop,
        arp_ufwd: bit("arp-ufwd", usual.arp_ufwd)?,
        mac_age: m.opt::<u8>("mac-age")?.unwrap_or(usual.mac_age),
        tag: if m.has("tag") { m.str("tag").to_string() } else { String::new() },
    };
    bridge.create_domain(w, id, config).map_err(|e| e.at(m.span("id")))?;
    Ok(Output::text(format!("bridge-domain {id}")))
}

fn flag(w: &World, m: &Matches, feature: Features) -> Result<Output> {
    let on = !m.flag("disable");
    let set = w.get::<Bridge>().configure_domain(w, m.req("id")?, |config| {
        if let Some(flag) = config.flag(feature) {
            *flag = on;
        }
    });
    set.map_err(|e| e.at(m.span("id")))?;
    Ok(Output::empty())
}

fn host(w: &World, m: &Matches) -> Result<Output> {
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
    set.map_err(|e| e.at(m.span("id")))?;
    Ok(Output::empty())
}

fn mac_age(w: &World, m: &Matches) -> Result<Output> {
    let minutes = m.req::<u8>("minutes")?;
    let set =
        w.get::<Bridge>().configure_domain(w, m.req("id")?, |config| config.mac_age = minutes);
    set.map_err(|e| e.at(m.span("id")))?;
    Ok(Output::empty())
}

fn learn_limit(w: &World, m: &Matches) -> Result<Output> {
    let set = w.get::<Bridge>().set_learn_limit(w, m.req("id")?, m.req("limit")?);
    set.map_err(|e| e.at(m.span("id")))?;
    Ok(Output::empty())
}

fn default_learn_limit(w: &World, m: &Matches) -> Result<Output> {
    w.get::<Bridge>().set_default_learn_limit(w, m.req("limit")?);
    Ok(Output::empty())
}

fn l3(w: &World, m: &Matches) -> Result<Output> {
    w.get::<Bridge>().set_l3(w, interface(w, m, "interface")?)?;
    Ok(Output::empty())
}

fn bridge(w: &World, m: &Matches) -> Result<Output> {
    let kind = match (m.flag("bvi"), m.flag("uu-fwd")) {
        (true, _) => PortKind::Bvi,
        (_, true) => PortKind::UuFwd,
        _ => PortKind::Normal,
    };
    let (id, shg) = (m.req("id")?, m.opt::<u8>("shg")?.unwrap_or(0));
    w.get::<Bridge>().set_bridge(w, interface(w, m, "interface")?, id, kind, shg)?;
    Ok(Output::empty())
}

fn xconnect(w: &World, m: &Matches) -> Result<Output> {
    w.get::<Bridge>().set_xconnect(w, interface(w, m, "interface")?, interface(w, m, "peer")?)?;
    Ok(Output::empty())
}

fn port_flag(w: &World, m: &Matches, feature: Features) -> Result<Output> {
    let on = !m.flag("disable");
    w.get::<Bridge>().set_port_features(w, interface(w, m, "interface")?, feature, on)?;
    Ok(Output::empty())
}

fn add(w: &World, m: &Matches) -> Result<Output> {
    let new = match m.flag("filter") {
        true => NewEntry::Filter,
        false => NewEntry::Port {
            sw_if: interface(w, m, "interface")?,
            is_static: m.flag("static"),
            is_bvi: m.flag("bvi"),
        },
    };
    w.get::<Bridge>().add_entry(w, m.req("mac")?, m.req("id")?, new)?;
    Ok(Output::empty())
}

fn del(w: &World, m: &Matches) -> Result<Output> {
    w.get::<Bridge>().delete_entry(w, m.req("mac")?, m.req("id")?, None)?;
    Ok(Output::empty())
}
