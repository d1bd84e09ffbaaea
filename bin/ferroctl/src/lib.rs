// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]
//! `ferroctl`: one command, a script from standard input, or a conversation with the daemon.

mod apply;
mod args;
mod client;
mod doctor;
mod interactive;
mod keyboard;
mod screen;

use args::{Action, Args};
use cli::frames::{Reply, Request};
use client::Client;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

/// The command or script failed.
const FAILED: u8 = 1;
/// The arguments of `ferroctl` itself are wrong.
const USAGE: u8 = 2;
/// There is no daemon, or it went away.
const NO_DAEMON: u8 = 3;
/// Longest time that a shell waits at Tab.
const COMPLETION_TIME: Duration = Duration::from_secs(1);

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let args = match Args::parse(std::env::args_os().skip(1)) {
        Ok(Action::Run(args)) => args,
        Ok(Action::Say(text)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Ok(Action::Apply(args, words)) => {
            return match apply::run(&args, words) {
                Ok(status) => status.into(),
                Err(e) => {
                    eprintln!("ferroctl: {e}");
                    NO_DAEMON.into()
                }
            };
        }
        Ok(Action::Doctor(args, words)) => return doctor::run(&args, &words).into(),
        Ok(Action::Complete { socket, line }) => {
            // Without a daemon there is nothing to offer, and a message would stand in the line
            // that is typed. The shell waits meanwhile, and ^C doesn't end that: a
            // daemon that is stopped or busy has nothing to offer either.
            let (found, completed) = mpsc::channel();
            std::thread::spawn(move || found.send(complete(&socket, &line)));
            if let Ok(Ok(text)) = completed.recv_timeout(COMPLETION_TIME) {
                let _ = std::io::stdout().write_all(text.as_bytes());
            }
            return ExitCode::SUCCESS;
        }
        Err(e) => {
            eprintln!("ferroctl: {e}\n{}", args::USAGE);
            return USAGE.into();
        }
    };
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => FAILED.into(),
        Err(e) => {
            eprintln!("ferroctl: {e}");
            NO_DAEMON.into()
        }
    }
}

/// Lists completions for the last word of `line`, one on each line.
fn complete(socket: &Path, line: &str) -> Result<String, String> {
    let request = Request::Complete(line.into(), line.len());
    let mut found = (line.len(), Vec::new());
    Client::connect(socket)?.request(&request, &mut |reply| {
        if let Reply::Words(start, words) = reply {
            found = (start, words);
        }
        true
    })?;
    let (start, words) = found;
    // A shell replaces its whole word.
    let word = line.rfind(' ').map_or(0, |blank| blank + 1);
    let before = line.get(word..start).unwrap_or("");
    Ok(words.iter().map(|w| format!("{before}{w}\n")).collect())
}

/// Runs the command, the script or the conversation. Returns true if all went well.
fn run(args: &Args) -> Result<bool, String> {
    if args.command.is_empty() && std::io::stdin().is_terminal() {
        return interactive::run(args);
    }
    let request = if args.command.is_empty() {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(|e| format!("standard input: {e}"))?;
        Request::Script("stdin".into(), text, args.json)
    } else {
        Request::Run(args.command.clone(), args.json)
    };
    let mut client = Client::connect(&args.socket)?;
    let mut piped = Ok(());
    let status = client.request(&request, &mut |reply| {
        match reply {
            Reply::Out(text) | Reply::More(text) => {
                if piped.is_ok() {
                    let mut out = std::io::stdout().lock();
                    piped = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                }
                return piped.is_ok();
            }
            Reply::Error(text) | Reply::Note(text) => eprint!("{text}"),
            _ => {}
        }
        true
    })?;
    match piped {
        // The reader has closed its end of the pipe: no error of ours.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(status == 0),
        Err(e) => Err(format!("standard output: {e}")),
        Ok(()) => Ok(status == 0),
    }
}
