// SPDX-License-Identifier: Apache-2.0
//! The commands.

use ::cli::{Command, Matches, Output, Result};
use graph::World;

use super::{Commands, show, trace};

pub const COMMANDS: &[Command<World>] = &[
    Command {
        path: "help",
        usage: "[<command:rest>]",
        help: "Words that may follow these, as after `?'; without words the first words of all commands",
        run: help,
    },
    Command {
        path: "show api clients",
        usage: "",
        help: "Clients of the binary API",
        run: show::clients,
    },
    Command {
        path: "show api message-table",
        usage: "[<module>]",
        help: "Numbers, names and CRCs of all messages, or of one module's",
        run: show::messages,
    },
    Command {
        path: "show api statistics",
        usage: "",
        help: "Number of requests of each kind",
        run: show::statistics,
    },
    Command {
        path: "show api modules",
        usage: "[not-built]",
        help: "Modules of the binary API with their versions; not-built: those of VPP that are missing, and what they belong to",
        run: show::modules,
    },
    Command {
        path: "api trace on",
        usage: "[nitems <requests:1-1000000>]",
        help: "Record what clients ask, the last 16384 requests or so many",
        run: trace::on,
    },
    Command {
        path: "api trace off",
        usage: "",
        help: "Record no further requests",
        run: |w, _| {
            w.api.set_tracing(false);
            Ok(Output::empty())
        },
    },
    Command {
        path: "api trace clear",
        usage: "",
        help: "Forget what was recorded",
        run: |w, _| {
            w.api.clear_trace();
            Ok(Output::empty())
        },
    },
    Command {
        path: "api trace free",
        usage: "",
        help: "Record no further requests or answers, and forget what was recorded",
        run: trace::free,
    },
    Command {
        path: "api trace tx",
        usage: "{on | off}",
        help: "Record what is sent to clients, or no longer",
        run: trace::answers,
    },
    Command {
        path: "api trace save-json",
        usage: "<name>",
        help: "Write the requests that were recorded to /tmp/<name> as JSON, in VPP's form",
        run: trace::save_json,
    },
    Command {
        path: "api trace dump-json",
        usage: "",
        help: "Print what was recorded as JSON, in VPP's form",
        run: trace::dump_json,
    },
    Command {
        path: "api trace replay-json",
        usage: "<file:string>",
        help: "Ask once more what a file in VPP's form holds",
        run: trace::replay_json,
    },
    Command {
        path: "api trace status",
        usage: "",
        help: "State of the recording of requests, and their number",
        run: trace::status,
    },
    Command {
        path: "api trace save",
        usage: "<name>",
        help: "Write what was recorded to /tmp/<name>",
        run: trace::save,
    },
    Command {
        path: "api trace dump",
        usage: "[<file:string>]",
        help: "Print the requests of a file, or those that are recorded",
        run: trace::dump,
    },
    Command {
        path: "api trace replay",
        usage: "<file:string>",
        help: "Ask once more what a file has recorded",
        run: trace::replay,
    },
];

fn help(w: &World, m: &Matches) -> Result<Output> {
    let Some(tree) = w.get::<Commands>().get().map(std::sync::Arc::clone) else {
        return Ok(Output::empty());
    };
    let command = m.str("command").trim();
    let line = if command.is_empty() { String::new() } else { format!("{command} ") };
    let found = tree.complete(w, &line, line.len());
    let words: Vec<&str> = found.words();
    Ok(Output::both(found.help(), words))
}
