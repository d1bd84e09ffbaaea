// SPDX-License-Identifier: Apache-2.0
//! The binary API's server: its sockets, and the messages that are the daemon's own.

mod cli;
#[cfg(feature = "tests")]
mod document;
mod show;
mod socket;
#[cfg(feature = "tests")]
mod tests;
mod trace;
mod vlib;
mod vpe;

pub use socket::{Server, close, open, poll};

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ::cli::Tree;
use graph::{Plugin, Shared, StateDef, World};

/// The daemon's own messages and commands.
pub static PLUGIN: Plugin = Plugin {
    name: "api",
    about: "The binary API's door, and the daemon's own messages",
    cli: cli::COMMANDS,
    transient: &[("api trace", "is a record that is made now")],
    state: &[StateDef::of::<Commands>()],
    api: &[vlib::API, vpe::API],
    ..Plugin::EMPTY
};

/// Every command, for messages that carry one.
#[derive(Default)]
pub struct Commands(OnceLock<Arc<Tree<World>>>);

impl Shared for Commands {
    fn make(_: &World) -> Self {
        Self::default()
    }
}

impl Commands {
    /// Sets them; the first call counts.
    pub fn set(&self, tree: Arc<Tree<World>>) {
        let _ = self.0.set(tree);
    }

    fn get(&self) -> Option<&Arc<Tree<World>>> {
        self.0.get()
    }
}

/// Writes the `.api.json` files of every module below a directory: `core/` and `plugins/`, as
/// clients look for them.
///
/// # Errors
/// A sentence about the file or directory that couldn't be made or written.
pub fn dump(dir: &Path) -> Result<String, String> {
    let hub = msg::Hub::<World>::new(crate::plugins::ALL.iter().flat_map(|p| p.api))?;
    let table = hub.table();
    let shared = msg::api_json_shared(table).into_iter().map(|(name, json)| ("core", name, json));
    let modules = table.modules().iter().enumerate().map(|(index, module)| {
        (if module.core { "core" } else { "plugins" }, module.name, msg::api_json(table, index))
    });
    let mut text = String::new();
    for (place, name, json) in modules.chain(shared) {
        let place = dir.join(place);
        std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        let file = place.join(format!("{name}.api.json"));
        std::fs::write(&file, format!("{json:#}\n"))
            .map_err(|e| format!("{}: {e}", file.display()))?;
        text += &format!("{}\n", file.display());
    }
    Ok(text)
}
