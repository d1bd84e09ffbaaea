// SPDX-License-Identifier: Apache-2.0
//! Notes beside an answer: a command did what it was told, and that may be a mistake.

use crate::kind::{Kind, Value};
use crate::program::{Op, Program};
use crate::{Matches, Output};
use std::cell::RefCell;
use std::net::IpAddr;
use wire::{Ip4Prefix, Ip6Prefix};

/// Notes of one request that are shown.
const SHOWN: usize = 100;

/// Notes of the commands of a request, for an operator who reads them. They are no errors, and no
/// part of the answer.
#[derive(Debug, Default)]
pub struct Notes {
    kept: RefCell<Vec<String>>,
}

impl Notes {
    /// Adds a note.
    pub fn add(&self, note: String) {
        let mut kept = self.kept.borrow_mut();
        if !kept.contains(&note) {
            kept.push(note);
        }
    }

    /// Takes the notes.
    pub fn take(&self) -> Vec<String> {
        self.kept.take()
    }
}

/// The notes of a runner's request, between the commands and the operator.
#[derive(Debug, Default)]
pub(crate) struct NoteBook {
    /// False if nobody reads notes: commands don't look for them then.
    pub is_open: bool,
    /// Notes of the command that runs.
    pub now: Notes,
    shown: usize,
    ready: Vec<String>,
}

impl NoteBook {
    /// Begins a request.
    pub fn begin(&mut self) {
        self.now.take();
        self.ready.clear();
        self.shown = 0;
    }

    /// Where the commands put their notes.
    pub fn sink(&self) -> Option<&Notes> {
        self.is_open.then_some(&self.now)
    }

    /// Takes the notes of the command that was run, which stands at `position` of a script.
    pub fn collect(&mut self, position: Option<String>) {
        for note in self.now.take() {
            self.shown += 1;
            let place = position.as_ref().map_or(String::new(), |position| format!("{position}: "));
            if self.shown <= SHOWN {
                self.ready.push(format!("{place}note: {note}\n"));
            } else if self.shown == SHOWN + 1 {
                self.ready.push(format!("{place}note: further notes are left out\n"));
            }
        }
    }

    /// Takes the lines for the operator.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ready)
    }
}

/// Puts notes into an answer in JSON, if it is an object that is known as a whole.
pub(crate) fn into_json(output: Output, notes: &Notes) -> Output {
    let whole = matches!(output, Output::Empty | Output::Text(_) | Output::Both(..));
    if !whole || notes.kept.borrow().is_empty() {
        return output;
    }
    match output.to_json() {
        serde_json::Value::Object(mut object) => {
            object.insert("notes".into(), notes.take().into());
            Output::Both(output.to_text(), object.into())
        }
        _ => output,
    }
}

/// Notes on prefixes that stand for a network, and have bits behind their length.
pub(crate) fn networks(program: &Program, matches: &Matches<'_>) {
    for op in &program.ops {
        let Op::Arg(name, Kind::Prefix | Kind::Prefix4 | Kind::Prefix6) = op else { continue };
        for (arg, _) in matches.args(name) {
            let Value::Prefix(address, len) = arg.value else { continue };
            matches.note(|| {
                let network = network(address, len)?;
                Some(format!("{} has bits behind its length: it stands for {network}", arg.text))
            });
        }
    }
}

/// The network around an address, if the address isn't its first one.
fn network(address: IpAddr, len: u8) -> Option<String> {
    match address {
        IpAddr::V4(address) => Ip4Prefix::new(address, len)
            .filter(Ip4Prefix::has_host_bits)
            .map(|prefix| prefix.network().to_string()),
        IpAddr::V6(address) => Ip6Prefix::new(address, len)
            .filter(Ip6Prefix::has_host_bits)
            .map(|prefix| prefix.network().to_string()),
    }
}

#[cfg(feature = "tests")]
mod tests {
    use crate::frames::{Reply, Request, TERMINAL};
    use crate::session::{Config, SessionKind, terminal_type};
    use crate::{Command, Console, Error, Live, Output, Runner, Tree};
    use std::time::Duration;

    struct World;

    impl Live for World {
        fn candidates(&self, _: &str, _: &str) -> Vec<String> {
            Vec::new()
        }
    }

