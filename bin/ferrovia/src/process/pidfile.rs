// SPDX-License-Identifier: Apache-2.0
//! The pid file, locked for as long as the process lives.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// A locked pid file; removed when it is dropped.
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
    _file: File,
}

impl PidFile {
    /// Writes this process's id to `path`. An error if a living process holds it.
    pub fn create(path: &Path) -> io::Result<PidFile> {
        let named =
            |e: io::Error| io::Error::new(e.kind(), format!("pidfile {}: {e}", path.display()));
        Self::lock(path).map_err(named)
    }

    fn lock(path: &Path) -> io::Result<PidFile> {
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o644)
                .open(path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let mut holder = String::new();
                    file.read_to_string(&mut holder)?;
                    let reason = match holder.trim() {
                        "" => "is held by another process".into(),
                        pid => format!("is held by process {pid}"),
                    };
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, reason));
                }
                Err(e) => return Err(e.into()),
            }
            // The process that had locked it may have removed it between opening and locking.
            let opened = file.metadata()?;
            if path.metadata().is_ok_and(|m| (m.dev(), m.ino()) == (opened.dev(), opened.ino())) {
                file.set_len(0)?;
                writeln!(file, "{}", std::process::id())?;
                return Ok(PidFile { path: path.to_path_buf(), _file: file });
            }
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Nothing can be done about a failure at the end.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn held_once_and_removed_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.pid");
        std::fs::write(&path, "999999 and more than one line\n of an old file").unwrap();
        let held = PidFile::create(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
        let refused = PidFile::create(&path).unwrap_err().to_string();
        assert!(
            refused.ends_with(&format!("is held by process {}", std::process::id())),
            "{refused}"
        );
        drop(held);
        assert!(!path.exists());
        PidFile::create(&path).unwrap();
    }
}
