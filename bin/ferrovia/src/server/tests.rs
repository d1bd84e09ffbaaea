// SPDX-License-Identifier: Apache-2.0
use super::sessions::Server;
use super::*;
use crate::bare::Bare;
use crate::config::Config;
use cli::{Command, Output, Tree};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

static FLOOD: &[Command<Bare>] = &[
    Command { path: "hello", usage: "", help: "", run: |_, _| Ok("hello\n".into()) },
    Command {
        path: "flood",
        usage: "<bytes:u32>",
        help: "",
        run: |_, m| Ok(Output::text("x".repeat(m.req::<u32>("bytes")? as usize))),
    },
];

struct Fixture {
    control: Control<Bare>,
    events: Loop<Bare>,
}

impl Fixture {
    fn new() -> Fixture {
        let world = Arc::new(Bare::new(FLOOD).unwrap());
        let tree = Tree::new(world.commands()).unwrap();
        let clock = Arc::clone(&world);
        let events = EventLoop::new(world.waker(), move || clock.now()).unwrap();
        let (tree, server) = (Arc::new(tree), Server::new(&Config::default()));
        let (api, background) = (crate::api::clients::Server::default(), cli::Runner::default());
        Fixture { control: Control { world, tree, server, api, background }, events }
    }

    /// A session, and its other end, which calls its terminal `vppctl`.
    fn client(&mut self) -> UnixStream {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let fd = Rc::new(OwnedFd::from(ours));
        add(
            &mut self.control,
            &mut self.events,
            SessionKind::Socket,
            Rc::clone(&fd),
            fd,
            Origin::terminal(),
        )
        .unwrap();
        theirs.write_all(&cli::session::terminal_type("vppctl")).unwrap();
        theirs
    }

    /// Turns until there is nothing to do at once.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            let mut later = false;
            let look = |c: &mut Control<Bare>, e: &mut Loop<Bare>| {
                later = poll(c, e) != Some(Duration::ZERO);
                Some(Duration::ZERO)
            };
            let busy = self.events.turn(&mut self.control, look).unwrap();
            if later && !busy {
                return;
            }
        }
        panic!("the loop doesn't come to rest");
    }

    fn sessions(&self) -> usize {
        self.control.server.clients.len()
    }

    fn backlog(&self) -> usize {
        self.control.server.clients.values().map(|c| c.console.output().len()).sum()
    }
}

/// Bytes that have come so far.
fn received(stream: &mut UnixStream) -> Vec<u8> {
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Err(e) if e.kind() != io::ErrorKind::WouldBlock => panic!("{e}"),
        _ => all,
    }
}

#[suite::test]
fn a_client_that_does_not_read_rests_and_hinders_nobody() {
    let mut f = Fixture::new();
    let mut slow = f.client();
    slow.write_all(&b"flood 400000\n\0".repeat(1000)).unwrap();
    let mut quick = f.client();
    quick.write_all(b"hello\n").unwrap();
    f.settle();
    assert!(received(&mut quick).ends_with(b"hello\n\0"));
    assert!(f.backlog() > 1 << 18, "there is something to wait for");
    assert!(f.backlog() < 2 << 20, "and no more than that: {}", f.backlog());
    // When it reads at last, nothing is missing.
    let mut answers = 0;
    while answers < 1000 {
        let got = received(&mut slow);
        assert!(!got.is_empty(), "stuck after {answers} answers");
        answers += got.iter().filter(|b| **b == 0).count();
        f.settle();
    }
    assert_eq!(f.sessions(), 2);
}

#[suite::test]
fn sessions_end_with_their_clients() {
    let mut f = Fixture::new();
    let (leaves, mut quits, shuts) = (f.client(), f.client(), f.client());
    f.settle();
    assert_eq!(f.sessions(), 3);
    drop(leaves);
    quits.write_all(b"hello\nquit\n").unwrap();
    shuts.shutdown(std::net::Shutdown::Write).unwrap();
    f.settle();
    assert_eq!(f.sessions(), 1, "one may have more to say");
    assert!(received(&mut quits).ends_with(b"hello\n\0"));
    quits.write_all(b"quit\n").unwrap();
    f.settle();
    drop(quits);
    f.settle();
    assert_eq!(f.sessions(), 0);
}

#[suite::test]
fn a_client_that_does_not_close_is_not_waited_for_for_ever() {
    let mut f = Fixture::new();
    let mut quits = f.client();
    quits.write_all(b"quit\n").unwrap();
    f.settle();
    assert_eq!(f.sessions(), 1);
    f.control.world.advance(LEAVE);
    f.settle();
    assert_eq!(f.sessions(), 0);
    assert_eq!(ended(&quits).map(|text| text.contains("idle")), Some(false));
}

#[suite::test]
fn a_client_that_is_gone_takes_its_unread_answer_along() {
    let mut f = Fixture::new();
    let mut client = f.client();
    client.write_all(b"flood 4000000\n").unwrap();
    f.settle();
    assert!(f.backlog() > 0);
    drop(client);
    f.settle();
    assert_eq!(f.sessions(), 0);
}

