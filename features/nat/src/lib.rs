// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! Parts that kinds of address translation share. It is no plugin: each kind is a feature of its
//! own.
//!
//! | module | content |
//! |---|---|
//! | `key` | ends and keys of flows, and VPP's spread of users over workers |
//! | `packet` | the fields of an IPv4 packet that translation reads, and their change in place |
//! | `quoted` | the packet that an ICMP error quotes |
//! | `around` | interfaces, addresses and routes as a thread's nodes see them |
//! | `egress` | where packets to an address leave |
//! | `configuration` | the configuration of a kind, which each change publishes |
//! | `nodes` | places and edges of nodes |
//! | `exposed` | addresses that the router answers for where the world is |
//! | `held` | tables that a kind keeps |
//! | `log` | events for operators: records of IPFIX, messages of syslog |
//! | `export` | the saved line of the export of these events |
//! | `ports` | ports and identifiers that are chosen at random, without a table of their own |
//! | `workers` | the threads that have sessions, and their blocks of ports |
//! | `timeouts` | timeouts of sessions, and the ticks of their timers |
//! | `drive` | for tests: packets as they have left, instances with several threads |
//! | `mapping`, `alias` | static mappings as workers read them, and the choice of back ends |
//! | `statics` | static mappings as operators configure them |
//! | `published` | settings and mappings as control publishes them |
//! | `show`, `trace` | output of commands, and records of packets, that kinds share |
//! | `roles` | roles of interfaces, and their nodes |
//! | `tcp` | the state of connections |
//! | `counters` | counters by direction, path and protocol |
//! | `walk` | walks of control over the sessions of all threads, in parts |

mod alias;
pub mod around;
pub mod configuration;
pub mod counters;
pub mod drive;
pub mod egress;
pub mod export;
pub mod exposed;
pub mod held;
pub mod key;
pub mod log;
pub mod mapping;
pub mod nodes;
pub mod packet;
pub mod ports;
pub mod published;
pub mod quoted;
pub mod ranges;
pub mod roles;
pub mod show;
pub mod statics;
pub mod tcp;
pub mod timeouts;
pub mod trace;
pub mod walk;
pub mod workers;

/// An error with its number.
pub fn error(retval: cli::retval::Retval, why: impl Into<String>) -> cli::Error {
    cli::Error::failed(why).retval(retval)
}
