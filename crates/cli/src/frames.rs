// SPDX-License-Identifier: Apache-2.0
//! The protocol between `ferroctl` and the daemon.
//!
//! The client connects to the CLI socket and answers the telnet question for its terminal's type
//! with `ferroctl`. From then on both sides send frames: a line `VERB [WORD…] LENGTH\n`, then
//! LENGTH bytes of UTF-8.
//!
//! | client | body | means |
//! |---|---|---|
//! | `run`, `run json` | a command, may have several lines | run it |
//! | `script`, `script json` | a name, newline, commands | check all, then run them |
//! | `complete CURSOR` | a line | complete the word at byte CURSOR |
//! | `help CURSOR` | a line | the same, for people |
//! | `cancel` | | end what is running |
//! | `enough` | | end the long answer that is coming, without an error: nobody reads it; other commands go on |
//!
//! | daemon | body | means |
//! |---|---|---|
//! | `out` | text | an answer, or the next piece of one |
//! | `more` | text | output of a running command so far |
//! | `note` | text | a note beside an answer: what the command did may be a mistake |
//! | `error` | text | the message of an error |
//! | `words START` | a word a line | completions; each replaces the text from byte START to the cursor |
//! | `end STATUS` | | the request is done; 0, or the error's return value (below zero) |
//!
//! Each request but `cancel` and `enough` is answered by any number of frames and one `end`, in the
//! order of the requests.

use std::fmt::Write;

/// The terminal type that asks for frames.
pub const TERMINAL: &str = "ferroctl";
/// A header is no longer than this.
const MAX_HEADER: usize = 64;
/// A body is no longer than this.
pub const MAX_BODY: usize = 256 << 20;

/// A request of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Run a command, and answer in JSON or not.
    Run(String, bool),
    /// Check and run commands: name, text, JSON.
    Script(String, String, bool),
    /// Completions for a line, with the cursor at that byte.
    Complete(String, usize),
    /// Help for a line, with the cursor at that byte.
    Help(String, usize),
    /// End what is running.
    Cancel,
    /// End the long answer that is coming.
    Enough,
}

/// A reply of the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// An answer, or a piece of one.
    Out(String),
    /// Output of a running command so far.
    More(String),
    /// A note beside an answer, a line.
    Note(String),
    /// The message of an error.
    Error(String),
    /// Start of the completed word, in bytes, and the words.
    Words(usize, Vec<String>),
    /// The end of a request, and its status.
    End(i32),
}

/// The error for a stream that violates this protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "malformed frame: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

fn frame(verb: &str, words: &[&dyn std::fmt::Display], body: &str) -> Vec<u8> {
    let mut out = String::with_capacity(body.len() + MAX_HEADER);
    out.push_str(verb);
    for w in words {
        let _ = write!(out, " {w}");
    }
    let _ = write!(out, " {}\n{body}", body.len());
    out.into_bytes()
}

impl Request {
    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Run(line, false) => frame("run", &[], line),
            Self::Run(line, true) => frame("run", &[&"json"], line),
            Self::Script(name, text, json) => {
                let body = format!("{}\n{text}", name.replace('\n', " "));
                if *json { frame("script", &[&"json"], &body) } else { frame("script", &[], &body) }
            }
            Self::Complete(line, cursor) => frame("complete", &[cursor], line),
            Self::Help(line, cursor) => frame("help", &[cursor], line),
            Self::Cancel => frame("cancel", &[], ""),
            Self::Enough => frame("enough", &[], ""),
        }
    }

    /// Takes the first complete frame out of `bytes`.
    pub fn decode(bytes: &mut Vec<u8>) -> Result<Option<Self>, Malformed> {
        let Some((words, body)) = take(bytes)? else { return Ok(None) };
        let words: Vec<&str> = words.split(' ').collect();
        let cursor = |w: &str| w.parse().map_err(|_| Malformed("the cursor is no number"));
        Ok(Some(match words.as_slice() {
            ["run"] => Self::Run(body, false),
            ["run", "json"] => Self::Run(body, true),
            ["script", rest @ ..] if matches!(rest, [] | ["json"]) => {
                let (name, text) =
                    body.split_once('\n').ok_or(Malformed("a script without its name"))?;
                Self::Script(name.to_string(), text.to_string(), !rest.is_empty())
            }
            ["complete", at] => Self::Complete(body, cursor(at)?),
            ["help", at] => Self::Help(body, cursor(at)?),
            ["cancel"] => Self::Cancel,
            ["enough"] => Self::Enough,
            _ => return Err(Malformed("unknown request")),
        }))
    }
}

