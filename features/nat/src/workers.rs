// SPDX-License-Identifier: Apache-2.0
//! The threads that have sessions, and the ports of each.

use crate::timeouts::{FIRST_PORT, PORTS};

/// The threads that have sessions: each has an equal block of ports.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Workers(pub Vec<u16>);

impl Workers {
    fn len(&self) -> usize {
        self.0.len().max(1)
    }

    /// The first port of a thread, and the number of its ports.
    pub fn block(&self, thread: u16) -> (u32, u32) {
        let at = self.0.iter().position(|worker| *worker == thread).unwrap_or(0) as u32;
        let len = PORTS / self.len() as u32;
        (FIRST_PORT + at * len, len)
    }

    /// The thread of a hash.
    #[inline(always)]
    pub fn pick(&self, hash: u32) -> u16 {
        self.0.get(hash as usize % self.len()).copied().unwrap_or(0)
    }

    /// The thread of a port.
    #[inline(always)]
    pub fn of_port(&self, port: u16) -> u16 {
        let len = PORTS / self.len() as u32;
        let at = u32::from(port).saturating_sub(FIRST_PORT) / len;
        self.0.get((at as usize).min(self.len() - 1)).copied().unwrap_or(0)
    }
}
