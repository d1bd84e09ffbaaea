// SPDX-License-Identifier: Apache-2.0
//! Running other programs: from the root of the tree, never waiting for input, with what ran
//! printed.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a verb: nothing, or the line to print before exiting with 1.
pub type Res<T = ()> = Result<T, String>;

/// The root of the tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent").to_path_buf()
}

/// `PATH` with the system directories that a plain user's lacks (`ip` and `ethtool` are in them on
/// Debian).
pub fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

/// True if `program` can be found and executed.
pub fn have(program: &str) -> bool {
    std::env::split_paths(&search_path()).any(|dir| {
        dir.join(program)
            .metadata()
            .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    })
}

/// True if this process runs as root.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

/// `line` split at white space into a command: started in the root of the tree, standard input
/// closed.
pub fn cmd(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a command line is not empty"));
    command.args(words).current_dir(root()).env("PATH", search_path()).stdin(Stdio::null());
    command
}

/// The same for `cargo`: the one that started us, so that the toolchain is the same.
pub fn cargo(line: &str) -> Command {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = cmd(&format!("{program} {line}"));
    // Cargo tells a child about the package that is being run; to a nested cargo this is only noise
    // that makes build scripts run again.
    for (key, _) in std::env::vars_os() {
        if key
            .to_str()
            .is_some_and(|k| k.starts_with("CARGO_PKG_") || k.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(key);
        }
    }
    command
}

/// The command as a person would type it.
pub fn text(command: &Command) -> String {
    let program =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    command
        .get_args()
        .fold(program.into_owned(), |line, arg| format!("{line} {}", arg.to_string_lossy()))
}

/// Print the command, run it, and fail if it fails.
pub fn run(command: &mut Command) -> Res {
    println!("$ {}", text(command));
    quiet(command)
}

/// Run the command without printing it.
pub fn quiet(command: &mut Command) -> Res {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}` failed ({status})", text(command))),
        Err(error) => Err(format!("`{}` did not start: {error}", text(command))),
    }
}

/// Run the command and give back what it printed on standard output; its standard error becomes the
/// error.
pub fn output(command: &mut Command) -> Res<String> {
    let out =
        command.output().map_err(|error| format!("`{}` did not start: {error}", text(command)))?;
    if !out.status.success() {
        let why = String::from_utf8_lossy(&out.stderr).trim().to_string();
        return Err(format!("`{}` failed ({}): {why}", text(command), out.status));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Run the command, pass each line that it prints on, and hand it to `line` as well.
pub fn watch(command: &mut Command, mut line: impl FnMut(&str)) -> Res {
    println!("$ {}", text(command));
    let name = text(command);
    let not_started = |error| format!("`{name}` did not start: {error}");
    // One pipe for both, so that the order of lines is kept.
    let (reader, writer) = std::io::pipe().map_err(not_started)?;
    let second = writer.try_clone().map_err(not_started)?;
    let mut child = command.stdout(writer).stderr(second).spawn().map_err(not_started)?;
    // The command has ends of the pipe that would keep it open.
    command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&bytes);
        print!("{text}");
        line(text.trim_end());
        bytes.clear();
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` failed ({status})")),
        Err(error) => Err(format!("`{name}`: {error}")),
    }
}

/// Read a file of the tree; the error names it.
pub fn read(path: impl AsRef<Path>) -> Res<String> {
    let path = path.as_ref();
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Write a file, making its directory; the error names it.
pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Res {
    let path = path.as_ref();
    path.parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, content))
        .map_err(|error| format!("{}: {error}", path.display()))
}
