// SPDX-License-Identifier: Apache-2.0
//! Sinks: interfaces of other plugins that take the frames of a cross-connect. A feature of sent
//! frames takes them from `l2-output`, so they never reach the output of the interface.

use crate::attach::{Attached, OutputFeatures};
use crate::bridge::Bridge;
use cli::Result;
use graph::{SwIfIndex, World};

/// Called when the cross-connect with a sink has ended, for whatever reason.
pub type SinkEnded = fn(&World, SwIfIndex);

impl Bridge {
    /// Sends the frames that an interface receives to a feature of frames that `sink` sends. The
    /// other modes of the interface end, and each of them ends this one.
    ///
    /// # Errors
    /// An interface that isn't there (−2) or carries no Ethernet frames (−71); the device's error.
    pub fn set_sink(
        &self,
        world: &World,
        sw_if: SwIfIndex,
        (sink, feature): (SwIfIndex, OutputFeatures),
        ended: SinkEnded,
    ) -> Result<()> {
        self.check(world, sw_if)?;
        {
            let mut control = self.control();
            control.sinks.insert(sink, ended);
            control.attached.insert(sink, Attached { output: feature, ..Attached::default() });
            self.publish_port(world, &control, sink);
        }
        self.cross(world, sw_if, sink)
    }

    /// Returns true if an interface is a sink.
    pub fn is_sink(&self, sw_if: SwIfIndex) -> bool {
        self.control().sinks.contains_key(&sw_if)
    }

    /// Ends a sink whose cross-connect has ended.
    pub(crate) fn end_sink(&self, world: &World, sink: SwIfIndex) {
        let mut control = self.control();
        let Some(ended) = control.sinks.remove(&sink) else { return };
        control.attached.remove(&sink);
        self.publish_port(world, &control, sink);
        drop(control);
        ended(world, sink);
    }
}
