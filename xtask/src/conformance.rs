// SPDX-License-Identifier: Apache-2.0
//! The tests that VPP publishes, against our daemon; `docs/conformance.md` has the numbers of
//! passed tests.
//!
//! The tests are not part of this tree. They are a folder with a program `run`: `run -d DAEMON -j
//! JOBS FILE,…` runs files of them and prints a line `FILE OURS PEER` for each, `run --list` prints
//! `PEER FILE` for all that there are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::sh::{self, Res, root};
use crate::verbs;

/// The page with the table.
const PAGE: &str = "docs/conformance.md";
const BEGIN: &str = "<!-- table: make conformance -->";
const END: &str = "<!-- end of the table -->";

/// Tests of one file: those that pass here, none if it was never run, and those that pass with VPP
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    ours: Option<u32>,
    peer: u32,
}

type Rows = BTreeMap<String, Row>;

/// The page, the rows of its table and those that a run gave.
struct Results {
    page: String,
    rows: Rows,
    told: Vec<(String, Row)>,
}

/// True if there is a folder with the tests.
pub fn is_there() -> bool {
    std::env::var_os("FERROVIA_CONFORMANCE").is_some()
}

/// The verb `conformance`: `[-d DAEMON] [-j JOBS] [FILE…]`. Without files, runs the files that have
/// numbers in the table.
pub fn verb(args: &[&str]) -> Res {
    let Results { page, mut rows, told } = results(args)?;
    if told.is_empty() {
        println!("conformance: no whole file was run, so {PAGE} stays as it is");
        return Ok(());
    }
    rows.extend(told);
    sh::write(root().join(PAGE), with_table(&page, &rows)?)?;
    println!("conformance: the table is in {PAGE}");
    Ok(())
}

/// Runs the files that have numbers in the table, which no file may fall below.
pub fn check() -> Res {
    let Results { rows, told, .. } = results(&[])?;
    let faults = below(&rows, &told);
    if faults.is_empty() { Ok(()) } else { Err(format!("conformance: {}", faults.join(", "))) }
}

/// Files of which fewer tests pass than the table says.
fn below(rows: &Rows, told: &[(String, Row)]) -> Vec<String> {
    let fault = |(file, row): &(String, Row)| {
        let (is, was) = (row.ours?, rows.get(file)?.ours?);
        (is < was).then(|| format!("{file}: {is} tests pass, {was} did"))
    };
    told.iter().filter_map(fault).collect()
}

fn results(args: &[&str]) -> Res<Results> {
    let (mut daemon, mut jobs, mut files) = (None, "1", Vec::new());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match *word {
            "-d" => daemon = Some(PathBuf::from(words.next().ok_or("-d wants the daemon's path")?)),
            "-j" => jobs = words.next().ok_or("-j wants a number")?,
            files_of => {
                files.extend(files_of.split(',').filter(|f| !f.is_empty()).map(String::from))
            }
        }
    }
    let program = program()?;
    let listed = listed(&sh::output(sh::cmd(&program.to_string_lossy()).arg("--list"))?);
    let page = sh::read(root().join(PAGE))?;
    let mut rows = listed;
    for (file, row) in table(&page) {
        rows.entry(file).or_insert(row).ours = row.ours;
    }
    if files.is_empty() {
        files = rows
            .iter()
            .filter(|(_, row)| row.ours.is_some())
            .map(|(file, _)| file.clone())
            .collect();
    }
    if files.is_empty() {
        return Err(
            "conformance: which files? ARGS=ip4,neighbor names some; the table has no numbers yet"
                .into(),
        );
    }
    let daemon = match daemon {
        Some(daemon) => {
            std::path::absolute(&daemon).map_err(|e| format!("{}: {e}", daemon.display()))?
        }
        None => verbs::build_quick()?.join("ferrovia"),
    };
    let mut told = Vec::new();
    let mut command = sh::cmd(&program.to_string_lossy());
    command.arg("-d").arg(&daemon).args(["-j", jobs, &names(&files)]);
    sh::watch(&mut command, |line| told.extend(result(line)))?;
    // The result of a class or of a single test is none of the file.
    told.retain(|(file, _)| files.iter().any(|f| names_whole(f, file)));
    Ok(Results { page, rows, told })
}

/// The program that runs the tests.
fn program() -> Res<PathBuf> {
    let dir = std::env::var_os("FERROVIA_CONFORMANCE").map(PathBuf::from);
    let program = dir.map(|dir| dir.join("run"));
    if let Some(program) = program.as_ref().filter(|program| program.is_file()) {
        return Ok(program.clone());
    }
    Err(format!(
        "conformance: {}.\n\
         VPP's tests are the folder test/ of its sources, tag v26.06; they are not part of this tree.\n\
         FERROVIA_CONFORMANCE names a folder with a program `run` that drives them; {PAGE} says what it has to do.",
        program.map_or("FERROVIA_CONFORMANCE isn't set".into(), |program| format!(
            "there is no {}",
            program.display()
        ))
    ))
}

/// The files as one argument.
fn names(files: &[String]) -> String {
    let short = |file: &String| {
        file.rsplit('/').next().unwrap_or(file).trim_start_matches("test_").to_string()
    };
    files.iter().map(short).collect::<Vec<_>>().join(",")
}

