// SPDX-License-Identifier: Apache-2.0
//! `api trace …`: records clients' requests, writes them to a file, replays them.
//!
//! A file has a line of JSON for each request: time, client, `name_crc`, and the bytes behind the
//! message's number in hexadecimal. Names outlive numbers, which change from build to build. VPP's
//! form, an array of objects that hold a message's fields by name, is written by `save-json` and
//! replayed by `replay-json`.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use ::cli::{Error, Matches, Output, OutputPiece, Result, SLICE, Sequence, Step, Tree, Writer};
use graph::World;
use msg::{Loopback, Reader, Suspended, Traced};
use serde_json::{Value, json};

use crate::world::World as _;

pub fn on(w: &World, m: &Matches) -> Result<()> {
    if let Some(requests) = m.get("requests") {
        w.api.set_traced(requests);
    }
    w.api.set_tracing(true);
    Ok(())
}

/// Forgets what was recorded, and records nothing more.
pub fn free(w: &World, _: &Matches) -> Result<()> {
    w.api.set_tracing(false);
    w.api.set_tracing_answers(false);
    w.api.clear_trace();
    Ok(())
}

pub fn answers(w: &World, m: &Matches) -> Result<()> {
    w.api.set_tracing_answers(m.flag("on"));
    Ok(())
}

pub fn status(w: &World, _: &Matches) -> Result<Output> {
    let (on, tx, (requests, answers)) =
        (w.api.tracing(), w.api.tracing_answers(), w.api.traced_counts());
    let word = |on| if on { "on" } else { "off" };
    let text = format!(
        "API trace is {}, {requests} requests recorded\nof answers it is {}, {answers} recorded\n",
        word(on),
        word(tx)
    );
    Ok(Output::both(text, json!({ "on": on, "requests": requests, "tx": tx, "answers": answers })))
}

/// A request as a line of a file.
fn line(w: &World, traced: &Traced) -> Option<Value> {
    let (id, body) = traced.bytes.split_first_chunk::<2>()?;
    let entry = w.api.table().get(u16::from_be_bytes(*id))?;
    let at = traced.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let hex: String = body.iter().map(|b| format!("{b:02x}")).collect();
    Some(json!({ "at": at, "client": traced.client, "message": entry.name_crc(), "bytes": hex }))
}

pub fn save(w: &World, m: &Matches) -> Result<Output> {
    let mut text = Vec::new();
    for line in w.api.traced_requests().iter().filter_map(|t| line(w, t)) {
        writeln!(text, "{line}").expect("memory");
    }
    write_file(m, &text)
}

/// A message as VPP writes it: name, CRC, and the fields except the ones that a client's library
/// fills in.
fn object(w: &World, traced: &Traced) -> Option<Value> {
    let (id, body) = traced.bytes.split_first_chunk::<2>()?;
    let entry = w.api.table().get(u16::from_be_bytes(*id))?;
    let fields = msg::show_fields(&entry.fields, &mut Reader::new(body)).ok()?;
    let mut object = serde_json::Map::new();
    object.insert("_msgname".into(), entry.name.into());
    object.insert("_crc".into(), format!("{:08x}", entry.crc).into());
    object.extend(
        fields.into_iter().filter(|(name, _)| !matches!(name.as_str(), "client_index" | "context")),
    );
    Some(Value::Object(object))
}

pub fn save_json(w: &World, m: &Matches) -> Result<Output> {
    let all: Vec<Value> = w.api.traced_requests().iter().filter_map(|t| object(w, t)).collect();
    write_file(m, format!("{:#}\n", Value::Array(all)).as_bytes())
}

pub fn dump_json(w: &World, _: &Matches) -> Result<Output> {
    let mut open = false;
    Ok(Output::list(
        w.api.traced().into_iter().map(Some).chain([None]),
        move |w: &World, traced, out: &mut Writer| {
            match traced.map(|traced| object(w, &traced)) {
                Some(Some(object)) => {
                    let before = if std::mem::replace(&mut open, true) { ",\n" } else { "[\n" };
                    out.text(|text| *text += &format!("{before}{object:#}"));
                    out.value(|| object);
                }
                Some(None) => {}
                None => out.text(|text| *text += if open { "\n]\n" } else { "[]\n" }),
            }
            Ok(())
        },
    ))
}

