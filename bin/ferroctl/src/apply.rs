// SPDX-License-Identifier: Apache-2.0
//! `ferroctl apply`: a file becomes the configuration in force. For programs that bring machines
//! into a desired state: the exit status says whether anything was changed.

use cli::frames::{Reply, Request};
use serde_json::Value;

use crate::args::{self, Args};
use crate::client::Client;

/// Nothing differed.
const SAME: u8 = 0;
/// Lines were run, or would be.
const CHANGED: u8 = 2;

/// The arguments of `apply`.
#[derive(Debug, PartialEq, Eq)]
struct Apply {
    /// The file; the daemon reads it.
    file: String,
    /// Only show the lines.
    plan: bool,
    /// Minutes in which it has to be confirmed.
    confirmed: Option<u32>,
}

impl Apply {
    /// Reads the arguments behind the word `apply`.
    ///
    /// # Errors
    /// A sentence on what is wrong.
    fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut args = args.into_iter();
        let (mut file, mut plan, mut confirmed) = (None, false, None);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "-f" | "--file" => file = Some(args.next().ok_or("-f needs the path of a file")?),
                "--plan" => plan = true,
                "--confirmed" => {
                    let minutes = args.next().unwrap_or_default();
                    let number = minutes.parse().ok().filter(|n| *n > 0);
                    let wrong = || format!("--confirmed needs minutes, not `{minutes}'");
                    confirmed = Some(number.ok_or_else(wrong)?);
                }
                _ => return Err(format!("apply: unknown option {arg}")),
            }
        }
        if plan && confirmed.is_some() {
            return Err("apply: --plan changes nothing that could be confirmed".into());
        }
        let file = file.ok_or("apply needs a file: -f FILE")?;
        Ok(Self { file, plan, confirmed })
    }

    /// The daemon's command for it.
    fn command(&self) -> Result<String, String> {
        let path = std::path::absolute(&self.file).map_err(|e| format!("{}: {e}", self.file))?;
        let path = path.to_str().ok_or_else(|| format!("{}: is not UTF-8", self.file))?;
        let file = cli::quote(path);
        Ok(match (self.plan, self.confirmed) {
            (true, _) => format!("replace {file} plan"),
            (false, Some(minutes)) => format!("replace {file} confirmed {minutes}"),
            (false, None) => format!("replace {file}"),
        })
    }
}

/// Applies, prints what was done, and returns the exit status.
///
/// # Errors
/// There is no daemon, or it went away.
pub fn run(args: &Args, words: Vec<String>) -> Result<u8, String> {
    let command = match Apply::parse(words).and_then(|apply| apply.command()) {
        Ok(command) => command,
        Err(e) => {
            eprintln!("ferroctl: {e}\n{}", args::USAGE);
            return Ok(crate::FAILED);
        }
    };
    let request = Request::Run(command, true);
    let (mut answer, mut error) = (String::new(), String::new());
    let status = Client::connect(&args.socket)?.request(&request, &mut |reply| {
        match reply {
            Reply::Out(text) | Reply::More(text) => answer += &text,
            Reply::Error(text) => error += &text,
            _ => {}
        }
        true
    })?;
    if status != 0 {
        let json = serde_json::from_str::<Value>(&error).ok().filter(|_| !args.json);
        let part = |key: &str| json.as_ref().and_then(|json| json["error"][key].as_str());
        match (part("message"), part("hint")) {
            (Some(text), Some(hint)) => eprintln!("{text}\n{hint}"),
            (Some(text), None) => eprintln!("{text}"),
            (None, _) => eprint!("{error}"),
        }
        return Ok(crate::FAILED);
    }
    let json: Value = serde_json::from_str(&answer).map_err(|e| format!("the answer: {e}"))?;
    if args.json {
        print!("{answer}");
    } else {
        print!("{}", text(&json));
    }
    Ok(if count(&json) == 0 { SAME } else { CHANGED })
}

fn lines<'a>(json: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    json[key].as_array().into_iter().flatten()
}

/// Number of lines that were run, or would be.
fn count(json: &Value) -> u64 {
    let listed = lines(json, "undo").count() + lines(json, "run").count();
    json["lines_run"].as_u64().unwrap_or(listed as u64)
}

/// The answer for people.
fn text(json: &Value) -> String {
    let mut text = String::new();
    for line in lines(json, "undo") {
        text += &format!("-{}\n", line["line"].as_str().unwrap_or_default());
    }
    let sign = if json.get("undo").is_some() { "+" } else { "  " };
    for line in lines(json, "run") {
        text += &format!("{sign}{}\n", line.as_str().unwrap_or_default());
    }
    text += &match (count(json), json.get("undo")) {
        (0, _) => "nothing to change\n".into(),
        (n, Some(_)) => format!("{n} lines differ\n"),
        (n, None) => format!("{n} lines were run\n"),
    };
    if let Some(seconds) = json["rollback_in"].as_u64() {
        text += &format!("back to the saved version in {seconds} s, unless `commit' comes first\n");
    }
    text
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(args: &[&str]) -> Result<Apply, String> {
        Apply::parse(args.iter().map(|arg| arg.to_string()))
    }

    #[suite::test]
    fn arguments() {
        let apply = |plan, confirmed| Ok(Apply { file: "/etc/x".into(), plan, confirmed });
        assert_eq!(parse(&["-f", "/etc/x"]), apply(false, None));
        assert_eq!(parse(&["--plan", "--file", "/etc/x"]), apply(true, None));
        assert_eq!(parse(&["-f", "/etc/x", "--confirmed", "5"]), apply(false, Some(5)));
        for wrong in [
            &[][..],
            &["-f"],
            &["x"],
            &["-f", "x", "--confirmed", "0"],
            &["-f", "x", "--confirmed"],
            &["-f", "x", "--plan", "--confirmed", "5"],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[suite::test]
    fn the_command_names_the_whole_path() {
        let command = |args: &[&str]| parse(args).and_then(|apply| apply.command());
        assert_eq!(command(&["-f", "/a b", "--plan"]), Ok("replace \"/a b\" plan".into()));
        assert_eq!(command(&["-f", "/a", "--confirmed", "5"]), Ok("replace /a confirmed 5".into()));
        let relative = command(&["-f", "a"]).expect("a command");
        assert!(relative.starts_with("replace /") && relative.ends_with("/a"), "{relative}");
    }

    #[suite::test]
    fn what_was_done_is_counted() {
        let plan = json!({ "undo": [{ "line": "a", "undo": "no a" }], "run": ["b"] });
        assert_eq!((count(&plan), text(&plan).as_str()), (2, "-a\n+b\n2 lines differ\n"));
        let done = json!({ "more": 0, "less": 0, "run": ["no a", "b"] });
        assert_eq!((count(&done), text(&done).as_str()), (2, "  no a\n  b\n2 lines were run\n"));
        let same = json!({ "more": 0, "less": 0, "run": [] });
        assert_eq!((count(&same), text(&same).as_str()), (0, "nothing to change\n"));
        let confirmed = json!({ "lines_run": 3, "rollback_in": 60, "added": ["x"] });
        assert_eq!(count(&confirmed), 3);
        assert!(text(&confirmed).ends_with("in 60 s, unless `commit' comes first\n"));
    }
}
