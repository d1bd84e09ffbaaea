// SPDX-License-Identifier: Apache-2.0
//! The messages and their types.

use graph::SwIfIndex;
use net::api::{Address, InterfaceIndex};

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
