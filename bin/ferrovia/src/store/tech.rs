// SPDX-License-Identifier: Apache-2.0
//! `show tech-support`: an archive of what a helper needs to know.
//!
//! Secrets are left out by their values: what stands where a command's usage has the type `secret`, or behind a secret word of
//! the startup configuration, is replaced wherever it is found.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cli::{Error, Output, Result, Said, Sequence, Step, Tree};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::{script, store};
use crate::commands::startup;
use crate::date::Date;
use crate::process::arguments;
use crate::run::World;

/// Bytes of one answer; the rest of longer ones is cut.
const LONGEST: usize = 8 << 20;

/// What stands in the place of a secret.
const HIDDEN: &str = "<secret>";

const OWN: &str = "show tech-support";

/// An archive that is being made.
pub struct Gather<W> {
    path: PathBuf,
    /// Name in the archive, command, as JSON. The first is the next.
    todo: Option<VecDeque<(String, String, bool)>>,
    now: Option<String>,
    /// Names and texts.
    files: Vec<(String, String)>,
    secrets: Vec<String>,
    world: PhantomData<fn(W)>,
}

impl<W> Gather<W> {
    /// Into this file, or one of the runtime directory.
    ///
    /// # Errors
    /// A file that is there.
    pub fn new(file: Option<&str>) -> Result<Self> {
        let path = match file {
            Some(file) => std::path::absolute(file)?,
            None => startup().runtime_dir.join(format!("{}.tar.gz", name(Date::now()))),
        };
        if path.symlink_metadata().is_ok() {
            return Err(Error::failed(format!("{}: there is something already", path.display())));
        }
        let (todo, now, files, secrets) = (None, None, Vec::new(), Vec::new());
        Ok(Self { path, todo, now, files, secrets, world: PhantomData })
    }
}