#[suite::test]
fn lines_without_telnet_are_answered_even_when_nothing_more_will_come() {
    let mut f = Fixture::new();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let fd = Rc::new(OwnedFd::from(ours));
    add(&mut f.control, &mut f.events, SessionKind::Socket, Rc::clone(&fd), fd, Origin::terminal())
        .unwrap();
    theirs.write_all(b"hello\nhello").unwrap();
    theirs.shutdown(std::net::Shutdown::Write).unwrap();
    f.settle();
    let mut all = Vec::new();
    theirs.read_to_end(&mut all).unwrap();
    assert_eq!(all.iter().filter(|b| **b == b'h').count(), 2);
    assert_eq!(f.sessions(), 0);
}

#[suite::test]
fn too_many_are_turned_away_with_a_word() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cli.sock");
    let mut f = Fixture::new();
    let socket = UnixSocket::listen(&path, net::SocketType::STREAM, None).unwrap();
    open(Listener::unix(socket), &mut f.events).unwrap();
    let mut clients = Vec::new();
    for _ in 0..LIMITS.all {
        clients.push(UnixStream::connect(&path).unwrap());
        f.settle();
    }
    assert_eq!(f.sessions(), LIMITS.all);
    // All of them are at work.
    clients.iter_mut().for_each(|client| client.write_all(b"hello\n").unwrap());
    f.settle();
    let mut one_more = UnixStream::connect(&path).unwrap();
    f.settle();
    let mut text = String::new();
    one_more.read_to_string(&mut text).unwrap();
    assert!(text.contains("too many sessions"));
    clients.pop();
    f.settle();
    let _again = UnixStream::connect(&path).unwrap();
    f.settle();
    assert_eq!(f.sessions(), LIMITS.all);
}

/// A listening fixture, whose clients are the owner's.
fn listening() -> (Fixture, tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cli.sock");
    let mut f = Fixture::new();
    let socket = UnixSocket::listen(&path, net::SocketType::STREAM, None).unwrap();
    open(Listener::unix(socket), &mut f.events).unwrap();
    (f, dir, path)
}

/// The output before the other end closed; `None` if it is open.
fn ended(mut stream: &UnixStream) -> Option<String> {
    stream.set_nonblocking(true).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).ok().map(|_| String::from_utf8_lossy(&all).into_owned())
}

#[suite::test]
fn silent_sessions_make_room_and_idle_ones_after_them() {
    let (mut f, _dir, path) = listening();
    let clock = Arc::clone(&f.control.world);
    let enter = |f: &mut Fixture| {
        let stream = UnixStream::connect(&path).unwrap();
        f.settle();
        stream
    };
    let mut first = enter(&mut f);
    first.write_all(b"hello\n").unwrap();
    let silent: Vec<_> = (1..LIMITS.all).map(|_| enter(&mut f)).collect();
    clock.advance(Duration::from_secs(20));
    // New clients get in, at the cost of clients that never sent anything.
    let mut more: Vec<_> = silent.iter().map(|_| enter(&mut f)).collect();
    for stream in silent {
        assert!(ended(&stream).is_some_and(|text| text.contains("idle for longest")));
    }
    assert_eq!(ended(&first), None, "it has spoken");
    more.iter_mut().for_each(|stream| stream.write_all(b"hello\n").unwrap());
    f.settle();
    // Now the session that has been idle for longest makes room.
    let last = enter(&mut f);
    assert!(ended(&first).is_some());
    assert!(more.iter().chain([&last]).all(|stream| ended(stream).is_none()));
    assert_eq!(f.sessions(), LIMITS.all);
}

#[suite::test]
fn sessions_may_not_idle_for_longer_than_configured() {
    let (mut f, _dir, path) = listening();
    let mut config = Config::default();
    config.unix.cli_idle_timeout = Some(600);
    f.control.server = Server::new(&config);
    let clock = Arc::clone(&f.control.world);
    let (idle, mut busy) =
        (UnixStream::connect(&path).unwrap(), UnixStream::connect(&path).unwrap());
    f.settle();
    clock.advance(Duration::from_secs(400));
    busy.write_all(b"hello\n").unwrap();
    f.settle();
    assert_eq!(f.sessions(), 2);
    clock.advance(Duration::from_secs(300));
    f.settle();
    assert!(ended(&idle).is_some_and(|text| text.contains("idle for too long")));
    assert_eq!((ended(&busy), f.sessions()), (None, 1));
    clock.advance(Duration::from_secs(400));
    f.settle();
    assert_eq!(f.sessions(), 0);
}

#[suite::test]
fn a_file_as_input_is_worked_off() {
    let mut f = Fixture::new();
    let dir = tempfile::tempdir().unwrap();
    let (script, out) = (dir.path().join("in"), dir.path().join("out"));
    std::fs::write(&script, "hello\n".repeat(20_000)).unwrap();
    let input = Rc::new(OwnedFd::from(std::fs::File::open(&script).unwrap()));
    let output = Rc::new(OwnedFd::from(std::fs::File::create(&out).unwrap()));
    add(&mut f.control, &mut f.events, SessionKind::Plain, input, output, Origin::terminal())
        .unwrap();
    f.settle();
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "hello\n".repeat(20_000));
    assert!(f.events.stopped(), "the daemon ends with its own terminal");
}
