// SPDX-License-Identifier: Apache-2.0
//! The system calls by which configurations are written, so that a test can make each of them fail
//! or end the process there.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use cli::Error;

/// A call that is about to be made.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// Makes a directory.
    MakeDir(&'a Path),
    /// Creates a file that isn't there.
    Create(&'a Path),
    /// Writes all of a new file.
    Write(&'a Path, &'a [u8]),
    /// Makes a file or a directory survive a power failure.
    Sync(&'a Path),
    /// Gives a file another name; a file that had that name is gone.
    Rename(&'a Path, &'a Path),
    /// Gives a file a second name.
    Link(&'a Path, &'a Path),
    /// Removes a name.
    Remove(&'a Path),
    /// Reads a file.
    Read(&'a Path),
    /// Checks for a file.
    Look(&'a Path),
}

/// Makes the calls.
pub trait Disk {
    /// Called before each call of this trait; an error becomes the result of that call.
    ///
    /// # Errors
    /// Errors injected by a test.
    fn before(&self, _call: Call<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Makes a directory and its parents, for their owner only.
    ///
    /// # Errors
    /// The system's, as for all of these.
    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.before(Call::MakeDir(path))?;
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Writes a new file and makes its content survive a power failure. Links are not followed:
    /// nothing may be there.
    ///
    /// # Errors
    /// As above; a part of the file may be there.
    fn write_new(&self, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.before(Call::Create(path))?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        self.before(Call::Write(path, bytes))?;
        file.write_all(bytes)?;
        self.before(Call::Sync(path))?;
        file.sync_all()
    }

    /// Makes the names in a directory survive a power failure.
    ///
    /// # Errors
    /// As above.
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.before(Call::Sync(path))?;
        File::open(path)?.sync_all()
    }

    /// Renames a file.
    ///
    /// # Errors
    /// As above.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.before(Call::Rename(from, to))?;
        std::fs::rename(from, to)
    }

    /// Gives a file a second name.
    ///
    /// # Errors
    /// As above.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.before(Call::Link(from, to))?;
        std::fs::hard_link(from, to)
    }

    /// Removes a file; one that isn't there is removed already.
    ///
    /// # Errors
    /// As above.
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.before(Call::Remove(path))?;
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// The content of a file.
    ///
    /// # Errors
    /// As above.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.before(Call::Read(path))?;
        std::fs::read(path)
    }

    /// Returns true if a file is there.
    ///
    /// # Errors
    /// As above.
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.before(Call::Look(path))?;
        match path.symlink_metadata() {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// The disks of the system.
pub struct System;

impl Disk for System {}

/// The directory of a file.
pub fn dir_of(path: &Path) -> &Path {
    path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The name of a new file before it takes its place; each process has its own.
pub fn temporary(path: &Path, process: u32) -> io::Result<PathBuf> {
    let file = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "names no file"))?;
    let mut name = OsString::from(".");
    name.push(file);
    name.push(format!(".{process}"));
    Ok(dir_of(path).join(name))
}

/// Removes new files that killed processes left behind, where that can be done.
pub fn sweep(path: &Path) {
    let (Some(file), Ok(entries)) = (path.file_name(), std::fs::read_dir(dir_of(path))) else {
        return;
    };
    let prefix = format!(".{}.", file.to_string_lossy());
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process =
            name.to_str().and_then(|n| n.strip_prefix(&prefix)).and_then(|n| n.parse::<u32>().ok());
        if process.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // It does no harm where it is.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A new file, whole and safe on the disk, that hasn't taken its place yet. Unless it does, it is
/// removed.
pub struct NewFile<'d, D: Disk> {
    disk: &'d D,
    path: PathBuf,
    placed: bool,
}

impl<'d, D: Disk> NewFile<'d, D> {
    /// Writes the new content of `path`.
    ///
    /// # Errors
    /// The system's.
    pub fn write(disk: &'d D, path: &Path, bytes: &[u8], mode: u32) -> io::Result<Self> {
        let this = Self { disk, path: temporary(path, std::process::id())?, placed: false };
        // The file of a killed process that had our process id.
        disk.remove(&this.path)?;
        disk.write_new(&this.path, bytes, mode)?;
        Ok(this)
    }

    /// Moves it to `path`, in place of the file that is there.
    ///
    /// # Errors
    /// The system's.
    pub fn place(mut self, path: &Path) -> io::Result<()> {
        self.disk.rename(&self.path, path)?;
        self.placed = true;
        Ok(())
    }
}

impl<D: Disk> Drop for NewFile<'_, D> {
    fn drop(&mut self) {
        if !self.placed {
            // If this fails, the next process to save removes it.
            let _ = self.disk.remove(&self.path);
        }
    }
}

/// Makes an error of a system's error and the file that it concerns.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    move |e| Error::failed(format!("{}: {e}", path.display()))
}
