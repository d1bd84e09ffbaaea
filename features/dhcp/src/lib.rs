// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! DHCP: clients and relays of both IP versions (RFC 2131, RFC 8415).
//!
//! ```text
//! ip4-dhcp-client-detect → ip4-udp-lookup ┐
//! ip4-local → ip4-udp-lookup ─────────────┴→ dhcp-proxy-to-client (68) → our client, or the link
//!                                         └→ dhcp-proxy-to-server (67) → ip4-lookup
//! ip6-local → ip6-udp-lookup → dhcpv6-client (546)          → our clients
//!                            → dhcpv6-proxy-to-server (547) → ip6-lookup
//!                            → dhcpv6-proxy-to-client       → the link
//! ```
//!
//! The relays work on the threads that receive. Clients are state machines of control
//! (`v4::machine`, `v6::machine`), without side effects; workers pass them the messages of an
//! interface by a queue of its own. Frames of clients leave along the arcs `ip4-output` and
//! `ip6-output`.
//!
//! A lease isn't configuration: its addresses are learned ones ([`net::Addresses`]), routes
//! have the source of DHCP. So whatever follows addresses of interfaces follows leases: address
//! translation, the kernel's mirrors.
//!
//! Tests: bytes of every message; random orders of messages and times; 100,000 broken messages for
//! each client and relay; dnsmasq and udhcpc at the other end.

mod api;
mod cli;
mod lifetime;
mod output;
mod random;
mod received;
mod relay;
#[cfg(feature = "tests")]
mod tests;
mod v4;
mod v6;

use graph::{Feature, FieldDef, Node, NodeDef, Plugin, Script, StateDef};
use relay::config::Relay;
use stats::Space;
use wire::{Ip4, Ip6};

/// DHCP.
pub static PLUGIN: Plugin = Plugin {
    name: "dhcp",
    about: "DHCP clients and relays",
    area: "ip",
    does: &[
        "DHCPv4 client on Ethernet ports and VLAN sub-interfaces: address, default or classless \
         routes, name servers for API clients; renewal, rebinding, verification when the link comes \
         up (`set dhcp client`, `show dhcp client`)",
        "DHCPv4 relay: several servers for each table of clients, in other tables; option 82 with \
         link selection and VPN (`set dhcp proxy`, `set dhcp option-82 vss`)",
        "DHCPv6 client for addresses (`dhcp6 client`) and for delegated prefixes, of which \
         addresses of other interfaces are made (`dhcp6 pd client`, `set ip6 address … prefix \
         group`); API clients may send messages of their own",
        "DHCPv6 relay, also behind other relays, with the client's link-layer address and VPN \
         (`set dhcpv6 proxy`, `set dhcpv6 vss`)",
    ],
    spec: &[
        "RFC 2131", "RFC 2132", "RFC 3046", "RFC 3442", "RFC 3527", "RFC 6607", "RFC 6939",
        "RFC 8415",
    ],
    limits: &[
        "Clients send their first message at once (RFC 2131 4.4.1 and RFC 8415 18.2.1 delay it), and \
         keep no lease over a restart",
        "The DHCPv4 client doesn't probe its address by ARP (RFC 2131 4.4.1); it declines an address \
         that overlaps with a network of the router",
        "The DHCPv4 client repeats messages each second at first, as VPP does (RFC 2131 4.1 and 4.4.5 \
         wait longer), names its address in renewals, takes messages of transaction 0 for its own, \
         and reads no options in the fields `file' and `sname'",
        "The DHCPv6 clients take the first offer (RFC 8415 18.2.1 waits a second for others), and \
         all interfaces have the same IAID",
        "Clients of IPv6 that a command starts wait until IPv6 is enabled on their interface (`enable \
         ip6 interface`)",
        "No rapid commit, reconfiguration, confirmation, release; DHCPv6 clients decline no address, \
         and use addresses beyond the preferred lifetime as before it",
        "Relays keep option 82 in answers, as VPP does; the DHCPv6 relay drops messages of types that \
         RFC 8415 7.3 doesn't list, and answers other relays only on the link",
        "No discard route for delegated prefixes",
    ],
    state: &[
        StateDef::of::<random::Random>(),
        StateDef::of::<v4::client::Clients>(),
        StateDef::of::<v6::client::Clients6>(),
        StateDef::of::<Relay<Ip4>>(),
        StateDef::of::<Relay<Ip6>>(),
    ],
    counters: &[("/net/dhcp/client", Space::Interface), ("/net/dhcp/client6", Space::Interface)],
    fields: &[FieldDef::of::<net::L4>()],
    nodes: &[
        NodeDef::of::<v4::detect::Detect>(),
        NodeDef::of::<output::ClientOutput<Ip4>>(),
        NodeDef::of::<output::ClientOutput<Ip6>>(),
        NodeDef::of::<relay::to_server4::ToServer4>(),
        NodeDef::of::<relay::to_client4::ToClient4>(),
        NodeDef::of::<relay::to_server6::ToServer6>(),
        NodeDef::of::<relay::to_client6::ToClient6>(),
        NodeDef::of::<v6::input::Client6Input>(),
    ],
    features: &[Feature {
        arc: "ip4-unicast",
        node: v4::detect::Detect::NAME,
        before: &[
            "acl-plugin-in-ip4-fa",
            "nat-pre-in2out",
            "nat-pre-out2in",
            "nat44-ed-classify",
            "nat44-handoff-classify",
            "nat44-in2out-worker-handoff",
            "nat44-out2in-worker-handoff",
            "nat64-out2in",
            "nat64-out2in-handoff",
            "ip4-inacl",
            graph::rank::POLICY,
        ],
        after: &[graph::rank::REASSEMBLY, "pnat-input"],
    }],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: EXAMPLES,
    unmoved: UNMOVED,
    entered: &[("ip*-dhcp-client-output", "control, for the clients' messages")],
    api: &[api::API, api::v6::ADDRESSES, api::v6::PREFIXES],
    start: |world| {
        ip::register_udp_port::<Ip4>(world, v4::message::SERVER_PORT, "dhcp-proxy-to-server")?;
        ip::register_udp_port::<Ip4>(world, v4::message::CLIENT_PORT, "dhcp-proxy-to-client")?;
        ip::register_udp_port::<Ip6>(world, v6::message::SERVER_PORT, "dhcpv6-proxy-to-server")?;
        ip::register_udp_port::<Ip6>(world, v6::message::CLIENT_PORT, "dhcpv6-client")?;
        v4::client::Clients::start(world, api::v4::publish);
        v6::client::Clients6::start(world, api::v6::publish);
        Ok(())
    },
    ..Plugin::EMPTY
};

