// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! DNS: clients ask an address of this router; it asks name servers, and keeps their answers (RFC
//! 1035, RFC 2181, RFC 2308).
//!
//! ```text
//! ip4-udp-lookup, ip6-udp-lookup → dns4-request, dns6-request → control (port 53)
//!                                → dns46_reply → control                (random ports)
//! dns-resolver-process → ip4-lookup, ip6-lookup
//! ```
//!
//! | module | content |
//! |---|---|
//! | `request`, `reply` | nodes: workers check headers and pass copies of messages to control |
//! | `control` | settings; queues, of which each client's address leads to one |
//! | `cache` | answers by question, and names that the operator has given addresses |
//! | `pending` | questions that wait for a server, with all who wait for one; shares of clients |
//! | `resolve` | the process: it answers, asks, asks again, asks another server |
//!
//! A response is kept as it came, and passed on with the client's id and question and with the time
//! that is left. So records of any type pass.
//!
//! **Forged responses** (RFC 5452): a query has a random id and one of 32 random ports; a question
//! is asked once at a time, however many wait; a response counts only from the server that was
//! asked, to the port that asked, with the id and the question.
//!
//! Tests: servers that are silent, fail, lie or lead in circles, by the virtual clock; a model of
//! the cache; 100,000 mutated queries and responses; dnsmasq (`tests/lab/dns.rs`).

mod answer;
mod api;
mod cache;
mod cli;
mod control;
mod lookup;
mod pending;
mod received;
mod reply;
mod request;
mod resolve;
mod sample;
mod show;
#[cfg(feature = "tests")]
mod tests;

use control::Dns;
use graph::{NodeDef, Plugin, StateDef};
use request::RequestInput;
use wire::{Ip4, Ip6};

/// DNS.
pub static PLUGIN: Plugin = Plugin {
    name: "dns",
    about: "DNS: a resolver for clients, with a cache",
    area: "management",
    does: &[
        "Clients ask any address of the router, by UDP of both IP versions; name servers are asked in \
         turn until one answers, and their answers are kept (`dns enable`, `dns name-server`, `show \
         dns cache`)",
        "Records of all types pass; answers that a name or type doesn't exist are kept up to 5 \
         minutes, failures of all servers 5 seconds; aliases that a server doesn't follow are followed",
        "Names with addresses that the operator gives, and the names of these addresses (`dns cache \
         add`)",
        "Names and addresses are resolved for clients of the API (`dns_resolve_name`, \
         `dns_resolve_ip`)",
        "Forged responses have to guess the server, the port, the id and the question",
    ],
    spec: &["RFC 1035", "RFC 2181", "RFC 2308", "RFC 3596", "RFC 4343", "RFC 5452", "RFC 9520"],
    limits: &[
        "UDP alone, messages of at most 512 bytes: no TCP, no EDNS; a longer answer is passed on cut \
         off, as the server says",
        "No DNSSEC: nothing is validated, and the flag of authentic data isn't passed on",
        "Every host that reaches an address of the router may ask: access lists keep others out",
        "Name servers are reached by the default table, from an address of the interface that leads \
         there",
        "16 name servers, 1,000 entries; 256 questions wait for servers, of which a client (of IPv6 a \
         network of 64 bits) has 32; 1,024 queries wait, of a client 4 for one question",
        "Responses are taken on 32 random ports, which stay the same while name resolution is enabled",
        "Zones and their transfer aren't served, and names of the router itself aren't looked up by \
         its commands",
    ],
    state: &[StateDef::of::<Dns>()],
    nodes: &[
        NodeDef::of::<RequestInput<Ip4>>(),
        NodeDef::of::<RequestInput<Ip6>>(),
        NodeDef::of::<reply::ReplyInput>(),
    ],
    cli: self::cli::COMMANDS,
    config: self::cli::write_config,
    examples: self::cli::EXAMPLES,
    transient: &[
        ("test dns expire", "forgets an answer"),
        ("test dns format", "prints an example"),
        ("test dns unformat", "prints what is known"),
    ],
    api: &[api::API],
    start: |world| {
        let dns = world.get::<Dns>();
        world.processes.spawn(Box::new(resolve::Resolver(dns.clone())), &dns.signal);
        Ok(())
    },
    entered: &[
        ("dns*-request", "UDP port 53, while name resolution is enabled"),
        ("dns46_reply", "random UDP ports, while name resolution is enabled"),
    ],
    unmoved: &[
        ("/err/dns*", "DNS has messages of its own: features/dns/src/tests"),
        ("/net/dns/*", "the same"),
    ],
    ..Plugin::EMPTY
};
