// SPDX-License-Identifier: Apache-2.0
use super::super::disk::Call;
use super::*;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// A saved version.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    /// 0 is the last one, 1 the one before it.
    number: u32,
    /// When it was saved, as its header says.
    date: String,
    /// User who saved it.
    by: String,
    /// Its commands, one line each.
    lines: Vec<String>,
}

impl Store {
    /// A version.
    fn read(&self, number: u32) -> Result<Version, Error> {
        let text = self.text(number)?;
        let (date, by) = (head(&text, DATE), head(&text, BY));
        assert_eq!(self.head(number, DATE).as_ref(), Ok(&date));
        Ok(Version { number, date, by, lines: lines(&text) })
    }
}

/// All versions that can be read, the last one first.
fn versions(store: &Store) -> Vec<Version> {
    store.numbers().filter_map(|n| store.read(n).ok()).collect()
}

#[suite::test]
fn versions_are_kept_and_the_oldest_goes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("a/b/conf"), 3);
    assert!(store.read(0).unwrap_err().message().contains("nothing was saved yet"));
    assert_eq!(versions(&store), []);
    for n in 0..6 {
        let body = format!("# section\necho {n}\n");
        assert_eq!(store.save(&body, &format!("me\n{n}")), Ok(true));
        assert_eq!(store.save(&body, "again"), Ok(false), "nothing has changed");
    }
    let versions = versions(&store);
    let found: Vec<_> =
        versions.iter().map(|v| (v.number, v.by.as_str(), v.lines.clone())).collect();
    let expected = [
        (0, "me 5", "echo 5"),
        (1, "me 4", "echo 4"),
        (2, "me 3", "echo 3"),
        (3, "me 2", "echo 2"),
    ];
    assert_eq!(found, expected.map(|(n, by, line)| (n, by, vec![line.to_string()])));
    assert!(versions[0].date.ends_with("GMT"), "{versions:?}");
    assert!(store.read(4).unwrap_err().message().contains("no version 4"));
    let all: Vec<_> = store.file().parent().unwrap().read_dir().unwrap().flatten().collect();
    assert_eq!(all.len(), 4, "no temporary file is left: {all:?}");
    assert!(all.iter().all(|f| f.metadata().unwrap().mode() & 0o777 == 0o600));
}

#[suite::test]
fn a_long_version_is_read_in_pieces() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("conf"), 1);
    // Ends within a piece, at the end of one, and within a character there.
    for length in [0, 10, PIECE - 1, PIECE, 3 * PIECE, 3 * PIECE + 7] {
        let text = format!("{}é", "echo é\n".repeat(length / 8 + 1))[..]
            .char_indices()
            .take_while(|(at, c)| at + c.len_utf8() <= length)
            .map(|(_, c)| c)
            .collect::<String>();
        std::fs::write(store.file(), &text).unwrap();
        let (mut reading, mut pieces) = (store.reading(0).unwrap(), 1);
        let read = loop {
            let before = reading.bytes.len();
            match reading.step().unwrap() {
                Some(text) => break text,
                None => assert_eq!(reading.bytes.len() - before, PIECE),
            }
            pieces += 1;
        };
        assert!(read == text && pieces == text.len() / PIECE + 1, "{length}: {} bytes", read.len());
    }
    std::fs::write(store.file(), [b'#', 0xff]).unwrap();
    assert!(
        store.reading(0).unwrap().step().unwrap_err().message().contains("conf: invalid utf-8")
    );
    assert!(store.reading(1).map(drop).unwrap_err().message().contains("no version 1"));
}

#[suite::test]
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
        assert!(error.message().contains("was not written by"), "{error}");
    }
    assert!(export(&dir.path().join("no/where"), "x").is_err());
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
}

#[suite::test]
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

/// The fault that happens at a call.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It fails, once.
    Fails(io::ErrorKind),
    /// It and all after it fail.
    Broken,
    /// The process is killed before it.
    Killed,
    /// The power fails before it: what wasn't synced is lost.
    Dark,
}

/// A disk that goes wrong at one call.
struct Faulty {
    at: usize,
    fault: Fault,
    /// Calls so far.
    calls: Cell<usize>,
    unsynced: RefCell<BTreeSet<PathBuf>>,
}

impl Faulty {
    fn new(at: usize, fault: Fault) -> Self {
        Self { at, fault, calls: Cell::new(0), unsynced: RefCell::default() }
    }

    fn is_over(&self) -> bool {
        self.calls.get() >= self.at && matches!(self.fault, Fault::Killed | Fault::Dark)
    }
}

impl Disk for Faulty {
    fn before(&self, call: Call<'_>) -> io::Result<()> {
        let n = self.calls.get() + 1;
        self.calls.set(n);
        let fails = match self.fault {
            Fault::Fails(_) => n == self.at,
            _ => n >= self.at,
        };
        if !fails {
            let mut unsynced = self.unsynced.borrow_mut();
            match call {
                Call::Write(path, _) => drop(unsynced.insert(path.into())),
                Call::Sync(path) => drop(unsynced.remove(path)),
                Call::Rename(from, to) if unsynced.remove(from) => drop(unsynced.insert(to.into())),
                _ => {}
            }
            return Ok(());
        }
        if n == self.at {
            if let Call::Write(path, bytes) = call {
                std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            }
            if matches!(self.fault, Fault::Dark) {
                self.unsynced.borrow().iter().for_each(|path| std::fs::write(path, "").unwrap());
            }
        }
        Err(match self.fault {
            Fault::Fails(kind) => kind.into(),
            Fault::Broken => io::ErrorKind::ReadOnlyFilesystem.into(),
            Fault::Killed | Fault::Dark => io::Error::other("nobody hears this"),
        })
    }
}

