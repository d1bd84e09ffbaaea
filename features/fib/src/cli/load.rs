// SPDX-License-Identifier: Apache-2.0
//! Commands for many routes: the work is done in slices, so that everything else goes on.

use super::route::Line;
use cli::{Error, Matches, Output, OutputPiece, Result, Sequence, Step, Tree};
use graph::World;
use net::args::is_v6;

use net::{Fib, Net, Path, Source, TableIndex};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use wire::{Ip4, Ip6, Prefix};

/// Routes that a command adds or removes before it becomes a task.
pub const AT_ONCE: u32 = 4096;
/// Routes, or lines of a file, of one turn.
const SLICE: usize = 2048;
/// Routes that are sorted at once: sorting all of a large file would block the control thread for
/// too long.
const RUN: usize = 1 << 16;
/// Bytes of a file that are read in one go.
const BUFFER: usize = 1 << 16;
/// Bytes of a line at most, its end included.
const LINE: usize = 1 << 16;
/// Routes or lines between two progress reports.
const STEP: usize = 100_000;
/// Errors listed; more are counted.
const LISTED: usize = 20;

/// Beginning of the command, which the lines of a file may omit.
const COMMAND: &str = "ip route add ";

/// Adds or removes many consecutive routes.
pub fn many<F: Net>(line: Line<F>) -> Output {
    Output::sequence(RouteRange { prefixes: Box::new(line.prefixes()), line })
}

struct RouteRange<F: Net> {
    line: Line<F>,
    prefixes: Box<dyn Iterator<Item = Prefix<F::Addr>>>,
}

impl<F: Net> Sequence<World> for RouteRange<F> {
    fn next(
        &mut self,
        _: &Tree<World>,
        world: &World,
        _: Option<Result<Vec<OutputPiece>>>,
    ) -> Step {
        let (fib, Line { add, table, paths, .. }) = (world.get::<Fib<F>>(), &self.line);
        let mut slice = self.prefixes.by_ref().take(SLICE).peekable();
        if slice.peek().is_none() {
            return Step::Done(Output::empty());
        }
        let done = if *add {
            fib.add_all(world, *table, Source::Cli, slice.map(|prefix| (prefix, &paths[..]))).1
        } else {
            slice.try_for_each(|prefix| fib.remove(world, *table, prefix, Source::Cli, paths))
        };
        done.map_or_else(Step::Failed, |()| Step::More(String::new()))
    }
}

/// Removes the routes that operators and clients have set in a table.
pub fn flush<F: Net>(w: &World, table: TableIndex) -> Result<Output> {
    let mut flush = Flush::<F> { table, after: None };
    Ok(if flush.go_on(w)? { Output::sequence(flush) } else { Output::empty() })
}

struct Flush<F: Net> {
    table: TableIndex,
    after: Option<Prefix<F::Addr>>,
}

impl<F: Net> Flush<F> {
    /// Removes one slice; returns true if there is more.
    fn go_on(&mut self, w: &World) -> Result<bool> {
        let sources = [Source::Cli, Source::Api];
        self.after = w.get::<Fib<F>>().flush_some(w, self.table, &sources, self.after, SLICE)?;
        Ok(self.after.is_some())
    }
}

impl<F: Net> Sequence<World> for Flush<F> {
    fn next(
        &mut self,
        _: &Tree<World>,
        world: &World,
        _: Option<Result<Vec<OutputPiece>>>,
    ) -> Step {
        match self.go_on(world) {
            Ok(true) => Step::More(String::new()),
            Ok(false) => Step::Done(Output::empty()),
            Err(error) => Step::Failed(error),
        }
    }
}

/// Adds the routes of a file: each line is what `ip route add` takes (or such a command as a
/// whole), `#` begins a comment. All lines are read before the first route is added; if one is
/// wrong, nothing is.
pub fn file(m: &Matches) -> Result<Output> {
    let name: String = m.req("file")?;
    let file = cli::open_regular(&name)
        .map_err(|e| Error::failed(format!("{name}: {e}")).at(m.span("file")))?;
    Ok(Output::sequence(Load {
        name,
        quotes: cli::is_public(&file),
        text: Some(BufReader::with_capacity(BUFFER, file)),
        line: 0,
        errors: Vec::new(),
        wrong: 0,
        ip4: Routes::default(),
        ip6: Routes::default(),
    }))
}

/// The routes of one protocol in a file.
struct Routes<F: Net> {
    /// Index in `ways` by the text behind the prefix: most lines of a large file repeat another's.
    known: HashMap<String, u32, foldhash::fast::RandomState>,
    ways: Vec<(TableIndex, Vec<Path>)>,
    /// Routes read last.
    unsorted: Vec<Read<F>>,
    /// Routes read before, in sorted runs.
    runs: Vec<std::vec::IntoIter<Read<F>>>,
    /// The next route of each run.
    next: BinaryHeap<Reverse<Head<F>>>,
    /// Number of routes added.
    done: usize,
}