/// Commands that set what is kept here, for the tests that save and restore it.
const EXAMPLES: &[Script] = &[
    Script::here(
        "clients",
        "create loopback interface
         create loopback interface
         create loopback interface
         enable ip6 interface loop0
         enable ip6 interface loop1
         set interface state loop0 up
         set dhcp client intfc loop0 hostname 'our \"router\"' client-id 'an id' tos 184 no-broadcast
         set dhcp client intfc loop1 client-id-hex 00ff
         set dhcp client intfc loop2
         set dhcp client del intfc loop2
         set dhcp6 duid 00030001020304050607
         dhcp6 client loop0
         dhcp6 client loop1
         dhcp6 client loop1 disable
         dhcp6 pd client loop0 prefix group 'a \"group\"'
         dhcp6 pd client loop1 prefix group b
         dhcp6 pd client loop1 disable
         set ip6 address loop1 prefix group 'a \"group\"' ::2:0:0:0:405/64
         set ip6 address loop1 prefix group b ::3/64
         set ip6 address loop1 prefix group b ::3/64 del",
    ),
    Script::here(
        "relays",
        "ip table add 7
         ip6 table add 7
         set dhcp proxy server 10.0.0.9 src-address 10.0.0.1
         set dhcp proxy server 10.0.0.8 src-address 10.0.0.1 server-fib-id 7 rx-fib-id 7
         set dhcp proxy server 10.0.0.7 src-address 10.0.0.1 server-fib-id 7 rx-fib-id 7
         set dhcp proxy del server 10.0.0.7 src-address 10.0.0.1 server-fib-id 7 rx-fib-id 7
         set dhcpv6 proxy server 2001:db8::9 src-address 2001:db8::1 rx-fib-id 7
         set dhcp option-82 vss table 7 oui 4 vpn-id 9
         set dhcp option-82 vss table 0 vpn-ascii-id 'the \"red\" one'
         set dhcpv6 vss table 7 default
         set dhcpv6 vss table 0 oui 1 vpn-id 2
         set dhcpv6 vss del table 0",
    ),
];

/// Counters that the feature's own tests move.
const UNMOVED: &[(&str, &str)] = &[
    ("/err/dhcp-proxy-to-*/*", "features/dhcp/src/tests"),
    ("/err/dhcpv6-*/*", "features/dhcp/src/tests"),
    ("/err/ip*-dhcp-client-*/*", "features/dhcp/src/tests"),
];
