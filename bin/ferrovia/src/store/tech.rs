// SPDX-License-Identifier: Apache-2.0
//! `show tech-support`: an archive of the facts that support needs.
//!
//! Secrets are left out by their values: the text where a command's usage has the type `secret`, or
//! behind a secret word of the startup configuration, is replaced wherever it is found.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::marker::PhantomData;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use cli::{Error, HIDDEN, Output, OutputPiece, Result, Sequence, Step, Tree};
use graph::ConfigLines;
use serde_json::json;

use super::archive::Archive;
use super::{Body, store};
use crate::build;
use crate::commands::startup;
use crate::world::World;
use cli::Date;

/// Entries of a table that are kept; the others are counted where a command has a summary.
const ENTRIES: usize = 1000;
/// Bytes of one file; the rest of longer ones is cut.
const LONGEST: usize = 2 << 20;
/// Number of interfaces that are asked for one by one.
const INTERFACES: usize = 64;
/// Bytes of a configuration that are kept.
const CONFIG: usize = 1 << 20;

/// Bytes of the name of the archive's folder, and of a file without its suffix. A tar archive can't
/// have much longer ones.
const NAME: usize = 90;

const OWN: &str = "show tech-support";

/// An archive that is being made.
pub struct Gather<W> {
    path: PathBuf,
    /// The archive, once there is something to write.
    archive: Option<Archive>,
    /// The configuration while it is read, and the part of its text that is kept.
    config: Option<(ConfigLines, Body)>,
    /// The saved configuration, and the offset up to which secrets were collected from it.
    saved: Option<(String, usize)>,
    /// Files besides answers: names and texts. The first is the next.
    ready: VecDeque<(String, String)>,
    /// Paths of `show` commands. The first is the next.
    paths: VecDeque<&'static str>,
    /// Interfaces that are asked for one by one.
    interfaces: Vec<String>,
    /// Commands of one path: name in the archive, command, as JSON. The first is the next.
    todo: VecDeque<(String, String, bool)>,
    /// The name of the file that comes next.
    now: Option<String>,
    /// Files that are written.
    files: usize,
    secrets: Vec<String>,
    world: PhantomData<fn(W)>,
}

impl<W> Gather<W> {
    /// A new archive in this file, or in a file of the runtime directory.
    ///
    /// # Errors
    /// The file is there already.
    pub fn new(file: Option<&str>) -> Result<Self> {
        let path = match file {
            Some(file) => std::path::absolute(file)?,
            None => startup().runtime_dir.join(format!("{}.tar.gz", name(Date::now()))),
        };
        if path.symlink_metadata().is_ok() {
            return Err(Error::failed(format!("{}: there is something already", path.display())));
        }
        Ok(Self {
            path,
            archive: None,
            config: None,
            saved: None,
            ready: VecDeque::new(),
            paths: VecDeque::new(),
            interfaces: Vec::new(),
            todo: VecDeque::new(),
            now: None,
            files: 0,
            secrets: Vec::new(),
            world: PhantomData,
        })
    }
}

