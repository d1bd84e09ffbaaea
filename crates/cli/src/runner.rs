// SPDX-License-Identifier: Apache-2.0
//! Runs a session's request, a little at each turn of the control loop: a command, its task, its
//! scripts.

use crate::filter::Filter;
use crate::list::Listing;
use crate::notes::{self, NoteBook};
use crate::output::pretty;
use crate::script::{Script, TurnResult};
use crate::tree::Scratch;
use crate::{Error, Outcome, Output, Result, Sequence, Step, Task, TaskState, Tree};
use std::any::Any;
use std::time::Duration;

/// `exec` within `exec` goes no deeper.
const MAX_DEPTH: usize = 16;

/// One piece of a command's output.
#[derive(Debug, PartialEq, Eq)]
pub enum OutputPiece {
    /// An answer, or a piece of one, in whole lines; a pager may hold it back.
    Answer(String),
    /// Output of a task so far, to be shown at once.
    Chunk(String),
}

/// Interval at which a task is polled that sets no time itself.
const TASK_PERIOD: Duration = Duration::from_millis(10);

struct Running {
    task: Box<dyn Task>,
    json: bool,
    /// Text of a task that is to be given as JSON.
    chunks: String,
    /// True if it was polled.
    begun: bool,
}

/// A script or sequence under way between the operator and the current command.
enum Frame {
    Script(Script),
    Sequence(ActiveSequence),
}

/// A sequence, and the results of the line it is waiting for.
struct ActiveSequence {
    /// A `Box<dyn Sequence<W>>`.
    sequence: Box<dyn Any>,
    json: bool,
    started: bool,
    pieces: Vec<OutputPiece>,
    error: Option<Error>,
}

/// At most one command at a time, with the tasks and scripts it started. Also runs a script at
/// start:
///
/// ```
/// use cli::{Command, Runner, Tree};
/// # struct World;
/// # static CLI: &[Command<World>] =
/// #     &[Command { path: "show clock", usage: "", help: "", run: |_, _| Ok("Time now 1".into()) }];
/// # let (tree, world) = (Tree::new(CLI).unwrap(), World);
/// let mut runner = Runner::default();
/// runner.script("startup.cli", "show clock\n", false);
/// let mut out = Vec::new();
/// let result = loop {
///     // … the control loop's other work; `now` from its clock …
///     if let Some(result) = runner.poll(&tree, &world, std::time::Duration::ZERO, &mut out) {
///         break result;
///     }
/// };
/// assert_eq!((result, out), (Ok(()), vec![cli::OutputPiece::Answer("Time now 1\n".into())]));
/// ```
#[derive(Default)]
pub struct Runner {
    frames: Vec<Frame>,
    task: Option<Running>,
    list: Option<Listing>,
    /// Items of the next long answer that are shown at most, and the line that shows all.
    most: Option<(usize, String)>,
    json: bool,
    /// Selects lines of the answer for the operator.
    filter: Option<Filter>,
    /// The end of a command that needed no further turn.
    ended: Option<Result<()>>,
    cancelled: bool,
    notes: NoteBook,
}

impl Runner {
    /// Collects the notes of commands for an operator, or tells commands that nobody reads them.
    /// Lines of sequences give none: they are the program's own.
    pub fn set_noting(&mut self, on: bool) {
        self.notes.is_open = on;
    }

    /// Takes the notes so far, each a line.
    pub fn take_notes(&mut self) -> Vec<String> {
        self.notes.take()
    }

    /// Returns true if something is under way; nothing else may be started meanwhile.
    pub fn is_busy(&self) -> bool {
        self.task.is_some()
            || self.list.is_some()
            || !self.frames.is_empty()
            || self.ended.is_some()
    }

    /// Starts a command; [`Runner::poll`] returns its end. With `json` its answer is JSON whatever
    /// its line asks for. `COMMAND | include TEXT` gives only the lines of the answer that have the
    /// text; `exclude`, `begin` and `count` do so in their manner.
    pub fn line<W>(
        &mut self,
        tree: &Tree<W>,
        world: &W,
        line: &str,
        json: bool,
        out: &mut Vec<OutputPiece>,
    ) {
        (self.json, self.cancelled) = (json, false);
        let (line, filter) = match Filter::split(line) {
            Some((line, filter)) => (line, Some(filter)),
            None => (line, None),
        };
        self.filter = filter;
        self.notes.begin();
        let started = tree
            .execute_with(world, line, &mut Scratch::default(), self.notes.sink())
            .and_then(|o| self.outcome(o, out));
        self.ended = (started.is_err() || !self.is_busy()).then_some(started);
    }