/// Writes a file in /tmp that isn't there yet.
fn write_file(m: &Matches, text: &[u8]) -> Result<Output> {
    let name = m.str("name");
    if name.contains('/') || name.contains("..") {
        let why = format!("{name}: the name of a file in /tmp, without `/` and `..`, is wanted");
        return Err(Error::parse(why).at(m.span("name")));
    }
    let path = Path::new("/tmp").join(name);
    let failed =
        |e: std::io::Error| Error::failed(format!("{}: {e}", path.display())).at(m.span("name"));
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    file.write_all(text).map_err(failed)?;
    Ok(Output::text(format!("API trace saved to {}\n", path.display())))
}

/// Reads the requests of a file: `name_crc` and the bytes behind the message's number.
fn read(m: &Matches) -> Result<Vec<(String, Vec<u8>)>> {
    let name = m.str("file");
    let bad = |why: String| Error::failed(format!("{name}: {why}")).at(m.span("file"));
    let text = crate::commands::read_regular(name).map_err(|e| bad(e.to_string()))?;
    let request = |(i, line): (usize, &str)| {
        let wrong = || bad(format!("line {}: is no request of an API trace", i + 1));
        let value: Value = serde_json::from_str(line).map_err(|_| wrong())?;
        let message = value["message"].as_str().ok_or_else(wrong)?.to_string();
        let hex = value["bytes"]
            .as_str()
            .filter(|h| h.is_ascii() && h.len() % 2 == 0)
            .ok_or_else(wrong)?;
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16);
        let bytes = (0..hex.len())
            .step_by(2)
            .map(byte)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| wrong())?;
        Ok((message, bytes))
    };
    text.lines().enumerate().map(request).collect()
}

pub fn dump(w: &World, m: &Matches) -> Result<Output> {
    let table = w.api.table();
    let requests: Vec<(String, Vec<u8>)> = if m.has("file") {
        read(m)?
    } else {
        let split = |t: Traced| {
            let (id, body) = t.bytes.split_first_chunk::<2>()?;
            Some((table.get(u16::from_be_bytes(*id))?.name_crc(), body.to_vec()))
        };
        w.api.traced().into_iter().filter_map(split).collect()
    };
    Ok(Output::list(requests, |w: &World, (name, bytes), out: &mut Writer| {
        let table = w.api.table();
        let entry = table.find(&name).and_then(|id| table.get(id));
        let fields = entry.map(|e| msg::show_fields(&e.fields, &mut Reader::new(&bytes)));
        let value = match fields {
            Some(Ok(fields)) => Value::Object(fields),
            Some(Err(fault)) => json!(fault.to_string()),
            None => json!("no module has this message"),
        };
        out.text(|text| *text += &format!("{name} {value}\n"));
        out.value(|| json!({ "message": name, "fields": value }));
        Ok(())
    }))
}

pub fn replay(w: &World, m: &Matches) -> Result<Output> {
    ask_again(w, m, read(m)?)
}

/// Replays the requests of a file in VPP's form.
pub fn replay_json(w: &World, m: &Matches) -> Result<Output> {
    let name = m.str("file");
    let bad = |why: String| Error::failed(format!("{name}: {why}")).at(m.span("file"));
    let text = crate::commands::read_regular(name).map_err(|e| bad(e.to_string()))?;
    let all: Vec<serde_json::Map<String, Value>> =
        serde_json::from_str(&text).map_err(|e| bad(format!("is no array of messages: {e}")))?;
    let table = w.api.table();
    let request = |(i, object): (usize, &serde_json::Map<String, Value>)| {
        let wrong = |why: &str| bad(format!("message {}: {why}", i + 1));
        let name = object
            .get("_msgname")
            .and_then(Value::as_str)
            .ok_or_else(|| wrong("_msgname is missing"))?;
        let entry =
            table.find(name).and_then(|id| table.get(id)).filter(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| wrong(&format!("no module has {name}")))?;
        let crc =
            object.get("_crc").and_then(Value::as_str).map(|crc| crc.trim_start_matches("0x"));
        if crc.is_some_and(|crc| crc != format!("{:08x}", entry.crc)) {
            return Err(wrong(&format!("{name} has the CRC {:08x} here", entry.crc)));
        }
        let bytes = msg::encode_fields(&entry.fields, object)
            .map_err(|why| wrong(&format!("{name}: {why}")))?;
        Ok((entry.name_crc(), bytes))
    };
    let requests: Vec<_> = all.iter().enumerate().map(request).collect::<Result<_>>()?;
    ask_again(w, m, requests)
}

