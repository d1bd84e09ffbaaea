// SPDX-License-Identifier: Apache-2.0
//! Saved configurations, command by command: they may be larger than what a `show` should hold.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use cli::Error;
use cli::script::{self, Lines};

use super::file::failed;

/// The commands of a saved configuration. It stays the same while it is read: a new version is a new file.
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

    /// The next command, without blanks around it; a block goes over several lines.
    ///
    /// # Errors
    /// Reading failed, or the text isn't UTF-8.
    pub fn next(&mut self) -> Result<Option<&str>, Error> {
        self.text.clear();
        // A block that nothing closes goes to the end.
        while self.file.read_line(&mut self.text).map_err(failed(&self.path))? > 0 {
            if script::is_open(&self.text) {
                continue;
            }
            if Lines::new(&self.text).next().is_some() {
                break;
            }
            self.text.clear();
        }
        Ok(Lines::new(&self.text).next().map(|line| line.text.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek as _, Write as _};

    #[test]
    fn commands_come_as_from_the_whole_text() {
        let long = format!("x {{\n{}}}\n", " y z\n".repeat(5000));
        for text in [
            "",
            "\n",
            "# a\n\nfirst\n  block {\n x\n}\n# b { c\n\nlast",
            "a { b { c\n} d\n} e {\n} f\ng \"{\" h\ni {\n never\n closed\n",
            &long,
        ] {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(text.as_bytes()).expect("written");
            file.rewind().expect("at the start");
            let mut commands = Commands::new(file, "conf".into());
            let read: Vec<_> =
                std::iter::from_fn(|| commands.next().expect("good").map(String::from)).collect();
            assert_eq!(read, super::super::file::lines(text));
        }
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"a\n\xff\n").expect("written");
        file.rewind().expect("at the start");
        let mut commands = Commands::new(file, "conf".into());
        assert_eq!(commands.next().expect("good"), Some("a"));
        assert!(commands.next().expect_err("not UTF-8").message().starts_with("conf: "));
    }
}
