// SPDX-License-Identifier: Apache-2.0
//! `docs/api.md`: what is served, module by module, and what of VPP's API is missing.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::reference;
use graph::World;
use msg::{Kind, Table, tables};

const HEAD: &str = "# The binary API\n\n\
Generated from the declarations by the daemon's tests (`UPDATE=1 make test ARGS='-p ferrovia'` writes it anew).\n\n\
`ferrovia --dump-api DIR` writes the `.api.json` files that clients read. Names, CRCs and layouts are those that\n\
VPP 26.06 publishes. `show api message-table` tells the same of a running daemon.\n";

const ABSENT: &str = "\n## Modules that are not there yet\n\n\
Their messages are not in the message table that `sockclnt_create_reply` brings, and there is no `.api.json` file of them: vpp_papi\n\
has no function of that name, GoVPP's `CheckCompatiblity` names the message. `get_first_msg_id` answers with an error for such a\n\
module, a message with a number that isn't in the table gets no answer and is counted (`show api statistics`). On the CLI, `show\n\
api modules not-built` prints this table.\n\n| module | belongs to |\n|---|---|\n";

/// The page.
pub fn page(table: &Table<World>) -> String {
    let mut page = HEAD.to_string();
    summary(table, &mut page);
    for (index, module) in table.modules().iter().enumerate() {
        let _ = write!(
            page,
            "\n## {} {}\n\n| message | what it is |\n|---|---|\n",
            module.name, module.version
        );
        let mut names = BTreeSet::new();
        for (_, entry) in table.entries().filter(|(_, e)| e.module == index) {
            names.insert(entry.name);
            // A bare return value needs no line beside its request.
            if entry.kind == Kind::Answer && entry.doc.is_empty() {
                continue;
            }
            let _ = writeln!(page, "| `{}` | {} |", entry.name, entry.doc.replace('|', "\\|"));
        }
        let all = tables().module(module.name).map_or(&[][..], |m| &m.messages);
        let missing: Vec<_> =
            all.iter().filter(|name| !names.contains(*name) && !is_reply(name)).collect();
        if !missing.is_empty() {
            let list: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(page, "\nNot there yet: {}.", list.join(", "));
        }
    }
    let built: BTreeSet<_> = table.modules().iter().map(|m| m.name).collect();
    let _ = write!(page, "{ABSENT}");
    for (name, _) in tables().published().filter(|(name, _)| !built.contains(name)) {
        let owner = reference::owner_of_module(name).unwrap_or("VPP's core");
        let _ = writeln!(page, "| `{name}` | {owner} |");
    }
    page
}

/// Returns true for a reply, which isn't listed as missing beside its request.
fn is_reply(name: &str) -> bool {
    name.ends_with("_reply")
}

fn summary(table: &Table<World>, page: &mut String) {
    let _ = write!(page, "\n| module | messages | of VPP's |\n|---|---:|---:|\n");
    for (index, module) in table.modules().iter().enumerate() {
        let n = table.entries().filter(|(_, e)| e.module == index).count();
        let published = tables().module(module.name).filter(|m| m.crc != 0);
        let all = published.map_or(n, |m| m.messages.len());
        let _ = writeln!(
            page,
            "| [{0}](#{0}-{1}) | {n} | {all} |",
            module.name,
            module.version.replace('.', "")
        );
    }
}
