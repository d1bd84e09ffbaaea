// SPDX-License-Identifier: Apache-2.0
//! The commands.

use ::cli::{Command, Matches, Output, Result};
use graph::World;

use super::{Commands, show, trace};

pub const COMMANDS: &[Command<World>] = cli::commands! {
    /// Words that may follow these, as after `?'; without words the first words of all commands
    "help", "[<command:rest>]" => help;
    /// Clients of the binary API
    "show api clients" => show::clients;
    /// Numbers, names and CRCs of all messages, or of one module's
    "show api message-table", "[<module>]" => show::messages;
    /// Number of requests of each kind
    "show api statistics" => show::statistics;
    /// Modules of the binary API with their versions; not-built: those of VPP that are missing, and
    /// what they belong to
    "show api modules", "[not-built]" => show::modules;
    /// Record what clients ask, the last 16384 requests or so many
    "api trace on", "[nitems <requests:1-1000000>]" => trace::on;
    /// Record no further requests
    "api trace off" => |w, _| {
        w.api.set_tracing(false);
        Ok(Output::empty())
    };
    /// Forget what was recorded
    "api trace clear" => |w, _| {
        w.api.clear_trace();
        Ok(Output::empty())
    };
    /// Record no further requests or answers, and forget what was recorded
    "api trace free" => trace::free;
    /// Record what is sent to clients, or no longer
    "api trace tx", "{on | off}" => trace::answers;
    /// Write the requests that were recorded to /tmp/<name> as JSON, in VPP's form
    "api trace save-json", "<name>" => trace::save_json;
    /// Print what was recorded as JSON, in VPP's form
    "api trace dump-json" => trace::dump_json;
    /// Ask once more what a file in VPP's form holds
    "api trace replay-json", "<file:string>" => trace::replay_json;
    /// State of the recording of requests, and their number
    "api trace status" => trace::status;
    /// Write what was recorded to /tmp/<name>
    "api trace save", "<name>" => trace::save;
    /// Print the requests of a file, or those that are recorded
    "api trace dump", "[<file:string>]" => trace::dump;
    /// Ask once more what a file has recorded
    "api trace replay", "<file:string>" => trace::replay;
};

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
