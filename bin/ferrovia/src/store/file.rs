// SPDX-License-Identifier: Apache-2.0
//! Saved configurations: a file, and beside it what it was before, `FILE.1` the latest.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use cli::Error;
use cli::script::Lines;

use crate::date::Date;
use crate::process::arguments;

/// What a file of ours begins with.
const MARK: &str = "# Ferrovia configuration";

/// Versions before the last one that are kept unless the configuration says otherwise.
pub const HISTORY: u32 = 20;

/// Where configurations are saved.
#[derive(Clone, Debug)]
pub struct Store {
    file: PathBuf,
    /// Versions kept besides the last one.
    history: u32,
}

/// A saved version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// 0 is the last one, 1 the one before it.
    pub number: u32,
    /// When it was saved, as its header says.
    pub date: String,
    /// Who saved it.
    pub by: String,
    /// Its commands, one line each.
    pub lines: Vec<String>,
}

/// An error of the system, and about which file.
fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    move |e| Error::failed(format!("{}: {e}", path.display()))
}

/// The commands of a configuration, without comments.
pub fn lines(text: &str) -> Vec<String> {
    Lines::new(text).map(|l| l.text.trim().to_string()).collect()
}

/// The text of a configuration with who wrote it and when.
pub fn with_header(body: &str, by: &str) -> String {
    let (version, date) = (arguments::version(), Date::now().long());
    // A name that isn't ours must not end the comment.
    let by = by.replace(|c: char| c.is_control(), " ");
    format!("{MARK}\n# version: {version}\n# date: {date}\n# by: {by}\n\n{body}")
}

/// Writes a file, so that at any time there is the old one or the new one, whole. It is for its owner only.
pub fn write(path: &Path, text: &[u8]) -> Result<(), Error> {
    let dir = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or_else(|| Error::failed(format!("{}: no file", path.display())))?);
    name.push(format!(".{}", std::process::id()));
    let temporary = dir.join(name);
    // One of a process that was killed, and had our number.
    let _ = std::fs::remove_file(&temporary);
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary).and_then(|mut file| {
            file.write_all(text)?;
            file.sync_all()?;
            std::fs::rename(&temporary, path)?;
            File::open(dir)?.sync_all()
        });
    written.map_err(|e| {
        let _ = std::fs::remove_file(&temporary);
        failed(path)(e)
    })
}

/// Writes a configuration to whatever file an operator names: a new one, or one that was written so.
pub fn export(path: &Path, text: &str) -> Result<(), Error> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(failed(path)(e)),
        Ok(found) => {
            let ours =
                found.is_file() && std::fs::read(path).is_ok_and(|old| old.starts_with(MARK.as_bytes()));
            if !ours {
                return Err(Error::failed(format!(
                    "{}: there is something that `save' didn't write",
                    path.display()
                )));
            }
        }
    }
    write(path, text.as_bytes())
}

impl Store {
    /// Configurations are saved in `file`; `history` versions before it are kept.
    pub fn new(file: PathBuf, history: u32) -> Store {
        Store { file, history }
    }

    /// The file of the last version.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The file of a version.
    pub fn path(&self, number: u32) -> PathBuf {
        if number == 0 {
            return self.file.clone();
        }
        let mut name = self.file.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    /// A version.
    ///
    /// # Errors
    /// One that isn't there; what the system says.
    pub fn read(&self, number: u32) -> Result<Version, Error> {
        let path = self.path(number);
        let text = std::fs::read_to_string(&path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound if number == 0 => {
                Error::not_found("nothing was saved yet").hint("`save' saves the configuration")
            }
            io::ErrorKind::NotFound => {
                Error::not_found(format!("there is no version {number}")).hint("see `show config history'")
            }
            _ => failed(&path)(e),
        })?;
        let of = |key: &str| {
            let head = text.lines().take_while(|l| l.starts_with('#'));
            head.filter_map(|l| l.strip_prefix(key)).next().unwrap_or("unknown").trim().to_string()
        };
        Ok(Version { number, date: of("# date:"), by: of("# by:"), lines: lines(&text) })
    }

