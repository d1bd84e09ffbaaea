// SPDX-License-Identifier: Apache-2.0
//! Saved configurations: a file, and beside it its earlier versions, `FILE.1` the latest.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cli::Error;
use cli::script::Lines;

use super::disk::{Disk, NewFile, System, dir_of, failed, sweep};
use super::stream::Commands;
use crate::build;
use crate::commands::may_quote;
use cli::Date;

/// First line of a saved configuration.
const MARK: &str = "# Ferrovia configuration";

/// Header key of the date.
pub const DATE: &str = "# date:";

/// Header key of the author.
pub const BY: &str = "# by:";

/// Number of versions before the last one that are kept by default.
pub const HISTORY: u32 = 20;

/// Configurations are for their owner only.
const OWNER: u32 = 0o600;

/// The files in which configurations are saved.
#[derive(Clone, Debug)]
pub struct Store {
    file: PathBuf,
    /// Versions kept besides the last one.
    history: u32,
}

/// Bytes of a file that are read in one go.
const PIECE: usize = 256 << 10;
/// Bytes that a header has at most.
const HEADER: u64 = 4096;

/// A configuration that is read piece by piece, since it may be large.
pub struct Reading {
    file: File,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Reading {
    /// Reads an open file; its path stands in messages.
    ///
    /// # Errors
    /// Its size can't be had.
    pub fn new(file: File, path: PathBuf) -> io::Result<Self> {
        let size = file.metadata()?.len();
        // Room for all of it, and for the read that finds the end: the text is not copied again.
        let bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + PIECE);
        Ok(Self { file, path, bytes })
    }

    /// Reads the next piece. Returns the whole text after the last one.
    ///
    /// # Errors
    /// Reading failed, or the text isn't UTF-8.
    pub fn step(&mut self) -> Result<Option<String>, Error> {
        let read = (&self.file)
            .take(PIECE as u64)
            .read_to_end(&mut self.bytes)
            .map_err(failed(&self.path))?;
        if read == PIECE {
            return Ok(None);
        }
        let text = String::from_utf8(std::mem::take(&mut self.bytes));
        text.map(Some).map_err(|e| Error::failed(format!("{}: {e}", self.path.display())))
    }
}

/// The commands of a configuration, without comments.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    Lines::new(text).map(|l| l.text.trim())
}

/// The commands of a configuration, without comments, as separate strings.
pub fn lines(text: &str) -> Vec<String> {
    commands(text).map(String::from).collect()
}

/// Returns the value of a key in the header of a saved configuration.
pub fn head(text: &str, key: &str) -> String {
    let head = text.lines().take_while(|l| l.starts_with('#'));
    head.filter_map(|l| l.strip_prefix(key)).next().unwrap_or("unknown").trim().to_string()
}

/// The text of a configuration behind a header with version, date and author.
pub fn with_header(body: &str, by: &str) -> String {
    let (version, date) = (build::line(), Date::now().long());
    // A name that isn't ours must not end the comment.
    let by = by.replace(|c: char| c.is_control(), " ");
    format!("{MARK}\n# version: {version}\n{DATE} {date}\n{BY} {by}\n\n{body}")
}

/// Writes a file, so that at any time there is the old one or the new one, whole. Links are
/// replaced, not followed.
pub fn write(path: &Path, text: &[u8], mode: u32) -> Result<(), Error> {
    let written = NewFile::write(&System, path, text, mode)
        .and_then(|new| new.place(path))
        .and_then(|()| System.sync_dir(dir_of(path)));
    written.map_err(failed(path))
}

/// Locks out other writing threads: new files get the same temporary name, and versions move the
/// same files.
fn writing() -> MutexGuard<'static, ()> {
    static WRITING: Mutex<()> = Mutex::new(());
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a configuration to the file that an operator names: a new one, or one that was written by
/// this function.
pub fn export(path: &Path, text: &str) -> Result<(), Error> {
    let _writing = writing();
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(failed(path)(e)),
        Ok(found) => {
            let ours = found.is_file()
                && std::fs::read(path).is_ok_and(|old| old.starts_with(MARK.as_bytes()));
            if !ours {
                return Err(Error::failed(format!(
                    "{} exists, and was not written by `save'",
                    path.display()
                )));
            }
        }
    }
    write(path, text.as_bytes(), OWNER)
}

