// SPDX-License-Identifier: Apache-2.0
//! The conversation: editing and history here, Tab and `?` answered by the daemon.

use crate::args::Args;
use crate::client::Client;
use crate::keyboard::{Keyboard, Pasted};
use crate::screen::Screen;
use cli::frames::{Reply, Request};
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, History as _};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, Helper, KeyEvent, Modifiers, RepeatCount,
};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PROMPT: &str = "ferrovia# ";
const HISTORY: usize = 1000;
/// Longest time that Tab waits for the daemon.
const TAB_TIME: Duration = Duration::from_secs(1);

/// Line and cursor at which `?` was pressed.
type HelpRequest = Arc<Mutex<Option<(String, usize)>>>;

/// Runs the conversation until the operator leaves. The error is a sentence: no daemon, or the
/// terminal fails.
pub fn run(args: &Args) -> Result<bool, String> {
    let client = Rc::new(RefCell::new(Client::connect(&args.socket)?));
    let question = HelpRequest::default();
    let keyboard = Keyboard::default();
    let mut editor = editor(&client, &question, &keyboard)?;
    let history = history_file();
    if let Some(file) = &history {
        // The first time there is none.
        let _ = editor.load_history(file);
    }
    println!("Connected to {}. `?' helps, Tab completes, ^D leaves.", args.socket.display());
    let _mode = keyboard.between_lines();
    let (mut pager, mut again) = (true, (String::new(), String::new()));
    loop {
        let read = editor.readline_with_initial(PROMPT, (&again.0, &again.1));
        again = Default::default();
        let line = match read {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                keyboard.forget_paste();
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(true),
            Err(e) => return Err(e.to_string()),
        };
        let asked = question.lock().ok().and_then(|mut q| q.take());
        if let Some((line, cursor)) = asked {
            let rows = rows(pager, &keyboard, &mut editor);
            answer(&client, &Request::Help(line.clone(), cursor), rows);
            let (left, right) = line.split_at(line.floor_char_boundary(cursor));
            again = (left.into(), right.into());
            continue;
        }
        match line.trim() {
            "" => continue,
            "quit" | "exit" | "q" => return Ok(true),
            _ => {}
        }
        let _ = editor.add_history_entry(line.as_str());
        if let Some(file) = &history {
            // A history that can't be kept is no reason to stop.
            let _ = editor.append_history(file);
        }
        if line.trim() == "history" {
            editor.history().iter().enumerate().for_each(|(i, l)| println!("{:5}  {l}", i + 1));
            continue;
        }
        match own(line.trim()) {
            Some(LocalCommand::Pager(on)) => {
                pager = on;
                continue;
            }
            Some(LocalCommand::Show) => {
                let (columns, rows) = editor.dimensions().unwrap_or_default();
                let (paged, lines) = (if pager { "on" } else { "off" }, editor.history().len());
                println!(
                    "Terminal: {columns} columns, {rows} rows\nPager: {paged}\nHistory: {lines} of {HISTORY} lines"
                );
                continue;
            }
            Some(LocalCommand::Unknown) => {
                println!("`set terminal pager on|off' is the only setting of this terminal");
                continue;
            }
            None => {}
        }
        let rows = rows(pager, &keyboard, &mut editor);
        if answer(&client, &Request::Run(line, args.json), rows) {
            // Ctrl-C also discards type-ahead: the editor is replaced, and only its history is
            // kept.
            keyboard.forget_paste();
            let fresh = self::editor(&client, &question, &keyboard)?;
            let mut stopped = std::mem::replace(&mut editor, fresh);
            std::mem::swap(editor.history_mut(), stopped.history_mut());
        }
    }
}

/// Rows of the terminal, from which on an answer is paged. 0 for no pager: it would take the
/// typed-ahead lines for keys.
fn rows(pager: bool, keyboard: &Keyboard, editor: &mut Editor<Assistant, FileHistory>) -> usize {
    if !pager || keyboard.is_ahead() {
        return 0;
    }
    editor.dimensions().map_or(0, |(_, rows)| rows.into())
}

/// A command about this terminal, handled here and not by the daemon.
#[derive(Debug, PartialEq, Eq)]
enum LocalCommand {
    Pager(bool),
    Show,
    /// A setting that VPP's terminals have and this one hasn't.
    Unknown,
}

/// The command that a line is, its words abbreviated or not.
fn own(line: &str) -> Option<LocalCommand> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is = |n: usize, word: &str, least: usize| {
        words.get(n).is_some_and(|w| w.len() >= least && word.starts_with(w))
    };
    match words.len() {
        2 if is(0, "show", 2) && is(1, "terminal", 3) => Some(LocalCommand::Show),
        4 if is(0, "set", 3) && is(1, "terminal", 3) && is(2, "pager", 1) => match words[3] {
            "on" => Some(LocalCommand::Pager(true)),
            "off" => Some(LocalCommand::Pager(false)),
            _ => Some(LocalCommand::Unknown),
        },
        3.. if is(0, "set", 3) && is(1, "terminal", 3) => Some(LocalCommand::Unknown),
        _ => None,
    }
}