/// Sort key of a route: table, network, and its length.
type RouteKey<F> = (TableIndex, <F as Net>::Key, u8);
/// Sort key, and index in `ways`.
type Read<F> = (RouteKey<F>, u32);
/// Sort key, the run's number, and index in `ways`.
type Head<F> = (RouteKey<F>, usize, u32);

impl<F: Net> Default for Routes<F> {
    fn default() -> Self {
        Self {
            known: HashMap::default(),
            ways: Vec::new(),
            unsorted: Vec::new(),
            runs: Vec::new(),
            next: BinaryHeap::new(),
            done: 0,
        }
    }
}

impl<F: Net> Routes<F> {
    /// Takes a line whose text behind the prefix is known; returns false if the line has to be
    /// parsed.
    fn take_known(&mut self, line: &str) -> bool {
        let Some((prefix, rest)) = halves(line) else { return false };
        let (Some(way), Ok(prefix)) = (self.known.get(rest), prefix.parse()) else { return false };
        self.note(self.ways[*way as usize].0, prefix, *way);
        true
    }

    fn note(&mut self, table: TableIndex, prefix: Prefix<F::Addr>, way: u32) {
        let key = F::key(prefix.network().addr());
        self.unsorted.push(((table, key, prefix.len()), way));
        if self.unsorted.len() == RUN {
            self.sort();
        }
    }

    /// Sorts the routes read last into a run.
    fn sort(&mut self) {
        let mut run = std::mem::take(&mut self.unsorted);
        run.sort_by_key(|(place, _)| *place);
        let mut run = run.into_iter();
        if let Some((place, way)) = run.next() {
            self.next.push(Reverse((place, self.runs.len(), way)));
        }
        self.runs.push(run);
    }

    /// Returns the next route in order, routes of one prefix as they stand in the file:
    /// neighbouring routes are changed together, several times faster with a million.
    fn take_next(&mut self) -> Option<Read<F>> {
        if !self.unsorted.is_empty() {
            self.sort();
        }
        let mut first = self.next.peek_mut()?;
        let Reverse((place, run, way)) = *first;
        match self.runs[run].next() {
            Some((place, way)) => *first = Reverse((place, run, way)),
            None => {
                PeekMut::pop(first);
                // Frees the memory of the run.
                self.runs[run] = Vec::new().into_iter();
            }
        }
        Some((place, way))
    }

    fn take(&mut self, line: &str, said: Line<F>) {
        let way = self.ways.len() as u32;
        let table = said.table;
        said.prefixes().for_each(|prefix| self.note(table, prefix, way));
        if let Some((prefix, rest)) = halves(line).filter(|_| said.count == 1)
            && prefix.parse::<Prefix<F::Addr>>().is_ok()
        {
            self.known.insert(rest.to_string(), way);
        }
        self.ways.push((table, said.paths));
    }

    /// Adds a slice of routes; returns false if all are added.
    fn add(&mut self, world: &World) -> Result<bool> {
        let slice: Vec<Read<F>> = std::iter::from_fn(|| self.take_next()).take(SLICE).collect();
        let fib = world.get::<Fib<F>>();
        for one in slice.chunk_by(|((before, ..), _), ((table, ..), _)| before == table) {
            let routes = one.iter().map(|((_, key, len), way)| {
                let key = net::fib::RouteKey { bits: F::bits_of_key(*key), len: *len };
                (F::prefix(key), &self.ways[*way as usize].1[..])
            });
            let (done, result) = fib.add_all(world, one[0].0.0, Source::Cli, routes);
            self.done += done;
            result?;
        }
        Ok(slice.len() == SLICE)
    }
}

/// Splits a line into its prefix and the text behind it.
fn halves(line: &str) -> Option<(&str, &str)> {
    let (prefix, rest) = line.split_at_checked(line.bytes().position(|b| b == b' ')?)?;
    Some((prefix, &rest[1..]))
}

struct Load {
    name: String,
    /// Messages quote lines.
    quotes: bool,
    /// The file, until it is read.
    text: Option<BufReader<File>>,
    /// The number of the last line.
    line: usize,
    errors: Vec<String>,
    wrong: usize,
    ip4: Routes<Ip4>,
    ip6: Routes<Ip6>,
}

impl Load {
    /// Reads some lines; returns false if there are no more.
    fn read(&mut self, tree: &Tree<World>, world: &World, text: &mut impl BufRead) -> Result<bool> {
        let mut bytes = Vec::new();
        for _ in 0..SLICE {
            bytes.clear();
            let read = text.by_ref().take(LINE as u64 + 1).read_until(b'\n', &mut bytes);
            if read.map_err(|e| Error::failed(format!("{}: {e}", self.name)))? == 0 {
                return Ok(false);
            }
            self.line += 1;
            if bytes.len() > LINE {
                let place = format!("{}:{}", self.name, self.line);
                return Err(Error::failed(format!(
                    "{place}: the line is longer than {LINE} bytes"
                )));
            }
            let taken = match std::str::from_utf8(&bytes) {
                Ok(line) => self.take(tree, world, line.trim_end()),
                Err(_) => Err(Error::parse("this isn't UTF-8")),
            };
            if let Err(error) = taken {
                self.wrong += 1;
                if self.errors.len() < LISTED {
                    let column =
                        error.span().map_or(0, |span| span.start.saturating_sub(COMMAND.len()));
                    let place = format!("{}:{}:{}", self.name, self.line, column + 1);
                    self.errors.push(if self.quotes {
                        format!("{place}: {}", error.brief())
                    } else {
                        format!(
                            "{place}: no route (not everybody may read the file: it isn't quoted)"
                        )
                    });
                }
            }
        }
        Ok(true)
    }

