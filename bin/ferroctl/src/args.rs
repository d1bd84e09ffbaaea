// SPDX-License-Identifier: Apache-2.0
//! The command line.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub const USAGE: &str = "usage: ferroctl [-s SOCKET] [-j] [COMMAND...]";

const HELP: &str = "\
usage: ferroctl [-s SOCKET] [-j] [COMMAND...]
       ferroctl [-s SOCKET] [-j] apply -f FILE [--plan | --confirmed MINUTES]
       ferroctl [-s SOCKET] [-j] doctor

Runs COMMAND in the Ferrovia daemon. Without COMMAND: reads a script from standard input, checks all of it and runs it;
on a terminal, starts a conversation with history, Tab and `?'.

  -s, --socket SOCKET  the daemon's CLI socket (default: /run/ferrovia/cli.sock, or the user's own daemon's)
  -j, --json           answers as JSON
  -h, --help           this text
  -V, --version        version

`apply' makes the configuration in FILE the one in force, by the lines in which they differ: all of it or nothing.

  -f, --file FILE      lines as `show running-config' writes them; the daemon reads the file
  --plan               only show the lines
  --confirmed MINUTES  go back to the last saved version unless `commit' follows in time

`doctor' looks at this machine and the daemon on it: huge pages, cores, interrupts, offloads, capabilities. It says what
would help, and by which command; it changes nothing.

Exit status: 0 all went well, 1 a command failed, 2 wrong arguments, 3 no daemon; of `apply': 0 nothing differed,
2 something was changed or would be, 1 nothing was changed because of an error, 3 no daemon;
of `doctor': 0 nothing to mend, 1 something is.
";

/// The action that the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    Run(Args),
    /// Make a file the configuration in force, by these arguments.
    Apply(Args, Vec<String>),
    /// Look at the machine, with these arguments.
    Doctor(Args, Vec<String>),
    /// Print this and leave.
    Say(String),
    /// Print what the last word of a line can be, for completion in a shell.
    Complete {
        socket: PathBuf,
        line: String,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub struct Args {
    pub socket: PathBuf,
    pub json: bool,
    /// Words joined by blanks; empty when none were given.
    pub command: String,
}

impl Args {
    /// Reads the arguments. Options stand before the command; everything behind its first word
    /// belongs to it.
    pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Action, String> {
        let mut args = args.into_iter();
        let mut complete = None;
        let mut verb = true;
        let (mut socket, mut json, mut words) = (None, false, Vec::new());
        let text = |a: OsString| a.into_string().map_err(|a| format!("{a:?} is not UTF-8"));
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("-s" | "--socket") => {
                    socket = Some(args.next().ok_or("-s needs the path of a socket")?.into())
                }
                Some("-j" | "--json") => json = true,
                Some("-h" | "--help") => return Ok(Action::Say(HELP.into())),
                Some("-V" | "--version") => {
                    return Ok(Action::Say(
                        concat!("ferroctl ", env!("CARGO_PKG_VERSION"), "\n").into(),
                    ));
                }
                // For the files of extras/completions.
                Some("--complete") => {
                    complete = Some(text(args.next().ok_or("--complete needs a line")?)?);
                }
                Some("--") => {
                    verb = false;
                    break;
                }
                Some(a) if a.starts_with("--socket=") => {
                    socket = Some(a["--socket=".len()..].into())
                }
                Some(a) if a.starts_with('-') => return Err(format!("unknown option {a}")),
                _ => {
                    words.push(text(arg)?);
                    break;
                }
            }
        }
        for arg in args {
            words.push(text(arg)?);
        }
        let socket = socket.unwrap_or_else(default_socket);
        if let Some(line) = complete {
            return Ok(Action::Complete { socket, line });
        }
        let own = if verb { words.first().map(String::as_str) } else { None };
        let action = match own {
            Some("apply") => Some(Action::Apply as fn(Self, Vec<String>) -> Action),
            Some("doctor") => Some(Action::Doctor as fn(Self, Vec<String>) -> Action),
            _ => None,
        };
        if let Some(action) = action {
            words.remove(0);
            return Ok(action(Self { socket, json, command: String::new() }, words));
        }
        Ok(Action::Run(Self { socket, json, command: words.join(" ") }))
    }
}

/// The socket of the system's daemon for root; for others their own daemon's if it is there.
fn default_socket() -> PathBuf {
    let system = PathBuf::from("/run/ferrovia/cli.sock");
    let uid = rustix::process::geteuid().as_raw();
    if uid == 0 {
        return system;
    }
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(|d| Path::new(&d).join("ferrovia/cli.sock"));
    let shared = PathBuf::from(format!("/tmp/ferrovia-{uid}/cli.sock"));
    // In /tmp any user may make a directory of that name.
    let mine = |p: &PathBuf| {
        p.parent().and_then(|d| d.symlink_metadata().ok()).is_some_and(|m| m.uid() == uid)
    };
    let first = own
        .iter()
        .find(|p| p.exists())
        .or(Some(&shared).filter(|p| p.exists() && mine(p)))
        .cloned();
    first.unwrap_or(if system.exists() { system } else { own.unwrap_or(system) })
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Action, String> {
        Args::parse(args.iter().map(OsString::from))
    }

    #[suite::test]
    fn options_stand_before_the_command() {
        let run = |socket: &str, json, command: &str| {
            Ok(Action::Run(Args { socket: socket.into(), json, command: command.into() }))
        };
        assert_eq!(
            parse(&["-s", "/x", "show", "interface", "-j"]),
            run("/x", false, "show interface -j")
        );
        assert_eq!(parse(&["--socket=/x", "-j", "show version"]), run("/x", true, "show version"));
        assert_eq!(parse(&["-s", "/x", "--", "-s"]), run("/x", false, "-s"));
        assert_eq!(parse(&["-s", "/x"]), run("/x", false, ""));
        let apply = Args { socket: "/x".into(), json: true, command: String::new() };
        let words = vec!["-f".into(), "x".into()];
        assert_eq!(parse(&["-s", "/x", "-j", "apply", "-f", "x"]), Ok(Action::Apply(apply, words)));
        assert_eq!(parse(&["-s", "/x", "--", "apply", "x"]), run("/x", false, "apply x"));
        let doctor = Args { socket: "/x".into(), json: false, command: String::new() };
        assert_eq!(parse(&["-s", "/x", "doctor"]), Ok(Action::Doctor(doctor, Vec::new())));
        assert!(parse(&["-s"]).is_err());
        assert!(parse(&["-x"]).is_err());
        assert!(matches!(parse(&["-h"]), Ok(Action::Say(_))));
        let complete = Action::Complete { socket: "/x".into(), line: "show i".into() };
        assert_eq!(parse(&["-s", "/x", "--complete", "show i"]), Ok(complete));
        assert!(parse(&["--complete"]).is_err());
    }

    fn options() -> Vec<&'static str> {
        let all: Vec<&str> =
            HELP.split([' ', ',', '\n']).filter(|word| word.starts_with('-')).collect();
        assert!(all.len() > 3);
        all
    }

    #[suite::test]
    fn the_manual_page_has_every_option() {
        let page =
            include_str!("../../../extras/man/ferroctl.1").replace("\\-", "-").replace("\\fP", " ");
        let words: Vec<&str> = page.split(|c: char| !(c.is_alphanumeric() || c == '-')).collect();
        let missing: Vec<_> =
            options().into_iter().filter(|option| !words.contains(option)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[suite::test]
    fn completions_have_every_option() {
        let files = [
            ("bash", include_str!("../../../extras/completions/ferroctl.bash")),
            ("zsh", include_str!("../../../extras/completions/_ferroctl")),
            ("fish", include_str!("../../../extras/completions/ferroctl.fish")),
        ];
        for (shell, text) in files {
            let words: Vec<&str> =
                text.split(|c: char| !(c.is_alphanumeric() || c == '-')).collect();
            let missing = options().into_iter().filter(|option| {
                match (shell, option.trim_start_matches('-')) {
                    // `-s s -l socket`
                    ("fish", name) => !text.contains(&format!(
                        " {} {name} ",
                        if name.len() == 1 { "-s" } else { "-l" }
                    )),
                    _ => !words.contains(option),
                }
            });
            assert_eq!(missing.collect::<Vec<_>>(), [""; 0], "{shell}");
        }
    }
}
