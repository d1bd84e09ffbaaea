// SPDX-License-Identifier: Apache-2.0
//! `api trace …`: what clients asked, kept, written to a file, asked once more.
//!
//! A file has a line of JSON for each request: time, client, `name_crc`, and the bytes behind the message's number in
//! hexadecimal. Names outlive numbers, which change from build to build. VPP's form, an array of objects that hold a message's
//! fields by name, is written by `save-json` and asked once more by `replay-json`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ::cli::{Error, Matches, Output, Result, Writer};
use graph::World;
use msg::{Reader, Traced};
use serde_json::{Value, json};

pub fn on(w: &World, m: &Matches) -> Result<Output> {
    if let Some(requests) = m.get("requests") {
        w.api.set_traced(requests);
    }
    w.api.set_tracing(true);
    Ok(Output::empty())
}

/// Forgets what was recorded, and records nothing more.
pub fn free(w: &World, _: &Matches) -> Result<Output> {
    w.api.set_tracing(false);
    w.api.set_tracing_answers(false);
    w.api.clear_trace();
    Ok(Output::empty())
}

pub fn answers(w: &World, m: &Matches) -> Result<Output> {
    w.api.set_tracing_answers(m.flag("on"));
    Ok(Output::empty())
}

pub fn status(w: &World, _: &Matches) -> Result<Output> {
    let (on, tx, all) = (w.api.tracing(), w.api.tracing_answers(), w.api.traced());
    let answers = all.iter().filter(|t| t.sent).count();
    let requests = all.len() - answers;
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

/// The requests that were recorded.
fn requests(w: &World) -> impl Iterator<Item = Traced> {
    w.api.traced().into_iter().filter(|t| !t.sent)
}

pub fn save(w: &World, m: &Matches) -> Result<Output> {
    let mut text = Vec::new();
    for line in requests(w).filter_map(|t| line(w, &t)) {
        writeln!(text, "{line}").expect("memory");
    }
    write_file(m, &text)
}

/// A message as VPP writes it: name, CRC, and the fields but for those that a client's library fills in.
fn object(w: &World, traced: &Traced) -> Option<Value> {
    let (id, body) = traced.bytes.split_first_chunk::<2>()?;
    let entry = w.api.table().get(u16::from_be_bytes(*id))?;
    let fields = msg::show_fields(&entry.fields, &mut Reader::new(body)).ok()?;
    let mut object = serde_json::Map::new();
    object.insert("_msgname".into(), entry.name.into());
    object.insert("_crc".into(), format!("{:08x}", entry.crc).into());
    object
        .extend(fields.into_iter().filter(|(name, _)| !matches!(name.as_str(), "client_index" | "context")));
    Some(Value::Object(object))
}

pub fn save_json(w: &World, m: &Matches) -> Result<Output> {
    let all: Vec<Value> = requests(w).filter_map(|t| object(w, &t)).collect();
    write_file(m, format!("{:#}\n", Value::Array(all)).as_bytes())
}

pub fn dump_json(w: &World, _: &Matches) -> Result<Output> {
    let all: Value = w.api.traced().iter().filter_map(|t| object(w, t)).collect();
    Ok(Output::both(format!("{all:#}\n"), all))
}

/// Writes a file in /tmp that isn't there yet.
fn write_file(m: &Matches, text: &[u8]) -> Result<Output> {
    let name = m.str("name");
    if name.contains('/') || name.contains("..") {
        let why = format!("{name}: the name of a file in /tmp, without `/` and `..`, is wanted");
        return Err(Error::parse(why).at(m.span("name")));
    }
    let path = Path::new("/tmp").join(name);
    let failed = |e: std::io::Error| Error::failed(format!("{}: {e}", path.display())).at(m.span("name"));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    file.write_all(text).map_err(failed)?;
    Ok(Output::text(format!("API trace saved to {}\n", path.display())))
}

/// A request of a file: `name_crc` and the bytes behind the number.
fn read(m: &Matches) -> Result<Vec<(String, Vec<u8>)>> {
    let name = m.str("file");
    let bad = |why: String| Error::failed(format!("{name}: {why}")).at(m.span("file"));
    let (text, _) = crate::commands::read_regular(name).map_err(|e| bad(e.to_string()))?;
    let request = |(i, line): (usize, &str)| {
        let wrong = || bad(format!("line {}: is no request of an API trace", i + 1));
        let value: Value = serde_json::from_str(line).map_err(|_| wrong())?;
        let message = value["message"].as_str().ok_or_else(wrong)?.to_string();
        let hex = value["bytes"].as_str().filter(|h| h.is_ascii() && h.len() % 2 == 0).ok_or_else(wrong)?;
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16);
        let bytes =
            (0..hex.len()).step_by(2).map(byte).collect::<Result<Vec<_>, _>>().map_err(|_| wrong())?;
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
    ask_again(w, m, &read(m)?)
}

/// Asks what a file in VPP's form holds.
pub fn replay_json(w: &World, m: &Matches) -> Result<Output> {
    let name = m.str("file");
    let bad = |why: String| Error::failed(format!("{name}: {why}")).at(m.span("file"));
    let (text, _) = crate::commands::read_regular(name).map_err(|e| bad(e.to_string()))?;
    let all: Vec<serde_json::Map<String, Value>> =
        serde_json::from_str(&text).map_err(|e| bad(format!("is no array of messages: {e}")))?;
    let table = w.api.table();
    let request = |(i, object): (usize, &serde_json::Map<String, Value>)| {
        let wrong = |why: &str| bad(format!("message {}: {why}", i + 1));
        let name =
            object.get("_msgname").and_then(Value::as_str).ok_or_else(|| wrong("_msgname is missing"))?;
        let all = table.entries().map(|(_, entry)| entry).find(|entry| entry.name == name);
        let entry = all.ok_or_else(|| wrong(&format!("no module has {name}")))?;
        let crc = object.get("_crc").and_then(Value::as_str).map(|crc| crc.trim_start_matches("0x"));
        if crc.is_some_and(|crc| crc != format!("{:08x}", entry.crc)) {
            return Err(wrong(&format!("{name} has the CRC {:08x} here", entry.crc)));
        }
        let bytes =
            msg::encode_fields(&entry.fields, object).map_err(|why| wrong(&format!("{name}: {why}")))?;
        Ok((entry.name_crc(), bytes))
    };
    let requests: Vec<_> = all.iter().enumerate().map(request).collect::<Result<_>>()?;
    ask_again(w, m, &requests)
}

fn ask_again(w: &World, m: &Matches, requests: &[(String, Vec<u8>)]) -> Result<Output> {
    let table = w.api.table();
    // All or nothing: what isn't known is found before anything is done.
    if let Some((name, _)) = requests.iter().find(|(name, _)| table.find(name).is_none()) {
        return Err(Error::not_found(format!("no module has the message {name}")).at(m.span("file")));
    }
    let mut client = msg::Loopback::new(w, &w.api);
    let (mut asked, mut refused) = (0u64, 0u64);
    for (name, bytes) in requests {
        // Whoever greeted is gone.
        let Some(id) = table.find(name).filter(|_| !name.starts_with("sockclnt_")) else { continue };
        asked += 1;
        refused += u64::from(client.replay(id, bytes).is_some_and(|retval| retval < 0));
    }
    let text = format!("{asked} requests asked once more, {refused} refused\n");
    Ok(Output::both(text, json!({ "asked": asked, "refused": refused })))
}
