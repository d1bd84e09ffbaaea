// SPDX-License-Identifier: Apache-2.0
//! Types of the binary API that the modules of tunnels share.

use crate::model::Flags;

msg::flags! {
    /// The fields copied between inner and outer headers.
    pub struct TunnelEncapDecapFlags: u8 = enum "tunnel_encap_decap_flags" {
        NONE = 0 => "TUNNEL_API_ENCAP_DECAP_FLAG_NONE",
        ENCAP_COPY_DF = 1 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_DF",
        ENCAP_SET_DF = 2 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_SET_DF",
        ENCAP_COPY_DSCP = 4 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_DSCP",
        ENCAP_COPY_ECN = 8 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_ECN",
        DECAP_COPY_ECN = 16 => "TUNNEL_API_ENCAP_DECAP_FLAG_DECAP_COPY_ECN";
        ENCAP_INNER_HASH = 32 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_INNER_HASH",
        ENCAP_COPY_HOP_LIMIT = 64 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_HOP_LIMIT",
        ENCAP_COPY_FLOW_LABEL = 128 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_FLOW_LABEL",
    }
}

impl From<TunnelEncapDecapFlags> for Flags {
    fn from(flags: TunnelEncapDecapFlags) -> Self {
        Self::from_bits_retain(flags.0)
    }
}

impl From<Flags> for TunnelEncapDecapFlags {
    fn from(flags: Flags) -> Self {
        Self(flags.bits())
    }
}

msg::flags! {
    /// One other end, or several.
    pub struct TunnelMode: u8 = enum "tunnel_mode" {
        P2P = 0 => "TUNNEL_API_MODE_P2P",
        MP = 1 => "TUNNEL_API_MODE_MP",
    }
}

msg::flags! {
    /// A DSCP (RFC 2474).
    pub struct IpDscp: u8 = enum "ip_dscp" {
        CS0 = 0 => "IP_API_DSCP_CS0",
        CS1 = 8 => "IP_API_DSCP_CS1",
        AF11 = 10 => "IP_API_DSCP_AF11",
        AF12 = 12 => "IP_API_DSCP_AF12",
        AF13 = 14 => "IP_API_DSCP_AF13",
        CS2 = 16 => "IP_API_DSCP_CS2",
        AF21 = 18 => "IP_API_DSCP_AF21",
        AF22 = 20 => "IP_API_DSCP_AF22",
        AF23 = 22 => "IP_API_DSCP_AF23",
        CS3 = 24 => "IP_API_DSCP_CS3",
        AF31 = 26 => "IP_API_DSCP_AF31",
        AF32 = 28 => "IP_API_DSCP_AF32",
        AF33 = 30 => "IP_API_DSCP_AF33",
        CS4 = 32 => "IP_API_DSCP_CS4",
        AF41 = 34 => "IP_API_DSCP_AF41",
        AF42 = 36 => "IP_API_DSCP_AF42",
        AF43 = 38 => "IP_API_DSCP_AF43",
        CS5 = 40 => "IP_API_DSCP_CS5",
        EF = 46 => "IP_API_DSCP_EF",
        CS6 = 48 => "IP_API_DSCP_CS6",
        CS7 = 50 => "IP_API_DSCP_CS7",
    }
}
