// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `nat44_ed`.

mod mappings;
mod sessions;

use crate::control::{Control, Enabled, SessionName, check_flags, named_ends};
use crate::key::End;
use crate::settings::{SESSIONS, Timeout, Timeouts, role};
use ::nat::log::{self, Log};
use cli::Result;
use graph::{SwIfIndex, World};
use mappings::{
    balanced, balanced_all, host, identities, identity, set_mapping, static_mapping, statics,
};
use msg::{Messages, Module};
use nat::statics::StaticMapping;
use net::api::{InterfaceIndex, Ip4Address, given};
use sessions::{sessions, users};
use wire::IpProtocol;

/// The module.
pub static API: Module<World> = Module::plugin("nat44_ed", messages);

msg::messages! {
    /// Properties of addresses, mappings, interfaces and sessions.
    flags NatConfigFlags,
    /// Modes of VPP's NAT44.
    flags Nat44ConfigFlags,
    /// The level of VPP's log of NAT.
    flags NatLogLevel,
    /// Timeouts of sessions, in seconds.
    NatTimeouts,
    /// A back end: its share of the load, and its table.
    Nat44LbAddrPort,
    /// Enables NAT44-ED, or disables it and forgets all of its configuration.
    Nat44EdPluginEnableDisable,
    /// Lets packets without a mapping pass as they are, or no longer.
    Nat44ForwardingEnableDisable,
    /// Exports events of all kinds of NAT by IPFIX, or no longer.
    NatIpfixEnableDisable,
    /// Sets the timeouts of sessions.
    NatSetTimeouts,
    /// Limits the MSS that TCP connections ask for.
    NatSetMssClamping,
    /// Requests that limit.
    NatGetMssClamping,
    /// The limit.
    NatGetMssClampingReply,
    /// Chooses the workers that have sessions, a bit each.
    NatSetWorkers,
    /// Requests the workers that have sessions.
    NatWorkerDump,
    /// A worker.
    NatWorkerDetails,
    /// Keeps VPP's length of the rings between threads, without effect here.
    Nat44EdSetFqOptions,
    /// Requests that length.
    Nat44EdShowFqOptions,
    /// The length.
    Nat44EdShowFqOptionsReply,
    /// Limits the sessions of a thread, of the users of a table.
    Nat44SetSessionLimit,
    /// Requests the settings.
    Nat44ShowRunningConfig,
    /// Limits, timeouts and modes in force.
    Nat44ShowRunningConfigReply,
    /// Adds addresses to a pool, or removes them.
    Nat44AddDelAddressRange,
    /// Requests the addresses of the pools.
    Nat44AddressDump,
    /// An address.
    Nat44AddressDetails,
    /// Keeps the first address of an interface in a pool, or no longer.
    Nat44AddDelInterfaceAddr,
    /// Requests the interfaces whose address is in a pool.
    Nat44InterfaceAddrDump,
    /// An interface whose address is in a pool.
    Nat44InterfaceAddrDetails,
    /// Makes an interface one to users or to the world, or no longer.
    Nat44InterfaceAddDelFeature,
    /// Requests these interfaces.
    Nat44InterfaceDump,
    /// An interface to users or to the world.
    Nat44InterfaceDetails,
    /// Translates packets as they leave by an interface, or no longer.
    Nat44EdAddDelOutputInterface,
    /// Requests these interfaces.
    Nat44EdOutputInterfaceGet,
    /// An interface whose packets are translated as they leave.
    Nat44EdOutputInterfaceDetails,
    /// Adds a table whose users may send to other tables, or removes it.
    Nat44EdAddDelVrfTable,
    /// Lets users of a table send to another one, or no longer.
    Nat44EdAddDelVrfRoute,
    /// Requests these tables.
    Nat44EdVrfTablesDump,
    /// Such a table.
    Nat44EdVrfTablesDetails,
    /// Requests these tables.
    Nat44EdVrfTablesV2Dump,
    /// Such a table.
    #[from(Nat44EdVrfTablesDetails)]
    Nat44EdVrfTablesV2Details,
    /// Adds a static mapping, or removes it.
    Nat44AddDelStaticMapping,
    /// The same, with the address that hosts of the world get.
    Nat44AddDelStaticMappingV2,
    /// Requests the static mappings.
    Nat44StaticMappingDump,
    /// A static mapping.
    Nat44StaticMappingDetails,
    /// Lets an address or a port pass as it is, or no longer.
    Nat44AddDelIdentityMapping,
    /// Requests these mappings.
    Nat44IdentityMappingDump,
    /// Such a mapping.
    Nat44IdentityMappingDetails,
    /// Adds a mapping with several back ends, or removes it.
    Nat44AddDelLbStaticMapping,
    /// Adds a back end to such a mapping, or removes it.
    Nat44LbStaticMappingAddDelLocal,
    /// Requests these mappings.
    Nat44LbStaticMappingDump,
    /// Such a mapping.
    Nat44LbStaticMappingDetails,
    /// Ends a session.
    Nat44DelSession,
    /// Requests the users: addresses inside with sessions.
    Nat44UserDump,
    /// A user.
    Nat44UserDetails,
    /// Requests the sessions of a user.
    Nat44UserSessionDump,
    /// A session.
    #[from(Nat44UserSessionV3Details)]
    Nat44UserSessionDetails,
    /// Requests the sessions of a user.
    Nat44UserSessionV2Dump,
    /// A session.
    #[from(Nat44UserSessionV3Details)]
    Nat44UserSessionV2Details,
    /// Requests the sessions of a user.
    Nat44UserSessionV3Dump,
    /// A session.
    Nat44UserSessionV3Details,
}

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: Nat44EdPluginEnableDisable| plugin(w, &r));
    m.call(|w, r: Nat44ForwardingEnableDisable| control(w).set_forwarding(w, r.enable));
    m.call(|w, r: NatIpfixEnableDisable| {
        let stream = log::stream(r.domain_id, r.src_port);
        w.get::<Log>().set_ipfix(w, r.enable.then_some(stream))
    });
    m.call(|w, r: NatSetTimeouts| {
        let timeouts = [r.udp, r.tcp_established, r.tcp_transitory, r.icmp];
        control(w).set_timeouts(w, Timeouts(timeouts))
    });
    m.call(|w, r: NatSetMssClamping| control(w).set_mss(w, r.enable.then_some(r.mss_value)));
    m.call(|w, _: NatGetMssClamping| {
        let mss = control(w).read(|state| state.mss);
        Ok(NatGetMssClampingReply { mss_value: mss.unwrap_or(0), enable: mss.is_some() })
    });
    m.call(|w, r: NatSetWorkers| control(w).set_workers(w, r.worker_mask));
    m.dump(workers);
    m.call(|w, r: Nat44EdSetFqOptions| control(w).set_frame_queue(w, r.frame_queue_nelts));
    m.call(|w, _: Nat44EdShowFqOptions| {
        Ok(Nat44EdShowFqOptionsReply { frame_queue_nelts: control(w).frame_queue() })
    });
    m.call(|w, r: Nat44SetSessionLimit| control(w).set_limit(w, r.session_limit, r.vrf_id));
    m.call(|w, _: Nat44ShowRunningConfig| Ok(running(w)));
    m.call(|w, r: Nat44AddDelAddressRange| {
        let range = (ip(r.first_ip_address), ip(r.last_ip_address));
        let twice = r.flags.has(NatConfigFlags::TWICE_NAT);
        control(w).set_range(w, range, given(r.vrf_id), (twice, r.is_add))
    });
    m.dump(addresses);
    m.call(|w, r: Nat44AddDelInterfaceAddr| {
        let twice = r.flags.has(NatConfigFlags::TWICE_NAT);
        control(w).set_followed(w, SwIfIndex(r.sw_if_index.0), (twice, r.is_add))
    });
    m.dump(|w, _: Nat44InterfaceAddrDump| {
        let all = control(w).read(|state| state.followed.clone());
        Ok(all.into_iter().map(|(sw_if, twice)| Nat44InterfaceAddrDetails {
            sw_if_index: sw_if.into(),
            flags: NatConfigFlags::TWICE_NAT.when(twice),
        }))
    });
    m.call(|w, r: Nat44InterfaceAddDelFeature| {
        let inside = r.flags.has(NatConfigFlags::INSIDE);
        let bit = if inside { role::INSIDE } else { role::OUTSIDE };
        control(w).set_role(w, SwIfIndex(r.sw_if_index.0), bit, r.is_add)
    });
    m.dump(interfaces);
    m.call(|w, r: Nat44EdAddDelOutputInterface| {
        control(w).set_role(w, SwIfIndex(r.sw_if_index.0), role::OUTPUT, r.is_add)
    });
    m.stream(outputs);
    m.call(|w, r: Nat44EdAddDelVrfTable| control(w).set_table(w, r.table_vrf_id, r.is_add));
    m.call(|w, r: Nat44EdAddDelVrfRoute| {
        control(w).set_route(w, r.table_vrf_id, r.vrf_id, r.is_add)
    });
    m.dump(|w, _: Nat44EdVrfTablesDump| Ok(tables(w)));
    m.dump(|w, _: Nat44EdVrfTablesV2Dump| Ok(tables(w)));
    m.call(|w, r: Nat44AddDelStaticMapping| {
        let mapping = static_mapping(&r);
        set_mapping(w, mapping, r.is_add)
    });
    m.call(|w, r: Nat44AddDelStaticMappingV2| {
        let pool = r.match_pool.then(|| ip(r.pool_ip_address));
        let add = r.is_add;
        let old = Nat44AddDelStaticMapping {
            is_add: r.is_add,
            flags: r.flags,
            local_ip_address: r.local_ip_address,
            external_ip_address: r.external_ip_address,
            protocol: r.protocol,
            local_port: r.local_port,
            external_port: r.external_port,
            external_sw_if_index: r.external_sw_if_index,
            vrf_id: r.vrf_id,
            tag: r.tag,
        };
        set_mapping(w, StaticMapping { twice_address: pool, ..static_mapping(&old) }, add)
    });
    m.dump(statics);
    m.call(|w, r: Nat44AddDelIdentityMapping| set_mapping(w, identity(&r), r.is_add));
    m.dump(identities);
    m.call(|w, r: Nat44AddDelLbStaticMapping| set_mapping(w, balanced(&r), r.is_add));
    m.call(|w, r: Nat44LbStaticMappingAddDelLocal| {
        let external = End::new(ip(r.external_addr), r.external_port);
        let of = (external, IpProtocol(r.protocol));
        control(w).set_back_end(w, of, host(&r.local), r.is_add)
    });
    m.dump(balanced_all);
    m.call_later(|w, r: Nat44DelSession| {
        let external = r.flags.has(NatConfigFlags::EXT_HOST_VALID);
        let name = SessionName {
            inside: r.flags.has(NatConfigFlags::INSIDE),
            end: End::new(ip(r.address), r.port),
            protocol: IpProtocol(r.protocol),
            vrf: r.vrf_id,
            external: external.then(|| End::new(ip(r.ext_host_address), r.ext_host_port)),
        };
        Ok(control(w).delete_session(w, name)?.reply(named_ends))
    });
    m.dump_later(users);
    m.dump_later(|w, r: Nat44UserSessionDump| sessions(w, r.ip_address, r.vrf_id));
    m.dump_later(|w, r: Nat44UserSessionV2Dump| sessions(w, r.ip_address, r.vrf_id));
    m.dump_later(|w, r: Nat44UserSessionV3Dump| sessions(w, r.ip_address, r.vrf_id));
}

