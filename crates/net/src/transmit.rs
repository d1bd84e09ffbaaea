// SPDX-License-Identifier: Apache-2.0
//! Frames sent by the control side.

use crate::Interface;
use buffer::Flags;
use graph::{ThreadIndex, World};
use stats::Simple;

/// Sends frames of control's own by an interface, from the main thread. A frame that finds no
/// buffers is counted for the interface in `unsent`.
pub fn transmit(world: &World, interface: &Interface, frames: Vec<Vec<u8>>, unsent: &Simple) {
    let (sw_if, output) = (interface.sw_if.0, interface.output);
    let main = ThreadIndex(0);
    let unsent = unsent.lane(main.at());
    world.on_thread(main, move |rt| {
        for frame in frames {
            let Some(mut b) = rt.cache().alloc_own() else {
                unsent.add(sw_if as usize, 1);
                continue;
            };
            // A frame may be longer than one buffer: advertisements on links of jumbo frames are.
            if !b.append_bytes(&frame, rt.cache()) {
                unsent.add(sw_if as usize, 1);
                rt.cache().free(b);
                continue;
            }
            b.flags.insert(Flags::LOCAL);
            (b.rx_if, b.tx_if) = (0, sw_if);
            rt.inject(output, b);
        }
    });
}
