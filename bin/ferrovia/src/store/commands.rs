// SPDX-License-Identifier: Apache-2.0
//! The commands: parse, call, print.

use std::marker::PhantomData;

use cli::{
    Command, Error, Matches, Output, OutputPiece, Result, Sequence, Step, Table, Tree, Writer,
};
use graph::{ConfigLine, ConfigLines};
use serde_json::json;

use super::change::Change;
use super::confirm::confirm_within;
use super::diff::Diff;
use super::file::{self, Store};
use super::load::{self, Load};
use super::save::{self, Unconfirmed};
use super::stream::Commands;
use super::{Body, operator_path, pending, replace, store, tech, until};
use crate::world::World;

/// The commands of configurations.
pub fn all<W: World>() -> &'static [Command<W>] {
    CommandTable::<W>::COMMANDS
}

struct CommandTable<W>(PhantomData<W>);

impl<W: World> CommandTable<W> {
    const COMMANDS: &'static [Command<W>] = cli::commands! {
        /// The configuration in force, as a script that makes it again
        "show running-config" => show_running;
        /// Save the configuration in force as the last version, or write it to a file
        "save", "[<file:string>]" => save;
        /// Difference to the last saved version, to another, or to a file: lines that it lacks (+),
        /// lines that it has besides (-)
        "show config diff", "[<version:u32>|file <file:string>]" => show_diff;
        /// The saved versions: 0 is the last one
        "show config history" => show_history;
        /// Lines of the saved configuration that wait for the host, failed, or weren't run yet
        "show config pending" => show_pending;
        /// Try the lines once more that failed when the configuration was loaded or gone back to
        "retry config pending" => |_, _| Ok(Output::sequence::<W>(Load::again()?));
        /// Forget the lines that failed when the configuration was loaded or gone back to: `save'
        /// leaves them out from now on
        "clear config pending" => clear_pending;
        /// Go back to a saved version; `save' makes it the last one
        "rollback", "<version:u32>" => rollback;
        /// Make the configuration in a file the one in force, by the lines in which they differ:
        /// all of it or nothing; plan: only show these lines; confirmed: go back to the last
        /// saved one unless `commit' follows in time
        "replace", "<file:string> [plan|confirmed <minutes:1-10080>]" => replace::start;
        /// Save the configuration in force; confirmed: go back to the last saved one unless
        /// `commit' follows in time
        "commit", "[confirmed <minutes:1-10080>]" => commit;
        /// Write an archive of what a helper needs to know, without secrets
        "show tech-support", "[<file:string>]" => |_, m| {
                Ok(Output::sequence::<W>(tech::Gather::new(m.has("file").then(|| m.str("file")))?))
            };
    };
}

fn show_running<W: World>(world: &W, _: &Matches) -> Result<Output> {
    let (mut lines, mut body) = (world.config_lines(), Body::default());
    Ok(Output::list_while(move |world: &W, out: &mut Writer| {
        let mut next = Vec::new();
        let more = world.config_step(&mut lines, &mut next);
        for line in next {
            out.text(|text| {
                body.add(&line);
                text.push_str(&std::mem::take(&mut body.text));
            });
            out.value(
                || json!({ "section": line.phase.name, "line": line.text, "undo": line.undo }),
            );
        }
        Ok(more)
    }))
}

fn save<W: World>(world: &W, m: &Matches) -> Result<Output> {
    save::start(world, m, None)
}

fn show_diff<W: World>(world: &W, m: &Matches) -> Result<Output> {
    let mut diff = match m.has("file") {
        true => Diff::file(world, operator_path(m)?).map_err(m.at("file"))?,
        false => {
            let number = m.get("version").unwrap_or(0);
            Diff::version(world, store()?, number).map_err(m.at("version"))?
        }
    };
    Ok(Output::record_while(move |world: &W, out: &mut Writer| diff.step(world, out)))
}

fn show_history<W: World>(world: &W, _: &Matches) -> Result<Output> {
    let columns = Table::new().right("Version").left("Date").left("By").right("Lines");
    let left = until().map(|at| at.saturating_sub(world.now()).as_secs());
    let store = store()?;
    let numbers = store.numbers();
    let counts = numbers.filter_map(move |n| Count::new(store, n).ok()).flatten();
    let row = |row: Option<Count>, out: &mut Writer| {
        if let Some(Count { number, date, by, lines, .. }) = row {
            out.row([number.into(), date.into(), by.into(), lines.into()]);
        }
    };
    let Some(left) = left else {
        return Ok(columns.list(counts, move |_: &W, count, out: &mut Writer| {
            row(count, out);
            Ok(())
        }));
    };
    let parts = [Part::Head].into_iter().chain(counts.map(Part::Row)).chain([Part::End]);
    Ok(Output::record(parts, move |_: &W, part, out: &mut Writer| {
        match part {
            Part::Head => {
                out.array("versions");
                out.table(&columns);
            }
            Part::Row(count) => row(count, out),
            Part::End => {
                out.end();
                out.text(|text| {
                    *text +=
                        &format!("back to version 0 in {left} s, unless `commit' comes first\n");
                });
                out.field("rollback_in", left);
            }
        }
        Ok(())
    }))
}