    /// All versions that can be read, the last one first.
    pub fn versions(&self) -> Vec<Version> {
        (0..=self.history).filter_map(|n| self.read(n).ok()).collect()
    }

    /// Saves a configuration as the last version. Gives false if that is what it is already.
    ///
    /// # Errors
    /// What the system says; the last version is then as it was.
    pub fn save(&self, body: &str, by: &str) -> Result<bool, Error> {
        if self.read(0).is_ok_and(|last| last.lines == lines(body)) {
            return Ok(false);
        }
        if let Some(dir) = self.file.parent().filter(|d| !d.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed(dir))?;
        }
        self.keep().map_err(failed(&self.file))?;
        write(&self.file, with_header(body, by).as_bytes()).map(|()| true)
    }

    /// Keeps the last version as number 1, and those before it one number higher. The last one stays until it is replaced.
    fn keep(&self) -> io::Result<()> {
        let there = |e: io::Error| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) };
        for n in (1..self.history).rev() {
            std::fs::rename(self.path(n), self.path(n + 1)).or_else(there)?;
        }
        if self.history == 0 {
            return Ok(());
        }
        let first = self.path(1);
        std::fs::remove_file(&first).or_else(there)?;
        match std::fs::hard_link(&self.file, &first) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => std::fs::copy(&self.file, &first).map(drop),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn versions_are_kept_and_the_oldest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("a/b/conf"), 3);
        assert!(store.read(0).unwrap_err().message().contains("nothing was saved yet"));
        assert_eq!(store.versions(), []);
        for n in 0..6 {
            let body = format!("# section\necho {n}\n");
            assert_eq!(store.save(&body, &format!("me\n{n}")), Ok(true));
            assert_eq!(store.save(&body, "again"), Ok(false), "nothing has changed");
        }
        let versions = store.versions();
        let found: Vec<_> = versions.iter().map(|v| (v.number, v.by.as_str(), v.lines.clone())).collect();
        let expected =
            [(0, "me 5", "echo 5"), (1, "me 4", "echo 4"), (2, "me 3", "echo 3"), (3, "me 2", "echo 2")];
        assert_eq!(found, expected.map(|(n, by, line)| (n, by, vec![line.to_string()])));
        assert!(versions[0].date.ends_with("GMT"), "{versions:?}");
        assert!(store.read(4).unwrap_err().message().contains("no version 4"));
        let all: Vec<_> = store.file().parent().unwrap().read_dir().unwrap().flatten().collect();
        assert_eq!(all.len(), 4, "no temporary file is left: {all:?}");
        assert!(all.iter().all(|f| f.metadata().unwrap().mode() & 0o777 == 0o600));
    }

    #[test]
    fn only_what_was_saved_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (own, other) = (dir.path().join("own"), dir.path().join("other"));
        export(&own, &with_header("echo 1\n", "me")).unwrap();
        export(&own, &with_header("echo 2\n", "me")).unwrap();
        assert_eq!(lines(&std::fs::read_to_string(&own).unwrap()), ["echo 2"]);
        std::fs::write(&other, "precious").unwrap();
        std::os::unix::fs::symlink(&own, dir.path().join("link")).unwrap();
        for path in [other.as_path(), &dir.path().join("link"), dir.path()] {
            let error = export(path, "x").unwrap_err();
            assert!(error.message().contains("didn't write"), "{error}");
        }
        assert!(export(&dir.path().join("no/where"), "x").is_err());
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
    }

    #[test]
    fn a_save_that_fails_leaves_the_last_version() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("conf"), 2);
        store.save("echo 1\n", "me").unwrap();
        // Where the temporary file would be, there is a directory that can't be removed.
        let blocked = dir.path().join(format!(".conf.{}", std::process::id()));
        std::fs::create_dir_all(blocked.join("x")).unwrap();
        assert!(store.save("echo 2\n", "me").is_err());
        assert_eq!(store.read(0).unwrap().lines, ["echo 1"]);
    }
}
