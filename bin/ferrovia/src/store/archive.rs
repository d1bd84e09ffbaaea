// SPDX-License-Identifier: Apache-2.0
//! A compressed tar archive that is written piece by piece: to pack a megabyte takes several
//! milliseconds.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{EntryType, Header};

/// Bytes that are packed in one go.
const PIECE: usize = 128 << 10;
/// Size of a block: headers and files fill whole blocks.
const BLOCK: usize = 512;

/// An archive that is being written.
pub struct Archive {
    out: GzEncoder<BufWriter<File>>,
    /// The text of the last file, and how much of it is written.
    text: (String, usize),
}

impl Archive {
    /// An archive without files.
    pub fn new(file: File) -> Self {
        Self {
            out: GzEncoder::new(BufWriter::new(file), Compression::fast()),
            text: (String::new(), 0),
        }
    }

    /// Begins a file behind the last one, which must be complete. Its text is written by
    /// [`Self::step`].
    ///
    /// # Errors
    /// A path that a tar archive can't have (a name of more than 100 bytes); a failed write.
    pub fn begin(&mut self, path: &Path, text: String) -> io::Result<()> {
        debug_assert_eq!(self.text.0.len(), self.text.1, "the last file is complete");
        let mut header = Header::new_ustar();
        header.set_path(path)?;
        header.set_entry_type(EntryType::Regular);
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        header
            .set_mtime(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
        header.set_cksum();
        self.out.write_all(header.as_bytes())?;
        self.text = (text, 0);
        Ok(())
    }

    /// Writes a piece of the last file. Returns whether it is complete.
    ///
    /// # Errors
    /// A failed write.
    pub fn step(&mut self) -> io::Result<bool> {
        let (text, at) = &mut self.text;
        let end = text.len().min(*at + PIECE);
        if end > *at {
            self.out.write_all(&text.as_bytes()[*at..end])?;
            *at = end;
            if end == text.len() {
                self.out.write_all(&[0; BLOCK][..end.next_multiple_of(BLOCK) - end])?;
            }
        }
        Ok(end == text.len())
    }

    /// Ends the archive.
    ///
    /// # Errors
    /// A failed write.
    pub fn finish(&mut self) -> io::Result<()> {
        self.out.write_all(&[0; 2 * BLOCK])?;
        self.out.try_finish()?;
        self.out.get_mut().flush()
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[suite::test]
    fn files_come_out_as_they_went_in() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("archive");
        let files: Vec<_> = [0, 1, 511, 512, 513, PIECE - 1, PIECE, 3 * PIECE + 100]
            .map(|len| {
                (
                    format!("folder/{len}.txt"),
                    (0..len).map(|i| char::from(b'a' + (i % 23) as u8)).collect::<String>(),
                )
            })
            .into();
        let mut archive = Archive::new(File::create_new(&path).expect("a file"));
        for (name, text) in &files {
            archive.begin(Path::new(name), text.clone()).expect("begun");
            while !archive.step().expect("written") {}
        }
        archive.finish().expect("ended");
        let mut read =
            tar::Archive::new(flate2::read::GzDecoder::new(File::open(&path).expect("there")));
        let mut found = Vec::new();
        for entry in read.entries().expect("an archive") {
            let mut entry = entry.expect("an entry");
            let mut text = String::new();
            entry.read_to_string(&mut text).expect("text");
            found.push((entry.path().expect("a name").display().to_string(), text));
        }
        assert_eq!(found, files);
    }
}
