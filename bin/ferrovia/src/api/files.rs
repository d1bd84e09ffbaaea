// SPDX-License-Identifier: Apache-2.0
//! The `.api.json` files, as clients look for them.

use graph::World;
use std::path::Path;

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
