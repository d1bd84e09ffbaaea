// SPDX-License-Identifier: Apache-2.0
//! A plain parser of RFC 5424 6, written from its grammar.

/// An element of structured data: its name and its parameters.
pub type Element = (String, Vec<(String, String)>);

/// The parts of a message.
#[derive(Debug)]
pub struct Parsed {
    pub priority: u32,
    pub host: String,
    pub app: String,
    pub id: String,
    pub elements: Vec<Element>,
    pub text: String,
}

/// Reads a message; `None` if it isn't one.
pub fn parse(line: &str) -> Option<Parsed> {
    let rest = line.strip_prefix('<')?;
    let (priority, rest) = rest.split_once('>')?;
    let priority = priority.parse().ok().filter(|priority| *priority < 192)?;
    let mut words = rest.splitn(7, ' ');
    let mut word = || words.next();
    if word()? != "1" {
        return None;
    }
    let at = word()?;
    // 2026-03-01T00:00:05.000007Z
    let is_time = at.len() == 27 && at.as_bytes()[10] == b'T' && at.ends_with('Z');
    let (host, app, pid, id, rest) = (word()?, word()?, word()?, word()?, word()?);
    pid.parse::<u32>().ok().filter(|_| is_time)?;
    let (elements, text) = match rest.strip_prefix('-') {
        Some(text) => (Vec::new(), text),
        None => elements(rest)?,
    };
    let text = if text.is_empty() { "" } else { text.strip_prefix(' ')? };
    // RFC 5424 6.4: UTF-8 begins with a byte order mark.
    let text = match text.strip_prefix('\u{feff}') {
        Some(text) => text,
        None => Some(text).filter(|text| text.is_ascii())?,
    };
    let own = str::to_string;
    Some(Parsed {
        priority,
        host: own(host),
        app: own(app),
        id: own(id),
        elements,
        text: own(text),
    })
}

fn elements(mut rest: &str) -> Option<(Vec<Element>, &str)> {
    let mut all = Vec::new();
    while let Some(inside) = rest.strip_prefix('[') {
        let end = inside.find([' ', ']'])?;
        let (name, mut inside) = inside.split_at(end);
        let mut params = Vec::new();
        while let Some(param) = inside.strip_prefix(' ') {
            let (name, value) = param.split_once("=\"")?;
            let (value, behind) = quoted(value)?;
            params.push((name.to_string(), value));
            inside = behind;
        }
        rest = inside.strip_prefix(']')?;
        all.push((name.to_string(), params));
    }
    (!all.is_empty()).then_some((all, rest))
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            ']' => return None,
            c => value.push(c),
        }
    }
    None
}
