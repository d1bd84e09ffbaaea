// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

use cli::{Command, Error, Matches, Output, Result, Table};
use serde_json::{Value, json};

use super::change::{Change, only, texts};
use super::{file, script, store, tech, until};
use crate::run::World;
use crate::server;

/// The commands of configurations.
pub fn all<W: World>() -> &'static [Command<W>] {
    Own::<W>::COMMANDS
}

struct Own<W>(PhantomData<W>);

impl<W: World> Own<W> {
    const COMMANDS: &'static [Command<W>] = &[
        Command {
            path: "show running-config",
            usage: "",
            help: "The configuration in force, as a script that makes it again",
            run: show_running,
        },
        Command {
            path: "save",
            usage: "[<file:string>]",
            help: "Save the configuration in force as the last version, or write it to a file",
            run: save,
        },
        Command {
            path: "show config diff",
            usage: "[<version:u32>]",
            help: "What the last saved version (or another) lacks of the configuration in force (+), and has besides (-)",
            run: show_diff,
        },
        Command {
            path: "show config history",
            usage: "",
            help: "The saved versions: 0 is the last one",
            run: show_history,
        },
        Command {
            path: "rollback",
            usage: "<version:u32>",
            help: "Go back to a saved version; `save' makes it the last one",
            run: rollback,
        },
        Command {
            path: "commit",
            usage: "[confirmed <minutes:1-10080>]",
            help: "Save the configuration in force; confirmed: go back to the last saved one unless `commit' follows in time",
            run: commit,
        },
        Command {
            path: "show tech-support",
            usage: "[<file:string>]",
            help: "Write an archive of what a helper needs to know, without secrets",
            run: |_, m| Ok(Output::sequence::<W>(tech::Gather::new(m.has("file").then(|| m.str("file")))?)),
        },
    ];
}

fn show_running<W: World>(world: &W, _: &Matches) -> Result<Output> {
    let lines = world.running_config();
    let json: Vec<Value> =
        lines.iter().map(|l| json!({ "section": l.phase.name(), "line": l.text, "undo": l.undo })).collect();
    Ok(Output::both(script(&lines), json))
}

/// Who is asking.
fn asker() -> String {
    server::current().unwrap_or_else(|| "ferrovia itself".into())
}

fn save<W: World>(world: &W, m: &Matches) -> Result<Output> {
    let lines = world.running_config();
    let body = script(&lines);
    let (path, saved) = if m.has("file") {
        let path = std::path::absolute(Path::new(m.str("file")))
            .map_err(|e| Error::failed(e.to_string()).at(m.span("file")))?;
        file::export(&path, &file::with_header(&body, &asker())).map_err(|e| e.at(m.span("file")))?;
        (path, true)
    } else {
        let store = store()?;
        (store.file().to_path_buf(), store.save(&body, &asker())?)
    };
    let path = path.display().to_string();
    let text = match saved {
        true => format!("{} lines saved in {path}\n", lines.len()),
        false => format!("nothing has changed since the last version in {path}\n"),
    };
    Ok(Output::both(text, json!({ "file": path, "lines": lines.len(), "saved": saved })))
}

fn show_diff<W: World>(world: &W, m: &Matches) -> Result<Output> {
    let saved = store()?.read(m.get("version").unwrap_or(0)).map_err(|e| e.at(m.span("version")))?;
    let lines = world.running_config();
    let old = saved.lines.iter().map(String::as_str);
    let (gone, new) = (only(old.clone(), texts(&lines)), only(texts(&lines), old));
    let text: String =
        gone.iter().map(|l| format!("-{l}\n")).chain(new.iter().map(|l| format!("+{l}\n"))).collect();
    let text = match text.is_empty() {
        true => "no difference\n".to_string(),
        false => format!("--- version {}, {}\n+++ in force\n{text}", saved.number, saved.date),
    };
    Ok(Output::both(
        text,
        json!({ "version": saved.number, "date": saved.date, "removed": gone, "added": new }),
    ))
}

fn show_history<W: World>(world: &W, _: &Matches) -> Result<Output> {
    let mut table = Table::new().right("Version").left("Date").left("By").right("Lines");
    for v in store()?.versions() {
        table.row([v.number.into(), v.date.into(), v.by.into(), v.lines.len().into()]);
    }
    let left = until().map(|at| at.saturating_sub(world.now()).as_secs());
    let Some(left) = left else { return Ok(table.into()) };
    let text = format!("{}back to version 0 in {left} s, unless `commit' comes first\n", table.render());
    Ok(Output::both(text, json!({ "versions": table.to_json(), "rollback_in": left })))
}

fn rollback<W: World>(_: &W, m: &Matches) -> Result<Output> {
    let number = m.req("version")?;
    let store = store()?;
    store.read(number).map_err(|e| e.at(m.span("version")))?;
    let path = store.path(number);
    let text =
        std::fs::read_to_string(&path).map_err(|e| Error::failed(format!("{}: {e}", path.display())))?;
    Ok(Output::sequence::<W>(Change::new(path.display().to_string(), text)))
}

fn commit<W: World>(world: &W, m: &Matches) -> Result<Output> {
    let Some(minutes) = m.get::<u64>("minutes") else {
        let saved = save(world, m)?;
        *until() = None;
        return Ok(saved);
    };
    let last = store()?.read(0)?;
    *until() = Some(world.now() + Duration::from_secs(minutes * 60));
    let text =
        format!("back to what was saved {} in {minutes} minutes, unless `commit' comes first\n", last.date);
    Ok(Output::both(text, json!({ "rollback_in": minutes * 60, "saved": last.date })))
}
