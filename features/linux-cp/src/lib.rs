// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Mirrors of interfaces in the host's kernel, for routing daemons and other programs: what an
//! interface receives for us and no node here takes goes to the kernel's interface as it came, and
//! the kernel's packets leave by the interface as they are.
//!
//! ```text
//! wire → … ip4-local, ip4-udp-lookup … → ip4-punt arc: ip4-punt-redirect → linux-cp-punt → output of the mirror
//!        arp arc: linux-cp-arp-phy (copies of replies)                                   → output of the mirror
//! host → mirror → ethernet-input → ip4-unicast arc: linux-cp-xc-ip4 → ip4-output arc → output of the interface
//!                                  arp arc: linux-cp-arp-host                        → output of the interface
//! both:           ethernet-input → linux-cp-punt-xc (enabled types) → output of the other one
//! ```
//!
//! A **pair** is an interface and its mirror: a tap whose other end is the kernel's interface, with
//! the same MAC address and MTU, or a sub-interface of such a tap, with a VLAN link of the kernel.
//! A mirror receives frames for any MAC address ([`net::MirrorRole`]). A tun carries IP packets,
//! for interfaces without Ethernet.
//!
//! Nothing stands on the path of packets that are routed: their interface has features only on the
//! arcs of punted packets and of ARP.
//!
//! Tests: each node with existing interfaces (`test lcp add`); a kernel's namespace between two
//! hosts (`tests/lab/linux_cp.rs`).

mod adjacencies;
mod api;
mod arp;
mod cli;
mod config;
pub mod control;
mod cross;
mod cross_l3;
mod ethertypes;
mod header;
mod kernel;
mod make;
mod pairs;
mod punt;
mod settings;
mod startup_conf;
mod sync;
#[cfg(feature = "tests")]
mod tests;

pub use pairs::{HostKind, Made, Pair, Pairs};
pub use settings::{Settings, Values};

use graph::{Feature, NodeDef, Plugin, StateDef, rank};
use net::{IfEvent, Interfaces, Neighbors, Objects};
use startup::StartupDef;
use wire::{Ip4, Ip6};

/// A feature of mirrors, in front of all others: what the host sends needs no IP on the interface.
const fn of_mirror(
    arc: &'static str,
    node: &'static str,
    before: &'static [&'static str],
) -> Feature {
    Feature { arc, node, before, after: &[] }
}

const BEFORE_IP4: &[&str] = &[rank::SECURITY, "ip4-not-enabled"];
const BEFORE_IP6: &[&str] = &[rank::SECURITY, "ip6-not-enabled"];

/// Mirrors in the host's kernel.
pub static PLUGIN: Plugin = Plugin {
    name: "linux_cp",
    about: "Mirrors of interfaces in the host's kernel, for routing daemons",
    area: "control-plane",
    does: &[
        "An interface of the kernel for each interface here, in any network namespace: Ethernet, \
         VLAN, or IP only (`lcp create`, `show lcp`)",
        "Packets for us that no node takes go to the kernel as they came, the kernel's packets \
         leave as they are; ARP and neighbour discovery serve both",
        "State, MTU and addresses go to the kernel's (`lcp lcp-sync`), new sub-interfaces are \
         mirrored too (`lcp lcp-auto-subint`)",
        "Frames of other Ethernet types cross too (`lcp ethertype enable`)",
        "Packets that are routed here aren't affected",
    ],
    spec: &["VPP's `linux-cp`"],
    limits: &[
        "OSI protocols and MPLS don't cross",
        "The mirror of a sub-interface is in the namespace of its parent's",
    ],
    startup: &[StartupDef::of::<startup_conf::Startup>()],
    state: &[
        StateDef::of::<settings::Settings>(),
        StateDef::of::<kernel::Kernel>(),
        StateDef::of::<adjacencies::HeaderTable>(),
        StateDef::of::<pairs::Pairs>(),
        StateDef::of::<sync::Sync>(),
    ],
    nodes: &[
        NodeDef::of::<punt::Punt>(),
        NodeDef::of::<punt::PuntXc>(),
        NodeDef::of::<punt::PuntL3>(),
        NodeDef::of::<cross::Cross<Ip4>>(),
        NodeDef::of::<cross::Cross<Ip6>>(),
        NodeDef::of::<cross_l3::CrossL3<Ip4>>(),
        NodeDef::of::<cross_l3::CrossL3<Ip6>>(),
        NodeDef::of::<arp::ArpPhy>(),
        NodeDef::of::<arp::ArpHost>(),
    ],
    features: &[
        Feature { arc: "arp", node: "linux-cp-arp-phy", before: &["arp-reply"], after: &[] },
        Feature { arc: "arp", node: "linux-cp-arp-host", before: &["arp-reply"], after: &[] },
        Feature {
            arc: "ip4-punt",
            node: "linux-cp-punt-l3",
            before: &["ip4-punt-redirect"],
            after: &[],
        },
        Feature {
            arc: "ip6-punt",
            node: "linux-cp-punt-l3",
            before: &["ip6-punt-redirect"],
            after: &[],
        },
        of_mirror("ip4-unicast", "linux-cp-xc-ip4", BEFORE_IP4),
        of_mirror("ip4-multicast", "linux-cp-xc-ip4", BEFORE_IP4),
        of_mirror("ip6-unicast", "linux-cp-xc-ip6", BEFORE_IP6),
        of_mirror("ip6-multicast", "linux-cp-xc-ip6", BEFORE_IP6),
        of_mirror("ip4-unicast", "linux-cp-xc-l3-ip4", BEFORE_IP4),
        of_mirror("ip4-multicast", "linux-cp-xc-l3-ip4", BEFORE_IP4),
        of_mirror("ip6-unicast", "linux-cp-xc-l3-ip6", BEFORE_IP6),
        of_mirror("ip6-multicast", "linux-cp-xc-l3-ip6", BEFORE_IP6),
    ],
    cli: self::cli::COMMANDS,
    config: config::write_config,
    examples: config::EXAMPLES,
    transient: &[
        ("test lcp", "pairs interfaces of a test"),
        ("lcp osi-proto enable", "is refused: OSI isn't built yet"),
    ],
    api: &[api::API],
    start: |world| {
        world.get::<Objects>().register(&punt::MIRROR);
        sync::Sync::start(world);
        world.get::<Interfaces>().subscribe(|world, event| {
            if let IfEvent::Link(phy, up) = event {
                control::follow_link(world, phy, up);
            }
        });
        world.get::<Neighbors>().subscribe(|world, event| {
            let of = match event {
                net::NeighborEvent::Set { new, .. } => new.sw_if,
                net::NeighborEvent::Gone { gone, .. } => gone.sw_if,
            };
            if world.get::<Pairs>().of_phy(of).is_some() {
                world.get::<adjacencies::HeaderTable>().note(event);
            }
        });
        Ok(())
    },
    loaded: control::align,
    volatile: &[],
    unmoved: &[("/err/linux-cp-*", "features/linux-cp/src/tests")],
    entered: &[
        ("linux-cp-punt", "the punt redirect of an interface with a mirror"),
        ("linux-cp-punt-xc", "Ethernet types that are enabled"),
    ],
    ..Plugin::EMPTY
};