fn wire_ip(addr: std::net::Ipv4Addr) -> Ip4Address {
    Ip4Address(addr.octets())
}

fn ip(addr: Ip4Address) -> std::net::Ipv4Addr {
    addr.0.into()
}

fn control(w: &World) -> std::sync::Arc<Control> {
    w.get()
}

fn plugin(w: &World, r: &Nat44EdPluginEnableDisable) -> Result<()> {
    if !r.enable {
        return control(w).disable(w);
    }
    check_flags(
        r.flags.has(Nat44ConfigFlags::STATIC_MAPPING_ONLY),
        r.flags.has(Nat44ConfigFlags::CONNECTION_TRACKING),
    )?;
    let Nat44EdPluginEnableDisable { inside_vrf, outside_vrf, sessions, .. } = *r;
    control(w).enable(w, Enabled { inside: inside_vrf, outside: outside_vrf, sessions })
}

fn workers(w: &World, _: NatWorkerDump) -> Result<Vec<NatWorkerDetails>> {
    let threads = w.thread_list();
    let details = |thread: u16| {
        let info = threads.get(usize::from(thread));
        NatWorkerDetails {
            worker_index: u32::from(thread).saturating_sub(1),
            lcore_id: info.and_then(|info| info.core).map_or(0, |core| core as u32),
            name: info.map_or_else(String::new, |info| info.name.clone()).into(),
        }
    };
    let chosen = control(w).workers(w).into_iter().filter(|thread| *thread > 0);
    Ok(chosen.map(details).collect())
}

