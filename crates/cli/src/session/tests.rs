// SPDX-License-Identifier: Apache-2.0
//! Clients as byte streams, split everywhere.

use super::*;
use crate::Console;
use crate::tests::{Toy, tree};
use proptest::prelude::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

struct Server {
    console: Console,
    tree: crate::Tree<Toy>,
    world: Toy,
    now: Duration,
}

impl Server {
    fn new(kind: SessionKind) -> Self {
        let config = Config { banner: "Hello\n".into(), prompt: "# ".into(), ..Config::default() };
        Self {
            console: Console::new(kind, &config),
            tree: tree(),
            world: Toy::new(),
            now: Duration::ZERO,
        }
    }

    /// A socket whose greeting was read.
    fn greeted() -> Self {
        let mut s = Self::new(SessionKind::Socket);
        assert_eq!(s.read(), GREETING);
        s
    }

    fn poll(&mut self) {
        self.console.poll(&self.tree, &self.world, self.now);
    }

    /// Polls until nothing is under way.
    fn settle(&mut self) {
        self.poll();
        for _ in 0..10_000 {
            match self.console.wake_at(self.now) {
                Some(t) if t < self.now + SECOND / 2 => self.now = self.now.max(t),
                _ => return,
            }
            self.poll();
        }
        panic!("never settles");
    }

    fn read(&mut self) -> Vec<u8> {
        let out = self.console.output().to_vec();
        self.console.sent(out.len());
        out
    }

    /// Sends and gives the answer as text.
    fn ask(&mut self, bytes: impl AsRef<[u8]>) -> String {
        self.console.input(bytes.as_ref());
        self.settle();
        String::from_utf8(self.read()).unwrap()
    }
}

fn person() -> Server {
    let mut s = Server::greeted();
    assert_eq!(s.ask(terminal_type("xterm")), "Hello\r\n\r# \x1b[K");
    s
}

#[suite::test]
fn vppctl_one_shot_byte_for_byte() {
    let mut stream = terminal_type("vppctl");
    stream.extend(b"show version \n\0");
    for split in 0..=stream.len() {
        let mut s = Server::greeted();
        let mut out = s.ask(&stream[..split]);
        out += &s.ask(&stream[split..]);
        assert_eq!(out, "toy 1\n\0", "split at {split}");
        assert!(!s.console.is_closed());
        assert_eq!(s.ask("quit\n"), "");
        assert!(s.console.is_closed());
    }
}

#[suite::test]
fn vppctl_every_line_one_nul() {
    let mut s = Server::greeted();
    assert_eq!(s.ask(terminal_type("vppctl")), "");
    let out =
        s.ask("\n# c\nset interface state local0 up\necho a\nfoo\ncount 2\npacket-generator new {\n x\n}\n");
    assert_eq!(out, "\0\0\0a\n\0unknown input `foo'\n\x002\n1\nlift-off\n\0\0");
    assert_eq!(
        s.ask("packet-generator new { \n\0"),
        "column 22: this `{' is not closed\nusage: packet-generator new {<spec> | pcap <file> [limit <limit>]...}\n\0"
    );
    assert_eq!(
        s.ask("show int local0 -j\n"),
        "[\n  {\n    \"name\": \"local0\",\n    \"idx\": 0\n  }\n]\n\0"
    );
}

/// Saved, the line would not be the one that was typed.
#[suite::test]
fn bytes_that_are_not_utf8_are_refused() {
    let mut s = Server::greeted();
    s.ask(terminal_type("vppctl"));
    let said = s.ask(b"echo caf\xe9\necho caf\xc3\xa9\n");
    assert_eq!(said, "the line is not UTF-8, or has U+FFFD in place of what wasn't\n\0café\n\0");
}

#[suite::test]
fn plain_clients_get_output_and_nothing_else() {
    let mut s = Server::greeted();
    assert_eq!(s.ask("show version\nshow ver"), "toy 1\n");
    s.console.eof();
    s.settle();
    assert_eq!(s.read(), b"toy 1\n");
    assert!(s.console.is_closed());
    let mut s = Server::new(SessionKind::Plain);
    assert_eq!(s.ask("count 1\r\necho é\r\n"), "1\nlift-off\né\n");
    assert_eq!(s.ask("count 3\nexit\necho no\n"), "3\n2\n1\nlift-off\n");
    assert!(s.console.is_closed());
}

#[suite::test]
fn the_patient_get_a_prompt() {
    let mut s = Server::greeted();
    s.poll();
    assert_eq!(s.console.wake_at(s.now), Some(SECOND));
    s.now = SECOND;
    s.poll();
    assert_eq!(s.read(), b"Hello\n# ");
    assert_eq!(s.ask("show version\n"), "toy 1\n# ");
    assert_eq!(s.console.wake_at(s.now), None);
}

