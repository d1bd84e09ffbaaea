// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `nat44_ei`.

mod mappings;
mod sessions;

use crate::control::{Algorithm, Control, Enabled, SessionName, named_ends};
use crate::ha::resync::Resync;
use crate::ha::{Failover, Listener};
use crate::settings::{OUTPUT_INSIDE, SESSIONS, Timeout, Timeouts, USERS, role};
use cli::{Result, retval};
use graph::{SwIfIndex, World};
use mappings::{identities, identity, set_mapping, static_mapping, statics};
use msg::{Messages, Module};
use nat::key::{End, User};
use nat::log::{self, Log};
use net::api::{InterfaceIndex, Ip4Address, given};
use sessions::{sessions, users};
use wire::IpProtocol;

/// The module.
pub static API: Module<World> = Module::plugin("nat44_ei", messages);

msg::messages! {
    /// Modes of NAT44-EI, and properties of mappings, interfaces and sessions.
    flags Nat44EiConfigFlags,
    /// The level of VPP's log of NAT.
    flags NatLogLevel,
    /// Timeouts of sessions, in seconds.
    NatTimeouts,
    /// Enables NAT44-EI, or disables it and forgets all of its configuration.
    Nat44EiPluginEnableDisable,
    /// Requests the settings.
    Nat44EiShowRunningConfig,
    /// Limits, timeouts and modes in force.
    Nat44EiShowRunningConfigReply,
    /// Keeps VPP's length of the rings between threads, without effect here.
    Nat44EiSetFqOptions,
    /// Requests that length.
    Nat44EiShowFqOptions,
    /// The length.
    Nat44EiShowFqOptionsReply,
    /// Setting of VPP without effect here: NAT writes to the daemon's log.
    Nat44EiSetLogLevel,
    /// Would switch the export of NAT's events by IPFIX; it isn't built.
    Nat44EiIpfixEnableDisable,
    /// Lets packets without a mapping pass as they are, or no longer.
    Nat44EiForwardingEnableDisable,
    /// Sets the timeouts of sessions.
    Nat44EiSetTimeouts,
    /// Limits the MSS that TCP connections ask for.
    Nat44EiSetMssClamping,
    /// Requests that limit.
    Nat44EiGetMssClamping,
    /// The limit.
    Nat44EiGetMssClampingReply,
    /// Chooses the ports that users get.
    Nat44EiSetAddrAndPortAllocAlg,
    /// Requests that choice.
    Nat44EiGetAddrAndPortAllocAlg,
    /// The choice.
    Nat44EiGetAddrAndPortAllocAlgReply,
    /// Chooses the workers that have sessions, a bit each.
    Nat44EiSetWorkers,
    /// Requests the workers that have sessions.
    Nat44EiWorkerDump,
    /// A worker.
    Nat44EiWorkerDetails,
    /// Adds addresses to the pool, or removes them.
    Nat44EiAddDelAddressRange,
    /// Requests the addresses of the pool.
    Nat44EiAddressDump,
    /// An address.
    Nat44EiAddressDetails,
    /// Keeps the first address of an interface in the pool, or no longer.
    Nat44EiAddDelInterfaceAddr,
    /// Requests the interfaces whose address is in the pool.
    Nat44EiInterfaceAddrDump,
    /// An interface whose address is in the pool.
    Nat44EiInterfaceAddrDetails,
    /// Makes an interface one to users or to the world, or no longer.
    Nat44EiInterfaceAddDelFeature,
    /// Requests these interfaces.
    Nat44EiInterfaceDump,
    /// An interface to users or to the world.
    Nat44EiInterfaceDetails,
    /// Translates packets as they leave by an interface, or no longer.
    Nat44EiAddDelOutputInterface,
    /// Requests these interfaces.
    Nat44EiOutputInterfaceGet,
    /// An interface whose packets are translated as they leave.
    Nat44EiOutputInterfaceDetails,
    /// Translates packets as they leave by an interface to users or to the world, or no longer.
    Nat44EiInterfaceAddDelOutputFeature,
    /// Requests these interfaces.
    Nat44EiInterfaceOutputFeatureDump,
    /// An interface whose packets are translated as they leave.
    Nat44EiInterfaceOutputFeatureDetails,
    /// Adds a static mapping, or removes it.
    Nat44EiAddDelStaticMapping,
    /// Requests the static mappings.
    Nat44EiStaticMappingDump,
    /// A static mapping.
    Nat44EiStaticMappingDetails,
    /// Lets an address or a port pass as it is, or no longer.
    Nat44EiAddDelIdentityMapping,
    /// Requests these mappings.
    Nat44EiIdentityMappingDump,
    /// Such a mapping.
    Nat44EiIdentityMappingDetails,
    /// Ends a session.
    Nat44EiDelSession,
    /// Ends all sessions of a user.
    Nat44EiDelUser,
    /// Requests the users: addresses inside with sessions.
    Nat44EiUserDump,
    /// A user.
    Nat44EiUserDetails,
    /// Requests the sessions of a user.
    Nat44EiUserSessionDump,
    /// A session.
    #[from(Nat44EiUserSessionV2Details)]
    Nat44EiUserSessionDetails,
    /// Requests the sessions of a user.
    Nat44EiUserSessionV2Dump,
    /// A session.
    Nat44EiUserSessionV2Details,
    /// Sets the own end of the copies of sessions for another router.
    Nat44EiHaSetListener,
    /// Requests it.
    Nat44EiHaGetListener,
    /// The own end.
    Nat44EiHaGetListenerReply,
    /// Sets the other router.
    Nat44EiHaSetFailover,
    /// Requests it.
    Nat44EiHaGetFailover,
    /// The other router.
    Nat44EiHaGetFailoverReply,
    /// Sends the events that wait.
    Nat44EiHaFlush,
    /// Transfers all sessions to the other router.
    Nat44EiHaResync,
    /// The transfer has ended.
    Nat44EiHaResyncCompletedEvent,
}