fn running(w: &World) -> Nat44ShowRunningConfigReply {
    let ipfix_logging_enabled = w.get::<Log>().ipfix().is_some();
    control(w).read(|state| {
        let options = state.enabled;
        let seconds = |of| state.timeouts.seconds(of);
        Nat44ShowRunningConfigReply {
            inside_vrf: options.map_or(0, |of| of.inside),
            outside_vrf: options.map_or(0, |of| of.outside),
            users: 0,
            sessions: options.map_or(SESSIONS, |of| of.sessions),
            user_sessions: 0,
            user_buckets: 0,
            translation_buckets: 0,
            forwarding_enabled: state.forwarding,
            ipfix_logging_enabled,
            timeouts: NatTimeouts {
                udp: seconds(Timeout::Udp),
                tcp_established: seconds(Timeout::TcpEstablished),
                tcp_transitory: seconds(Timeout::TcpTransitory),
                icmp: seconds(Timeout::Icmp),
            },
            log_level: NatLogLevel(0),
            flags: Nat44ConfigFlags::ENDPOINT_DEPENDENT,
        }
    })
}

fn addresses(w: &World, _: Nat44AddressDump) -> Result<Vec<Nat44AddressDetails>> {
    let pools = control(w).read(|state| state.pools.clone());
    let details = |(twice, pool): (bool, Vec<crate::control::Address>)| {
        pool.into_iter().map(move |address| Nat44AddressDetails {
            ip_address: wire_ip(address.addr),
            flags: NatConfigFlags::TWICE_NAT.when(twice),
            vrf_id: address.vrf.unwrap_or(u32::MAX),
        })
    };
    Ok([false, true].into_iter().zip(pools).flat_map(details).collect())
}