#[suite::test]
fn a_person_types() {
    let mut s = person();
    assert_eq!(s.ask("sh"), "sh");
    assert_eq!(s.ask("\t"), "\r# show \x1b[K");
    assert_eq!(s.ask("ver\r"), "ver\r# show ver\x1b[K\r\ntoy 1\r\n\r# \x1b[K");
    assert_eq!(s.ask("\x1b[A"), "\r# show ver\x1b[K");
    assert_eq!(
        s.ask("\x15show i\t"),
        "\r# \x1b[Kshow i\r\ninterface  ip         ip6\r\n\r# show i\x1b[K"
    );
    assert_eq!(
        s.ask("?"),
        "?\r\n  interface  Interfaces\r\n  ip         fib\r\n  ip6        fib\r\n\r# show i\x1b[K"
    );
    assert_eq!(s.ask("\x03"), "^C\r\n\r# \x1b[K");
    assert!(s.ask("zz\t").ends_with('\x07'));
    assert!(s.ask("\x15\x04").ends_with("\r\n"));
    assert!(s.console.is_closed());
}

#[suite::test]
fn a_person_types_a_block() {
    let mut s = person();
    assert!(s.ask("packet-generator new {\r").ends_with("\r\n\r> \x1b[K"));
    assert!(s.ask("name x }\r").ends_with("\r\n\r# \x1b[K"));
    assert_eq!(s.world.said(), r#"["<spec>=\nname x "]"#);
    s.ask("packet-generator new {\r");
    assert_eq!(s.ask("\x03"), "^C\r\n\r# \x1b[K");
    assert!(s.ask("show version\r").contains("toy 1"));
}

#[suite::test]
fn a_person_pages_and_interrupts() {
    let mut s = person();
    s.ask([255, 250, 31, 0, 40, 0, 4, 255, 240]);
    let out = s.ask("show int\r");
    assert!(
        out.ends_with("host-eth0    1\r\n-- more -- (space: page, enter: line, q: stop)"),
        "{out:?}"
    );
    assert_eq!(s.ask(" "), "\r\x1b[Khost-eth1    2\r\n\r# \x1b[K");
    let out = s.ask("show int\rq");
    assert!(out.ends_with("q: stop)\r\x1b[K\r# \x1b[K"), "{out:?}");
    assert!(s.ask("set terminal pager off\r").ends_with("# \x1b[K"));
    assert!(!s.ask("show int\r").contains("more"));
    assert!(s.ask("sh term\r").contains("Terminal: 40 columns, 4 rows\r\nPager: off\r\n"));
    let out = s.ask("history\r");
    assert!(out.contains("   1  show int\r\n   2  set terminal pager off\r\n"), "{out:?}");
    // A countdown of a million is stopped; what was typed ahead of ^C is dropped.
    s.console.input(b"count 1000000\r");
    s.poll();
    s.console.input(b"show version\r\x03");
    let out = s.ask("");
    assert!(out.ends_with("cancelled\r\n\r# \x1b[K") && !out.contains("toy 1"), "{out:?}");
}

#[suite::test]
fn a_long_answer_is_made_no_further_than_the_operator_reads() {
    let mut s = person();
    s.ask([255, 250, 31, 0, 40, 0, 4, 255, 240]);
    let more = "-- more -- (space: page, enter: line, q: stop)";
    assert!(s.ask("endless\r").ends_with(&format!("0\r\n1\r\n2\r\n{more}")));
    // Nothing is to be done until a key comes.
    assert_eq!(s.console.wake_at(s.now), None);
    for page in 1..1000 {
        let first = 3 * page;
        let out = format!("\r\x1b[K{first}\r\n{}\r\n{}\r\n{more}", first + 1, first + 2);
        assert_eq!(s.ask(" "), out);
    }
    assert_eq!(s.ask("q"), "\r\x1b[K\r# \x1b[K");
    // Commands behind it in a script are run.
    s.ask("exec 'endless;set interface state local0 up'\r");
    assert_eq!(s.ask("q"), "\r\x1b[K\r# \x1b[K");
    assert!(s.world.said().contains("local0"));
    // ^C while it flows.
    s.ask("endless\r");
    s.console.input(b"G");
    s.poll();
    s.poll();
    let out = s.ask("\x03");
    assert!(out.ends_with("cancelled\r\n\r# \x1b[K"), "{out:?}");
}

#[suite::test]
fn who_reads_slowly_or_not_at_all_fills_no_memory_and_who_goes_ends_it() {
    for greeting in [terminal_type("vppctl"), terminal_type(frames::TERMINAL), vec![]] {
        let mut s = Server::greeted();
        let framed = greeting == terminal_type(frames::TERMINAL);
        s.console.input(&greeting);
        s.console.input(&if framed {
            Request::Run("endless".into(), false).encode()
        } else {
            b"endless\n".to_vec()
        });
        let mut turns = 0;
        while s.console.wake_at(s.now).is_some() {
            s.poll();
            turns += 1;
            assert!(turns < 10_000 && s.console.output().len() < 512 << 10, "it goes on");
        }
        // With room again, it goes on where it was.
        let before = s.console.output().len();
        s.console.sent(before / 2);
        assert!(s.console.wake_at(s.now).is_some());
        s.poll();
        assert!(s.console.output().len() > before - before / 2);
        if framed {
            s.console.input(&Request::Cancel.encode());
            let mut out = s.read();
            s.settle();
            out.extend(s.read());
            let end = out.ends_with(b"end -1 0\n") && out.windows(9).any(|w| w == b"cancelled");
            assert!(end, "{:?}", String::from_utf8_lossy(&out[out.len() - 100..]));
        } else if !greeting.is_empty() {
            s.console.eof();
            s.poll();
            assert!(s.console.is_closed());
        }
    }
}

#[suite::test]
fn terminals_and_those_who_will_not_tell_are_persons() {
    let mut s = Server::new(SessionKind::Terminal(80, 24));
    assert_eq!(s.read(), b"Hello\r\n\r# \x1b[K");
    assert!(s.ask("show version\r").contains("toy 1\r\n"));
    let mut s = Server::greeted();
    assert_eq!(s.ask([255, 252, 24]), "Hello\r\n\r# \x1b[K");
}

#[suite::test]
fn ferroctl_gets_frames() {
    let frames = |s: &mut Server, requests: &[Request]| {
        let bytes: Vec<u8> = requests.iter().flat_map(Request::encode).collect();
        let mut out = s.ask(bytes).into_bytes();
        std::iter::from_fn(|| Reply::decode(&mut out).unwrap()).collect::<Vec<_>>()
    };
    let mut s = Server::greeted();
    assert_eq!(s.ask(terminal_type(frames::TERMINAL)), "");
    let run = |line: &str, json| Request::Run(line.into(), json);
    let out = |text: &str| Reply::Out(text.into());
    assert_eq!(frames(&mut s, &[run("show version", false)]), [out("toy 1\n"), Reply::End(0)]);
    assert_eq!(
        frames(&mut s, &[run("show version", true), run("fail -7", false)]),
        [
            out("{\n  \"text\": \"toy 1\"\n}\n"),
            Reply::End(0),
            Reply::Error("it failed\n".into()),
            Reply::End(-7)
        ]
    );
    assert_eq!(
        frames(&mut s, &[Request::Complete("sh int l".into(), 8), Request::Help("sh".into(), 2)]),
        [
            Reply::Words(7, vec!["local0".into()]),
            Reply::End(0),
            out("  show  errors, interface, ip, ip6, version\n"),
            Reply::End(0)
        ]
    );
    assert_eq!(
        frames(&mut s, &[Request::Script("x".into(), "echo a\ncount 1\n".into(), false)]),
        [out("a\n"), Reply::More("1\n".into()), out("lift-off\n"), Reply::End(0)]
    );
    s.console.input(&run("count 1000000", false).encode());
    s.poll();
    let replies = frames(&mut s, &[Request::Cancel]);
    assert_eq!(replies[replies.len() - 2..], [out("cancelled\n"), Reply::End(0)]);
    let Some(Reply::Error(e)) = frames(&mut s, &[run("foo", true)]).into_iter().next() else {
        panic!()
    };
    assert!(e.contains("\"message\": \"unknown input `foo'\""), "{e}");
    assert_eq!(s.ask("nonsense\n"), "error 26\nmalformed frame: no lengthend -1 0\n");
    assert!(s.console.is_closed());
}

#[suite::test]
fn floods_are_held_back() {
    let mut s = Server::greeted();
    s.console.input(
        &"echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"
            .repeat(100_000)
            .into_bytes(),
    );
    assert!(!s.console.wants_input());
    let mut total = 0;
    for _ in 0..100_000 {
        s.poll();
        assert!(s.console.output().len() < 2 << 20);
        if s.console.wake_at(s.now).is_none() {
            total += s.read().len();
            if s.console.wake_at(s.now).is_none() {
                break;
            }
        }
    }
    assert_eq!(total, 54 * 100_000);
}

proptest! {
    /// Any bytes, any pieces: no panic, and the same answers as in one piece.
    #[suite::test]
    fn any_bytes_in_any_pieces(
        terminal in prop_oneof![Just("vppctl"), Just("ferroctl"), Just("xterm"), Just("")],
        bytes in prop::collection::vec(prop_oneof![
            4 => any::<u8>(), 4 => prop::sample::select(b"\r\n\t?\x03\x1b[A {}\"\0show int\xff\xfa\xf0".to_vec())
        ], 0..200),
        cuts in prop::collection::vec(1usize..20, 1..20),
    ) {
        let mut stream = if terminal.is_empty() { vec![] } else { terminal_type(terminal) };
        stream.extend(&bytes);
        let (mut whole, mut pieces) = (Server::greeted(), Server::greeted());
        whole.console.input(&stream);
        whole.settle();
        let mut rest = stream.as_slice();
        for n in cuts.iter().cycle() {
            let (head, tail) = rest.split_at((*n).min(rest.len()));
            pieces.console.input(head);
            pieces.settle();
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(whole.read(), pieces.read());
        prop_assert_eq!(whole.console.is_closed(), pieces.console.is_closed());
    }
}