impl Reply {
    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Out(text) => frame("out", &[], text),
            Self::More(text) => frame("more", &[], text),
            Self::Note(text) => frame("note", &[], text),
            Self::Error(text) => frame("error", &[], text),
            Self::Words(start, words) => frame("words", &[start], &words.join("\n")),
            Self::End(status) => frame("end", &[status], ""),
        }
    }

    /// Takes the first complete frame out of `bytes`.
    pub fn decode(bytes: &mut Vec<u8>) -> Result<Option<Self>, Malformed> {
        let Some((words, body)) = take(bytes)? else { return Ok(None) };
        let words: Vec<&str> = words.split(' ').collect();
        Ok(Some(match words.as_slice() {
            ["out"] => Self::Out(body),
            ["more"] => Self::More(body),
            ["note"] => Self::Note(body),
            ["error"] => Self::Error(body),
            ["words", start] => {
                let start = start.parse().map_err(|_| Malformed("the start is no number"))?;
                Self::Words(start, body.lines().map(str::to_string).collect())
            }
            ["end", status] => {
                Self::End(status.parse().map_err(|_| Malformed("the status is no number"))?)
            }
            _ => return Err(Malformed("unknown reply")),
        }))
    }
}

/// The words before the length, and the body.
fn take(bytes: &mut Vec<u8>) -> Result<Option<(String, String)>, Malformed> {
    let Some(end) = bytes.iter().take(MAX_HEADER).position(|b| *b == b'\n') else {
        return if bytes.len() < MAX_HEADER { Ok(None) } else { Err(Malformed("no header")) };
    };
    let header =
        std::str::from_utf8(&bytes[..end]).map_err(|_| Malformed("the header is no text"))?;
    let (words, length) = header.rsplit_once(' ').ok_or(Malformed("no length"))?;
    let length: usize = length.parse().map_err(|_| Malformed("the length is no number"))?;
    if length > MAX_BODY {
        return Err(Malformed("more than 256 MiB"));
    }
    let whole = end + 1 + length;
    if bytes.len() < whole {
        return Ok(None);
    }
    let body = String::from_utf8(bytes[end + 1..whole].to_vec())
        .map_err(|_| Malformed("the body is no UTF-8"))?;
    let words = words.to_string();
    bytes.drain(..whole);
    Ok(Some((words, body)))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn frames_come_back_however_they_are_split() {
        let requests = [
            Request::Run("show version".into(), false),
            Request::Run("new {\n é }".into(), true),
            Request::Script("a b".into(), "one\ntwo\n".into(), true),
            Request::Script("stdin".into(), "".into(), false),
            Request::Complete("show ".into(), 5),
            Request::Help("".into(), 0),
            Request::Cancel,
            Request::Enough,
        ];
        let stream: Vec<u8> = requests.iter().flat_map(Request::encode).collect();
        for chunk in 1..stream.len() {
            let (mut bytes, mut seen) = (Vec::new(), Vec::new());
            for c in stream.chunks(chunk) {
                bytes.extend(c);
                while let Some(r) = Request::decode(&mut bytes).unwrap() {
                    seen.push(r);
                }
            }
            assert_eq!(seen, requests);
        }
        let replies = [
            Reply::Out("x\n".into()),
            Reply::More("".into()),
            Reply::Note("note: x\n".into()),
            Reply::Error("é".into()),
            Reply::Words(5, vec!["a".into(), "b".into()]),
            Reply::End(-7),
        ];
        let mut stream: Vec<u8> = replies.iter().flat_map(Reply::encode).collect();
        let back: Vec<_> = std::iter::from_fn(|| Reply::decode(&mut stream).unwrap()).collect();
        assert_eq!(back, replies);
    }

    #[suite::test]
    fn what_is_malformed_is_refused() {
        for bad in [
            "run\n",
            "run x\n",
            "fly 0\n",
            "complete x 0\n",
            "run 999999999999\n",
            "run 1\n\u{80}",
            &"r".repeat(64),
        ] {
            let mut bytes =
                bad.as_bytes()[..bad.len() - usize::from(bad.ends_with('\u{80}'))].to_vec();
            assert!(Request::decode(&mut bytes).is_err(), "{bad:?}");
        }
        assert_eq!(Request::decode(&mut b"run 5\nabc".to_vec()), Ok(None));
        assert_eq!(Request::Run("a".into(), false).encode(), b"run 1\na");
        assert_eq!(Reply::End(0).encode(), b"end 0 0\n");
    }
}