/// An editor with nothing typed ahead and no history.
fn editor(
    client: &Rc<RefCell<Client>>,
    question: &HelpRequest,
    keyboard: &Keyboard,
) -> Result<Editor<Assistant, FileHistory>, String> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .auto_add_history(false)
        .max_history_size(HISTORY)
        .map_err(|e| e.to_string())?
        .build();
    let mut editor: Editor<Assistant, FileHistory> =
        Editor::with_config(config).map_err(|e| e.to_string())?;
    editor.set_helper(Some(Assistant { client: client.clone(), question: question.clone() }));
    let ask = HelpKey { question: question.clone(), pasted: keyboard.pasted() };
    let asks = Event::from(KeyEvent::new('?', Modifiers::NONE));
    editor.bind_sequence(asks, EventHandler::Conditional(Box::new(ask)));
    for (keys, handler) in keyboard.bindings() {
        editor.bind_sequence(keys, handler);
    }
    Ok(editor)
}

/// Sends a request and shows its replies; reconnects if the daemon was restarted. Returns true if
/// ^C was pressed meanwhile.
fn answer(client: &RefCell<Client>, request: &Request, rows: usize) -> bool {
    let mut client = client.borrow_mut();
    let mut screen = Screen::new(rows, client.interrupted());
    let mut errors = String::new();
    let asked = client.request(request, &mut |reply| {
        match reply {
            Reply::Out(text) => return screen.show(&text),
            Reply::More(text) => screen.progress(&text),
            Reply::Error(text) | Reply::Note(text) => errors += &text,
            Reply::Words(..) | Reply::End(_) => {}
        }
        true
    });
    screen.end(client.is_cancelled());
    // Behind the output, and not into the pager's screen.
    eprint!("{errors}");
    let interrupted = client.take_interrupt();
    if let Err(e) = asked {
        match client.reconnect() {
            Ok(()) => eprintln!("{e}; connected again, please repeat the command"),
            Err(again) => eprintln!("{e}; {again}"),
        }
    }
    interrupted
}

/// Returns the path `$XDG_STATE_HOME/ferrovia/history`; makes its directory.
fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".local/state"));
    let dir = state.or_else(home)?.join("ferrovia");
    std::fs::create_dir_all(&dir).ok()?;
    Some(dir.join("history"))
}

/// Completes by asking the daemon.
struct Assistant {
    client: Rc<RefCell<Client>>,
    question: HelpRequest,
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let mut found = (pos, Vec::new());
        // ^C is a key like others here, and wouldn't end it.
        let request = Request::Complete(line.to_string(), pos);
        let asked =
            self.client.borrow_mut().request_within(Some(TAB_TIME), &request, &mut |reply| {
                if let Reply::Words(start, words) = reply {
                    found = (start, words);
                }
                true
            });
        let (start, words) = found;
        if asked.is_err() || !line.is_char_boundary(start) {
            return Ok((pos, Vec::new()));
        }
        // The only one is taken whole, with the blank behind it.
        let end = if words.len() == 1 { " " } else { "" };
        let pair = |w: String| Pair { replacement: w.clone() + end, display: w };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Validator for Assistant {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let asking = self.question.lock().is_ok_and(|q| q.is_some());
        Ok(if !asking && cli::is_open(ctx.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {}
impl Helper for Assistant {}

/// `?` outside quotes asks for help about what stands before the cursor, unless it is pasted.
struct HelpKey {
    question: HelpRequest,
    pasted: Pasted,
}

impl ConditionalEventHandler for HelpKey {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, ctx: &EventContext<'_>) -> Option<Cmd> {
        let (line, cursor) = (ctx.line(), ctx.pos());
        if self.pasted.now() || line[..cursor].matches('"').count() % 2 == 1 {
            return None;
        }
        *self.question.lock().ok()? = Some((line.to_string(), cursor));
        Some(Cmd::AcceptLine)
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn commands_about_the_terminal_stay_here() {
        assert_eq!(own("set terminal pager off"), Some(LocalCommand::Pager(false)));
        assert_eq!(own("set  term pag on"), Some(LocalCommand::Pager(true)));
        assert_eq!(own("sh term"), Some(LocalCommand::Show));
        for unknown in ["set terminal pager", "set terminal history off", "set term pager maybe"] {
            assert_eq!(own(unknown), Some(LocalCommand::Unknown), "{unknown}");
        }
        for other in ["show te", "show terminal x", "set interface terminal 3"] {
            assert_eq!(own(other), None, "{other}");
        }
    }
}
