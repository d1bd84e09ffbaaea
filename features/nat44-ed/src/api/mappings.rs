// SPDX-License-Identifier: Apache-2.0
//! Static mappings.

use super::*;
use nat::mapping::Twice;
use nat::statics::{External, LocalHost, MappingKind, StaticMapping};
use std::net::Ipv4Addr;

pub fn set_mapping(w: &World, mapping: StaticMapping, add: bool) -> Result<()> {
    match add {
        true => control(w).add_mapping(w, mapping),
        false => control(w).remove_mapping(w, &mapping),
    }
}

fn twice(flags: NatConfigFlags) -> Twice {
    if flags.has(NatConfigFlags::SELF_TWICE_NAT) {
        Twice::ToItself
    } else if flags.has(NatConfigFlags::TWICE_NAT) {
        Twice::Always
    } else {
        Twice::No
    }
}

fn external(addr: Ip4Address, sw_if: InterfaceIndex) -> External {
    match sw_if.given() {
        Some(sw_if) => External::Interface(sw_if),
        None => External::Address(ip(addr)),
    }
}

/// The table of a mapping; all bits set for that of users.
fn vrf(id: u32) -> u32 {
    given(id).unwrap_or(0)
}

pub fn static_mapping(r: &Nat44AddDelStaticMapping) -> StaticMapping {
    let all = r.flags.has(NatConfigFlags::ADDR_ONLY) || r.protocol == 0;
    let port = |port: u16| if all { 0 } else { port };
    let end = End::new(ip(r.local_ip_address), port(r.local_port));
    StaticMapping {
        kind: MappingKind::Host,
        external: external(r.external_ip_address, r.external_sw_if_index),
        port: port(r.external_port),
        protocol: IpProtocol(if all { 0 } else { r.protocol }),
        locals: vec![LocalHost { end, vrf: vrf(r.vrf_id), probability: 0 }],
        twice: twice(r.flags),
        twice_address: None,
        inward_only: r.flags.has(NatConfigFlags::OUT2IN_ONLY),
        affinity: 0,
        tag: r.tag.to_string(),
        resolved: None,
    }
}

pub fn identity(r: &Nat44AddDelIdentityMapping) -> StaticMapping {
    let all = r.flags.has(NatConfigFlags::ADDR_ONLY) || r.protocol == 0;
    let port = if all { 0 } else { r.port };
    let external = external(r.ip_address, r.sw_if_index);
    let addr = match external {
        External::Address(addr) => addr,
        External::Interface(_) => Ipv4Addr::UNSPECIFIED,
    };
    let local = LocalHost { end: End::new(addr, port), vrf: vrf(r.vrf_id), probability: 0 };
    StaticMapping {
        kind: MappingKind::Identity,
        external,
        port,
        protocol: IpProtocol(if all { 0 } else { r.protocol }),
        locals: vec![local],
        twice: twice(r.flags),
        twice_address: None,
        inward_only: r.flags.has(NatConfigFlags::OUT2IN_ONLY),
        affinity: 0,
        tag: r.tag.to_string(),
        resolved: None,
    }
}

pub fn host(of: &Nat44LbAddrPort) -> LocalHost {
    let end = End::new(ip(of.addr), of.port);
    LocalHost { end, vrf: vrf(of.vrf_id), probability: of.probability }
}

pub fn balanced(r: &Nat44AddDelLbStaticMapping) -> StaticMapping {
    StaticMapping {
        kind: MappingKind::Balanced,
        external: External::Address(ip(r.external_addr)),
        port: r.external_port,
        protocol: IpProtocol(r.protocol),
        locals: r.locals.iter().map(host).collect(),
        twice: twice(r.flags),
        twice_address: None,
        inward_only: r.flags.has(NatConfigFlags::OUT2IN_ONLY),
        affinity: r.affinity,
        tag: r.tag.to_string(),
        resolved: None,
    }
}

fn flags_of(mapping: &StaticMapping) -> NatConfigFlags {
    NatConfigFlags::TWICE_NAT.when(mapping.twice == Twice::Always)
        | NatConfigFlags::SELF_TWICE_NAT.when(mapping.twice == Twice::ToItself)
        | NatConfigFlags::OUT2IN_ONLY.when(mapping.inward_only)
        | NatConfigFlags::ADDR_ONLY.when(mapping.is_address_only())
}

/// Mappings of a kind, as clients see them.
fn of_kind(w: &World, kind: MappingKind) -> Vec<StaticMapping> {
    control(w).read(|state| state.statics.shown(kind))
}

pub fn statics(w: &World, _: Nat44StaticMappingDump) -> Result<Vec<Nat44StaticMappingDetails>> {
    let details = |mapping: StaticMapping| {
        let local = mapping.locals.first().copied();
        let end = local.map_or(End::NONE, |local| local.end);
        let (addr, sw_if) = mapping.external.parts();
        Nat44StaticMappingDetails {
            flags: flags_of(&mapping),
            local_ip_address: wire_ip(end.addr),
            external_ip_address: wire_ip(addr),
            protocol: mapping.protocol.0,
            local_port: end.port,
            external_port: mapping.port,
            external_sw_if_index: sw_if.into(),
            vrf_id: local.map_or(0, |local| local.vrf),
            tag: mapping.tag.into(),
        }
    };
    Ok(of_kind(w, MappingKind::Host).into_iter().map(details).collect())
}

pub fn identities(
    w: &World,
    _: Nat44IdentityMappingDump,
) -> Result<Vec<Nat44IdentityMappingDetails>> {
    let details = |mapping: StaticMapping| {
        let local = mapping.locals.first().copied();
        let (addr, sw_if) = mapping.external.parts();
        Nat44IdentityMappingDetails {
            flags: flags_of(&mapping),
            ip_address: wire_ip(addr),
            protocol: mapping.protocol.0,
            port: mapping.port,
            sw_if_index: sw_if.into(),
            vrf_id: local.map_or(0, |local| local.vrf),
            tag: mapping.tag.into(),
        }
    };
    Ok(of_kind(w, MappingKind::Identity).into_iter().map(details).collect())
}

pub fn balanced_all(
    w: &World,
    _: Nat44LbStaticMappingDump,
) -> Result<Vec<Nat44LbStaticMappingDetails>> {
    let back_end = |local: &LocalHost| Nat44LbAddrPort {
        addr: wire_ip(local.end.addr),
        port: local.end.port,
        probability: local.probability,
        vrf_id: local.vrf,
    };
    let details = |mapping: StaticMapping| Nat44LbStaticMappingDetails {
        external_addr: wire_ip(mapping.address().unwrap_or(Ipv4Addr::UNSPECIFIED)),
        external_port: mapping.port,
        protocol: mapping.protocol.0,
        flags: flags_of(&mapping),
        affinity: mapping.affinity,
        locals: mapping.locals.iter().map(back_end).collect(),
        tag: mapping.tag.into(),
    };
    Ok(of_kind(w, MappingKind::Balanced).into_iter().map(details).collect())
}
