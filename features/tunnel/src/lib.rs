// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Tunnels: what all kinds share.
//!
//! A tunnel is an interface. What is sent by it gets an outer IP header and the header of its kind
//! in front, and goes on by the route to the other end; what the other end sends has these taken
//! off and is a packet that the interface has received. A kind says what its configuration is
//! ([`Spec`]), what differs in its header from packet to packet ([`Codec`]), and how it reads that
//! header; the rest is here:
//!
//! ```text
//! tunnel-output → ipip-encap ([`Encap`]) → ip4-rewrite, or what the route to the other end leads to
//! ip4-local → ipip4-input ([`Decap`]) → ip4-input, received by ipip0
//! ip4-udp-lookup → vxlan4-input ([`Input`]) → ethernet-input, received by vxlan_tunnel0
//! ```
//!
//! Of kinds whose header is behind a UDP header ([`Datagrams`]), the input nodes are here too.
//!
//! All interfaces of a kind send by one node. The route is followed as it changes
//! ([`net::Tracked`]): one store moves all packets of all tunnels over it. A table is kept by the
//! tunnels that are routed in it. Super-packets (GSO) are cut into segments before they get their
//! headers. Outer packets are our own: what is larger than the link is fragmented, and the path MTU
//! of the other end is respected.
//!
//! A packet gets the headers of at most [`MAX_NESTED`] tunnels: a route to the other end that leads
//! through the tunnel itself ends there.
//!
//! - **Output.** All tunnels have one output node, `tunnel-output`, and the tunnels of a kind share
//!   one transmit node (`Interfaces::create_sharing`), so packets to many tunnels stay in one
//!   frame. The transmit node finds the tunnel by the packet's output interface, puts a prepared
//!   header in front and follows the route to the remote endpoint (`net::Tracked`).
//! - **Input.** A packet is matched to its tunnel by a lookup of the whole key (both ends, table,
//!   number) in `tables::HashIndex`. The lookup is part of the local delivery of the outer packet
//!   or, for kinds in UDP datagrams, also of a feature in front of the route lookup.
//! - **UDP datagrams.** VXLAN, GENEVE, GTP-U and VXLAN-GPE differ only in their header
//!   (`tunnel::Datagrams`): ports, tunnels to groups, the input nodes and the bypass are the same
//!   code, with the kind as type parameter.
//! - **Without outer IP header or port.** L2TPv3 is a protocol of its own behind IPv6, so its input
//!   node stands behind `ip6-local` like that of GRE. PPPoE has no outer IP header:
//!   `ethernet-input` hands its frames over by their type, and its sessions send to the client's
//!   interface instead of a route. Its discovery and control packets pass to another program and
//!   back (`features/pppoe/src/dispatch.rs`).
//! - **Outer packets** are packets of the router's own: `ip4-rewrite` fragments them and respects
//!   their path MTU.
//! - **Multipoint interfaces** (`IfKind::Multipoint`) have several remote endpoints and no address
//!   resolution. An entry of `create teib` completes the adjacency of its peer. The rewrite of this
//!   adjacency is the number of the endpoint, four bytes that the transmit node takes off again.
//!   Where the endpoint follows from the neighbour's address (6RD), the device makes the rewrite
//!   (`Device::header_to`).

pub mod api;
mod arcs;
mod arguments;
mod cli;
mod datagrams;
mod decap;
mod encap;
mod end;
mod follow;
mod groups;
mod header;
mod identifier;
mod inner;
mod key;
mod model;
mod multipoint;
mod outer;
mod peers;
mod receipt;
mod remembered;
mod route;
mod run;
pub mod segment;
mod state;
mod wrapper;

pub use self::cli::{
    Declared, INSTANCE, Shown, bypass_ip4, bypass_ip6, check_other_end, create, delete, list, show,
    show_one, write_bypass, write_config,
};
pub use arguments::{check_vni, chosen_port, vni};
pub use datagrams::{
    Bypass, BypassInterfaces, BypassStage, Datagrams, Input, InputTrace, Next, Nothing, OWN, Onto,
    Outcome, Own, bypass_feature, bypass_stage, refuse_offload, set_offload,
};
pub use decap::{
    Decap, DecapError, DecapTrace, Decapsulates, Last, Outer, Receiver, decapsulate,
    end_decapsulation,
};
pub use encap::Encap;
pub use end::End;
pub use follow::{OuterPath, OuterPaths, PathFollower};
pub use header::udp;
pub use identifier::{Identifier, Quoted};
pub use inner::Inner;
pub use key::{Key, bits};
pub use model::{
    Flags, HeaderMarking, Spec, TunnelEndpoints, derived_mac, numbered_mac, unspecified,
};
pub use receipt::Receipt;
pub use route::Route;
pub use state::{Tunnel, Tunnels};
pub use wrapper::{Codec, EncapTrace, MAX_NESTED, To};

use graph::StateDef;
use groups::Groups;

/// The state that all kinds share; each lists it, and what is its own ([`tunnels`]).
pub const SHARED: StateDef =
    StateDef::group(&[StateDef::of::<Groups>(), StateDef::of::<OuterPaths>()]);

/// The state that all kinds in UDP datagrams share; each lists it.
pub const PORTS: StateDef = StateDef::of::<datagrams::Ports>();

/// The state of the bypass of a kind.
pub const fn bypassed<K: Datagrams>() -> StateDef {
    StateDef::of::<BypassInterfaces<K>>()
}

/// The state of a kind.
pub const fn tunnels<S: Spec>() -> StateDef {
    StateDef::of::<Tunnels<S>>()
}
