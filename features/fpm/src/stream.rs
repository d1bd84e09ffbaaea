// SPDX-License-Identifier: Apache-2.0
//! A peer without a socket, for tests and for fuzzing.

use crate::engine::Engine;
use crate::frame::Frames;
use graph::{SwIfIndex, World};
use std::collections::BTreeMap;

/// A peer without a socket.
pub struct Stream {
    frames: Frames,
    pub(crate) engine: Engine,
}

impl Stream {
    /// A new peer; interfaces by the kernel's index.
    pub fn new(world: &World, links: BTreeMap<u32, SwIfIndex>) -> Self {
        let mut engine = Engine::new(world);
        engine.links.set(links);
        Self { frames: Frames::default(), engine }
    }

    /// Takes bytes, and returns those to the peer; `None` if they end the connection.
    pub fn take(&mut self, world: &World, mut bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        while !bytes.is_empty() {
            let read = |room: &mut [u8]| {
                let n = room.len().min(bytes.len());
                room[..n].copy_from_slice(&bytes[..n]);
                bytes = &bytes[n..];
                Ok(n)
            };
            self.frames.fill(read).ok()?;
            while let Some(frame) = self.frames.take().ok()? {
                for message in netlink::split(frame) {
                    self.engine.apply(world, &message.ok()?, &mut out);
                }
            }
        }
        self.engine.flush(world, &mut out);
        while self.engine.go_on(world, 64, &mut out) {}
        Some(out)
    }

    /// Number of its routes.
    pub fn routes(&self, world: &World) -> usize {
        self.engine.routes(world).iter().map(|of| of.routes).sum()
    }

    /// The peer is gone, and its routes with it.
    pub fn end(&mut self, world: &World) {
        self.lose(world);
        let mut sweep = self.engine.sweep(world);
        while self.engine.sweep_on(world, &mut sweep, 64) {}
        self.engine.release(world);
    }

    /// The peer is gone; its routes stay, as stale ones.
    pub fn lose(&mut self, world: &World) {
        self.frames = Frames::default();
        self.engine.lost(world);
    }
}
