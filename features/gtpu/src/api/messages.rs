// SPDX-License-Identifier: Apache-2.0
//! The messages and their types.

use msg::{Message, Wire};
use net::api::{Address, InterfaceIndex};

msg::flags! {
    /// Where packets go that are taken out.
    pub struct GtpuDecapNextType: u32 = enum "gtpu_decap_next_type" {
        DROP = 0 => "GTPU_API_DECAP_NEXT_DROP",
        L2 = 1 => "GTPU_API_DECAP_NEXT_L2",
        IP4 = 2 => "GTPU_API_DECAP_NEXT_IP4",
        IP6 = 3 => "GTPU_API_DECAP_NEXT_IP6",
    }
}

msg::flags! {
    /// Datagrams that are forwarded.
    pub struct GtpuForwardingType: u32 = enum "gtpu_forwarding_type" {
        NONE = 0 => "GTPU_API_FORWARDING_NONE",
        BAD_HEADER = 1 => "GTPU_API_FORWARDING_BAD_HEADER",
        UNKNOWN_TEID = 2 => "GTPU_API_FORWARDING_UNKNOWN_TEID",
        UNKNOWN_TYPE = 4 => "GTPU_API_FORWARDING_UNKNOWN_TYPE",
    }
}

/// Packets and bytes of an interface.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwIfCounters {
    /// Packets received.
    pub packets_rx: u64,
    /// Packets sent.
    pub packets_tx: u64,
    /// Bytes received.
    pub bytes_rx: u64,
    /// Bytes sent.
    pub bytes_tx: u64,
}

/// The counters of a tunnel.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelMetrics {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// 0.
    pub reserved: u32,
    /// Its counters.
    pub counters: SwIfCounters,
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct GtpuAddDelTunnel {
    /// Make, not delete.
    pub is_add: bool,
    /// The address here.
    pub src_address: Address,
    /// The address of the other end, or a group.
    pub dst_address: Address,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// Where packets go that are taken out: 1 or all bits set to the interface as frames, 2 or 3
    /// to the interface as IP packets, 0 nowhere.
    pub decap_next_index: u32,
    /// The identifier in what is received.
    pub teid: u32,
    /// The identifier in what is sent; 0: the same.
    pub tteid: u32,
}

/// The tunnel.
#[derive(Message)]
pub struct GtpuAddDelTunnelReply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
}

/// Makes or deletes a tunnel.
#[derive(Message)]
#[msg(reply)]
pub struct GtpuAddDelTunnelV2 {
    /// Make, not delete.
    pub is_add: bool,
    /// The address here.
    pub src_address: Address,
    /// The address of the other end, or a group.
    pub dst_address: Address,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// Where packets go that are taken out: all bits set to the interface as frames.
    pub decap_next_index: GtpuDecapNextType,
    /// The identifier in what is received.
    pub teid: u32,
    /// The identifier in what is sent; 0: the same.
    pub tteid: u32,
    /// Packets have a PDU session container.
    pub pdu_extension: bool,
    /// The QoS flow in it.
    pub qfi: u8,
}

/// The tunnel.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct GtpuAddDelTunnelV2Reply {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// The last counters of a deleted one.
    pub counters: SwIfCounters,
}

impl From<GtpuAddDelTunnel> for GtpuAddDelTunnelV2 {
    fn from(old: GtpuAddDelTunnel) -> Self {
        Self {
            is_add: old.is_add,
            src_address: old.src_address,
            dst_address: old.dst_address,
            mcast_sw_if_index: old.mcast_sw_if_index,
            encap_vrf_id: old.encap_vrf_id,
            decap_next_index: GtpuDecapNextType(old.decap_next_index),
            teid: old.teid,
            tteid: old.tteid,
            pdu_extension: false,
            qfi: 0,
        }
    }
}

/// Changes the identifier in what is sent to an end.
#[derive(Message)]
pub struct GtpuTunnelUpdateTteid {
    /// The address of the other end.
    pub dst_address: Address,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// The identifier in what is received.
    pub teid: u32,
    /// The identifier in what is sent.
    pub tteid: u32,
}

