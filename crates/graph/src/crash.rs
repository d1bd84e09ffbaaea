// SPDX-License-Identifier: Apache-2.0
//! Report on a thread that panicked: the node that ran, its frame, the last traced packet.

use crate::core::Core;
use crate::slot::NodeRuntime;
use std::cell::Cell;
use std::io::Write;
use std::ptr;

#[derive(Clone, Copy)]
struct Current {
    node: *const NodeRuntime,
    core: *const Core,
    packets: usize,
}

const NONE: Current = Current { node: ptr::null(), core: ptr::null(), packets: 0 };

thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(NONE) };
}

/// Notes that this thread runs a node now.
#[inline(always)]
pub(crate) fn enter(node: &NodeRuntime, core: &Core, packets: usize) {
    CURRENT.set(Current { node, core, packets });
}

/// Notes that this thread runs none.
#[inline(always)]
pub(crate) fn leave() {
    CURRENT.set(NONE);
}

/// Writes what this thread was doing, for a panic hook that doesn't return: no other thread is
/// looked at, no lock taken.
pub fn crash_context(out: &mut dyn Write) {
    let current = CURRENT.get();
    if current.node.is_null() {
        return;
    }
    // SAFETY: `enter` was called on this thread further up its stack and `leave` was not, so both
    // are alive; the stack above them stands still while the hook runs, and doesn't go on after
    // it.
    let (node, core) = unsafe { (&*current.node, &*current.core) };
    let _ = writeln!(
        out,
        "node {} (index {}), a frame of {} packets, thread {}",
        node.name, node.index, current.packets, core.thread
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

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn nothing_is_said_outside_of_a_node() {
        let mut out = Vec::new();
        crash_context(&mut out);
        assert!(out.is_empty());
    }
}