/// The bodies of all versions that the store lists.
fn bodies(store: &Store) -> Vec<String> {
    versions(store).into_iter().map(|v| v.lines.join("\n")).collect()
}

/// A store with some versions, the last one first.
fn filled(dir: &Path, history: u32, saved: usize) -> (Store, Vec<String>) {
    let store = Store::new(dir.join("conf"), history);
    let all: Vec<String> = (0..saved).map(|n| format!("echo {n}")).collect();
    all.iter().for_each(|body| assert_eq!(store.save(body, "me"), Ok(true)));
    (store, all.into_iter().rev().take(history as usize + 1).collect())
}

/// A directory in memory, if there is such a place: syncing takes no time there.
fn memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Saves with a fault at this call. True once there are no more calls.
fn survives(history: u32, saved: usize, fault: Fault, at: usize) -> bool {
    let dir = memory();
    let (store, before) = filled(dir.path(), history, saved);
    let after: Vec<String> = ["echo new"]
        .into_iter()
        .map(String::from)
        .chain(before.clone())
        .take(history as usize + 1)
        .collect();
    let disk = Faulty::new(at, fault);
    let result = store.save_by(&disk, "echo new", "me");
    let what = format!("{fault:?} at {at}, history {history}, {saved} saved: {result:?}");
    if !disk.is_over() {
        // An error that says that nothing was written is true, and so is success.
        let all = bodies(&store);
        let now: Vec<_> = all.iter().take(history as usize + 1).cloned().collect();
        match &result {
            Ok(saved) => assert!(*saved && now == after, "{what}: {now:?}"),
            Err(e) if e.message().contains("may not survive") => assert_eq!(now, after, "{what}"),
            // A disk on which nothing works any more can't be tidied either: all are there, some
            // under other numbers.
            Err(_) if matches!(fault, Fault::Broken) => {
                assert!(before.iter().all(|body| all.contains(body)), "{what}: {all:?}");
            }
            Err(_) => assert_eq!(now, before, "{what}"),
        }
    }
    // The next start.
    store.tidy().unwrap();
    let now = bodies(&store);
    assert!(now == before || now == after, "{what}: {now:?}");
    assert!(result.is_err() || now == after, "{what}: {now:?}");
    for version in versions(&store) {
        let text = std::fs::read_to_string(store.path(version.number)).unwrap();
        assert!(text.starts_with(MARK) && text.contains("\n\necho "), "{what}: {text}");
    }
    // And the next save.
    store.save("echo last", "me").unwrap();
    let expected: Vec<_> =
        ["echo last"].into_iter().map(String::from).chain(now).take(history as usize + 1).collect();
    assert_eq!(bodies(&store), expected, "{what}");
    let names = dir.path().read_dir().unwrap().count();
    assert_eq!(names, expected.len(), "{what}: nothing else is left");
    disk.calls.get() < at
}

#[suite::test]
fn no_fault_at_any_call_loses_a_version() {
    let faults = [
        Fault::Fails(io::ErrorKind::StorageFull),
        Fault::Fails(io::ErrorKind::Other),
        Fault::Broken,
        Fault::Killed,
        Fault::Dark,
    ];
    for (history, saved) in [(0, 1), (1, 2), (3, 0), (3, 2), (3, 7)] {
        for fault in faults {
            let calls = (1..100).find(|at| survives(history, saved, fault, *at));
            assert!(calls.is_some_and(|n| n > 8), "{calls:?}");
        }
    }
}

#[suite::test]
fn many_failures_in_a_row_lose_nothing() {
    let dir = memory();
    let (store, before) = filled(dir.path(), 5, 6);
    for at in (1..20).chain(1..100) {
        let disk = Faulty::new(at, Fault::Killed);
        let _ = store.save_by(&disk, "echo new", "me");
        if bodies(&store)[0] == "echo new" {
            return assert!(at > 8, "{at}");
        }
        let all = bodies(&store);
        assert!(before.iter().all(|body| all.contains(body)), "{at}: {all:?}");
    }
    panic!("it never takes its place");
}

#[suite::test]
fn what_killed_processes_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = filled(dir.path(), 3, 1);
    let dead = dir.path().join(format!(".conf.{}", i32::MAX));
    let (ours, other) = (dir.path().join(".conf.1"), dir.path().join(".conf.swp"));
    [&dead, &ours, &other].iter().for_each(|path| std::fs::write(path, "x").unwrap());
    store.tidy().unwrap();
    assert!(!dead.exists() && ours.exists() && other.exists());
}

#[suite::test]
fn several_writers_of_one_file_leave_a_whole_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("exported");
    let text = |i: usize| with_header(&format!("echo {i}\n").repeat(2000), "me");
    let texts: Vec<String> = (0..4).map(text).collect();
    std::thread::scope(|scope| {
        for text in &texts {
            scope.spawn(|| (0..30).for_each(|_| export(&path, text).unwrap()));
        }
    });
    let lines = lines(&std::fs::read_to_string(&path).unwrap());
    assert!(lines.len() == 2000 && lines.iter().all(|line| *line == lines[0]), "{}", lines.len());
    assert_eq!(dir.path().read_dir().unwrap().count(), 1, "no temporary file is left");
}
