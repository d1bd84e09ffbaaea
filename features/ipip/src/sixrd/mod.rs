// SPDX-License-Identifier: Apache-2.0
//! 6RD (RFC 5969): IPv6 over an IPv4 network whose addresses are embedded in the IPv6 prefixes of
//! sites. A tunnel reaches all sites of its domain: the outer destination follows from the inner
//! one, or from the next hop inside the tunnel.

mod api;
mod cli;
mod domain;
mod encap;
mod state;
#[cfg(feature = "tests")]
mod tests;

pub use self::cli::{CREATE, EXAMPLE, create, delete, show, write_config};
pub use api::messages;
pub use domain::Domain;
pub use encap::SixRdEncap;
pub use state::{SixRd, SixRds, Tunnel, Work};
