// SPDX-License-Identifier: Apache-2.0
//! An observer of all vectors that a thread's nodes are about to process.

use crate::NodeIndex;
use crate::core::Core;
use crate::runtime::Runtime;
use buffer::Frame;
use std::any::Any;

/// Sees each vector just before a node processes it. It runs on the packet path: no lock,
/// allocation or system call.
pub trait Observer: Any + Send {
    /// `node` is about to process these packets; `now` is the instance's clock in nanoseconds.
    fn vector(&mut self, node: NodeIndex, packets: &Frame, now: u64);
}

impl Runtime {
    /// Sets the observer that sees all vectors, or none. Returns the one before.
    pub fn observe(&mut self, observer: Option<Box<dyn Observer>>) -> Option<Box<dyn Observer>> {
        std::mem::replace(&mut self.core.observer, observer)
    }
}

#[cold]
#[inline(never)]
pub(crate) fn vector(core: &mut Core, node: NodeIndex, packets: &Frame) {
    let now = core.clock.now();
    if let Some(observer) = &mut core.observer {
        observer.vector(node, packets, now);
    }
}