/// The archive's name, and its folder's.
fn name(d: Date) -> String {
    let Date { year, month, day, hour, minute, second, .. } = d;
    format!("ferrovia-tech-support-{year}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Every `show` that needs nothing more, and those that need an interface, for each of them.
fn shows<W: World>(tree: &Tree<W>, world: &W) -> VecDeque<(String, String, bool)> {
    let mut all = VecDeque::new();
    let mut add = |line: &str| {
        let name = line.trim_start_matches("show ").replace([' ', '/'], "-");
        all.push_back((format!("show/{name}.txt"), line.to_string(), false));
        all.push_back((format!("show/{name}.json"), line.to_string(), true));
    };
    let interfaces = world.candidates("interface", "");
    for command in tree.commands() {
        let path = command.path;
        if !path.starts_with("show ") || path == OWN {
            continue;
        }
        // A shorter command may take the last word for a name.
        let is_it = |line: &str| tree.parse(line).is_ok_and(|p| p.is_some_and(|p| p.command().path == path));
        if is_it(path) {
            add(path);
            continue;
        }
        let lines = interfaces.iter().map(|i| format!("{path} {}", cli::quote(i)));
        lines.filter(|line| is_it(line)).for_each(|line| add(&line));
    }
    all
}

/// What the kernel tells of its interfaces, and of this process.
fn kernel() -> Vec<(String, String)> {
    let mut links = String::new();
    match netlink::Rtnl::new().and_then(|mut rtnl| rtnl.links()) {
        Ok(all) => all.iter().for_each(|link| links += &format!("{link:?}\n")),
        Err(e) => links = e.to_string(),
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_else(|e| e.to_string());
    let files = ["/proc/self/status", "/proc/self/limits", "/proc/net/dev", "/proc/meminfo", "/proc/cpuinfo"];
    let mut all = vec![("kernel/links.txt".to_string(), links)];
    all.extend(files.map(|path| (format!("kernel/{}.txt", path[6..].replace('/', "-")), read(path))));
    all
}

fn about() -> String {
    let uname = rustix::system::uname();
    let text =
        [uname.sysname(), uname.release(), uname.version(), uname.machine()].map(|s| s.to_string_lossy());
    format!("{}\n{}\n{}\n", arguments::version(), Date::now().long(), text.join(" "))
}

/// The text without secrets.
pub fn without(secrets: &[String], mut text: String) -> String {
    for secret in secrets.iter().filter(|s| !s.is_empty()) {
        text = text.replace(secret.as_str(), HIDDEN);
        let quoted = json!(secret).to_string();
        let escaped = quoted.trim_matches('"');
        if escaped != secret {
            text = text.replace(escaped, HIDDEN);
        }
    }
    text
}

impl<W: World> Gather<W> {
    fn start(&mut self, tree: &Tree<W>, world: &W) -> VecDeque<(String, String, bool)> {
        let running = script(&world.running_config());
        let startup = startup();
        let mut secrets: Vec<String> = startup.secrets.clone();
        let saved = store().and_then(|s| s.read(0)).map(|v| v.lines).unwrap_or_default();
        for line in running.lines().chain(saved.iter().map(String::as_str)) {
            secrets.extend(tree.secrets(line).into_iter().map(String::from));
        }
        // A secret that is part of another one must not be taken out of it first.
        secrets.sort_by_key(|s| std::cmp::Reverse(s.len()));
        secrets.dedup();
        self.secrets = secrets;
        self.files.push(("about.txt".into(), about()));
        self.files.push(("startup.conf".into(), startup.config.clone()));
        self.files.push(("running-config.cli".into(), running));
        self.files.push(("saved-config.cli".into(), saved.join("\n") + "\n"));
        self.files.extend(kernel());
        shows(tree, world)
    }

    fn write(&self) -> io::Result<()> {
        let folder = self.path.file_name().map_or("tech-support".into(), |n| n.to_string_lossy());
        let folder = folder.trim_end_matches(".tar.gz").trim_end_matches(".tgz");
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path)?;
        let written = self.archive(folder, &file).and_then(|()| (&file).flush());
        if written.is_err() {
            // What is there is of no use.
            let _ = std::fs::remove_file(&self.path);
        }
        written
    }

    fn archive(&self, folder: &str, file: &File) -> io::Result<()> {
        let mut archive = tar::Builder::new(GzEncoder::new(io::BufWriter::new(file), Compression::default()));
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        for (name, text) in &self.files {
            let text = without(&self.secrets, text.clone());
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            header.set_mtime(time);
            archive.append_data(&mut header, Path::new(folder).join(name), text.as_bytes())?;
        }
        archive.into_inner()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error).map(drop)
    }
}

impl<W: World> Sequence<W> for Gather<W> {
    fn next(&mut self, tree: &Tree<W>, world: &W, last: Option<Result<Vec<Said>>>) -> Step {
        if let (Some(name), Some(ended)) = (self.now.take(), last) {
            let mut text: String = match ended {
                Ok(said) => said.into_iter().map(|(Said::Answer(t) | Said::Chunk(t))| t).collect(),
                Err(error) => format!("{error}\n"),
            };
            if text.len() > LONGEST {
                text.truncate(text.floor_char_boundary(LONGEST));
                text += "\n… cut\n";
            }
            self.files.push((name, text));
        }
        if self.todo.is_none() {
            self.todo = Some(self.start(tree, world));
        }
        if let Some((name, line, as_json)) = self.todo.as_mut().and_then(VecDeque::pop_front) {
            self.now = Some(name);
            return Step::Run(line, as_json);
        }
        let path = self.path.display().to_string();
        match self.write() {
            Ok(()) => {
                let n = self.files.len();
                Step::Done(Output::both(
                    format!("{n} files in {path}\n"),
                    json!({ "file": path, "files": n }),
                ))
            }
            Err(e) => Step::Failed(Error::failed(format!("{path}: {e}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_wherever_they_are() {
        let secrets = ["a \"b\" c".to_string(), "pass".into(), String::new()];
        let text = "set key pass\n{\"line\":\"key a \\\"b\\\" c\"}\nkey a \"b\" c compass";
        let expected = "set key <secret>\n{\"line\":\"key <secret>\"}\nkey <secret> com<secret>";
        assert_eq!(without(&secrets, text.into()), expected);
    }
}
