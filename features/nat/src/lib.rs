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
//! | `exposed` | addresses that the router answers for where the world is |
//! | `held` | tables that a kind keeps |
//! | `log` | events for operators: records of IPFIX, messages of syslog |
//! | `ports` | ports and identifiers that are chosen at random, without a table of their own |
//! | `workers` | the threads that have sessions, and their blocks of ports |
//! | `timeouts` | timeouts of sessions, and the ticks of their timers |
//! | `drive` | for tests: packets as they have left, instances with several threads |
//! | `mapping`, `alias` | static mappings as workers read them, and the choice of back ends |
//! | `statics` | static mappings as operators configure them |
//! | `roles` | roles of interfaces, and their nodes |
//! | `tcp` | the state of connections |
//! | `counters` | counters by direction, path and protocol |
//! | `walk` | walks of control over the sessions of all threads, in parts |

mod alias;
pub mod around;
pub mod counters;
pub mod drive;
pub mod egress;
pub mod exposed;
pub mod held;
pub mod key;
pub mod log;
pub mod mapping;
pub mod packet;
pub mod ports;
pub mod quoted;
pub mod ranges;
pub mod roles;
pub mod statics;
pub mod tcp;
pub mod timeouts;
pub mod walk;
pub mod workers;

/// An error with its number.
pub fn error(retval: cli::retval::Retval, why: impl Into<String>) -> cli::Error {
    cli::Error::failed(why).retval(retval)
}
