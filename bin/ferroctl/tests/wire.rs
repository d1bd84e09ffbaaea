// SPDX-License-Identifier: Apache-2.0
//! The CLI socket byte for byte, used as VPP's client uses it.

use super::server::Server;
use cli::session::{GREETING, terminal_type};
use std::io::{Read, Write};
use std::net::Shutdown;

fn read(stream: &mut impl Read, until: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut seen = Vec::new();
    let mut buffer = [0; 100];
    while !until(&seen) {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => seen.extend(&buffer[..n]),
            Err(e) => panic!("{e} after {:?}", String::from_utf8_lossy(&seen)),
        }
    }
    seen
}

/// Waits for the greeting, sends its terminal type, sends `command\n` and a NUL, reads up to the
/// NUL, quits.
#[suite::test(netns)]
fn vppctl_with_a_command() {
    let server = Server::start();
    let mut s = server.connect();
    assert_eq!(read(&mut s, |b| b.len() >= GREETING.len()), GREETING);
    s.write_all(&terminal_type("vppctl")).unwrap();
    s.write_all(b"show version \n\0").unwrap();
    assert_eq!(read(&mut s, |b| b.contains(&0)), b"toy 1\n\0");
    s.write_all(b"quit\n").unwrap();
    assert_eq!(read(&mut s, |_| false), b"", "the server closes, without a word");
}

/// A script piped into vppctl: every line is acknowledged by one NUL, the last answer comes before
/// the end.
#[suite::test(netns)]
fn vppctl_with_a_script() {
    let server = Server::start();
    let mut s = server.connect();
    read(&mut s, |b| b.len() >= GREETING.len());
    s.write_all(&terminal_type("vppctl")).unwrap();
    s.write_all(b"show version\n\nfoo\npacket-generator new {\n x\n}\nquit\n").unwrap();
    assert_eq!(read(&mut s, |_| false), b"toy 1\n\0\0unknown input `foo'\n\0\n x\n\0");
}

/// `printf … | socat - UNIX-CONNECT:SOCK`
#[suite::test(netns)]
fn lines_through_a_pipe() {
    let server = Server::start();
    let mut s = server.connect();
    s.write_all(b"show version\necho a b\n").unwrap();
    s.shutdown(Shutdown::Write).unwrap();
    let mut expected = GREETING.to_vec();
    expected.extend(b"toy 1\na b\n");
    assert_eq!(read(&mut s, |_| false), expected);
}

/// A person on a terminal, through vppctl: banner, prompt, echo, no NUL.
#[suite::test(netns)]
fn vppctl_on_a_terminal() {
    let server = Server::start();
    let mut s = server.connect();
    read(&mut s, |b| b.len() >= GREETING.len());
    s.write_all(&terminal_type("xterm-256color")).unwrap();
    s.write_all(&[255, 250, 31, 0, 80, 0, 24, 255, 240]).unwrap();
    s.write_all(b"show version\n").unwrap();
    let ended =
        |b: &[u8]| b.windows(5).any(|w| w == b"toy 1") && b.ends_with(b"\r\n\rferrovia# \x1b[K");
    let seen = String::from_utf8(read(&mut s, ended)).unwrap();
    assert!(seen.starts_with("Ferrovia\r\n\r\n\rferrovia# "), "{seen:?}");
    assert!(seen.contains("show version") && !seen.contains('\0'), "{seen:?}");
    s.write_all(b"quit\n").unwrap();
    read(&mut s, |_| false);
}
