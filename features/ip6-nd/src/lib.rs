// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! IPv6 neighbour discovery: which station on a link has an address, which routers and prefixes the
//! link has (RFC 4861, RFC 4862, RFC 6980, RFC 7527, RFC 8106), and which groups we listen to (RFC
//! 3810, RFC 2710).
//!
//! ```text
//! ip6-icmp-input → icmp6-neighbor-solicitation → the interface's output (the answer, in place)
//!                → icmp6-neighbor-advertisement, icmp6-router-solicitation, icmp6-router-advertisement,
//!                  icmp6-multicast-listener-query: noted for control
//! ip6-lookup → ip6-discover-neighbor, ip6-glean → the interface's output (the question) … ip6-rewrite (what waited)
//! ip6-rewrite → ip6-nd-redirect → ip6-lookup
//! arc ip6-unicast: ip6-unicast-nd-proxy
//! ```
//!
//! Workers answer by themselves. They report to control by bounded queues; control keeps the table
//! of neighbours ([`net::Neighbors`]), probes our addresses for duplicates before they are used
//! ([`Dad`]), advertises us as a router ([`Advertiser`]), makes addresses and default routes from
//! other routers' advertisements ([`Receiver`]), answers for other hosts ([`Proxies`]), and reports
//! groups. [`ip_neighbor::resolve`] sends solicitations and keeps waiting packets.
//!
//! Router advertisements are sent where that is enabled (`ip6 nd … no ra-suppress`), and duplicates
//! are detected only if that is enabled.
//!
//! Our addresses are announced by unsolicited advertisements only with `set ip6 nd announce on`
//! (RFC 4861 7.2.6: a node may), as in VPP and in ARP.
//!
//! Limits: answers for an address of all routers come at once, not after a random delay (RFC 4861
//! 7.2.7); prefixes that are on the link but not for addresses of hosts' own making add no route to
//! it where addresses are made of advertisements; solicitations of routers are answered by unicast
//! at once, without the random delay of RFC 4861 6.2.6, as VPP does (`ip6 nd … ra-send-unicast`);
//! advertisements of others aren't compared with ours (RFC 4861 6.2.7); SEND (RFC 3971) is not
//! spoken.
//!
//! Tests: Linux hosts, radvd, mutated messages.

mod advertisement;
mod api;
mod check;
mod cli;
pub mod compose;
mod dad;
mod due;
mod examples;
mod handler;
mod local;
mod mld;
mod protocol;
mod proxy;
mod query;
mod ra;
mod rd;
mod redirect;
mod rng;
mod router_advertisement;
mod router_solicitation;
mod show;
mod solicitation;
mod start;
#[cfg(feature = "tests")]
mod tests;
mod trace;
mod unicast_proxy;
mod verbs;

pub use dad::{Change, Dad, Settings, State};
pub use protocol::say;
pub use proxy::Proxies;
pub use ra::{Advertiser, RaConfig, RaPrefix};
pub use rd::{Backoff, Receiver};
pub use verbs::set_prefix;

use graph::{Feature, NodeDef, Plugin, StateDef};
use handler::HandlerNode;
use ip_neighbor::resolve::{self, Glean, Unresolved};
use protocol::Nd;

/// IPv6 neighbour discovery.
pub static PLUGIN: Plugin = Plugin {
    name: "ip6-nd",
    about: "IPv6 neighbour discovery: neighbours, duplicate addresses, routers, groups, proxy",
    area: "neighbours",
    does: &[
        "Neighbours, duplicate address detection, router advertisements with prefixes and DNS \
         where enabled (`ip6 nd … no ra-suppress`)",
        "Addresses and default routes from received advertisements, proxy, redirects, listener \
         reports, unsolicited advertisements (`set ip6 nd announce`)",
    ],
    spec: &["RFC 4861", "RFC 4862", "RFC 6980", "RFC 7527", "RFC 7559", "RFC 8106", "RFC 3810"],
    limits: &["No SEND", "Received router advertisements aren't compared with ours"],
    state: &[
        resolve::state::<Nd>(),
        StateDef::of::<rng::ControlRng>(),
        StateDef::of::<local::LocalAddresses>(),
        StateDef::of::<dad::Dad>(),
        StateDef::of::<mld::Listener>(),
        StateDef::of::<protocol::Nd>(),
        StateDef::of::<proxy::Proxies>(),
        StateDef::of::<ra::Advertiser>(),
        StateDef::of::<rd::Receiver>(),
    ],
    fields: &[resolve::FIELD],
    nodes: &[
        NodeDef::of::<solicitation::Solicitation>(),
        NodeDef::of::<HandlerNode<advertisement::Advertisement>>(),
        NodeDef::of::<HandlerNode<router_solicitation::Solicited>>(),
        NodeDef::of::<HandlerNode<router_advertisement::Advertised>>(),
        NodeDef::of::<query::ListenerQuery>(),
        NodeDef::of::<redirect::Redirecting>(),
        NodeDef::of::<unicast_proxy::UnicastProxy>(),
        NodeDef::of::<Unresolved<Nd>>(),
        NodeDef::of::<Glean<Nd>>(),
    ],
    features: &[Feature {
        arc: "ip6-unicast",
        node: "ip6-unicast-nd-proxy",
        before: &["ip6-not-enabled"],
        after: &[],
    }],
    counters: &[resolve::counters::<Nd>()],
    cli: cli::COMMANDS,
    config: self::cli::write_config,
    examples: examples::EXAMPLES,
    transient: &[("ip6 nd router-solicitation", "asks until somebody answers")],
    api: &[api::nd::API, api::dad::API, api::rd::API],
    start: start::start,
    unmoved: &[
        (
            "/err/ip6-discover-neighbor/too_short",
            "the node reads no header, but shares its ways out with the one that does",
        ),
        ("/err/ip6-discover-neighbor/interface_down", "as of ARP"),
        (
            "/err/icmp6-neighbor-advertisement/mirrored",
            "an interface with a mirror in the kernel: features/linux-cp/src/tests",
        ),
        ("/err/ip6-nd-redirect/no_source", "an interface with IPv6 has a link-local address"),
        ("/err/ip6-nd-redirect/not_unicast", "ip6-input and ip6-rewrite let none such through"),
        (
            "/net/ip6-nd/rx/gratuitous",
            "advertisements that nobody asked for count as replies, as in VPP, whose readers expect the name",
        ),
        ("/net/ip6-nd/tx/no-buffers", "as of ARP"),
    ],
    ..Plugin::EMPTY
};
