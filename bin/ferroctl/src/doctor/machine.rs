// SPDX-License-Identifier: Apache-2.0
//! Files of the kernel about the machine: proc(5), sysfs(5).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files below a directory: `/`, or a copy that a test made.
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        Self { root: "/".into() }
    }

    /// A machine whose files lie below a directory.
    #[cfg(feature = "tests")]
    pub fn below(root: &Path) -> Self {
        Self { root: root.into() }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A file's text without the blanks around it.
    pub fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path)).ok().map(|text| text.trim().to_string())
    }

    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Processors of a list such as `0-3,8`.
    pub fn processors(&self, path: &str) -> Option<BTreeSet<usize>> {
        self.text(path).map(|text| processors(&text))
    }

    /// Names in a directory, in order.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The name of the program of a process.
    pub fn is_running(&self, program: &str) -> bool {
        self.names("proc")
            .iter()
            .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
            .any(|pid| self.text(&format!("proc/{pid}/comm")).as_deref() == Some(program))
    }

    /// A value of `proc/PID/status`.
    pub fn status(&self, pid: &str, key: &str) -> Option<String> {
        let text = self.text(&format!("proc/{pid}/status"))?;
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        Some(line.trim().to_string())
    }
}

/// Numbers of a list such as `0-3,8`.
pub fn processors(list: &str) -> BTreeSet<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// The list of these numbers.
pub fn list(processors: &BTreeSet<usize>) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &n in processors {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => parts.push((n, n)),
        }
    }
    let part = |(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// True if the file exists: a program of the usual directories.
pub fn has_program(name: &str) -> bool {
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].iter().any(|dir| Path::new(dir).join(name).exists())
}
