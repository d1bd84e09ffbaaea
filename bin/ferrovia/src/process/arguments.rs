// SPDX-License-Identifier: Apache-2.0
//! The command line: `-c FILE`, configuration text, `--help`, `--version`, `--help-config`.

use std::ffi::{OsStr, OsString};

use crate::build;
use crate::config::{self, Config};
use startup::Source;

/// The action that the command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Start with this configuration.
    Start(Box<Config>),
    /// Print this text and end.
    Print(String),
}

/// The configuration of a daemon that is started without arguments.
const DEFAULT: &str = "/etc/ferrovia/startup.conf";

/// Has the effect of section `compat`, for programs that start the daemon with a configuration of
/// their own.
const COMPAT: &str = "FERROVIA_COMPAT";

/// Reads the value of [`COMPAT`].
fn is_vpp(value: Option<&OsStr>) -> Result<bool, String> {
    match value {
        None => Ok(false),
        Some(value) if value.is_empty() => Ok(false),
        Some(value) if value == "vpp" => Ok(true),
        Some(value) => Err(format!("{COMPAT}={}: expected `vpp` or nothing", value.display())),
    }
}

fn usage() -> String {
    "Usage: ferrovia [-c FILE] [SECTION { WORD [VALUE] … }]…\n\
     \n\
     Starts the packet processor. Everything that isn't an option is configuration as in FILE, joined with spaces:\n\
     \n    ferrovia unix { nodaemon cli-listen /tmp/cli.sock } cpu { workers 2 }\n\
     \nWithout any argument it is read from /etc/ferrovia/startup.conf, if that is there.\n\
     \n\
     \x20 -c FILE          read configuration from FILE; what follows on the command line is added to it\n\
     \x20 --help-config    print every section and word of the configuration\n\
     \x20 --dump-graph     print the packet graph as a Graphviz picture\n\
     \x20 --dump-api DIR   write the binary API's .api.json files into DIR/core and DIR/plugins\n\
     \x20 --version        print the version\n\
     \x20 --help           print this\n"
        .into()
}

/// Reads the command line (without the program's name). The error is ready to be printed.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Request, String> {
    let mut words = Vec::new();
    for (i, arg) in args.into_iter().enumerate() {
        words.push(arg.into_string().map_err(|_| format!("argument {}: is not UTF-8", i + 1))?);
    }
    let (file, rest) = match words.first().map(String::as_str) {
        Some("--help" | "-h") => return Ok(Request::Print(usage())),
        Some("--version" | "-V") => {
            return Ok(Request::Print(format!("{}\n{}\n", build::line(), build::COMPILER)));
        }
        Some("--help-config") => return Ok(Request::Print(config::help())),
        Some("--dump-graph") => return crate::instance::dot().map(Request::Print),
        Some("--dump-api") => {
            let dir =
                words.get(1).ok_or("argument 1: `--dump-api` wants the name of a directory")?;
            return crate::api::files::dump(dir.as_ref()).map(Request::Print);
        }
        Some("-c") => {
            let file = words.get(1).ok_or("argument 1: `-c` wants the name of a file")?;
            (Some(file.as_str()), 2)
        }
        Some(option) if option.starts_with('-') => {
            return Err(format!(
                "argument 1: unknown option `{option}`\n  `ferrovia --help` lists the options"
            ));
        }
        Some(_) => (None, 0),
        None => (Some(DEFAULT).filter(|file| std::path::Path::new(file).exists()), 0),
    };
    let mut config = Config::default();
    if let Some(file) = file {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        config.read(&Source::file(file, text)).map_err(|e| e.to_string())?;
    }
    config.read(&Source::arguments(rest + 1, &words[rest..])).map_err(|e| e.to_string())?;
    config.compat.vpp |= is_vpp(std::env::var_os(COMPAT).as_deref())?;
    Ok(Request::Start(Box::new(config)))
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    fn run(args: &[&str]) -> Result<Request, String> {
        parse(args.iter().map(OsString::from))
    }

    #[suite::test]
    fn a_file_and_what_follows_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("startup.conf");
        std::fs::write(&file, "unix { nodaemon } # comment\ncpu { workers 1 }\n").unwrap();
        let Ok(Request::Start(config)) =
            run(&["-c", file.to_str().unwrap(), "cpu", "{ workers 2 }"])
        else {
            panic!("starts")
        };
        assert!(config.unix.nodaemon);
        assert_eq!(config.cpu.workers, Some(2));
        let error = run(&["-c", file.to_str().unwrap(), "cpu", "{", "wrkers", "}"]).unwrap_err();
        assert!(error.starts_with("argument 5: unknown word `wrkers`"), "{error}");
    }

    #[suite::test]
    fn the_environment_names_vpp_or_nothing() {
        let read = |value: &str| is_vpp(Some(OsStr::new(value)));
        assert_eq!((is_vpp(None), read(""), read("vpp")), (Ok(false), Ok(false), Ok(true)));
        assert_eq!(read("dpdk").unwrap_err(), "FERROVIA_COMPAT=dpdk: expected `vpp` or nothing");
        let Ok(Request::Start(config)) = run(&["compat", "{", "vpp", "}"]) else {
            panic!("starts")
        };
        assert!(config.compat.vpp);
    }

    #[suite::test]
    fn options_that_print_and_options_that_do_not_exist() {
        assert!(
            matches!(run(&["--version"]), Ok(Request::Print(text)) if text.starts_with("ferrovia 0."))
        );
        assert!(
            matches!(run(&["--help-config"]), Ok(Request::Print(text)) if text.contains("cli-listen"))
        );
        assert!(run(&["--verbose"]).unwrap_err().contains("unknown option `--verbose`"));
        assert!(run(&["-c"]).is_err());
        assert!(
            run(&["-c", "/nonexistent/f"]).unwrap_err().starts_with("/nonexistent/f: No such file")
        );
    }

    fn options() -> Vec<String> {
        let usage = usage();
        let words = usage.split([' ', ',', '\n', ']', '[']).filter(|word| word.starts_with('-'));
        let all: Vec<String> = words.map(String::from).collect();
        assert!(all.len() > 3);
        all
    }

    #[suite::test]
    fn completions_have_every_option() {
        let bash = include_str!("../../../../extras/completions/ferrovia.bash");
        let zsh = include_str!("../../../../extras/completions/_ferrovia");
        let fish = include_str!("../../../../extras/completions/ferrovia.fish");
        for option in options() {
            let word = |text: &str| {
                text.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|w| w == option)
            };
            let name = option.trim_start_matches('-');
            let kind = if name.len() == 1 { "-s" } else { "-l" };
            assert!(
                word(bash) && word(zsh) && fish.contains(&format!(" {kind} {name} ")),
                "{option}"
            );
        }
    }

    #[suite::test]
    fn the_manual_page_has_every_option() {
        let page = include_str!("../../../../extras/man/ferrovia.8").replace("\\-", "-");
        let options = options();
        let words: Vec<&str> = page.split(|c: char| !(c.is_alphanumeric() || c == '-')).collect();
        let missing: Vec<_> =
            options.iter().filter(|option| !words.contains(&option.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