impl<W> Drop for Gather<W> {
    fn drop(&mut self) {
        // It wasn't completed: the file is of no use.
        if self.archive.take().is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The archive's name, and its folder's.
fn name(date: Date) -> String {
    format!("ferrovia-tech-support-{}", date.compact())
}

/// The `show` commands of a path: the path itself if it needs nothing more, or one command for each
/// of some interfaces.
fn shows<W: World>(
    tree: &Tree<W>,
    path: &str,
    interfaces: &[String],
) -> VecDeque<(String, String, bool)> {
    let mut all = VecDeque::new();
    let mut add = |line: &str| {
        let mut name = line.trim_start_matches("show ").replace([' ', '/'], "-");
        name.truncate(name.floor_char_boundary(NAME));
        all.push_back((format!("show/{name}.txt"), line.to_string(), false));
        all.push_back((format!("show/{name}.json"), line.to_string(), true));
    };
    // A shorter command may take the last word for a name.
    let is_it =
        |line: &str| tree.parse(line).is_ok_and(|p| p.is_some_and(|p| p.command().path == path));
    if is_it(path) {
        let summary = format!("{path} summary");
        if is_it(&summary) {
            add(&summary);
        }
        add(path);
    } else {
        let lines = interfaces.iter().map(|i| format!("{path} {}", cli::quote(i)));
        lines.filter(|line| is_it(line)).for_each(|line| add(&line));
    }
    all
}

/// Files with the kernel's data on its interfaces, and on this process.
fn kernel() -> Vec<(String, String)> {
    let mut links = String::new();
    match netlink::Rtnl::new().and_then(|mut rtnl| rtnl.links()) {
        Ok(all) => all.iter().for_each(|link| links += &format!("{link:?}\n")),
        Err(e) => links = e.to_string(),
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_else(|e| e.to_string());
    let files = [
        "/proc/self/status",
        "/proc/self/limits",
        "/proc/net/dev",
        "/proc/meminfo",
        "/proc/cpuinfo",
    ];
    let mut all = vec![("kernel/links.txt".to_string(), links)];
    all.extend(
        files.map(|path| (format!("kernel/{}.txt", path[6..].replace('/', "-")), read(path))),
    );
    all
}

fn about() -> String {
    let uname = rustix::system::uname();
    let text = [uname.sysname(), uname.release(), uname.version(), uname.machine()]
        .map(|s| s.to_string_lossy());
    format!("{}\n{}\n{}\n", build::line(), Date::now().long(), text.join(" "))
}

/// The text without secrets.
pub fn without(secrets: &[String], mut text: String) -> String {
    for secret in secrets.iter().filter(|s| !s.is_empty()) {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), HIDDEN);
        }
        let quoted = json!(secret).to_string();
        let escaped = quoted.trim_matches('"');
        if escaped != secret {
            text = text.replace(escaped, HIDDEN);
        }
    }
    text
}

impl<W: World> Gather<W> {
    /// Reads a slice of the configuration, for its secrets and its text; returns false when all is
    /// read.
    fn read_config(&mut self, tree: &Tree<W>, world: &W) -> bool {
        let (lines, body) =
            self.config.get_or_insert_with(|| (world.config_lines(), Body::default()));
        let mut some = Vec::new();
        let more = cli::slice(|| world.config_step(lines, &mut some));
        for line in &some {
            self.secrets.extend(tree.secrets(&line.text).into_iter().map(String::from));
            if body.text.len() < CONFIG {
                body.add(line);
            }
        }
        let full = body.text.len() >= CONFIG;
        // Text that isn't kept needs no search for secrets either.
        if full {
            body.text += "# … the first part: `show running-config' shows all\n";
        }
        more && !full
    }

    /// Searches a slice of the saved configuration for secrets; returns false when all is searched.
    fn read_saved(&mut self, tree: &Tree<W>) -> bool {
        let (text, at) = self.saved.get_or_insert_with(|| (saved().unwrap_or_default(), 0));
        let secrets = &mut self.secrets;
        cli::slice(|| {
            let Some(line) = text[*at..].split_inclusive('\n').next() else { return false };
            *at += line.len();
            secrets.extend(tree.secrets(line.trim_end()).into_iter().map(String::from));
            true
        })
    }

