// SPDX-License-Identifier: Apache-2.0
//! The manual page and the completions for shells, made from the command line.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args as _, Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Arguments, Options};

/// Writes them below `share`, a folder such as `/usr/local/share`. Returns their paths.
///
/// # Errors
/// A file or folder that can't be written.
pub fn write(share: &Path) -> io::Result<Vec<PathBuf>> {
    let mut page = Vec::new();
    manual(&mut page)?;
    let mut files = vec![(share.join("man/man1/ferrotest.1"), page)];
    for (shell, path) in [
        (Shell::Bash, "bash-completion/completions/ferrotest"),
        (Shell::Zsh, "zsh/site-functions/_ferrotest"),
        (Shell::Fish, "fish/vendor_completions.d/ferrotest.fish"),
    ] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Arguments::command(), "ferrotest", &mut script);
        files.push((share.join(path), script));
    }
    for (path, bytes) in &files {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, bytes)?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// One page with all verbs. Those that measure share their options, which stand once.
fn manual(out: &mut Vec<u8>) -> io::Result<()> {
    let command = Arguments::command();
    let mut head = Vec::new();
    Man::new(command.clone()).manual("Ferrovia").render(&mut head)?;
    // Verbs have no pages of their own.
    let head = String::from_utf8_lossy(&head).replace("ferrotest\\-", "").replace("(1)", "");
    write!(out, "{head}")?;
    let shared = Options::augment_args(Command::new("options"));
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("ferrotest {}", verb.get_name());
        writeln!(out, ".SH {}", name.to_uppercase())?;
        let is_shared = |id: &clap::Id| shared.get_arguments().any(|option| option.get_id() == id);
        let verb = verb.clone().bin_name(name).disable_help_flag(true);
        let verb = verb.mut_args(|option| {
            let hidden = option.is_hide_set() || is_shared(option.get_id());
            option.hide(hidden)
        });
        options(verb, out)?;
    }
    writeln!(out, ".SH OPTIONS OF MEASUREMENTS")?;
    options(shared.disable_help_flag(true), out)
}

/// The options of a command, without a heading.
fn options(command: Command, out: &mut Vec<u8>) -> io::Result<()> {
    let mut section = Vec::new();
    Man::new(command).render_options_section(&mut section)?;
    write!(out, "{}", String::from_utf8_lossy(&section).replace(".SH OPTIONS\n", ""))
}
