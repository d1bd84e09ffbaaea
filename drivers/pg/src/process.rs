// SPDX-License-Identifier: Apache-2.0
//! `pg-process`: writes captures, and lets threads sleep when their streams have ended.

use crate::input::PgInput;
use crate::state::Shared;
use graph::{InputMode, Process, Runtime, Sleep, Wake, World};
use std::sync::Arc;

struct PgProcess {
    shared: Arc<Shared>,
}

pub fn start(world: &Arc<World>) -> Result<(), String> {
    let shared: Arc<Shared> = world.get();
    let signal = shared.signal.clone();
    // Streams choose any node; these are the usual ones, if they are there.
    for node in ["ethernet-input", "ip4-input", "ip6-input"] {
        let _ = world.link("pg-input", node);
    }
    world.processes.spawn(Box::new(PgProcess { shared }), &signal);
    world.register_live("stream", |w| {
        w.get::<Shared>().streams().iter().map(|s| s.spec.name.clone()).collect()
    });
    Ok(())
}

/// While captures run, what waits is written this often, in nanoseconds.
const WRITE: u64 = 1_000_000;

impl Process for PgProcess {
    fn name(&self) -> &'static str {
        "pg-process"
    }

    fn run(&mut self, world: &World, wake: Wake) -> Sleep {
        self.shared.write_out(world.clock.now());
        if wake == Wake::Event {
            let Some(node) = world.node("pg-input") else { return Sleep::Done };
            for thread in self.shared.idle_threads(world) {
                world.on_thread(thread, move |rt: &mut Runtime| {
                    // A stream that was enabled meanwhile has its message behind this one.
                    if rt.input_mut::<PgInput>(node).is_some_and(|input| input.is_idle()) {
                        rt.set_input_mode(node, InputMode::Disabled);
                    }
                });
            }
        }
        if self.shared.captures().is_empty() {
            Sleep::Event
        } else {
            Sleep::Until(world.clock.now() + WRITE)
        }
    }
}
