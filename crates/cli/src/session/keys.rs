// SPDX-License-Identifier: Apache-2.0
//! Bytes of a terminal to keys.

/// A key, or what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    WordLeft,
    WordRight,
    /// ^K
    CutToEnd,
    /// ^U
    CutToStart,
    /// ^W
    CutWord,
    /// ^L
    Redraw,
    /// ^C
    Interrupt,
    /// ^D
    Eof,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Ground,
    /// Behind CR: LF or NUL belong to it.
    Cr,
    Esc,
    /// `ESC O`
    Ss3,
    /// `ESC [` with its parameters so far.
    Csi(Vec<u8>),
    /// A character of several bytes: the bytes so far, and the number of missing ones.
    Utf8(Vec<u8>, usize),
}

/// Decodes keys, wherever the stream is split.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    state: State,
}

impl Keys {
    pub fn receive(&mut self, byte: u8) -> Option<Key> {
        match std::mem::take(&mut self.state) {
            State::Cr if matches!(byte, b'\n' | 0) => None,
            State::Ground | State::Cr => self.ground(byte),
            State::Esc => match byte {
                b'[' => {
                    self.state = State::Csi(Vec::new());
                    None
                }
                b'O' => {
                    self.state = State::Ss3;
                    None
                }
                b'b' => Some(Key::WordLeft),
                b'f' => Some(Key::WordRight),
                0x7f | 0x08 => Some(Key::CutWord),
                0x1b => {
                    self.state = State::Esc;
                    None
                }
                _ => None,
            },
            State::Ss3 => arrow(byte),
            State::Csi(mut params) => match byte {
                0x40..=0x7e => csi(&params, byte),
                _ => {
                    if params.len() < 16 {
                        params.push(byte);
                        self.state = State::Csi(params);
                    }
                    None
                }
            },
            State::Utf8(mut bytes, missing) => {
                if byte & 0xc0 != 0x80 {
                    return self.ground(byte);
                }
                bytes.push(byte);
                if missing > 1 {
                    self.state = State::Utf8(bytes, missing - 1);
                    return None;
                }
                std::str::from_utf8(&bytes).ok()?.chars().next().map(Key::Char)
            }
        }
    }

    fn ground(&mut self, byte: u8) -> Option<Key> {
        Some(match byte {
            b'\r' => {
                self.state = State::Cr;
                Key::Enter
            }
            b'\n' => Key::Enter,
            b'\t' => Key::Tab,
            0x01 => Key::Home,
            0x02 => Key::Left,
            0x03 => Key::Interrupt,
            0x04 => Key::Eof,
            0x05 => Key::End,
            0x06 => Key::Right,
            0x08 | 0x7f => Key::Backspace,
            0x0b => Key::CutToEnd,
            0x0c => Key::Redraw,
            0x0e => Key::Down,
            0x10 => Key::Up,
            0x15 => Key::CutToStart,
            0x17 => Key::CutWord,
            0x1b => {
                self.state = State::Esc;
                return None;
            }
            0x20..=0x7e => Key::Char(byte as char),
            0xc2..=0xdf => return self.wide(byte, 1),
            0xe0..=0xef => return self.wide(byte, 2),
            0xf0..=0xf4 => return self.wide(byte, 3),
            _ => return None,
        })
    }

    fn wide(&mut self, byte: u8, missing: usize) -> Option<Key> {
        self.state = State::Utf8(vec![byte], missing);
        None
    }
}

fn arrow(byte: u8) -> Option<Key> {
    Some(match byte {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        _ => return None,
    })
}

fn csi(params: &[u8], last: u8) -> Option<Key> {
    match (params, last) {
        (b"1" | b"7", b'~') => Some(Key::Home),
        (b"4" | b"8", b'~') => Some(Key::End),
        (b"3", b'~') => Some(Key::Delete),
        (b"1;5" | b"1;3" | b"5", b'C') => Some(Key::WordRight),
        (b"1;5" | b"1;3" | b"5", b'D') => Some(Key::WordLeft),
        (b"", _) => arrow(last),
        _ => None,
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut k = Keys::default();
        bytes.iter().filter_map(|b| k.receive(*b)).collect()
    }

    #[suite::test]
    fn sequences() {
        use Key::*;
        assert_eq!(
            keys(b"a\x1b[A\x1bOB\x1b[3~\x1b[1;5C\x1bb\x1b[H\x1b[8~"),
            [Char('a'), Up, Down, Delete, WordRight, WordLeft, Home, End]
        );
        assert_eq!(keys(b"\r\n\r\0\n\ra"), [Enter, Enter, Enter, Enter, Char('a')]);
        assert_eq!(
            keys("é→\u{1f600}x".as_bytes()),
            [Char('é'), Char('→'), Char('\u{1f600}'), Char('x')]
        );
        assert_eq!(keys(b"\xe2\x86a\x80\xff"), [Char('a')]);
        assert_eq!(
            keys(b"\x1b[99999999999999999999~b"),
            [Char('9'), Char('9'), Char('9'), Char('~'), Char('b')]
        );
    }
}