fn interfaces(w: &World, _: Nat44InterfaceDump) -> Result<Vec<Nat44InterfaceDetails>> {
    let roles = control(w).read(|state| state.roles.clone());
    let input = roles.into_iter().filter(|(_, bits)| bits & role::OUTPUT == 0);
    let details = |(sw_if, bits): (SwIfIndex, u8)| Nat44InterfaceDetails {
        flags: NatConfigFlags::INSIDE.when(bits & role::INSIDE != 0)
            | NatConfigFlags::OUTSIDE.when(bits & role::OUTSIDE != 0),
        sw_if_index: sw_if.into(),
    };
    Ok(input.map(details).collect())
}

fn outputs(w: &World, r: Nat44EdOutputInterfaceGet) -> Result<Vec<Nat44EdOutputInterfaceDetails>> {
    let roles = control(w).read(|state| state.roles.clone());
    let from = given(r.cursor).unwrap_or(0);
    let output = roles.into_iter().filter(|(_, bits)| bits & role::OUTPUT != 0);
    let output = output.filter(|(sw_if, _)| sw_if.0 >= from);
    let details =
        |(sw_if, _): (SwIfIndex, u8)| Nat44EdOutputInterfaceDetails { sw_if_index: sw_if.into() };
    Ok(output.map(details).collect())
}

fn tables(w: &World) -> Vec<Nat44EdVrfTablesDetails> {
    let tables = control(w).read(|state| state.tables.clone());
    let details = |(table_vrf_id, to): (u32, std::collections::BTreeSet<u32>)| {
        Nat44EdVrfTablesDetails { table_vrf_id, vrf_ids: to.into_iter().collect() }
    };
    tables.into_iter().map(details).collect()
}
