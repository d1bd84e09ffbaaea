// SPDX-License-Identifier: Apache-2.0
//! Lists of commands.

use crate::{Matches, Output, Result};

/// Runs a command whose answer is anything that becomes an output.
///
/// # Errors
/// Of the command.
#[doc(hidden)]
pub fn answered<W, A: Into<Output>>(
    world: &W,
    matches: &Matches<'_>,
    run: impl Fn(&W, &Matches<'_>) -> Result<A>,
) -> Result<Output> {
    run(world, matches).map(Into::into)
}

/// The text of doc comments: each line of them begins with a blank.
#[doc(hidden)]
pub const fn help(lines: &'static str) -> &'static str {
    match lines.as_bytes() {
        [b' ', rest @ ..] => match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(_) => lines,
        },
        _ => lines,
    }
}

/// A list of [`Command`](crate::Command)s. The doc comment is the help; path, usage (left out if
/// there is none) and the function or closure that runs it follow. It returns an [`Output`], or
/// anything that becomes one, as `()` and texts do. A command that is declared elsewhere stands in
/// braces.
///
/// ```
/// use cli::{Command, Matches, Result};
/// use std::cell::Cell;
///
/// static COMMANDS: &[Command<Cell<u16>>] = cli::commands! {
///     /// Set the level of the lamp
///     "set lamp", "{level <level:u16> | off}" => set;
///     /// The level of the lamp
///     "show lamp" => |lamp, _| Ok(lamp.get().to_string());
/// };
///
/// fn set(lamp: &Cell<u16>, m: &Matches) -> Result<()> {
///     lamp.set(m.opt("level")?.unwrap_or(0));
///     Ok(())
/// }
///
/// assert_eq!(COMMANDS[0].help, "Set the level of the lamp");
/// ```
#[macro_export]
macro_rules! commands {
    ($(
        $(#[doc = $help:literal])*
        $($path:literal)? $($named:path)? $({ $command:expr })?
        $(, $usage:expr)? $(=> $run:expr)?;
    )*) => {
        &[$($crate::commands!(
            @one $($command)? $($path)? $($named)?, [$($usage)?] [$($help),*] $($run)?
        )),*]
    };
    (@usage) => { "" };
    (@usage $usage:expr) => { $usage };
    (@one $command:expr, [] []) => { $command };
    (@one $path:expr, [$($usage:expr)?] [$($help:literal),+] $run:expr) => {
        $crate::Command {
            path: $path,
            usage: $crate::commands!(@usage $($usage)?),
            help: $crate::help(concat!($($help),+)),
            run: |world, matches| $crate::answered(world, matches, $run),
        }
    };
}
