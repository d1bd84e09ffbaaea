// SPDX-License-Identifier: Apache-2.0
//! Walks over the sessions of all threads, for control: in slices, between the packets.

use crate::flows::{AllFlows, Flows, Job};
use graph::World;
use std::sync::Arc;

pub use nat::walk::Walk;

/// The node on whose ticks the slices run.
pub const NODE: &str = "nat44-ed-in2out";

/// Walks over all sessions: `each` is called for each of them, on its thread, with the thread's
/// result.
pub fn walk<T: Default + Send + 'static>(
    world: &World,
    each: impl Fn(&mut Flows, u32, &mut T) + Send + Sync + 'static,
) -> Walk<T> {
    let (all, node) = (world.get::<AllFlows>(), world.node(NODE));
    let each = Arc::new(each);
    Walk::start(world, move |rt, thread, mine| {
        let each = each.clone();
        let job = Job::new(move |flows, at| {
            each(flows, at, &mut mine.lock().expect("no panic inside"));
        });
        match all.of(thread, &rt.reading()) {
            Some(mut flows) => flows.push_job(job),
            None => return,
        }
        if let Some(node) = node {
            rt.tick_soon(node);
        }
    })
}