/// Asks for one tunnel, or for all.
#[derive(Message)]
#[msg(details)]
pub struct GtpuTunnelDump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel.
#[derive(Message)]
pub struct GtpuTunnelDetails {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// The address here.
    pub src_address: Address,
    /// The address of the other end, or a group.
    pub dst_address: Address,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// Where packets go that are taken out.
    pub decap_next_index: u32,
    /// The identifier in what is received.
    pub teid: u32,
    /// The identifier in what is sent.
    pub tteid: u32,
}

impl From<GtpuTunnelV2Details> for GtpuTunnelDetails {
    fn from(new: GtpuTunnelV2Details) -> Self {
        Self {
            sw_if_index: new.sw_if_index,
            src_address: new.src_address,
            dst_address: new.dst_address,
            mcast_sw_if_index: new.mcast_sw_if_index,
            encap_vrf_id: new.encap_vrf_id,
            decap_next_index: new.decap_next_index.0,
            teid: new.teid,
            tteid: new.tteid,
        }
    }
}

/// Asks for one tunnel or forward, or for all.
#[derive(Message)]
#[msg(details)]
pub struct GtpuTunnelV2Dump {
    /// Its interface; all bits set: all.
    pub sw_if_index: InterfaceIndex,
}

/// A tunnel or a forward.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct GtpuTunnelV2Details {
    /// Its interface.
    pub sw_if_index: InterfaceIndex,
    /// The address here.
    pub src_address: Address,
    /// The address of the other end, or a group.
    pub dst_address: Address,
    /// The interface that datagrams to a group leave by.
    pub mcast_sw_if_index: InterfaceIndex,
    /// The table that datagrams are routed in.
    pub encap_vrf_id: u32,
    /// Where packets go that are taken out.
    pub decap_next_index: GtpuDecapNextType,
    /// The identifier in what is received.
    pub teid: u32,
    /// The identifier in what is sent.
    pub tteid: u32,
    /// Packets have a PDU session container.
    pub pdu_extension: bool,
    /// The QoS flow in it.
    pub qfi: u8,
    /// It is a forward.
    pub is_forwarding: bool,
    /// The datagrams that it forwards.
    pub forwarding_type: GtpuForwardingType,
    /// Its counters.
    pub counters: SwIfCounters,
}

/// Forwards datagrams that no tunnel takes, or no longer.
#[derive(Message)]
#[msg(reply)]
pub struct GtpuAddDelForward {
    /// Forward.
    pub is_add: bool,
    /// Their new destination.
    pub dst_address: Address,
    /// The datagrams: one kind of them.
    pub forwarding_type: GtpuForwardingType,
    /// The table that they are routed in.
    pub encap_vrf_id: u32,
    /// Their next node; all bits set: the input of their protocol.
    pub decap_next_index: GtpuDecapNextType,
}

/// The forward.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct GtpuAddDelForwardReply {
    /// The interface that receives the datagrams.
    pub sw_if_index: InterfaceIndex,
}

/// Asks for the counters of tunnels.
#[derive(Message)]
#[msg(reply)]
pub struct GtpuGetTransferCounts {
    /// The first interface.
    pub sw_if_index_start: InterfaceIndex,
    /// The number of tunnels at most.
    pub capacity: u32,
}

/// Counters of tunnels.
#[derive(Message, Debug, PartialEq, Eq)]
pub struct GtpuGetTransferCountsReply {
    /// The tunnels.
    #[count(count: u32)]
    pub tunnels: Vec<TunnelMetrics>,
}

/// Takes datagrams of tunnels out of what an interface receives before it is looked up.
#[derive(Message)]
pub struct SwInterfaceSetGtpuBypass {
    /// The interface.
    pub sw_if_index: InterfaceIndex,
    /// Of IPv6, not of IPv4.
    pub is_ipv6: bool,
    /// On, not off.
    pub enable: bool,
}

/// Lets a device find the tunnel of received datagrams.
#[derive(Message)]
pub struct GtpuOffloadRx {
    /// The device.
    pub hw_if_index: u32,
    /// The tunnel.
    pub sw_if_index: u32,
    /// On, not off.
    pub enable: u8,
}
