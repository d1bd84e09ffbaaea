// SPDX-License-Identifier: Apache-2.0
//! The graph's counters in the stats directory: their names and their spaces.

use crate::Plugin;
use stats::{Registry, Space};

/// Names of nodes, by node.
pub const NAMES: &str = "/sys/node/names";
/// Number of calls, by node.
pub const CALLS: &str = "/sys/node/calls";
/// Number of packets that a node received, by node; for an input, of packets that it brought in.
pub const VECTORS: &str = "/sys/node/vectors";
/// Ticks of the time-stamp counter that a node took, by node. The time between two nodes is counted
/// for the later one, so the sum over the nodes is all that a thread spent in turns that moved
/// packets.
pub const CLOCKS: &str = "/sys/node/clocks";
/// Number of waits, by node: always 0, since no node of the graph waits. Processes, which do,
/// aren't nodes here.
pub const SUSPENDS: &str = "/sys/node/suspends";
/// Packets of control's own that were dropped because their thread takes nothing, by thread.
pub const REFUSED: &str = "/sys/control/refused";
/// Packets by reason, by error index.
pub const ERRORS: &str = "/node/errors";
/// `NODE/REASON` of each reason, as in the names below `/err/`; by error index.
pub const REASONS: &str = "/sys/error/names";
/// `error` if packets are lost for a reason, else `info`; by error index.
pub const SEVERITIES: &str = "/sys/error/severities";
/// The text of each reason, as in `show errors`; by error index.
pub const TEXTS: &str = "/sys/error/texts";
/// Packets handed over, by receiving thread; each lane is a sending thread's.
pub const HANDED: &str = "/sys/handoff/packets";
/// Packets lost to a full ring, as [`HANDED`].
pub const CONGESTION: &str = "/sys/handoff/congestion";

/// A registry for this many threads, in which the counters of the graph and of these plugins have
/// their spaces.
pub fn registry<'p>(
    threads: usize,
    plugins: impl Iterator<Item = &'p &'static Plugin>,
) -> Registry {
    let registry = Registry::new(threads);
    registry.declare("/sys/node", Space::Node);
    registry.declare(ERRORS, Space::Error);
    registry.declare("/sys/error", Space::Error);
    plugins
        .flat_map(|plugin| plugin.counters)
        .for_each(|(dir, space)| registry.declare(dir, *space));
    registry
}
