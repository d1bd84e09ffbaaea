// SPDX-License-Identifier: Apache-2.0
//! `pcap-process`: takes note of the ends of replays.

use crate::control::Pcaps;
use graph::{Process, Sleep, Wake, World};
use std::sync::Arc;

struct PcapProcess(Arc<Pcaps>);

pub fn start(world: &World) {
    let pcaps = world.get::<Pcaps>();
    let signal = pcaps.signal.clone();
    world.processes.spawn(Box::new(PcapProcess(pcaps)), &signal);
}

impl Process for PcapProcess {
    fn name(&self) -> &'static str {
        "pcap-process"
    }

    fn run(&mut self, world: &World, _: Wake) -> Sleep {
        self.0.devices().iter().for_each(|device| device.note_end(world));
        Sleep::Event
    }
}

/// Completes the files of captures.
pub fn end(world: &World) {
    for device in world.get::<Pcaps>().devices() {
        device.capture.iter().for_each(|capture| capture.complete());
    }
    driver::end(world);
}