/// Returns true if a request (`ip4`, `test_ip4`, `ip*`) is for the whole of this file.
fn names_whole(asked: &str, file: &str) -> bool {
    let short = |name: &str| {
        name.rsplit('/').next().unwrap_or(name).trim_start_matches("test_").to_string()
    };
    let (asked, file) = (short(asked), short(file));
    match asked.split_once('*') {
        Some((head, tail)) => !tail.contains('.') && file.starts_with(head) && file.ends_with(tail),
        None => asked == file,
    }
}

/// `FILE OURS PEER [all]`, as the program prints it.
fn result(line: &str) -> Option<(String, Row)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [file, ours, peer] = words[..] else {
        let [file, ours, peer, "all"] = words[..] else { return None };
        return result(&format!("{file} {ours} {peer}"));
    };
    let (ours, peer) = (ours.parse().ok()?, peer.parse().ok()?);
    let is_file = file.rsplit('/').next().is_some_and(|name| name.starts_with("test_"));
    is_file.then(|| (file.to_string(), Row { ours: Some(ours), peer }))
}

/// All files that VPP passes tests of, from lines `PEER FILE`.
fn listed(text: &str) -> Rows {
    let line = |line: &str| {
        let (peer, file) = line.trim().split_once(' ')?;
        Some((file.trim().to_string(), Row { ours: None, peer: peer.parse().ok()? }))
    };
    text.lines().filter_map(line).collect()
}

/// The table of the page.
fn table(page: &str) -> Rows {
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [file, ours, peer] = cells[..] else { return None };
        let file = file.strip_prefix('`')?.strip_suffix('`')?;
        Some((file.to_string(), Row { ours: ours.parse().ok(), peer: peer.parse().ok()? }))
    };
    let inside = page.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
    inside.map_or(Rows::new(), |(table, _)| table.lines().filter_map(row).collect())
}

/// The page with these rows.
fn with_table(page: &str, rows: &Rows) -> Res<String> {
    let parts =
        page.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) =
        parts.ok_or_else(|| format!("{}: no place for the table", Path::new(PAGE).display()))?;
    let run = || rows.values().filter_map(|row| row.ours.map(|ours| (ours, row.peer)));
    let (ours, peer) = run().fold((0, 0), |(a, b), (ours, peer)| (a + ours, b + peer));
    let all: u32 = rows.values().map(|row| row.peer).sum();
    let mut text = format!("{head}{BEGIN}\n\n| file | ours | VPP's |\n|---|---:|---:|\n");
    for (file, row) in rows {
        let ours = row.ours.map_or("not run".into(), |n| n.to_string());
        text += &format!("| `{file}` | {ours} | {} |\n", row.peer);
    }
    text += &format!(
        "\nOf the files that were run, {ours} of {peer} tests pass; VPP passes {all} in all files together.\n\n{END}{tail}"
    );
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# T\n\n<!-- table: make conformance -->\nold\n<!-- end of the table -->\nmore\n";

    #[test]
    fn lines_of_results_are_told_from_others() {
        let row = |ours, peer| Row { ours: Some(ours), peer };
        assert_eq!(
            result("test_ip4                             30    34"),
            Some(("test_ip4".into(), row(30, 34)))
        );
        assert_eq!(result("asf/test_cli   4   4  all"), Some(("asf/test_cli".into(), row(4, 4))));
        for other in [
            "file   ours  peer",
            "together   3   4",
            "test_x many words of text",
            "",
            "test_ip4 a 3",
        ] {
            assert_eq!(result(other), None, "{other}");
        }
    }

    #[test]
    fn the_table_keeps_what_was_not_run_now() {
        let mut rows = listed("      1 asf/test_a\n     34 test_ip4\n");
        let page = with_table(PAGE, &rows).unwrap();
        assert!(page.contains("| `test_ip4` | not run | 34 |") && page.ends_with("-->\nmore\n"));
        rows.extend(result("test_ip4 30 34"));
        let page = with_table(&page, &rows).unwrap();
        assert!(
            page.contains("| `test_ip4` | 30 | 34 |\n")
                && page.contains("| `asf/test_a` | not run | 1 |"),
            "{page}"
        );
        assert!(page.contains("30 of 34 tests pass; VPP passes 35 in all"));
        assert_eq!(table(&page), rows);
        assert_eq!(with_table(&page, &rows).unwrap(), page);
        assert!(with_table("no marks", &rows).is_err());
    }

    #[test]
    fn a_file_may_not_fall_below_its_row() {
        let row = |ours| Row { ours, peer: 9 };
        let rows = Rows::from([("a".into(), row(Some(4))), ("b".into(), row(None))]);
        let told = |a, b| [("a".to_string(), row(Some(a))), ("b".to_string(), row(Some(b)))];
        assert_eq!(below(&rows, &told(3, 0)), ["a: 3 tests pass, 4 did"]);
        assert!(below(&rows, &told(4, 0)).is_empty() && below(&rows, &told(5, 1)).is_empty());
    }

    #[test]
    fn only_whole_files_count() {
        assert!(names_whole("ip4", "test_ip4") && names_whole("test_cli", "asf/test_cli"));
        assert!(names_whole("asf/test_cli", "asf/test_cli") && names_whole("ip*", "test_ip4"));
        assert!(!names_whole("ip4.TestIPv4", "test_ip4") && !names_whole("ip", "test_ip4"));
        assert_eq!(names(&["asf/test_cli".into(), "ip4.TestA".into()]), "cli,ip4.TestA");
    }
}
