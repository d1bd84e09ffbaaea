// SPDX-License-Identifier: Apache-2.0
//! Candidates for words of commands, for completion.

use crate::World;

/// Names that a word of a command may be.
pub(crate) type LiveNames = fn(&World) -> Vec<String>;

impl World {
    /// Registers the candidates for a command's `<x:kind>`: for completion.
    pub fn register_live(&self, kind: &'static str, names: fn(&World) -> Vec<String>) {
        self.live.lock().expect("no panic inside").insert(kind, names);
    }

    /// The kinds that [`Self::register_live`] was called for, and `node`.
    pub fn live_kinds(&self) -> Vec<&'static str> {
        self.live.lock().expect("no panic inside").keys().copied().chain(["node"]).collect()
    }
}

impl cli::Live for World {
    fn candidates(&self, kind: &str, prefix: &str) -> Vec<String> {
        let names = self.live.lock().expect("no panic inside").get(kind).copied();
        let mut all = match (kind, names) {
            ("node", _) => self.nodes().iter().map(|n| n.name.to_string()).collect(),
            (_, Some(names)) => names(self),
            _ => Vec::new(),
        };
        all.retain(|name| name.starts_with(prefix));
        all.sort();
        all
    }
}
