// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! PPPoE (RFC 2516): the data path of an access concentrator. IP packets of sessions are forwarded
//! here; discovery and PPP's control protocols are another program's, the control plane, behind an
//! interface of its own.
//!
//! ```text
//! ethernet-input → pppoe-input → ip4-input, received by pppoe_session0        (0x8864, IP)
//!                → pppoe-cp-dispatch → the control plane's interface   (0x8863, and PPP control)
//! device-input arc of the control plane's interface: pppoe-cp-input → the client's interface
//! tunnel-output → pppoe-encap → the client's interface
//! ```
//!
//! The interface that a client is at is learned from its discovery and PPP control packets: answers
//! of the control plane go there by the client's MAC address, and sessions are made there. Tags of
//! a sub-interface are taken off on the way to the control plane, and put in on the way back.
//!
//! Limits: the control plane is behind one Ethernet device; frames to it keep the client's
//! destination address, so its interface has the MAC address of the clients' port or receives
//! frames for all; no compression of PPP headers.
//!
//! Tests: bytes of every frame in both directions, with one and two tags; pppd and pppoe-server of
//! a Linux kernel, pings and TCP; two routers back to back; random sets of sessions against a
//! search; 25,000 broken frames.

mod api;
mod cli;
mod clients;
mod dispatch;
mod encap;
mod header;
mod input;
mod sessions;
#[cfg(feature = "tests")]
mod tests;
mod work;

pub use clients::Clients;
pub use sessions::{Config, Sessions};

use graph::{Feature, FieldDef, NodeDef, Plugin, StateDef};
use wire::EtherType;

/// PPPoE.
pub static PLUGIN: Plugin = Plugin {
    name: "pppoe",
    about: "PPPoE sessions",
    area: "tunnels",
    does: &[
        "PPPoE, the data path of an access concentrator (`create pppoe session`, `create pppoe \
         cp`): clients are learned from discovery and PPP control packets, which pass to a \
         control plane and back",
        "Sessions of IPv4 and IPv6 with a host route, in a table of their own; behind ports and \
         VLAN sub-interfaces",
    ],
    spec: &["RFC 2516"],
    limits: &[
        "Discovery and PPP's control protocols are another program's",
        "The control plane is behind an Ethernet device, not a sub-interface",
    ],
    phases: &[self::cli::CONTROL_PLANE],
    state: &[
        StateDef::of::<Clients>(),
        StateDef::of::<work::WorkTable>(),
        StateDef::of::<Sessions>(),
    ],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<input::PppoeInput>(),
        NodeDef::of::<dispatch::CpDispatch>(),
        NodeDef::of::<dispatch::CpInput>(),
        NodeDef::of::<encap::PppoeEncap>(),
    ],
    features: &[Feature {
        arc: "device-input",
        node: "pppoe-cp-input",
        before: &["l2-super-path", "super-path", "l2-patch"],
        after: &["bond-input", "pcap-capture", "span-input", "p2p-ethernet-input"],
    }],
    cli: self::cli::COMMANDS,
    api: &[api::API],
    config: self::cli::write_config,
    volatile: &[("show pppoe fib*", "learned clients")],
    examples: self::cli::EXAMPLES,
    start: |world| {
        ethernet::register_ethertype(world, EtherType::PPPOE_DISCOVERY, "pppoe-cp-dispatch")?;
        ethernet::register_ethertype(world, EtherType::PPPOE_SESSION, "pppoe-input")?;
        Clients::start(world);
        Ok(())
    },
    unmoved: &[("/err/pppoe-*/*", "features/pppoe/src/tests")],
    dependent: &[("PPPoE", "the client's interface")],
    entered: &[("pppoe-encap", "`tunnel-output`, from the first session on")],
    ..Plugin::EMPTY
};