/// Numbers of the choices of ports.
const MAP_E: u8 = 1;
const RANGE: u8 = 2;

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: Nat44EiPluginEnableDisable| plugin(w, &r));
    m.call(|w, _: Nat44EiShowRunningConfig| Ok(running(w)));
    m.call(|w, r: Nat44EiSetFqOptions| control(w).set_frame_queue(w, r.frame_queue_nelts));
    m.call(|w, _: Nat44EiShowFqOptions| {
        Ok(Nat44EiShowFqOptionsReply { frame_queue_nelts: control(w).frame_queue() })
    });
    m.call(|_, _: Nat44EiSetLogLevel| -> Result<()> { Ok(()) });
    m.call(|w, r: Nat44EiIpfixEnableDisable| {
        let stream = log::stream(r.domain_id, r.src_port);
        w.get::<Log>().set_ipfix(w, r.enable.then_some(stream))
    });
    m.call(|w, r: Nat44EiForwardingEnableDisable| control(w).set_forwarding(w, r.enable));
    m.call(|w, r: Nat44EiSetTimeouts| {
        let timeouts = [r.udp, r.tcp_established, r.tcp_transitory, r.icmp];
        control(w).set_timeouts(w, Timeouts(timeouts))
    });
    m.call(|w, r: Nat44EiSetMssClamping| control(w).set_mss(w, r.enable.then_some(r.mss_value)));
    m.call(|w, _: Nat44EiGetMssClamping| {
        let mss = control(w).read(|state| state.mss);
        Ok(Nat44EiGetMssClampingReply { mss_value: mss.unwrap_or(0), enable: mss.is_some() })
    });
    m.call(set_algorithm);
    m.call(|w, _: Nat44EiGetAddrAndPortAllocAlg| Ok(algorithm(w)));
    m.call(|w, r: Nat44EiSetWorkers| control(w).set_workers(w, r.worker_mask));
    m.dump(workers);
    m.call(|w, r: Nat44EiAddDelAddressRange| {
        let range = (ip(r.first_ip_address), ip(r.last_ip_address));
        control(w).set_range(w, range, given(r.vrf_id), r.is_add)
    });
    m.dump(addresses);
    m.call(|w, r: Nat44EiAddDelInterfaceAddr| {
        control(w).set_followed(w, SwIfIndex(r.sw_if_index.0), r.is_add)
    });
    m.dump(|w, _: Nat44EiInterfaceAddrDump| {
        let all = control(w).read(|state| state.followed.clone());
        let details = |sw_if: SwIfIndex| Nat44EiInterfaceAddrDetails { sw_if_index: sw_if.into() };
        Ok(all.into_iter().map(details))
    });
    m.call(|w, r: Nat44EiInterfaceAddDelFeature| {
        let inside = r.flags.has(Nat44EiConfigFlags::IF_INSIDE);
        let bit = if inside { role::INSIDE } else { role::OUTSIDE };
        control(w).set_role(w, SwIfIndex(r.sw_if_index.0), bit, r.is_add)
    });
    m.dump(|w, _: Nat44EiInterfaceDump| {
        let details = |(sw_if, flags): (SwIfIndex, _)| Nat44EiInterfaceDetails {
            flags,
            sw_if_index: sw_if.into(),
        };
        Ok(interfaces(w, false).map(details))
    });
    m.call(|w, r: Nat44EiAddDelOutputInterface| {
        control(w).set_role(w, SwIfIndex(r.sw_if_index.0), role::OUTPUT, r.is_add)
    });
    m.stream(|w, r: Nat44EiOutputInterfaceGet| {
        let from = given(r.cursor).unwrap_or(0);
        let output = interfaces(w, true).filter(move |(sw_if, _)| sw_if.0 >= from);
        let details = |(sw_if, _): (SwIfIndex, _)| Nat44EiOutputInterfaceDetails {
            sw_if_index: sw_if.into(),
        };
        Ok(output.map(details))
    });
    m.call(|w, r: Nat44EiInterfaceAddDelOutputFeature| {
        let inside = r.flags.has(Nat44EiConfigFlags::IF_INSIDE);
        let bits = role::OUTPUT | if inside { OUTPUT_INSIDE } else { 0 };
        control(w).set_role(w, SwIfIndex(r.sw_if_index.0), bits, r.is_add)
    });
    m.dump(|w, _: Nat44EiInterfaceOutputFeatureDump| {
        let details = |(sw_if, flags): (SwIfIndex, _)| Nat44EiInterfaceOutputFeatureDetails {
            flags,
            sw_if_index: sw_if.into(),
        };
        Ok(interfaces(w, true).map(details))
    });
    m.call(|w, r: Nat44EiAddDelStaticMapping| set_mapping(w, static_mapping(&r), r.is_add));
    m.dump(statics);
    m.call(|w, r: Nat44EiAddDelIdentityMapping| set_mapping(w, identity(&r), r.is_add));
    m.dump(identities);
    m.call_later(|w, r: Nat44EiDelSession| {
        let name = SessionName {
            inside: r.flags.has(Nat44EiConfigFlags::IF_INSIDE),
            end: End::new(ip(r.address), r.port),
            protocol: IpProtocol(r.protocol),
            vrf: r.vrf_id,
        };
        Ok(control(w).delete_session(w, name)?.reply(named_ends))
    });
    m.call_later(|w, r: Nat44EiDelUser| {
        let user = User { fib: r.fib_index, addr: ip(r.ip_address) };
        Ok(control(w).delete_user(w, user)?.reply(named_ends))
    });
    m.dump_later(users);
    m.dump_later(|w, r: Nat44EiUserSessionDump| sessions(w, r.ip_address, r.vrf_id));
    m.dump_later(|w, r: Nat44EiUserSessionV2Dump| sessions(w, r.ip_address, r.vrf_id));
    ha(m);
}

