// SPDX-License-Identifier: Apache-2.0
//! Report on a thread that panicked: the node that ran, its frame, the last traced packet.

use crate::core::Core;
use crate::slot::NodeRuntime;
use std::cell::Cell;
use std::io::Write;
use std::ptr;

#[derive(Clone, Copy)]
struct Place {
    node: *const NodeRuntime,
    core: *const Core,
    packets: usize,
}

const NOWHERE: Place = Place { node: ptr::null(), core: ptr::null(), packets: 0 };

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(NOWHERE) };
}

/// Notes that this thread runs a node now.
#[inline(always)]
pub(crate) fn enter(node: &NodeRuntime, core: &Core, packets: usize) {
    PLACE.set(Place { node, core, packets });
}

/// Notes that this thread runs none.
#[inline(always)]
pub(crate) fn leave() {
    PLACE.set(NOWHERE);
}

/// Writes what this thread was doing, for a panic hook that doesn't return: no other thread is
/// looked at, no lock taken.
pub fn crash_context(out: &mut dyn Write) {
    let place = PLACE.get();
    if place.node.is_null() {
        return;
    }
    // SAFETY: `enter` was called on this thread further up its stack and `leave` was not, so both
    // are alive; the stack above them stands still while the hook runs, and doesn't go on after
    // it.
    let (node, core) = unsafe { (&*place.node, &*place.core) };
    let _ = writeln!(
        out,
        "node {} (index {}), a frame of {} packets, thread {}",
        node.name, node.index, place.packets, core.thread
    );
    let Some(last) = core.trace.records().last().map(|r| r.trace) else { return };
    let _ = writeln!(out, "last traced packet:");
    for record in core.trace.records().filter(|r| r.trace == last) {
        let _ = writeln!(
            out,
            "  node index {}: {}",
            record.node,
            record.to_string().replace('\n', "\n    ")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_outside_of_a_node() {
        let mut out = Vec::new();
        crash_context(&mut out);
        assert!(out.is_empty());
    }
}
