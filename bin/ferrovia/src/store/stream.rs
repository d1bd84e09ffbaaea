// SPDX-License-Identifier: Apache-2.0
//! Saved configurations, command by command: they may be larger than a `show` should hold in
//! memory.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use cli::Error;
use cli::script::{Lines, MAX_COMMAND, OpenBlock};

use super::disk::failed;

/// The commands of a saved configuration. It stays the same while it is read: a new version is a
/// new file.
pub struct Commands {
    file: BufReader<File>,
    path: PathBuf,
    /// The command at hand.
    text: String,
}

impl Commands {
    /// All of a file.
    pub fn new(file: File, path: PathBuf) -> Self {
        Self { file: BufReader::new(file), path, text: String::new() }
    }

    /// The next command, without blanks around it; a block goes over several lines, one that
    /// nothing closes to the end.
    ///
    /// # Errors
    /// Reading failed; the text isn't UTF-8; a command of more than [`MAX_COMMAND`] bytes.
    pub fn next(&mut self) -> Result<Option<&str>, Error> {
        // Blank lines and comments.
        while self.read_first()? && Lines::new(&self.text).next().is_none() {}
        let mut block = OpenBlock::after(&self.text);
        while let Some(open) = &mut block {
            let behind = self.text.len();
            if behind > MAX_COMMAND {
                let text =
                    format!("{}: a command of more than {MAX_COMMAND} bytes", self.path.display());
                return Err(Error::limit(text).hint("a closing brace may be missing"));
            }
            if self.read()? == 0 || !open.continues(&self.text[behind..]) {
                break;
            }
        }
        Ok(Lines::new(&self.text).next().map(|line| line.text.trim()))
    }

    /// Reads the first line of a command; returns whether there is one.
    fn read_first(&mut self) -> Result<bool, Error> {
        self.text.clear();
        self.read().map(|read| read > 0)
    }

    /// Appends a line; returns its bytes.
    fn read(&mut self) -> Result<usize, Error> {
        self.file.read_line(&mut self.text).map_err(failed(&self.path))
    }
}

#[cfg(feature = "tests")]
mod tests {
    use super::*;
    use std::io::{Seek as _, Write as _};

    fn of(text: &[u8]) -> Commands {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(text).expect("written");
        file.rewind().expect("at the start");
        Commands::new(file, "conf".into())
    }

    /// Each line is looked at once, and a file that never closes a block is not held.
    #[suite::test]
    fn a_block_without_an_end_is_an_error() {
        let mut commands = of(format!(
            "a\nb {{\n{}",
            format!("}} {} {{\n", "x".repeat(1019)).repeat(MAX_COMMAND >> 10)
        )
        .as_bytes());
        assert_eq!(commands.next().expect("good"), Some("a"));
        let error = commands.next().expect_err("too long");
        assert!(error.message().contains("conf: a command of more than"), "{error}");
    }

    #[suite::test]
    fn commands_come_as_from_the_whole_text() {
        let long = format!("x {{\n{}}}\n", " y z\n".repeat(5000));
        for text in [
            "",
            "\n",
            "# a\n\nfirst\n  block {\n x\n}\n# b { c\n\nlast",
            "a { b { c\n} d\n} e {\n} f\ng \"{\" h\ni {\n never\n closed\n",
            &long,
        ] {
            let mut commands = of(text.as_bytes());
            let read: Vec<_> =
                std::iter::from_fn(|| commands.next().expect("good").map(String::from)).collect();
            assert_eq!(read, super::super::file::lines(text));
        }
        let mut commands = of(b"a\n\xff\n");
        assert_eq!(commands.next().expect("good"), Some("a"));
        assert!(commands.next().expect_err("not UTF-8").message().starts_with("conf: "));
    }
}
