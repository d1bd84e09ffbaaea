// SPDX-License-Identifier: Apache-2.0
//! A daemon with a toy world: `UnixListener`, `Console`, nothing else.

use cli::session::{Config, SessionKind};
use cli::{Command, Console, Error, Live, Output, Task, TaskState, Tree, Writer, retval};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub struct Toy;

impl Live for Toy {
    fn candidates(&self, kind: &str, prefix: &str) -> Vec<String> {
        let names = match kind {
            "interface" => vec!["local0".into(), "host-eth0".into()],
            "node" => (0..100).map(|n| format!("node-{n:02}")).collect(),
            _ => vec![],
        };
        names.into_iter().filter(|n: &String| n.starts_with(prefix)).collect()
    }
}

/// Prints a line at each poll until it is cancelled.
struct Forever(u64, bool);

impl Task for Forever {
    fn poll(&mut self, _: Duration) -> TaskState {
        if self.1 {
            return TaskState::Done(Output::text("statistics"));
        }
        self.0 += 1;
        TaskState::Chunk(format!("reply {}\n", self.0))
    }

    fn cancel(&mut self) {
        self.1 = true;
    }
}

static CLI: &[Command<Toy>] = &[
    Command {
        path: "show version",
        usage: "",
        help: "What runs here",
        run: |_, _| Ok(Output::both("toy 1", serde_json::json!({"version": "toy 1"}))),
    },
    Command {
        path: "show interface",
        usage: "[<interface:interface>]",
        help: "Interfaces",
        run: |_, m| Ok(format!("interface {}", m.str("interface")).into()),
    },
    Command {
        path: "show node",
        usage: "<node:node>",
        help: "A node",
        run: |_, m| Ok(m.str("node").into()),
    },
    Command {
        path: "show many",
        usage: "",
        help: "Many lines",
        run: |_, _| Ok("line\n".repeat(100_000).into()),
    },
    Command {
        path: "show endless",
        usage: "",
        help: "Lines without an end",
        run: |_, _| {
            Ok(Output::list(0u64.., |_: &Toy, n, out: &mut Writer| {
                out.text(|text| *text += &format!("line {n}\n"));
                out.value(|| n);
                Ok(())
            }))
        },
    },
    Command {
        path: "packet-generator new",
        usage: "<spec:block>",
        help: "Stream",
        run: |_, m| Ok(m.str("spec").into()),
    },
    Command {
        path: "echo",
        usage: "[<text:rest>]",
        help: "Say it",
        run: |_, m| Ok(m.str("text").into()),
    },
    Command {
        path: "late",
        usage: "",
        help: "Answer after two seconds",
        run: |_, _| {
            std::thread::sleep(Duration::from_secs(2));
            Ok("the late answer".into())
        },
    },
    Command {
        path: "ping",
        usage: "",
        help: "For ever",
        run: |_, _| Ok(Output::task(Forever(0, false))),
    },
    Command {
        path: "fail",
        usage: "",
        help: "Fail",
        run: |_, _| Err(Error::failed("it failed").retval(retval::INVALID_VALUE)),
    },
];

/// The socket of a server that lives as long as the test's process.
pub struct Server {
    pub socket: PathBuf,
    _dir: tempfile::TempDir,
}

impl Server {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("cli.sock");
        let listener = UnixListener::bind(&socket).expect("a socket");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream));
            }
        });
        Self { socket, _dir: dir }
    }

    /// Starts a server that greets the first client alone.
    #[allow(dead_code, reason = "not every test file wants one")]
    pub fn to_one_client() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("cli.sock");
        let listener = UnixListener::bind(&socket).expect("a socket");
        std::thread::spawn(move || {
            let (first, _) = listener.accept().expect("a client");
            std::thread::spawn(move || serve(first));
            let mut others = Vec::new();
            for other in listener.incoming() {
                others.push(other);
            }
        });
        Self { socket, _dir: dir }
    }

    /// A connection without a client program.
    #[allow(dead_code, reason = "not every test file connects")]
    pub fn connect(&self) -> UnixStream {
        let s = UnixStream::connect(&self.socket).expect("the server listens");
        s.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        s
    }
}

fn serve(mut stream: UnixStream) {
    let mut tree = Tree::new(CLI).expect("good commands");
    tree.set_expand(|text| match text.contains("$(none)") {
        true => Err((text.lines().count(), "no macro is named `none'".into())),
        false => Ok(text.replace("$(what)", "show version").into()),
    });
    let mut console = Console::new(SessionKind::Socket, &Config::default());
    let start = Instant::now();
    stream.set_read_timeout(Some(Duration::from_millis(2))).expect("a time");
    let mut buffer = [0; 4096];
    loop {
        if !console.output().is_empty() {
            let Ok(n) = stream.write(console.output()) else { return };
            console.sent(n);
            continue;
        }
        if console.is_closed() {
            return;
        }
        if console.wants_input() {
            match stream.read(&mut buffer) {
                Ok(0) => console.eof(),
                Ok(n) => console.input(&buffer[..n]),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return,
            }
        }
        console.poll(&tree, &Toy, start.elapsed());
    }
}
