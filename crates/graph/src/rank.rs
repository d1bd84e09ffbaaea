// SPDX-License-Identifier: Apache-2.0
//! Ranks of features: points on each arc, in this order, that features name in `before` and
//! `after` like other features.
//!
//! A rank has the features between the end of the rank before it and its own end. A feature names
//! both, and only neighbours of its own rank beside them, so that it needn't know those of others:
//!
//! ```
//! # use graph::{Feature, rank};
//! # let _ =
//! Feature {
//!     arc: "ip4-unicast",
//!     node: "my-acl",
//!     before: &[rank::POLICY],
//!     after: &[rank::REASSEMBLY, "ip4-inacl"],
//! }
//! # ;
//! ```
//!
//! A feature that names no rank is bound by none.

/// End of the checks that packets pass first, whatever else happens to them: their source is one
/// that may send them there.
pub const SECURITY: &str = "end of security";
/// End of the features that put fragments together, or give them their ports, for those behind
/// them.
pub const REASSEMBLY: &str = "end of reassembly";
/// End of the features that choose a table, filter packets or change their headers.
pub const POLICY: &str = "end of policy";
/// End of the features that take packets out of the usual path, to an interface or a tunnel.
pub const STEER: &str = "end of steering";
/// End of the features of the arc itself, which drop what it isn't for. Behind it are those that
/// see only packets that it is for.
pub const END: &str = "end of the arc's own";

/// End of the features that take packets for us out before the lookup, for tunnels.
pub const BYPASS: &str = "end of bypasses";

/// All, in order.
pub(crate) const ALL: [&str; 6] = [SECURITY, REASSEMBLY, POLICY, STEER, END, BYPASS];
