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

/// A mapping of one end; the table has all bits set for that of users.
fn mapping(
    kind: MappingKind,
    (external, port, protocol): (External, u16, u8),
    (end, vrf): (End, u32),
    tag: String,
) -> StaticMapping {
    StaticMapping {
        kind,
        external,
        port,
        protocol: IpProtocol(protocol),
        locals: vec![LocalHost { end, vrf: given(vrf).unwrap_or(0), probability: 0 }],
        twice: Twice::No,
        twice_address: None,
        inward_only: false,
        affinity: 0,
        tag,
        resolved: None,
    }
}

fn external(addr: Ip4Address, sw_if: InterfaceIndex) -> External {
    match sw_if.given() {
        Some(sw_if) => External::Interface(sw_if),
        None => External::Address(ip(addr)),
    }
}

pub fn static_mapping(r: &Nat44EiAddDelStaticMapping) -> StaticMapping {
    let all = r.flags.has(Nat44EiConfigFlags::ADDR_ONLY_MAPPING) || r.protocol == 0;
    let port = |port: u16| if all { 0 } else { port };
    let external = external(r.external_ip_address, r.external_sw_if_index);
    let end = End::new(ip(r.local_ip_address), port(r.local_port));
    let seen = (external, port(r.external_port), if all { 0 } else { r.protocol });
    mapping(MappingKind::Host, seen, (end, r.vrf_id), r.tag.to_string())
}

pub fn identity(r: &Nat44EiAddDelIdentityMapping) -> StaticMapping {
    let all = r.flags.has(Nat44EiConfigFlags::ADDR_ONLY_MAPPING) || r.protocol == 0;
    let port = if all { 0 } else { r.port };
    let external = external(r.ip_address, r.sw_if_index);
    let addr = match external {
        External::Address(addr) => addr,
        External::Interface(_) => Ipv4Addr::UNSPECIFIED,
    };
    let seen = (external, port, if all { 0 } else { r.protocol });
    let of = (End::new(addr, port), r.vrf_id);
    mapping(MappingKind::Identity, seen, of, r.tag.to_string())
}

/// Mappings of a kind, as clients see them.
fn of_kind(w: &World, kind: MappingKind) -> Vec<StaticMapping> {
    control(w).read(|state| state.statics.shown(kind))
}

fn flags_of(mapping: &StaticMapping) -> Nat44EiConfigFlags {
    Nat44EiConfigFlags::ADDR_ONLY_MAPPING.when(mapping.is_address_only())
}

pub fn statics(w: &World, _: Nat44EiStaticMappingDump) -> Result<Vec<Nat44EiStaticMappingDetails>> {
    let details = |mapping: StaticMapping| {
        let local = mapping.locals.first().copied();
        let end = local.map_or(End::NONE, |local| local.end);
        let (addr, sw_if) = mapping.external.parts();
        Nat44EiStaticMappingDetails {
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
    _: Nat44EiIdentityMappingDump,
) -> Result<Vec<Nat44EiIdentityMappingDetails>> {
    let details = |mapping: StaticMapping| {
        let local = mapping.locals.first().copied();
        let (addr, sw_if) = mapping.external.parts();
        Nat44EiIdentityMappingDetails {
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
