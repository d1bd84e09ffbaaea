// SPDX-License-Identifier: Apache-2.0
//! Files that operators name. The daemon opens them with its own rights, on the thread on which all
//! sessions wait.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Opens a regular file to read it. A read of it doesn't wait: a pipe may never be written to, a
/// device may never end, and files of /proc that wait for events return an error.
///
/// # Errors
/// The system's; a file of another kind.
pub fn open_regular(path: impl AsRef<Path>) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    // Opened first: another file could have its name by the time of a check by name.
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    Ok(file)
}

/// True if every user may read the file. Only then messages may quote it: the daemon can read files
/// that a user of its CLI can't.
pub fn is_public(file: &File) -> bool {
    file.metadata().is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;

    #[suite::test]
    fn only_regular_files_are_opened_and_none_waits() {
        let folder = std::env::temp_dir().join(format!("ferrovia-file-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("made");
        let (plain, pipe) = (folder.join("plain"), folder.join("pipe"));
        std::fs::write(&plain, "text").expect("written");
        let mode = rustix::fs::Mode::RUSR;
        let made = rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0);
        made.expect("a pipe");
        let kind = |path: &Path| open_regular(path).map_err(|e| e.to_string()).map(drop);
        assert_eq!(kind(&plain), Ok(()));
        for other in [pipe.as_path(), folder.as_path(), Path::new("/dev/zero")] {
            assert_eq!(kind(other), Err("is not a regular file".into()), "{}", other.display());
        }
        for (mode, public) in [(0o644, true), (0o640, false)] {
            std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(mode)).expect("set");
            assert_eq!(is_public(&open_regular(&plain).expect("there")), public);
        }
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
