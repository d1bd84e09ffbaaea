// SPDX-License-Identifier: Apache-2.0
//! Runs what a session asked for, a little at each turn of the control loop: a command, its task, its scripts.

use crate::output::pretty;
use crate::script::{Script, Turn};
use crate::{Error, Outcome, Output, Result, Task, TaskState, Tree};
use std::time::Duration;

/// `exec` within `exec` goes no deeper.
const MAX_DEPTH: usize = 16;

/// One piece of an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// A whole answer; a pager may hold it back.
    Answer(String),
    /// What a task has to say so far, to be shown at once.
    Chunk(String),
}

/// How often a task is polled that does not say when.
const TASK_PERIOD: Duration = Duration::from_millis(10);

struct Running {
    task: Box<dyn Task>,
    json: bool,
    /// Text of a task that is to be given as JSON.
    chunks: String,
}

/// At most one command at a time, with what it started. Also the way to run a script at start:
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
/// assert_eq!((result, out), (Ok(()), vec![cli::Said::Answer("Time now 1\n".into())]));
/// ```
#[derive(Default)]
pub struct Runner {
    scripts: Vec<Script>,
    task: Option<Running>,
    json: bool,
    /// The end of a command that needed no further turn.
    ended: Option<Result<()>>,
    cancelled: bool,
}

impl Runner {
    /// Whether something is under way; nothing else may be started meanwhile.
    pub fn is_busy(&self) -> bool {
        self.task.is_some() || !self.scripts.is_empty() || self.ended.is_some()
    }

    /// Starts a command; [`Runner::poll`] brings its end. With `json` its answer is JSON whether or not the line says so.
    pub fn line<W>(&mut self, tree: &Tree<W>, world: &W, line: &str, json: bool, out: &mut Vec<Said>) {
        (self.json, self.cancelled) = (json, false);
        let started = tree.execute(world, line).and_then(|o| self.answer(o, out));
        self.ended = (started.is_err() || !self.is_busy()).then_some(started);
    }

    /// Starts a script.
    pub fn script(&mut self, name: impl Into<String>, text: impl Into<String>, json: bool) {
        (self.json, self.cancelled) = (json, false);
        self.scripts.push(Script::new(name, text));
    }

    /// ^C: a task is told, a script stops after the command it is at.
    pub fn cancel(&mut self) {
        if let Some(t) = &mut self.task {
            t.task.cancel();
        }
        self.cancelled = true;
    }

    /// When the next poll is useful: `None` while nothing is under way.
    pub fn wake_at(&self, now: Duration) -> Option<Duration> {
        match &self.task {
            Some(t) => Some(t.task.wake_at().unwrap_or(now + TASK_PERIOD)),
            None => self.is_busy().then_some(now),
        }
    }

    /// Goes on for one turn; what was said is added to `out`. Gives the result once all is done.
    pub fn poll<W>(
        &mut self,
        tree: &Tree<W>,
        world: &W,
        now: Duration,
        out: &mut Vec<Said>,
    ) -> Option<Result<()>> {
        let result = match self.ended.take() {
            Some(result) => result,
            None => match self.turn(tree, world, now, out) {
                Ok(()) if self.is_busy() => return None,
                result => result,
            },
        };
        let place = self.scripts.last().filter(|_| self.task.is_some()).map(Script::place);
        self.task = None;
        self.scripts.clear();
        Some(result.map_err(|e| match place {
            Some(place) => Error::new(e.kind(), format!("{place}: {}", e.brief())).retval(e.code()),
            None => e,
        }))
    }

    fn turn<W>(&mut self, tree: &Tree<W>, world: &W, now: Duration, out: &mut Vec<Said>) -> Result<()> {
        if let Some(running) = &mut self.task {
            match running.task.poll(now) {
                TaskState::Pending => {}
                TaskState::Chunk(text) if running.json => running.chunks += &text,
                TaskState::Chunk(text) => out.push(Said::Chunk(text)),
                TaskState::Failed(e) => return Err(e),
                TaskState::Done(output) => {
                    let Running { json, chunks, .. } = self.task.take().expect("it was just polled");
                    let output = match output {
                        Output::Empty if !chunks.is_empty() => Output::Text(chunks),
                        other => other,
                    };
                    self.answer(Outcome { output, json }, out)?;
                }
            }
            return Ok(());
        }
        let Some(script) = self.scripts.last_mut() else { return Ok(()) };
        if self.cancelled {
            return Err(Error::failed(format!("{}: cancelled after this line", script.place())));
        }
        match script.turn(tree, world)? {
            Turn::More => {}
            Turn::Answer(outcome) => self.answer(outcome, out)?,
            Turn::Done => drop(self.scripts.pop()),
        }
        Ok(())
    }

    fn answer(&mut self, outcome: Outcome, out: &mut Vec<Said>) -> Result<()> {
        let json = outcome.json || self.json;
        match outcome.output {
            Output::Task(task) => self.task = Some(Running { task, json, chunks: String::new() }),
            Output::Script(name, text) => {
                if self.scripts.len() == MAX_DEPTH {
                    return Err(Error::limit(format!(
                        "{name}: scripts within scripts go no deeper than {MAX_DEPTH}"
                    )));
                }
                self.scripts.push(Script::new(name, text));
            }
            output => {
                let text = if json { pretty(&output.to_json()) } else { output.to_text() };
                if !text.is_empty() {
                    out.push(Said::Answer(text));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
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
                    Said::Answer(t) | Said::Chunk(t) => t,
                });
                return (result, text.collect(), turn);
            }
        }
        panic!("no end");
    }

    const NEVER: usize = usize::MAX;

    #[test]
    fn commands_tasks_scripts() {
        assert_eq!(run("show version", false, NEVER), (Ok(()), "toy 1\n".into(), 0));
        assert_eq!(run("", false, NEVER), (Ok(()), "".into(), 0));
        assert_eq!(run("count 2", false, NEVER), (Ok(()), "2\n1\nlift-off\n".into(), 2));
        assert_eq!(run("count 2 -j", false, NEVER).1, "{\n  \"left\": 0\n}\n");
        assert_eq!(run("count 9", false, 3).1, "9\n8\n7\ncancelled\n");
        let (r, said, _) = run("exec 'count 1;show version;count 1'", false, NEVER);
        assert_eq!((r, said.as_str()), (Ok(()), "1\nlift-off\ntoy 1\n1\nlift-off\n"));
        assert_eq!(
            run("exec 'show version;show version'", true, NEVER).1.matches("\"text\": \"toy 1\"").count(),
            2
        );
    }

    #[test]
    fn errors_end_everything() {
        let (r, said, _) = run("exec 'echo a;fail -3;echo b'", false, NEVER);
        let e = r.unwrap_err();
        assert_eq!((e.message(), e.code(), said.as_str()), ("text:2:1: it failed", -3, "a\n"));
        let (r, said, _) = run("exec 'echo a;foo'", false, NEVER);
        assert_eq!(
            (r.unwrap_err().message(), said.as_str()),
            ("text:2:1: unknown input `foo'\ntext: 1 error, nothing was run", "")
        );
        assert_eq!(
            run("exec 'echo a;echo b;echo c'", false, 2).0.unwrap_err().message(),
            "text:1: cancelled after this line"
        );
        assert_eq!(run("fail", false, NEVER).0.unwrap_err().message(), "it failed");
    }

    #[test]
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