    fn take(&mut self, tree: &Tree<World>, world: &World, line: &str) -> Result<()> {
        let known =
            |this: &mut Self, line: &str| this.ip4.take_known(line) || this.ip6.take_known(line);
        let line = line.strip_prefix(COMMAND).unwrap_or(line);
        // Most lines: nothing in front, no comment.
        if known(self, line) {
            return Ok(());
        }
        let line = line.split('#').next().unwrap_or("").trim();
        let line = line.strip_prefix(COMMAND).unwrap_or(line);
        if line.is_empty() || known(self, line) {
            Ok(())
        } else {
            self.read_line(tree, world, line)
        }
    }

    fn read_line(&mut self, tree: &Tree<World>, world: &World, line: &str) -> Result<()> {
        let command = format!("{COMMAND}{line}");
        let parsed = tree.parse(&command)?.ok_or_else(|| Error::parse("no route"))?;
        let m = parsed.matches();
        if m.has("file") {
            return Err(Error::parse("a file of routes in a file of routes").at(m.span("file")));
        }
        if is_v6(&m, "prefix") {
            let said = Line::read(world, &m)?;
            world.get::<Fib<Ip6>>().check_paths(&said.paths)?;
            self.ip6.take(line, said);
        } else {
            let said = Line::read(world, &m)?;
            world.get::<Fib<Ip4>>().check_paths(&said.paths)?;
            self.ip4.take(line, said);
        }
        Ok(())
    }

    fn done(&self) -> usize {
        self.ip4.done + self.ip6.done
    }

    fn failed(&self, error: &Error) -> Step {
        let after = format!("{}: {} (after {} routes)", self.name, error.brief(), self.done());
        Step::Failed(Error::new(error.kind(), after).retval(error.reason()))
    }
}

/// Reports progress if `now` has passed another multiple of [`STEP`] since `before`.
fn progress(before: usize, now: usize, text: impl Fn(usize) -> String) -> Step {
    let at = now / STEP * STEP;
    Step::More(if at > before { text(at) } else { String::new() })
}

impl Sequence<World> for Load {
    fn next(
        &mut self,
        tree: &Tree<World>,
        world: &World,
        _: Option<Result<Vec<OutputPiece>>>,
    ) -> Step {
        if let Some(mut text) = self.text.take() {
            let before = self.line;
            match self.read(tree, world, &mut text) {
                Ok(more) => self.text = more.then_some(text),
                Err(error) => return Step::Failed(error),
            }
            return progress(before, self.line, |n| format!("{n} lines read\n"));
        }
        if self.wrong > 0 {
            let more = self.wrong - self.errors.len();
            let more = if more > 0 { format!("\n{more} more") } else { String::new() };
            return Step::Failed(Error::parse(format!(
                "nothing was added:\n{}{more}",
                self.errors.join("\n")
            )));
        }
        let before = self.done();
        let more = match self.ip4.add(world) {
            Ok(false) => self.ip6.add(world),
            more => more,
        };
        match more {
            Err(error) => self.failed(&error),
            Ok(true) => progress(before, self.done(), |n| format!("{n} routes added\n")),
            Ok(false) => Step::Done(Output::both(
                format!("{} routes added\n", self.done()),
                serde_json::json!({ "routes": self.done() }),
            )),
        }
    }

    fn cancel(&mut self) -> Error {
        Error::failed(format!("cancelled after {} routes", self.done()))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use testkit::Rng;

    #[suite::test]
    fn routes_come_in_order_and_those_of_a_prefix_as_they_were_read() {
        let (mut routes, mut rng) = (Routes::<Ip4>::default(), Rng::new(1));
        let n = 2 * RUN + 1000;
        let mut all: Vec<_> = (0..n as u32)
            .map(|way| {
                let bits = (rng.below(n / 2) as u32) << 8;
                ((TableIndex(rng.below(2) as u32), bits, 24), way)
            })
            .collect();
        for ((table, key, len), way) in &all {
            routes.note(*table, Prefix::new((*key).into(), *len).expect("a length"), *way);
        }
        assert_eq!(routes.runs.len(), 2);
        all.sort();
        let taken: Vec<_> = std::iter::from_fn(|| routes.take_next()).collect();
        assert!(taken == all, "{} routes of {n}", taken.len());
    }
}