    /// Starts a script.
    pub fn script(&mut self, name: impl Into<String>, text: impl Into<String>, json: bool) {
        (self.json, self.cancelled) = (json, false);
        self.notes.begin();
        self.frames.push(Frame::Script(Script::new(name, text)));
    }

    /// Starts a sequence of commands that no command asked for.
    pub fn sequence<W: 'static>(&mut self, sequence: impl Sequence<W> + 'static) {
        (self.json, self.cancelled) = (false, false);
        let boxed: Box<dyn Sequence<W>> = Box::new(sequence);
        let (sequence, json) = (Box::new(boxed), false);
        self.frames.push(Frame::Sequence(ActiveSequence {
            sequence,
            json,
            started: false,
            pieces: Vec::new(),
            error: None,
        }));
    }

    /// Handles ^C: notifies a task, ends a long answer where it is, stops a script or a sequence
    /// after its command.
    pub fn cancel(&mut self) {
        if let Some(t) = &mut self.task {
            t.task.cancel();
        }
        self.cancelled = true;
    }

    /// Returns true if a long answer is under way.
    pub fn is_long(&self) -> bool {
        self.list.is_some()
    }

    /// Ends the long answer that is under way as if there were no more of it; other commands go on.
    pub fn enough(&mut self) {
        if self.list.take().is_some() && !self.is_busy() {
            self.ended = Some(Ok(()));
        }
    }

    /// Time at which the next poll is useful: `None` while nothing is under way.
    pub fn wake_at(&self, now: Duration) -> Option<Duration> {
        match &self.task {
            Some(t) if !t.begun => Some(now),
            Some(t) => Some(t.task.wake_at().unwrap_or(now + TASK_PERIOD)),
            None => self.is_busy().then_some(now),
        }
    }

    /// Runs one turn; output is added to `out`. Returns the result once all is done.
    pub fn poll<W>(
        &mut self,
        tree: &Tree<W>,
        world: &W,
        now: Duration,
        out: &mut Vec<OutputPiece>,
    ) -> Option<Result<()>> {
        let result = match self.ended.take() {
            Some(result) => result,
            None => match self.turn(tree, world, now, out) {
                Ok(()) if self.is_busy() => return None,
                result => result,
            },
        };
        (self.task, self.list, self.most) = (None, None, None);
        self.frames.clear();
        out.extend(self.filter.take().and_then(Filter::end).filter(|_| result.is_ok()));
        Some(result)
    }

    /// Runs one turn. An error ends everything, up to the sequence that ran the failed command.
    fn turn<W>(
        &mut self,
        tree: &Tree<W>,
        world: &W,
        now: Duration,
        out: &mut Vec<OutputPiece>,
    ) -> Result<()> {
        let Err(error) = self.go_on(tree, world, now, out) else { return Ok(()) };
        (self.task, self.list) = (None, None);
        let outer = self.frames.iter().rposition(|f| matches!(f, Frame::Sequence(_)));
        self.frames.truncate(outer.map_or(0, |at| at + 1));
        match self.frames.last_mut() {
            Some(Frame::Sequence(active)) => {
                active.error = Some(error);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn go_on<W>(
        &mut self,
        tree: &Tree<W>,
        world: &W,
        now: Duration,
        out: &mut Vec<OutputPiece>,
    ) -> Result<()> {
        if let Some(running) = &mut self.task {
            running.begun = true;
            match running.task.poll(now) {
                TaskState::Pending => {}
                TaskState::Chunk(text) if running.json => running.chunks += &text,
                TaskState::Chunk(text) => self.emit(OutputPiece::Chunk(text), out),
                TaskState::Failed(e) => return Err(self.placed(e)),
                TaskState::Done(output) => {
                    let Running { json, chunks, .. } =
                        self.task.take().expect("it was just polled");
                    let output = match output {
                        Output::Empty if !chunks.is_empty() => Output::Text(chunks),
                        other => other,
                    };
                    self.answer(output, json, out)?;
                }
            }
            return Ok(());
        }
        if let Some(list) = &mut self.list {
            let (text, ended) = list.slice(world, self.cancelled);
            if !text.is_empty() {
                self.emit(OutputPiece::Answer(text), out);
            }
            let Some(result) = ended else { return Ok(()) };
            self.list = None;
            return result.map_err(|e| self.placed(e));
        }
        let in_sequence = self.frames.iter().any(|frame| matches!(frame, Frame::Sequence(_)));
        match self.frames.last_mut() {
            None => Ok(()),
            Some(Frame::Script(script)) if self.cancelled => {
                Err(Error::failed(format!("{}: cancelled after this line", script.position())))
            }
            Some(Frame::Script(script)) => {
                let notes = Some(&mut self.notes).filter(|_| !in_sequence);
                match script.turn(tree, world, notes)? {
                    TurnResult::More => Ok(()),
                    TurnResult::Answer(outcome) => self.outcome(outcome, out),
                    TurnResult::Done => {
                        self.frames.pop();
                        Ok(())
                    }
                }
            }
            Some(Frame::Sequence(active)) => {
                let json = active.json;
                let step = match active.sequence.downcast_mut::<Box<dyn Sequence<W>>>() {
                    None => Step::Failed(Error::failed("a sequence of commands for another world")),
                    Some(sequence) if self.cancelled => Step::Failed(sequence.cancel()),
                    Some(sequence) => {
                        let pieces = std::mem::take(&mut active.pieces);
                        let ended = active.error.take().map_or(Ok(pieces), Err);
                        let last = std::mem::replace(&mut active.started, true).then_some(ended);
                        sequence.next(tree, world, last)
                    }
                };
                match step {
                    Step::Run(line, json) => {
                        self.most = None;
                        let outcome = tree.execute(world, &line)?;
                        let json = outcome.json || json;
                        self.answer(outcome.output, json, out)
                    }
                    Step::Sample(line, json, most) => {
                        let outcome = tree.execute(world, &line)?;
                        let json = outcome.json || json;
                        self.most = Some((most, line));
                        self.answer(outcome.output, json, out)
                    }
                    Step::Ran(outcome) => {
                        let Outcome { output, json } = outcome?;
                        self.answer(output, json, out)
                    }
                    Step::More(text) => {
                        // Goes to the operator, not to the sequence itself; inside another sequence
                        // it is dropped.
                        let alone =
                            self.frames.iter().filter(|f| matches!(f, Frame::Sequence(_))).count()
                                == 1;
                        if alone && !json && !text.is_empty() {
                            self.show(OutputPiece::Chunk(text), out);
                        }
                        Ok(())
                    }
                    Step::Done(output) => {
                        self.most = None;
                        self.frames.pop();
                        self.answer(output, json, out)
                    }
                    Step::Failed(error) => {
                        self.frames.pop();
                        Err(self.placed(error))
                    }
                }
            }
        }
    }

    /// Adds to an error its place in the script that started the failed command.
    fn placed(&self, error: Error) -> Error {
        let Some(Frame::Script(script)) = self.frames.last() else { return error };
        let message = format!("{}: {}", script.position(), script.reason(&error));
        Error::new(error.kind(), message).retval(error.reason())
    }

    /// Gives output to the sequence that ran the command, or else to the operator.
    fn emit(&mut self, piece: OutputPiece, out: &mut Vec<OutputPiece>) {
        let sequence = self.frames.iter_mut().rev().find_map(|f| match f {
            Frame::Sequence(active) => Some(&mut active.pieces),
            Frame::Script(_) => None,
        });
        match sequence {
            Some(pieces) => pieces.push(piece),
            None => self.show(piece, out),
        }
    }

    /// Gives output to the operator.
    fn show(&mut self, piece: OutputPiece, out: &mut Vec<OutputPiece>) {
        match &mut self.filter {
            Some(filter) => out.extend(filter.piece(piece)),
            None => out.push(piece),
        }
    }

    fn outcome(&mut self, outcome: Outcome, out: &mut Vec<OutputPiece>) -> Result<()> {
        let json = outcome.json || self.json;
        if json && self.filter.is_some() {
            return Err(Error::usage("`|' selects lines of text, and this answer is JSON"));
        }
        let output = match json {
            true => notes::into_json(outcome.output, &self.notes.now),
            false => outcome.output,
        };
        self.notes.collect(None);
        self.answer(output, json, out)
    }

    fn answer(&mut self, output: Output, json: bool, out: &mut Vec<OutputPiece>) -> Result<()> {
        match output {
            Output::List(list) => self.list = Some(Listing::new(list, json, self.most.take())),
            Output::Task(task) => {
                self.task = Some(Running { task, json, chunks: String::new(), begun: false })
            }
            Output::Script(name, text, discreet) => {
                self.check_depth(&name)?;
                let script = Script::new(name, text);
                self.frames.push(Frame::Script(if discreet { script.discreet() } else { script }));
            }
            Output::Sequence(sequence) => {
                self.check_depth("a sequence of commands")?;
                let active = ActiveSequence {
                    sequence,
                    json,
                    started: false,
                    pieces: Vec::new(),
                    error: None,
                };
                self.frames.push(Frame::Sequence(active));
            }
            output => {
                let text = if json { pretty(&output.to_json()) } else { output.to_text() };
                if !text.is_empty() {
                    self.emit(OutputPiece::Answer(text), out);
                }
            }
        }
        Ok(())
    }

    fn check_depth(&self, name: &str) -> Result<()> {
        if self.frames.len() == MAX_DEPTH {
            return Err(Error::limit(format!(
                "{name}: scripts within scripts go no deeper than {MAX_DEPTH}"
            )));
        }
        Ok(())
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use crate::tests::{Toy, tree};

    /// Runs a line to its end; ^C at turn `cancel`.
    fn run(line: &str, json: bool, cancel: usize) -> (Result<()>, String, usize) {
        let (tree, world, mut out) = (tree(), Toy::new(), Vec::new());
        let mut runner = Runner::default();
        runner.line(&tree, &world, line, json, &mut out);
        for turn in 0..10_000 {
            assert!(runner.is_busy());
            if turn == cancel {
                runner.cancel();
            }
            if let Some(result) = runner.poll(&tree, &world, Duration::ZERO, &mut out) {
                assert!(!runner.is_busy());
                let text = out.into_iter().map(|s| match s {
                    OutputPiece::Answer(t) | OutputPiece::Chunk(t) => t,
                });
                return (result, text.collect(), turn);
            }
        }
        panic!("no end");
    }

    const NEVER: usize = usize::MAX;

    #[suite::test]
    fn lines_of_an_answer_are_selected() {
        assert_eq!(run("count 12 | include 1", false, NEVER).1, "12\n11\n10\n1\n");
        assert_eq!(run("count 12 | count 1", false, NEVER).1, "4\n");
        assert_eq!(run("show version | exclude toy", false, NEVER).1, "");
        assert_eq!(
            run("exec 'show version;count 2' | begin 1", false, NEVER).1,
            "toy 1\n2\n1\nlift-off\n"
        );
        for (line, json) in
            [("show version | include toy", true), ("show version -j | count", false)]
        {
            let error = run(line, json, NEVER).0.expect_err(line);
            assert!(error.message().contains("this answer is JSON"), "{error}");
        }
        assert!(run("fail -3 | count", false, NEVER).0.is_err());
    }

    #[suite::test]
    fn commands_tasks_scripts() {
        assert_eq!(run("show version", false, NEVER), (Ok(()), "toy 1\n".into(), 0));
        assert_eq!(run("", false, NEVER), (Ok(()), "".into(), 0));
        assert_eq!(run("count 2", false, NEVER), (Ok(()), "2\n1\nlift-off\n".into(), 2));
        assert_eq!(run("count 2 -j", false, NEVER).1, "{\n  \"left\": 0\n}\n");
        assert_eq!(run("count 9", false, 3).1, "9\n8\n7\ncancelled\n");
        let (r, pieces, _) = run("exec 'count 1;show version;count 1'", false, NEVER);
        assert_eq!((r, pieces.as_str()), (Ok(()), "1\nlift-off\ntoy 1\n1\nlift-off\n"));
        assert_eq!(
            run("exec 'show version;show version'", true, NEVER)
                .1
                .matches("\"text\": \"toy 1\"")
                .count(),
            2
        );
    }

    #[suite::test]
    fn errors_end_everything() {
        let (r, pieces, _) = run("exec 'echo a;fail -3;echo b'", false, NEVER);
        let e = r.unwrap_err();
        assert_eq!((e.message(), e.code(), pieces.as_str()), ("text:2:1: it failed", -3, "a\n"));
        let (r, pieces, _) = run("exec 'echo a;foo'", false, NEVER);
        assert_eq!(
            (r.unwrap_err().message(), pieces.as_str()),
            ("text:2:1: unknown input `foo'\ntext: 1 error, nothing was run", "")
        );
        assert_eq!(
            run("exec 'echo a;echo b;echo c'", false, 2).0.unwrap_err().message(),
            "text:1: cancelled after this line"
        );
        assert_eq!(run("fail", false, NEVER).0.unwrap_err().message(), "it failed");
    }

    /// Runs `count 1`, a failing script, `count 0` as JSON and a line that is no command; answers
    /// with their results.
    struct Three(usize, String);

    impl Sequence<Toy> for Three {
        fn next(&mut self, _: &Tree<Toy>, _: &Toy, last: Option<Result<Vec<OutputPiece>>>) -> Step {
            self.1 += &format!("{last:?} ");
            self.0 += 1;
            match self.0 {
                1 => Step::Run("count 1".into(), false),
                2 => Step::Run("exec 'echo a;fail -3'".into(), false),
                3 => Step::Run("count 0".into(), true),
                4 => Step::Run("no command".into(), false),
                _ => Step::Done(Output::text(self.1.clone())),
            }
        }
    }

    #[suite::test]
    fn a_sequence_hears_what_its_lines_say_and_how_they_end() {
        static OURS: &[crate::Command<Toy>] = &[
            crate::Command {
                path: "three",
                usage: "",
                help: "",
                run: |_, _| Ok(Output::sequence(Three(0, String::new()))),
            },
            crate::Command {
                path: "wrong",
                usage: "",
                help: "",
                run: |_, _| Ok(Output::Sequence(Box::new(1))),
            },
        ];
        let mut tree = tree();
        tree.add(OURS).unwrap();
        let run = |line: &str, cancel: usize| {
            let (world, mut out, mut runner) = (Toy::new(), Vec::new(), Runner::default());
            runner.line(&tree, &world, line, false, &mut out);
            for turn in 0..1000 {
                if turn == cancel {
                    runner.cancel();
                }
                if let Some(result) = runner.poll(&tree, &world, Duration::ZERO, &mut out) {
                    return (result.map_err(|e| e.message().to_string()), out);
                }
            }
            panic!("no end");
        };
        let (result, out) = run("three", NEVER);
        assert_eq!(result, Ok(()));
        let [OutputPiece::Answer(heard)] = &out[..] else { panic!("{out:?}") };
        for part in [
            "None Some(Ok([Chunk(\"1\\n\"), Answer(\"lift-off\\n\")]))",
            "text:2:1: it failed",
            "Some(Ok([Answer(\"{\\n  \\\"left\\\": 0\\n}\\n\")]))",
            "unknown input `no'",
        ] {
            assert!(heard.contains(part), "{part}: {heard}");
        }
        assert_eq!(run("three", 2), (Err("cancelled".into()), vec![]));
        assert_eq!(run("wrong", NEVER).0, Err("a sequence of commands for another world".into()));
        let (result, out) = run("exec 'three;echo b'", NEVER);
        assert_eq!((result, out.len()), (Ok(()), 2));
    }

    #[suite::test]
    fn scripts_that_call_themselves_end() {
        static LOOP: &[crate::Command<()>] = &[crate::Command {
            path: "again",
            usage: "",
            help: "",
            run: |_, _| Ok(Output::script("again", "again")),
        }];
        let tree = Tree::new(LOOP).unwrap();
        let mut runner = Runner::default();
        runner.line(&tree, &(), "again", false, &mut vec![]);
        let e = (0..1000)
            .find_map(|_| runner.poll(&tree, &(), Duration::ZERO, &mut vec![]))
            .unwrap()
            .unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::Limit);
    }
}
