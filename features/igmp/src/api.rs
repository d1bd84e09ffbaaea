// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `igmp`.

use crate::control::Igmp;
use crate::event::{FilterMode, IgmpEvent};
use crate::filter::Filter;
use crate::ranges::RangeKind;
use crate::table::Mode;
use cli::{Error, Result};
use graph::{SwIfIndex, World};
use msg::{Messages, Module, retval};
use net::api::{InterfaceIndex, Ip4Address, Prefix};
use std::net::Ipv4Addr;
use wire::Ip4;

/// The module.
pub static API: Module<World> = Module::plugin("igmp", messages);

fn messages(m: &mut Messages<World>) {
    m.call(enable_disable);
    m.call(listen);
    m.call(|w, r: IgmpProxyDeviceAddDel| {
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Igmp>().set_proxy(w, r.vrf_id, sw_if, r.add != 0)
    });
    m.call(|w, r: IgmpProxyDeviceAddDelInterface| {
        let sw_if = r.sw_if_index.existing(w)?;
        w.get::<Igmp>().set_downstream(w, r.vrf_id, sw_if, r.add)
    });
    m.dump(dump);
    m.call(|w, r: IgmpClearInterface| -> Result<()> {
        w.get::<Igmp>().clear(w, r.sw_if_index.existing(w)?);
        Ok(())
    });
    m.call_by(|_, c, r: WantIgmpEvents| {
        c.hub.subscribe::<IgmpEvent>(c, r.pid, r.enable != 0);
        Ok(())
    });
    m.answer::<IgmpEvent>();
    m.call(set_range);
    m.dump(|w, _: IgmpGroupPrefixDump| {
        let ranges = w.get::<Igmp>().table().ranges.list();
        let details = |(prefix, kind)| {
            let r#type = match kind {
                RangeKind::Asm => GroupPrefixType::Asm,
                RangeKind::Ssm => GroupPrefixType::Ssm,
            };
            IgmpGroupPrefixDetails { gp: GroupPrefix { r#type, prefix: Prefix::from(prefix) } }
        };
        Ok(ranges.into_iter().map(details).collect::<Vec<_>>())
    });
}

msg::messages! {
    /// The semantics of a range of groups.
    GroupPrefixType,
    /// A range of groups, and its semantics.
    GroupPrefix,
    /// A group and the sources that are listened to.
    IgmpGroup,
    /// Sets the sources of a group that an interface listens to.
    IgmpListen,
    /// Enables or disables IGMP on an interface, as a host (1) or a router (0).
    IgmpEnableDisable,
    /// Makes an interface the upstream one of a table's proxy, or deletes the proxy.
    IgmpProxyDeviceAddDel,
    /// Adds a downstream interface to a table's proxy, or removes it.
    IgmpProxyDeviceAddDelInterface,
    /// Requests the groups of an interface, or of all.
    IgmpDump,
    /// A source and a group; 0.0.0.0 stands for all sources.
    IgmpDetails,
    /// Removes all groups of an interface.
    IgmpClearInterface,
    /// Subscribes to changes of what hosts listen to.
    WantIgmpEvents,
    /// Sets the semantics of a range of groups.
    IgmpGroupPrefixSet,
    /// Requests the ranges of groups.
    IgmpGroupPrefixDump,
    /// A range of groups.
    IgmpGroupPrefixDetails,
}

fn enable_disable(w: &World, r: IgmpEnableDisable) -> Result<()> {
    let sw_if = r.sw_if_index.existing(w)?;
    let mode = match r.mode {
        0 => Mode::Router,
        1 => Mode::Host,
        other => {
            let text = format!("the mode is 0 (router) or 1 (host), not {other}");
            return Err(Error::parse(text).retval(retval::INVALID_VALUE));
        }
    };
    match r.enable {
        true => w.get::<Igmp>().enable(w, sw_if, mode),
        false => w.get::<Igmp>().disable(w, sw_if, mode),
    }
}

fn listen(w: &World, r: IgmpListen) -> Result<()> {
    let group = r.group;
    let sources = group.saddrs.iter().map(|source| Ipv4Addr::from(source.0));
    let filter = match group.filter {
        FilterMode::Include => Filter::include(sources),
        FilterMode::Exclude => Filter::exclude(sources),
    };
    let sw_if = group.sw_if_index.existing(w)?;
    w.get::<Igmp>().listen(w, sw_if, Ipv4Addr::from(group.gaddr.0), filter)
}

fn dump(w: &World, r: IgmpDump) -> Result<impl Iterator<Item = IgmpDetails> + use<>> {
    let igmp = w.get::<Igmp>();
    let interfaces =
        r.sw_if_index.existing_or_all(w)?.map_or_else(|| igmp.interfaces(), |i| vec![i]);
    let details = |sw_if: SwIfIndex, (group, source): (Ipv4Addr, Ipv4Addr)| IgmpDetails {
        sw_if_index: sw_if.into(),
        saddr: Ip4Address(source.octets()),
        gaddr: Ip4Address(group.octets()),
    };
    // Interface by interface, as the client reads.
    Ok(interfaces.into_iter().flat_map(move |sw_if| {
        igmp.list(sw_if).into_iter().map(move |entry| details(sw_if, entry))
    }))
}

fn set_range(w: &World, r: IgmpGroupPrefixSet) -> Result<()> {
    let Some(range) = r.gp.prefix.of::<Ip4>()? else {
        return Err(Error::parse("IGMP is for IPv4").retval(retval::INVALID_VALUE));
    };
    let kind = match r.gp.r#type {
        GroupPrefixType::Asm => RangeKind::Asm,
        GroupPrefixType::Ssm => RangeKind::Ssm,
    };
    w.get::<Igmp>().set_range(w, range, kind)
}
