// SPDX-License-Identifier: Apache-2.0
//! A message (RFC 5424 6).

use cli::Date;
use std::fmt::{Display, Write};
use std::sync::LazyLock;
use std::time::SystemTime;

/// The facility of traffic's records, local0 (RFC 5424 6.2.1).
pub const LOCAL0: u8 = 16;
/// Names of facilities, by number.
pub const FACILITIES: [&str; 24] = [
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp", "ntp", "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4",
    "local5", "local6", "local7",
];

/// Bytes of the longest name of an application (RFC 5424 6).
pub const APP_NAME: usize = 48;
/// Bytes of the longest name of a kind of messages.
pub const MSG_ID: usize = 32;
/// Bytes of the longest name of structured data.
const SD_NAME: usize = 32;

/// A severity (RFC 5424 6.2.1); a smaller one is more urgent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Severity {
    /// The system is unusable.
    Emergency,
    /// Action must be taken at once.
    Alert,
    /// A critical condition.
    Critical,
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// A normal but significant condition.
    Notice,
    /// Information.
    Informational,
    /// Messages for debugging.
    Debug,
}

impl Severity {
    /// All, by number.
    pub const ALL: [Self; 8] = [
        Self::Emergency,
        Self::Alert,
        Self::Critical,
        Self::Error,
        Self::Warning,
        Self::Notice,
        Self::Informational,
        Self::Debug,
    ];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Emergency => "emergency",
            Self::Alert => "alert",
            Self::Critical => "critical",
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
            Self::Informational => "informational",
            Self::Debug => "debug",
        }
    }

    /// The severity of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == word)
    }
}

/// A message: its header without the host, its structured data and its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    facility: u8,
    severity: Severity,
    at: SystemTime,
    app: String,
    id: String,
    elements: Vec<String>,
    text: String,
}

/// A message as text, which may have lost a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// The text.
    pub line: String,
    /// True if something didn't fit.
    pub is_cut: bool,
}

impl Message {
    /// A message of an application, with the kind `id`. Both are names ([`is_name`]); `-` stands
    /// for one that isn't.
    pub fn new(
        (facility, severity): (u8, Severity),
        at: SystemTime,
        app: impl Into<String>,
        id: impl Into<String>,
    ) -> Self {
        let name = |name: String, most| if is_name(&name, most) { name } else { "-".into() };
        Self {
            facility: facility.min(FACILITIES.len() as u8 - 1),
            severity,
            at,
            app: name(app.into(), APP_NAME),
            id: name(id.into(), MSG_ID),
            elements: Vec::new(),
            text: String::new(),
        }
    }

    /// Its severity.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Begins an element of structured data; `id` is a name of structured data ([`is_sd_name`]).
    #[must_use]
    pub fn element(mut self, id: &str) -> Self {
        self.elements.push(format!("[{id}"));
        self
    }

    /// Adds a parameter to the last element.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl Display) -> Self {
        self.add(name, value);
        self
    }

    /// Adds a parameter to the last element.
    pub fn add(&mut self, name: &str, value: impl Display) {
        let Some(element) = self.elements.last_mut() else { return };
        // Writing to a String can't fail.
        let _ = write!(element, " {name}=\"");
        for c in value.to_string().chars() {
            // RFC 5424 6.3.3: these three are escaped.
            if matches!(c, '"' | '\\' | ']') {
                element.push('\\');
            }
            element.push(c);
        }
        element.push('"');
    }

    /// The text for people behind the structured data.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// The message with the name of its sender, in at most `most` bytes. If it is too long, it
    /// loses the end of the text, then whole elements of structured data (RFC 5424 6.1).
    pub fn encode(&self, host: &str, most: usize) -> Encoded {
        let priority = u32::from(self.facility) * 8 + self.severity as u32;
        let (at, pid) = (Date::from(self.at), std::process::id());
        let host = if is_name(host, 255) { host } else { "-" };
        let at = at.iso();
        let mut line = format!("<{priority}>1 {at}Z {host} {} {pid} {} ", self.app, self.id);
        let head = line.len();
        let mut is_cut = false;
        for element in &self.elements {
            if line.len() + element.len() < most {
                line.push_str(element);
                line.push(']');
            } else {
                is_cut = true;
            }
        }
        if line.len() == head {
            line.push('-');
        }
        if !self.text.is_empty() {
            // RFC 5424 6.4: a text of UTF-8 begins with the byte order mark. Plain ASCII may do
            // without.
            let mark = if self.text.is_ascii() { "" } else { "\u{feff}" };
            let left = most.saturating_sub(line.len() + 1 + mark.len());
            let text = &self.text[..self.text.floor_char_boundary(left)];
            is_cut |= text.len() < self.text.len();
            if !text.is_empty() {
                line.push(' ');
                line.push_str(mark);
                line.push_str(text);
            }
        }
        Encoded { line, is_cut }
    }
}

/// True for a name of the header: printable ASCII without spaces.
pub fn is_name(name: &str, most: usize) -> bool {
    (1..=most).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic())
}

/// True for a name of structured data (RFC 5424 6.3.2 and 6.3.3).
pub fn is_sd_name(name: &str) -> bool {
    is_name(name, SD_NAME) && !name.contains(['=', ']', '"'])
}

/// The name of the host, or `-` (RFC 5424 6.2.4).
pub static HOST: LazyLock<String> = LazyLock::new(|| {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if is_name(name, 255) { name.to_string() } else { "-".to_string() }
});