/// Part of the answer to `show config history`.
enum Part {
    Head,
    /// `None`: its lines are still being counted.
    Row(Option<Count>),
    End,
}

/// Counts the lines of a version, some at a time.
struct Count {
    number: u32,
    date: String,
    by: String,
    commands: Commands,
    lines: usize,
}

impl Count {
    /// Yields `None` until all lines are counted. A version that can't be read is left out.
    fn new(store: &Store, number: u32) -> Result<impl Iterator<Item = Option<Count>> + use<>> {
        let (date, by) = (store.head(number, file::DATE)?, store.head(number, file::BY)?);
        let mut count =
            Some(Count { number, date, by, commands: store.commands(number)?, lines: 0 });
        Ok(std::iter::from_fn(move || {
            let mut now = count.take()?;
            let mut read = Ok(());
            let more = cli::slice(|| match now.commands.next() {
                Ok(Some(_)) => {
                    now.lines += 1;
                    true
                }
                Ok(None) => false,
                Err(e) => {
                    read = Err(e);
                    false
                }
            });
            read.ok()?;
            if !more {
                return Some(Some(now));
            }
            count = Some(now);
            Some(None)
        }))
    }
}

fn show_pending<W: World>(world: &W, _: &Matches) -> Result<Output> {
    Ok(Output::sequence::<W>(ShowPending { lines: world.config_lines(), waiting: Vec::new() }))
}

/// The configuration in force is looked through for lines that wait, in slices; then all that is
/// pending is shown.
struct ShowPending {
    lines: ConfigLines,
    waiting: Vec<ConfigLine>,
}

impl<W: World> Sequence<W> for ShowPending {
    fn next(&mut self, _: &Tree<W>, world: &W, _: Option<Result<Vec<OutputPiece>>>) -> Step {
        let (more, waiting) = pending::look(world, &mut self.lines);
        self.waiting.extend(waiting);
        if more { Step::More(String::new()) } else { Step::Done(self.show()) }
    }

    fn cancel(&mut self) -> Error {
        Error::failed("cancelled")
    }
}

impl ShowPending {
    fn show(&self) -> Output {
        let all = pending::all();
        let mut table = Table::new()
            .left("State")
            .left("File")
            .right("Line")
            .right("Needs")
            .left("Command")
            .left("Reason");
        for line in &self.waiting {
            let why = line.waits.as_deref().unwrap_or_default();
            table.row([
                "waits".into(),
                "".into(),
                "".into(),
                "".into(),
                line.text.as_str().into(),
                why.into(),
            ]);
        }
        for p in &all.failed {
            let needs = p.needs.map_or_else(|| "".into(), cli::Cell::from);
            let (file, text, reason) =
                ((*p.file).into(), p.text.as_str().into(), p.reason.as_str().into());
            let line = if p.line == 0 { "".into() } else { p.line.into() };
            table.row(["failed".into(), file, line, needs, text, reason]);
        }
        let loading = all.rest.as_ref().map(|rest| (rest.file.to_string(), rest.number()));
        let json = json!({
            "lines": table.to_json(),
            "loading": loading.as_ref().map(|(file, line)| json!({ "file": file, "line": line })),
        });
        let mut text = table.render();
        match loading {
            Some((file, line)) => text += &format!("{file} is being loaded, line {line}\n"),
            None if json["lines"].as_array().is_none_or(Vec::is_empty) => {
                text = "nothing is pending\n".into()
            }
            None => {}
        }
        Output::both(text, json)
    }
}

fn clear_pending<W: World>(_: &W, _: &Matches) -> Result<Output> {
    let n = std::mem::take(&mut pending::all().failed).len();
    Ok(Output::both(format!("{n} lines forgotten\n"), json!({ "forgotten": n })))
}

fn rollback<W: World>(_: &W, m: &Matches) -> Result<Output> {
    load::idle()?;
    let number = m.req("version")?;
    let store = store()?;
    let reading = store.reading(number).map_err(m.at("version"))?;
    Ok(Output::sequence::<W>(Change::open(store.path(number).display().to_string(), reading)))
}

fn commit<W: World>(world: &W, m: &Matches) -> Result<Output> {
    match m.get("minutes") {
        Some(minutes) => confirm_within(world, minutes, None),
        None => save::start(world, m, Some(Unconfirmed::suspend())),
    }
}