    static CLI: &[Command<World>] = &[
        Command {
            path: "route",
            usage: "<to:prefix> [odd] [wrong]",
            help: "",
            run: |_, m| {
                m.note(|| m.flag("odd").then(|| "odd".into()));
                if m.flag("wrong") { Err(Error::failed("wrong")) } else { Ok(Output::empty()) }
            },
        },
        Command {
            path: "address",
            usage: "<at:ifaddr>",
            help: "",
            run: |_, _| Ok(Output::text("made")),
        },
        Command {
            path: "show route",
            usage: "<to:prefix>",
            help: "",
            run: |_, _| Ok(Output::empty()),
        },
        Command {
            path: "script",
            usage: "<lines:string>",
            help: "",
            run: |_, m| Ok(Output::script("script", m.str("lines").replace(';', "\n"))),
        },
    ];

    fn tree() -> Tree<World> {
        Tree::new(CLI).unwrap()
    }

    #[suite::test]
    fn what_may_be_a_mistake_is_noted() {
        let notes = |line: &str| tree().notes(&World, line).unwrap();
        assert_eq!(notes("route 10.0.0.0/8"), [""; 0]);
        assert_eq!(notes("route 10.0.0.0/8 odd"), ["note: odd\n"]);
        assert_eq!(
            notes("route 10.0.0.1/8 odd"),
            [
                "note: odd\n",
                "note: 10.0.0.1/8 has bits behind its length: it stands for 10.0.0.0/8\n"
            ]
        );
        assert_eq!(notes("address 10.0.0.1/8"), [""; 0]);
        assert_eq!(notes("show route 10.0.0.1/8"), [""; 0]);
        // Lines of a script have their place, and one that fails ends it with its error alone.
        assert_eq!(
            notes("script 'route 10.0.0.0/8 odd;route 10.0.0.0/8;route 10.0.0.0/8 odd'"),
            ["script:1: note: odd\n", "script:3: note: odd\n"]
        );
        assert!(tree().notes(&World, "route 10.0.0.1/8 wrong").is_err());
        let many = format!("script '{}'", "route 10.0.0.0/8 odd;".repeat(200));
        let many = notes(&many);
        assert_eq!(many.len(), super::SHOWN + 1);
        assert!(many[super::SHOWN].ends_with("further notes are left out\n"), "{many:?}");
    }

    #[suite::test]
    fn programs_find_notes_in_an_object() {
        let json = |noting: bool, line: &str| {
            let (mut runner, mut out) = (Runner::default(), Vec::new());
            runner.set_noting(noting);
            runner.line(&tree(), &World, line, true, &mut out);
            runner.poll(&tree(), &World, Duration::ZERO, &mut out).unwrap().unwrap();
            let [crate::OutputPiece::Answer(text)] = &out[..] else { panic!("{out:?}") };
            (serde_json::from_str::<serde_json::Value>(text).unwrap(), runner.take_notes())
        };
        let (answer, rest) = json(true, "route 10.0.0.0/8 odd");
        assert_eq!((answer.to_string(), rest), (r#"{"notes":["odd"]}"#.into(), vec![]));
        assert_eq!(json(false, "route 10.0.0.0/8 odd").0.to_string(), "{}");
        assert_eq!(json(true, "address 10.0.0.1/8").0.to_string(), r#"{"text":"made"}"#);
    }

    /// The bytes that a client gets for a line.
    fn session(terminal: &str, config: &Config, line: &[u8]) -> Vec<u8> {
        let mut console = Console::new(SessionKind::Socket, config);
        console.input(&terminal_type(terminal));
        console.poll(&tree(), &World, Duration::ZERO);
        console.sent(console.output().len());
        console.input(line);
        for _ in 0..10 {
            console.poll(&tree(), &World, Duration::ZERO);
        }
        console.output().to_vec()
    }

    #[suite::test]
    fn notes_reach_operators_and_leave_answers_alone() {
        let run = Request::Run("route 10.0.0.0/8 odd".into(), false).encode();
        let framed = |config: &Config| {
            let mut bytes = session(TERMINAL, config, &run);
            std::iter::from_fn(|| Reply::decode(&mut bytes).unwrap()).collect::<Vec<_>>()
        };
        let config = Config::default();
        assert_eq!(framed(&config), [Reply::Note("note: odd\n".into()), Reply::End(0)]);
        assert_eq!(framed(&Config { notes: false, ..config.clone() }), [Reply::End(0)]);
        // A program that reads what VPP answers gets nothing else.
        assert_eq!(session("vppctl", &config, b"route 10.0.0.0/8 odd\n\0"), b"\0");
        let person = session("xterm", &config, b"route 10.0.0.0/8 odd\r");
        assert!(String::from_utf8_lossy(&person).contains("note: odd\r\n"), "{person:?}");
    }
}