    /// The files besides answers.
    fn start(&mut self, tree: &Tree<W>, world: &W) -> io::Result<()> {
        let startup = startup();
        self.secrets.extend(startup.secrets.iter().cloned());
        // A secret that is part of another one must not be taken out of it first.
        self.secrets.sort_by_key(|s| std::cmp::Reverse(s.len()));
        self.secrets.dedup();
        let running = self.config.take().map(|(_, body)| body.text).unwrap_or_default();
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path)?;
        self.archive = Some(Archive::new(file));
        let saved = self.saved.take().map(|(text, _)| text).unwrap_or_default();
        let files = [
            ("about.txt", about()),
            ("startup.conf", startup.config.clone()),
            ("running-config.cli", running),
            ("saved-config.cli", saved),
        ];
        self.ready = files
            .map(|(name, text)| (name.to_string(), text))
            .into_iter()
            .chain(kernel())
            .collect();
        let paths = tree.commands().into_iter().map(|command| command.path);
        self.paths = paths.filter(|path| path.starts_with("show ") && *path != OWN).collect();
        self.interfaces = world.candidates("interface", "");
        self.interfaces.truncate(INTERFACES);
        Ok(())
    }

    /// Begins a file of the archive.
    fn add(&mut self, name: &str, text: String) -> io::Result<()> {
        let Some(archive) = &mut self.archive else { return Ok(()) };
        let folder = self.path.file_name().map_or("tech-support".into(), |n| n.to_string_lossy());
        let folder = folder.trim_end_matches(".tar.gz").trim_end_matches(".tgz");
        let folder = &folder[..folder.floor_char_boundary(NAME)];
        let text = without(&self.secrets, text);
        archive.begin(&Path::new(folder).join(name), text)?;
        self.files += 1;
        Ok(())
    }

    /// Writes the answer to the last step's line as a file. Returns the next step, `None` at the
    /// end.
    fn go_on(
        &mut self,
        tree: &Tree<W>,
        world: &W,
        last: Option<Result<Vec<OutputPiece>>>,
    ) -> io::Result<Option<Step>> {
        if let (Some(name), Some(ended)) = (self.now.take(), last) {
            let mut text: String = match ended {
                Ok(said) => said
                    .into_iter()
                    .map(|(OutputPiece::Answer(t) | OutputPiece::Chunk(t))| t)
                    .collect(),
                Err(error) => format!("{error}\n"),
            };
            if text.len() > LONGEST {
                text.truncate(text.floor_char_boundary(LONGEST));
                text += "\n… cut\n";
            }
            self.add(&name, text)?;
        }
        if let Some(archive) = &mut self.archive
            && !archive.step()?
        {
            return Ok(Some(Step::More(String::new())));
        }
        if self.archive.is_none() {
            // The saved configuration is read after the one in force.
            if (self.saved.is_none() && self.read_config(tree, world)) || self.read_saved(tree) {
                return Ok(Some(Step::More(String::new())));
            }
            self.start(tree, world)?;
        }
        if let Some((name, text)) = self.ready.pop_front() {
            self.add(&name, text)?;
            return Ok(Some(Step::More(String::new())));
        }
        let Some((name, line, as_json)) = self.todo.pop_front() else {
            if let Some(path) = self.paths.pop_front() {
                self.todo = shows(tree, path, &self.interfaces);
                return Ok(Some(Step::More(String::new())));
            }
            return self.archive.as_mut().map_or(Ok(()), Archive::finish).map(|()| None);
        };
        self.now = Some(name);
        Ok(Some(Step::Sample(line, as_json, ENTRIES)))
    }
}

/// The start of the last version that was saved.
fn saved() -> Option<String> {
    let (mut bytes, file) = (Vec::new(), File::open(store().ok()?.file()).ok()?);
    file.take(CONFIG as u64).read_to_end(&mut bytes).ok()?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if bytes.len() == CONFIG {
        text += "\n# … the first part\n";
    }
    Some(text)
}

impl<W: World> Sequence<W> for Gather<W> {
    fn next(&mut self, tree: &Tree<W>, world: &W, last: Option<Result<Vec<OutputPiece>>>) -> Step {
        let path = self.path.display().to_string();
        match self.go_on(tree, world, last) {
            Ok(Some(step)) => step,
            Ok(None) => {
                // It is complete: it is kept.
                self.archive = None;
                let n = self.files;
                Step::Done(Output::both(
                    format!(
                        "Tables are cut after {ENTRIES} entries: each file names the command for all\n{n} files in {path}\n"
                    ),
                    json!({ "file": path, "files": n, "entries": ENTRIES }),
                ))
            }
            Err(e) => Step::Failed(Error::failed(format!("{path}: {e}"))),
        }
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn secrets_are_left_out_wherever_they_are() {
        let secrets = ["a \"b\" c".to_string(), "pass".into(), String::new()];
        let text = "set key pass\n{\"line\":\"key a \\\"b\\\" c\"}\nkey a \"b\" c compass";
        let expected = "set key <secret>\n{\"line\":\"key <secret>\"}\nkey <secret> com<secret>";
        assert_eq!(without(&secrets, text.into()), expected);
    }
}
