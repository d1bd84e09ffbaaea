// SPDX-License-Identifier: Apache-2.0
//! Messages of the module `gtpu`.

use crate::forward::{Cause, Forward, Forwards};
use crate::model::{Gtpu, check_qfi};
use crate::spec::update_tteid;
use cli::{Error, Result, retval};
use graph::{SwIfIndex, World};
use msg::{Messages, Module};
use net::IfCounters;
use net::api::{Address, InterfaceIndex};
use tunnel::{
    BypassInterfaces, HeaderMarking, Next, Tunnel, TunnelEndpoints, Tunnels, refuse_offload,
    unspecified,
};

/// The module.
pub static API: Module<World> = Module::plugin("gtpu", messages);

/// Tunnels of one answer to `gtpu_get_transfer_counts` at most: 40 KiB.
const MOST_COUNTS: usize = 1000;

fn messages(m: &mut Messages<World>) {
    m.call(|w, r: GtpuAddDelTunnel| {
        let (sw_if_index, _) = add_del(w, r.into())?;
        Ok(GtpuAddDelTunnelReply { sw_if_index })
    });
    m.call(|w, r: GtpuAddDelTunnelV2| {
        let (sw_if_index, counters) = add_del(w, r)?;
        Ok(GtpuAddDelTunnelV2Reply { sw_if_index, counters })
    });
    m.call(|w, r: GtpuTunnelUpdateTteid| {
        update_tteid(w, None, r.dst_address.into(), r.encap_vrf_id, r.teid, r.tteid)
    });
    m.dump(|w, r: GtpuTunnelDump| {
        let all = dump(w, r.sw_if_index);
        Ok(all.into_iter().map(GtpuTunnelDetails::from).collect::<Vec<_>>())
    });
    m.dump(|w, r: GtpuTunnelV2Dump| Ok(dump(w, r.sw_if_index)));
    m.call(add_del_forward);
    m.call(transfer_counts);
    m.call(|w, r: SwInterfaceSetGtpuBypass| {
        w.get::<BypassInterfaces<Gtpu>>().set(w, SwIfIndex(r.sw_if_index.0), r.is_ipv6, r.enable)
    });
    m.call(|w, r: GtpuOffloadRx| -> Result<()> {
        let (device, tunnel) = (SwIfIndex(r.hw_if_index), SwIfIndex(r.sw_if_index));
        Err(refuse_offload::<Gtpu>(w, device, tunnel))
    });
}

/// Reads a number of a next node: 2 and 3 are IPv4 and IPv6 here.
fn next_of(w: &World, index: GtpuDecapNextType) -> Result<Next> {
    match index {
        GtpuDecapNextType::IP4 => Ok(Next::Node("ip4-input")),
        GtpuDecapNextType::IP6 => Ok(Next::Node("ip6-input")),
        GtpuDecapNextType(index) => Next::of_index(w, index),
    }
}

fn next_index(w: &World, next: Next) -> GtpuDecapNextType {
    match next {
        Next::Node("ip4-input") => GtpuDecapNextType::IP4,
        Next::Node("ip6-input") => GtpuDecapNextType::IP6,
        next => GtpuDecapNextType(next.index(w)),
    }
}

fn counters(w: &World, sw_if: SwIfIndex) -> SwIfCounters {
    let all = w.get::<IfCounters>();
    let ((packets_rx, bytes_rx), (packets_tx, bytes_tx)) =
        (all.rx.sum(sw_if.at()), all.tx.sum(sw_if.at()));
    SwIfCounters { packets_rx, packets_tx, bytes_rx, bytes_tx }
}

fn add_del(w: &World, r: GtpuAddDelTunnelV2) -> Result<(InterfaceIndex, SwIfCounters)> {
    let (local, remote) = (r.src_address.into(), r.dst_address.into());
    let by = r.mcast_sw_if_index.given();
    let spec = Gtpu {
        ends: TunnelEndpoints::new(local, remote, r.encap_vrf_id, by),
        marks: HeaderMarking::default(),
        teid: r.teid,
        tteid: r.tteid,
        qfi: check_qfi(r.pdu_extension.then_some(r.qfi))?,
        next: next_of(w, r.decap_next_index)?,
    };
    let tunnels = w.get::<Tunnels<Gtpu>>();
    if r.is_add {
        let sw_if = tunnels.add_del(w, true, None, spec)?;
        return Ok((sw_if.into(), SwIfCounters::default()));
    }
    // The last values of a deleted tunnel.
    let last = counters(w, tunnels.find(w, &spec)?);
    Ok((tunnels.add_del(w, false, None, spec)?.into(), last))
}

fn cause_of(kind: GtpuForwardingType) -> Result<Cause> {
    match kind {
        GtpuForwardingType::BAD_HEADER => Ok(Cause::BadHeader),
        GtpuForwardingType::UNKNOWN_TEID => Ok(Cause::UnknownTeid),
        GtpuForwardingType::UNKNOWN_TYPE => Ok(Cause::UnknownType),
        GtpuForwardingType(kind) => {
            let why = format!("one type of forwarding is needed (1, 2 or 4), not {kind}");
            Err(Error::parse(why).retval(retval::INVALID_ARGUMENT))
        }
    }
}