/// Opens the configuration that an operator names. Its lines are quoted in answers, so it has to
/// belong to the operator.
///
/// # Errors
/// The system's; a file of another kind; a file of another user.
pub fn import(path: &Path) -> Result<File, Error> {
    let file = cli::open_regular(path).map_err(failed(path))?;
    let owner = file.metadata().map_err(failed(path))?.uid();
    if !may_quote(owner) {
        let text = format!("{} belongs to another user", path.display());
        return Err(Error::failed(text).hint("its lines would be shown: use a file of your own"));
    }
    Ok(file)
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

    /// The text of a version.
    ///
    /// # Errors
    /// There is no such version; errors of the system.
    pub fn text(&self, number: u32) -> Result<String, Error> {
        std::fs::read_to_string(self.path(number)).map_err(|e| self.missing(number, e))
    }

    /// Opens a version for reading in pieces.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn reading(&self, number: u32) -> Result<Reading, Error> {
        let path = self.path(number);
        let reading = File::open(&path).and_then(|file| Reading::new(file, path));
        reading.map_err(|e| self.missing(number, e))
    }

    /// Opens a version for reading command by command.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn commands(&self, number: u32) -> Result<Commands, Error> {
        let path = self.path(number);
        let file = File::open(&path).map_err(|e| self.missing(number, e))?;
        Ok(Commands::new(file, path))
    }

    /// The value of a key in a version's header.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn head(&self, number: u32, key: &str) -> Result<String, Error> {
        let mut start = Vec::new();
        let file = File::open(self.path(number)).map_err(|e| self.missing(number, e))?;
        file.take(HEADER).read_to_end(&mut start).map_err(failed(&self.path(number)))?;
        Ok(head(&String::from_utf8_lossy(&start), key))
    }

    fn missing(&self, number: u32, e: io::Error) -> Error {
        match e.kind() {
            io::ErrorKind::NotFound if number == 0 => {
                Error::not_found("nothing was saved yet").hint("`save' saves the configuration")
            }
            io::ErrorKind::NotFound => Error::not_found(format!("there is no version {number}"))
                .hint("see `show config history'"),
            _ => failed(&self.path(number))(e),
        }
    }

    /// The numbers that versions may have. One more than are kept may be there, if a save was
    /// interrupted.
    pub fn numbers(&self) -> RangeInclusive<u32> {
        0..=self.history + 1
    }

    /// Saves a configuration as the last version. Returns false if the last version is the same
    /// already.
    ///
    /// # Errors
    /// Errors of the system; all versions are then as they were.
    pub fn save(&self, body: &str, by: &str) -> Result<bool, Error> {
        let _writing = writing();
        self.save_by(&System, body, by)
    }

    /// The new version is on the disk before anything else is touched. Then the others move up by
    /// one, from the oldest on, so that each has a name at any time; the last one gets a second
    /// name and is replaced. Only then the oldest goes. What an end in between leaves,
    /// [`Self::tidy`] puts in order.
    pub(super) fn save_by<D: Disk>(&self, disk: &D, body: &str, by: &str) -> Result<bool, Error> {
        let (file, dir) = (&self.file, dir_of(&self.file));
        if self.text(0).is_ok_and(|last| commands(&last).eq(commands(body))) {
            // It may have been written when the directory couldn't be synced.
            disk.sync_dir(dir).map_err(failed(dir))?;
            return Ok(false);
        }
        disk.make_dir(dir).map_err(failed(dir))?;
        self.tidy_by(disk).map_err(failed(file))?;
        let new = NewFile::write(disk, file, with_header(body, by).as_bytes(), OWNER)
            .map_err(failed(file))?;
        let mut kept = Rotation { store: self, disk, moved: 0, linked: false };
        let placed = kept.rotate().and_then(|()| disk.sync_dir(dir)).and_then(|()| new.place(file));
        if let Err(e) = placed {
            kept.undo();
            return Err(failed(file)(e));
        }
        disk.sync_dir(dir).map_err(|e| {
            let text =
                format!("{}: written, but it may not survive a power failure: {e}", file.display());
            Error::failed(text).hint("`save' again")
        })?;
        if let Err(e) = disk.remove(&self.path(self.history + 1)) {
            log::warn!(target: "config", "{}: {e}", self.path(self.history + 1).display());
        }
        Ok(true)
    }

    /// Completes a save that was interrupted: versions stand at consecutive numbers, and none of
    /// them twice.
    ///
    /// # Errors
    /// Errors of the system; nothing is lost.
    pub fn tidy(&self) -> Result<(), Error> {
        sweep(&self.file);
        self.tidy_by(&System).map_err(failed(&self.file))
    }

    fn tidy_by<D: Disk>(&self, disk: &D) -> io::Result<()> {
        let mut there = Vec::new();
        for n in 1..=self.history + 1 {
            if disk.exists(&self.path(n))? {
                there.push(n);
            }
        }
        // The end came before the last version was replaced: it has two names.
        if let Some(&first) = there.first()
            && disk.exists(&self.file)?
            && disk.read(&self.file)? == disk.read(&self.path(first))?
        {
            disk.remove(&self.path(first))?;
            there.remove(0);
        }
        // The end came before the oldest was removed.
        if there.len() > self.history as usize
            && let Some(oldest) = there.pop()
        {
            disk.remove(&self.path(oldest))?;
        }
        for (to, from) in (1..).zip(there) {
            if to != from {
                disk.rename(&self.path(from), &self.path(to))?;
            }
        }
        Ok(())
    }
}

/// Makes room for the last version among the versions before it.
struct Rotation<'a, D: Disk> {
    store: &'a Store,
    disk: &'a D,
    /// Versions 1 to this have moved up by one.
    moved: u32,
    /// The last version has its second name.
    linked: bool,
}

impl<D: Disk> Rotation<'_, D> {
    fn rotate(&mut self) -> io::Result<()> {
        let Self { store, disk, .. } = *self;
        if store.history == 0 || !disk.exists(&store.file)? {
            return Ok(());
        }
        let mut there = 0;
        while there < store.history && disk.exists(&store.path(there + 1))? {
            there += 1;
        }
        // If a step fails, `undo` moves back the versions whose lower neighbour is missing.
        self.moved = there;
        for n in (1..=there).rev() {
            disk.rename(&store.path(n), &store.path(n + 1))?;
        }
        let first = store.path(1);
        self.linked = true;
        disk.link(&store.file, &first).or_else(|_| {
            // Not every file system has links.
            let text = disk.read(&store.file)?;
            NewFile::write(disk, &first, &text, OWNER)?.place(&first)
        })
    }

    /// Gives all versions their numbers back, as far as that works.
    fn undo(&self) {
        let Self { store, disk, .. } = self;
        if self.linked && disk.remove(&store.path(1)).is_err() {
            return;
        }
        for n in 1..=self.moved {
            let (from, to) = (store.path(n + 1), store.path(n));
            // Versions that hadn't moved yet still have their numbers.
            if !matches!(disk.exists(&to), Ok(false)) {
                continue;
            }
            if disk.rename(&from, &to).is_err() {
                return;
            }
        }
    }
}

#[cfg(feature = "tests")]
mod tests;
