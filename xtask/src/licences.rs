// SPDX-License-Identifier: Apache-2.0
//! Every dependency's licence against the list in deny.toml, with nothing to install.

use serde_json::Value;

use crate::setup;
use crate::sh::{self, Res};

/// The strings of `allow = [ … ]` in the section `[licenses]` of deny.toml.
fn allowed(deny: &str) -> Res<Vec<String>> {
    let section = deny.split_once("\n[licenses]").ok_or("deny.toml has no [licenses]")?.1;
    let section = section.split("\n[").next().unwrap_or(section);
    let list = section.split_once("allow = [").ok_or("deny.toml: [licenses] has no allow = [")?.1;
    let list = list.split_once(']').ok_or("deny.toml: allow = [ is not closed")?.0;
    let names = list.lines().flat_map(|l| l.split('#').next().unwrap_or("").split(','));
    Ok(names.map(|n| n.trim().trim_matches('"').to_string()).filter(|n| !n.is_empty()).collect())
}

/// Licences that deny.toml allows this crate in addition: lines of the form `{ crate = "NAME",
/// allow = ["LICENCE"] }`.
fn exceptions(deny: &str, package: &str) -> Vec<String> {
    let own = format!("crate = \"{package}\"");
    let lists = deny
        .lines()
        .filter(|l| l.contains(&own))
        .filter_map(|l| l.split_once("allow = [")?.1.split_once(']'));
    let names = lists.flat_map(|(list, _)| list.split(','));
    names.map(|n| n.trim().trim_matches('"').to_string()).collect()
}

/// Returns true if an SPDX licence expression can be met with the licences of `allow`.
fn met(expression: &str, allow: &[String]) -> Res<bool> {
    // Old manifests write MIT/Apache-2.0 and mean OR.
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<_> = text.split_whitespace().collect();
    let mut parser = Parser { words: &words, allow };
    let value = parser.any_of()?;
    if parser.words.is_empty() {
        Ok(value)
    } else {
        Err(format!("odd licence expression: {expression}"))
    }
}

/// `AND` binds stronger than `OR`, `WITH` stronger than both (SPDX 2.3, annex D).
struct Parser<'a> {
    words: &'a [&'a str],
    allow: &'a [String],
}

impl Parser<'_> {
    fn eat(&mut self, word: &str) -> bool {
        let hit = self.words.first() == Some(&word);
        if hit {
            self.words = &self.words[1..];
        }
        hit
    }

    fn any_of(&mut self) -> Res<bool> {
        let mut value = self.all_of()?;
        while self.eat("OR") {
            value |= self.all_of()?;
        }
        Ok(value)
    }

    fn all_of(&mut self) -> Res<bool> {
        let mut value = self.one()?;
        while self.eat("AND") {
            value &= self.one()?;
        }
        Ok(value)
    }

    fn one(&mut self) -> Res<bool> {
        if self.eat("(") {
            let value = self.any_of()?;
            return if self.eat(")") {
                Ok(value)
            } else {
                Err("licence expression: ) is missing".into())
            };
        }
        let (name, rest) = self.words.split_first().ok_or("licence expression ends too early")?;
        self.words = rest;
        let mut name = name.to_string();
        if self.eat("WITH") {
            let (exception, rest) =
                self.words.split_first().ok_or("licence expression ends after WITH")?;
            self.words = rest;
            name = format!("{name} WITH {exception}");
        }
        Ok(self.allow.contains(&name))
    }
}

/// The verb `licences`: the list by our own check, and all of deny.toml if cargo-deny is there.
pub fn verb() -> Res {
    let deny = sh::read(sh::root().join("deny.toml"))?;
    let allow = allowed(&deny)?;
    let mut faults = Vec::new();
    let mut count = 0;
    // Fuzzing brings one in that nothing else has.
    let line =
        "metadata --format-version 1 --filter-platform x86_64-unknown-linux-gnu --all-features";
    let text = sh::output(&mut sh::cargo(line))?;
    let metadata: Value =
        serde_json::from_str(&text).map_err(|e| format!("cargo metadata: {e}"))?;
    // Ours have no registry they come from.
    let theirs =
        metadata["packages"].as_array().into_iter().flatten().filter(|p| !p["source"].is_null());
    for package in theirs {
        let name = format!("{} {}", package["name"], package["version"]).replace('"', "");
        let mut allow = allow.clone();
        allow.extend(exceptions(&deny, package["name"].as_str().unwrap_or_default()));
        match package["license"].as_str() {
            Some(licence) if met(licence, &allow).map_err(|e| format!("{name}: {e}"))? => {}
            Some(licence) => faults.push(format!("{name}: {licence} is not in deny.toml's list")),
            None => faults.push(format!("{name}: names no licence")),
        }
        count += 1;
    }
    faults.iter().for_each(|f| eprintln!("licences: {f}"));
    if !faults.is_empty() {
        return Err(format!("licences: {} of {count} dependencies", faults.len()));
    }
    println!("licences: {count} dependencies, all within deny.toml's list");
    // Duplicates and sources are cargo-deny's. CI has it; at home it is taken where it is there.
    if std::env::var_os("CI").is_some() {
        setup::DENY.ensure()?;
    }
    if !setup::DENY.is_there() {
        println!("licences: cargo-deny is not installed: bans and sources are left to CI");
        return Ok(());
    }
    // Not the advisories: their list is no part of a package registry and can't be had everywhere.
    sh::run(&mut sh::cargo(
        "deny --log-level error --offline check --hide-inclusion-graph licenses bans sources",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_met(expression: &str) -> Res<bool> {
        met(
            expression,
            &["MIT".into(), "Apache-2.0".into(), "Apache-2.0 WITH LLVM-exception".into()],
        )
    }

    #[test]
    fn expressions_are_read_as_spdx_says() {
        for yes in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR Apache-2.0",
            "MIT/Apache-2.0",
            "MIT AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT OR GPL-3.0) AND Apache-2.0",
            "GPL-3.0 AND MIT OR MIT",
        ] {
            assert_eq!(is_met(yes), Ok(true), "{yes}");
        }
        for no in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT WITH Odd-exception",
            "MIT AND (GPL-3.0 OR LGPL-3.0)",
            "MI",
        ] {
            assert_eq!(is_met(no), Ok(false), "{no}");
        }
        for bad in ["", "MIT OR", "(MIT", "MIT MIT", "MIT WITH"] {
            assert!(is_met(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_exception_is_for_its_crate() {
        let deny = "exceptions = [\n  { crate = \"a\", allow = [\"NCSA\", \"X\"] },\n]\n";
        assert_eq!(exceptions(deny, "a"), ["NCSA", "X"]);
        assert_eq!(exceptions(deny, "b"), Vec::<String>::new());
    }

    #[test]
    fn the_list_is_read_with_comments_and_stops_at_its_section() {
        let deny = "# a\n\n[licenses]\nversion = 2\nallow = [\n  \"MIT\", # why\n  \"ISC\",\n]\n[bans]\nallow = [\"x\"]\n";
        assert_eq!(allowed(deny), Ok(vec!["MIT".to_string(), "ISC".to_string()]));
        assert!(allowed("\n[bans]\nallow = [\"x\"]").is_err());
        assert!(allowed("\n[licenses]\n[bans]\nallow = [\"x\"]").is_err());
    }
}