fn add_del_forward(w: &World, r: GtpuAddDelForward) -> Result<GtpuAddDelForwardReply> {
    let (cause, to) = (cause_of(r.forwarding_type)?, r.dst_address.into());
    let forwards = w.get::<Forwards>();
    let sw_if = if r.is_add {
        let next = next_of(w, r.decap_next_index)?;
        forwards.create(w, None, (cause, to), r.encap_vrf_id, next)?
    } else {
        forwards.delete(w, cause, to)?
    };
    Ok(GtpuAddDelForwardReply { sw_if_index: sw_if.into() })
}

/// Tunnels from an interface on, at most as many as the client has room for.
fn transfer_counts(w: &World, r: GtpuGetTransferCounts) -> Result<GtpuGetTransferCountsReply> {
    let most = MOST_COUNTS.min(r.capacity as usize);
    let mut all = w.get::<Tunnels<Gtpu>>().interfaces();
    all.extend(w.get::<Forwards>().list().into_iter().map(|forward| forward.sw_if));
    all.sort_unstable();
    let from = all.into_iter().filter(|sw_if| sw_if.0 >= r.sw_if_index_start.0);
    let metrics = |sw_if: SwIfIndex| TunnelMetrics {
        sw_if_index: sw_if.into(),
        reserved: 0,
        counters: counters(w, sw_if),
    };
    Ok(GtpuGetTransferCountsReply { tunnels: from.take(most).map(metrics).collect() })
}

/// One tunnel or forward, or all.
fn dump(w: &World, only: InterfaceIndex) -> Vec<GtpuTunnelV2Details> {
    let tunnels = w.get::<Tunnels<Gtpu>>().chosen(only.given());
    let forwards = w.get::<Forwards>().list().into_iter();
    let forwards = forwards.filter(|forward| only.given().is_none_or(|of| of == forward.sw_if));
    tunnels
        .into_iter()
        .map(|tunnel| of_tunnel(w, tunnel))
        .chain(forwards.map(|forward| of_forward(w, forward)))
        .collect()
}

fn of_tunnel(w: &World, Tunnel { sw_if, spec, .. }: Tunnel<Gtpu>) -> GtpuTunnelV2Details {
    let tteid = spec.sent_teid();
    let Gtpu { ends, teid, qfi, next, .. } = spec;
    GtpuTunnelV2Details {
        sw_if_index: sw_if.into(),
        src_address: ends.local.into(),
        dst_address: ends.remote.into(),
        mcast_sw_if_index: ends.group_interface.into(),
        encap_vrf_id: ends.table,
        decap_next_index: next_index(w, next),
        teid,
        tteid,
        pdu_extension: qfi.is_some(),
        qfi: qfi.unwrap_or(0),
        is_forwarding: false,
        forwarding_type: GtpuForwardingType::NONE,
        counters: counters(w, sw_if),
    }
}

fn of_forward(w: &World, forward: Forward) -> GtpuTunnelV2Details {
    let Forward { sw_if, cause, to, table, next, .. } = forward;
    GtpuTunnelV2Details {
        sw_if_index: sw_if.into(),
        src_address: unspecified(to).into(),
        dst_address: to.into(),
        mcast_sw_if_index: InterfaceIndex::NONE,
        encap_vrf_id: table,
        decap_next_index: next_index(w, next),
        teid: 0,
        tteid: 0,
        pdu_extension: false,
        qfi: 0,
        is_forwarding: true,
        forwarding_type: match cause {
            Cause::BadHeader => GtpuForwardingType::BAD_HEADER,
            Cause::UnknownTeid => GtpuForwardingType::UNKNOWN_TEID,
            Cause::UnknownType => GtpuForwardingType::UNKNOWN_TYPE,
        },
        counters: counters(w, sw_if),
    }
}

msg::messages! {
    /// Where packets go that are taken out.
    flags GtpuDecapNextType,
    /// Datagrams that are forwarded.
    flags GtpuForwardingType,
    /// Packets and bytes of an interface.
    SwIfCounters,
    /// The counters of a tunnel.
    TunnelMetrics,
    /// Makes or deletes a tunnel.
    GtpuAddDelTunnel,
    /// Makes or deletes a tunnel.
    #[from(GtpuAddDelTunnel)]
    GtpuAddDelTunnelV2,
    /// The index of the tunnel's interface.
    GtpuAddDelTunnelV2Reply,
    /// Changes the identifier in what is sent to an end.
    GtpuTunnelUpdateTteid,
    /// Asks for one tunnel, or for all.
    GtpuTunnelDump,
    /// One tunnel: its ends and settings.
    #[from(GtpuTunnelV2Details)]
    GtpuTunnelDetails,
    /// Asks for one tunnel or forward, or for all.
    GtpuTunnelV2Dump,
    /// A tunnel or a forward.
    GtpuTunnelV2Details,
    /// Forwards datagrams that no tunnel takes, or no longer.
    GtpuAddDelForward,
    /// Asks for the counters of tunnels.
    GtpuGetTransferCounts,
    /// Counters of tunnels.
    GtpuGetTransferCountsReply,
    /// Takes datagrams of tunnels out of what an interface receives before it is looked up.
    SwInterfaceSetGtpuBypass,
    /// Lets a device find the tunnel of received datagrams.
    GtpuOffloadRx,
}

impl From<u32> for GtpuDecapNextType {
    fn from(next: u32) -> Self {
        Self(next)
    }
}

impl From<GtpuDecapNextType> for u32 {
    fn from(next: GtpuDecapNextType) -> Self {
        next.0
    }
}