fn ha(m: &mut Messages<World>) {
    m.call(|w, r: Nat44EiHaSetListener| {
        let end = End::new(ip(r.ip_address), r.port);
        let listener = Listener { end, path_mtu: r.path_mtu };
        control(w).set_listener(w, (r.port != 0).then_some(listener))
    });
    m.call(|w, _: Nat44EiHaGetListener| {
        let of = control(w).read(|state| state.ha.listener);
        let end = of.map_or(End::NONE, |of| of.end);
        Ok(Nat44EiHaGetListenerReply {
            ip_address: wire_ip(end.addr),
            port: end.port,
            path_mtu: of.map_or(0, |of| of.path_mtu),
        })
    });
    m.call(|w, r: Nat44EiHaSetFailover| {
        let end = End::new(ip(r.ip_address), r.port);
        let failover = Failover { end, refresh: r.session_refresh_interval };
        control(w).set_failover(w, (r.port != 0).then_some(failover))
    });
    m.call(|w, _: Nat44EiHaGetFailover| {
        let of = control(w).read(|state| state.ha.failover);
        let end = of.map_or(End::NONE, |of| of.end);
        Ok(Nat44EiHaGetFailoverReply {
            ip_address: wire_ip(end.addr),
            port: end.port,
            session_refresh_interval: of.map_or(0, |of| of.refresh),
        })
    });
    m.call_later(|w, _: Nat44EiHaFlush| Ok(control(w).flush(w)?.reply(|_| Ok(()))));
    m.call_by(|w, caller, r: Nat44EiHaResync| {
        control(w).check()?;
        let client = (r.want_resync_event != 0).then_some(caller.client);
        let finished = move |w: &World, missed_count| {
            if let Some(client) = client {
                w.api.publish_to(client, r.pid, &Nat44EiHaResyncCompletedEvent { missed_count });
            }
        };
        w.get::<Resync>().begin(w, Box::new(finished))
    });
    m.answer::<Nat44EiHaResyncCompletedEvent>();
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

fn plugin(w: &World, r: &Nat44EiPluginEnableDisable) -> Result<()> {
    if !r.enable {
        return control(w).disable(w);
    }
    let options = Enabled {
        inside: r.inside_vrf,
        outside: r.outside_vrf,
        users: r.users,
        sessions: r.sessions,
        user_sessions: r.user_sessions,
        static_only: r.flags.has(Nat44EiConfigFlags::STATIC_MAPPING_ONLY),
        tracking: r.flags.has(Nat44EiConfigFlags::CONNECTION_TRACKING),
        dpo: r.flags.has(Nat44EiConfigFlags::OUT2IN_DPO),
    };
    control(w).enable(w, options)
}

fn running(w: &World) -> Nat44EiShowRunningConfigReply {
    control(w).read(|state| {
        let off = Enabled {
            users: USERS,
            sessions: SESSIONS,
            user_sessions: SESSIONS,
            ..Enabled::default()
        };
        let options = state.enabled.unwrap_or(off);
        let seconds = |of| state.timeouts.seconds(of);
        Nat44EiShowRunningConfigReply {
            inside_vrf: options.inside,
            outside_vrf: options.outside,
            users: options.users,
            sessions: options.sessions,
            user_sessions: options.user_sessions,
            user_buckets: 0,
            translation_buckets: 0,
            forwarding_enabled: state.forwarding,
            ipfix_logging_enabled: w.get::<Log>().ipfix().is_some(),
            timeouts: NatTimeouts {
                udp: seconds(Timeout::Udp),
                tcp_established: seconds(Timeout::TcpEstablished),
                tcp_transitory: seconds(Timeout::TcpTransitory),
                icmp: seconds(Timeout::Icmp),
            },
            log_level: NatLogLevel(0),
            flags: Nat44EiConfigFlags::STATIC_MAPPING_ONLY.when(options.static_only)
                | Nat44EiConfigFlags::CONNECTION_TRACKING.when(options.tracking)
                | Nat44EiConfigFlags::OUT2IN_DPO.when(options.dpo),
        }
    })
}

fn set_algorithm(w: &World, r: Nat44EiSetAddrAndPortAllocAlg) -> Result<()> {
    let algorithm = match r.alg {
        0 => Algorithm::Default,
        MAP_E => Algorithm::MapE { offset: r.psid_offset, length: r.psid_length, psid: r.psid },
        RANGE => Algorithm::Range { first: r.start_port, last: r.end_port },
        other => {
            let why = format!("expected 0 (default), 1 (MAP-E) or 2 (range), not {other}");
            return Err(nat::error(retval::INVALID_VALUE, why));
        }
    };
    control(w).set_algorithm(w, algorithm)
}

fn algorithm(w: &World) -> Nat44EiGetAddrAndPortAllocAlgReply {
    let none = Nat44EiGetAddrAndPortAllocAlgReply {
        alg: 0,
        psid_offset: 0,
        psid_length: 0,
        psid: 0,
        start_port: 0,
        end_port: 0,
    };
    match control(w).read(|state| state.algorithm) {
        Algorithm::Default => none,
        Algorithm::MapE { offset, length, psid } => Nat44EiGetAddrAndPortAllocAlgReply {
            alg: MAP_E,
            psid_offset: offset,
            psid_length: length,
            psid,
            ..none
        },
        Algorithm::Range { first, last } => Nat44EiGetAddrAndPortAllocAlgReply {
            alg: RANGE,
            start_port: first,
            end_port: last,
            ..none
        },
    }
}

fn workers(w: &World, _: Nat44EiWorkerDump) -> Result<Vec<Nat44EiWorkerDetails>> {
    let threads = w.thread_list();
    let details = |thread: u16| {
        let info = threads.get(usize::from(thread));
        Nat44EiWorkerDetails {
            worker_index: u32::from(thread).saturating_sub(1),
            lcore_id: info.and_then(|info| info.core).map_or(0, |core| core as u32),
            name: info.map_or_else(String::new, |info| info.name.clone()).into(),
        }
    };
    let chosen = control(w).workers(w).into_iter().filter(|thread| *thread > 0);
    Ok(chosen.map(details).collect())
}

fn addresses(w: &World, _: Nat44EiAddressDump) -> Result<Vec<Nat44EiAddressDetails>> {
    let pool = control(w).read(|state| state.pool.clone());
    let details = |of: crate::control::Address| Nat44EiAddressDetails {
        ip_address: wire_ip(of.addr),
        vrf_id: of.vrf.unwrap_or(u32::MAX),
    };
    Ok(pool.into_iter().map(details).collect())
}

/// The interfaces with roles on input, or those whose packets are translated as they leave.
fn interfaces(
    w: &World,
    output: bool,
) -> impl Iterator<Item = (SwIfIndex, Nat44EiConfigFlags)> + use<> {
    let roles = control(w).read(|state| state.roles.clone());
    let flags = move |bits: u8| {
        let (inside, outside) = match output {
            true => (bits & OUTPUT_INSIDE != 0, bits & OUTPUT_INSIDE == 0),
            false => (bits & role::INSIDE != 0, bits & role::OUTSIDE != 0),
        };
        Nat44EiConfigFlags::IF_INSIDE.when(inside) | Nat44EiConfigFlags::IF_OUTSIDE.when(outside)
    };
    let wanted = move |(_, bits): &(SwIfIndex, u8)| (bits & role::OUTPUT != 0) == output;
    roles.into_iter().filter(wanted).map(move |(sw_if, bits)| (sw_if, flags(bits)))
}