fn ask_again(w: &World, m: &Matches, requests: Vec<(String, Vec<u8>)>) -> Result<Output> {
    let table = w.api.table();
    // All or nothing: unknown messages are found before the first request runs.
    if let Some((name, _)) = requests.iter().find(|(name, _)| table.find(name).is_none()) {
        return Err(
            Error::not_found(format!("no module has the message {name}")).at(m.span("file"))
        );
    }
    // The connection of these greetings is closed; the replay has its own.
    let requests =
        requests.into_iter().filter(|(name, _)| !name.starts_with("sockclnt_")).collect();
    Ok(Output::sequence::<World>(Replay {
        requests,
        client: None,
        since: None,
        asked: 0,
        refused: 0,
        unanswered: 0,
    }))
}

/// Requests that are replayed one after the other, while everything else goes on.
struct Replay {
    requests: VecDeque<(String, Vec<u8>)>,
    client: Option<Suspended<World>>,
    /// A request is under way since then, by the daemon's clock.
    since: Option<Duration>,
    asked: u64,
    refused: u64,
    unanswered: u64,
}

/// Longest wait for an answer: a command that waits, or a ping, is abandoned then.
const PATIENCE: Duration = Duration::from_secs(1);

/// The result of a replayed request.
enum ReplayResult {
    Answered(Option<i32>),
    Refused,
    Unanswered,
}

impl Replay {
    /// Returns true for a command that replays: a replay within a replay would never end.
    fn is_replay(name: &str, body: &[u8]) -> bool {
        name.starts_with("cli") && body.windows(6).any(|word| word.eq_ignore_ascii_case(b"replay"))
    }

    /// Begins the next request, or goes on with the one under way; `None` if it needs more time.
    fn step(
        &mut self,
        client: &mut Loopback<'_, World>,
        now: Duration,
        w: &World,
    ) -> Option<ReplayResult> {
        let since = match self.since {
            Some(since) => since,
            None => {
                let (name, body) = self.requests.pop_front()?;
                self.asked += 1;
                let id = w.api.table().find(&name).filter(|_| !Self::is_replay(&name, &body));
                if id.is_none_or(|id| client.begin(id, &body).is_err()) {
                    return Some(ReplayResult::Refused);
                }
                self.since = Some(now);
                now
            }
        };
        match client.poll() {
            Ok(Some(retval)) => Some(ReplayResult::Answered(retval)),
            Ok(None) if now < since + PATIENCE => None,
            Ok(None) | Err(_) => Some(ReplayResult::Unanswered),
        }
    }

    fn report(&self) -> Output {
        let Self { asked, refused, unanswered, .. } = self;
        let text = format!(
            "{asked} requests asked once more, {refused} refused, {unanswered} without an answer\n"
        );
        Output::both(text, json!({ "asked": asked, "refused": refused, "unanswered": unanswered }))
    }
}

impl Sequence<World> for Replay {
    fn next(&mut self, _: &Tree<World>, w: &World, _: Option<Result<Vec<OutputPiece>>>) -> Step {
        let now = w.now();
        let mut client = match self.client.take() {
            Some(suspended) => Loopback::resume(w, &w.api, suspended),
            None => Loopback::new(w, &w.api),
        };
        for _ in 0..SLICE {
            if self.since.is_none() && self.requests.is_empty() {
                return Step::Done(self.report());
            }
            match self.step(&mut client, now, w) {
                None => break,
                Some(ReplayResult::Answered(retval)) => {
                    self.refused += u64::from(retval.is_some_and(|r| r < 0))
                }
                Some(ReplayResult::Refused) => self.refused += 1,
                Some(ReplayResult::Unanswered) => {
                    self.unanswered += 1;
                    // The session is busy still, or over: the next request gets a new one.
                    client = Loopback::new(w, &w.api);
                }
            }
            self.since = None;
        }
        self.client = Some(client.suspend());
        Step::More(String::new())
    }
}
