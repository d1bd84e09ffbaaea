// SPDX-License-Identifier: Apache-2.0
//! `make new-feature NAME=x`: a feature that compiles, made from `examples/sample`, which CI
//! compiles and tests.

use std::path::Path;

use crate::sh::{self, Res, root};

const SAMPLE: &str = "examples/sample";
const FILES: &[&str] = &["Cargo.toml", "src/lib.rs", "src/tests.rs"];
const PLUGINS: &str = "bin/ferrovia/src/plugins.rs";
/// The program of tests that new features belong to at first.
const UNITS: &str = "tests/units/services/Cargo.toml";

/// One name in its four spellings.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    /// Of the folder, the node, the plugin and the command: `mss-clamp`.
    kebab: String,
    /// Of the crate: `mss_clamp`.
    snake: String,
    /// Of the type: `MssClamp`.
    camel: String,
}

impl Name {
    /// A name that is good for all of them, or what is wrong with it.
    fn new(name: &str) -> Res<Name> {
        let good = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        let words: Vec<_> = name.split('-').collect();
        if !words.iter().all(|word| good(word)) {
            return Err(format!(
                "`{name}` is no name for a feature: say NAME=mss-clamp or NAME=nat44"
            ));
        }
        let capital = |word: &&str| word[..1].to_uppercase() + &word[1..];
        Ok(Name {
            kebab: name.into(),
            snake: words.join("_"),
            camel: words.iter().map(capital).collect(),
        })
    }

    /// A file of the sample as that of this feature.
    fn rename(&self, content: &str) -> String {
        let content = content.replace("name = \"sample\"", &format!("name = \"{}\"", self.snake));
        content.replace("sample", &self.kebab).replace("Sample", &self.camel)
    }
}

/// `manifest` with `line` behind the last line of `section` that begins as `like` says, or else at
/// its start.
fn with_line(
    manifest: &str,
    section: &str,
    like: impl Fn(&str) -> bool,
    line: &str,
) -> Res<String> {
    let mut lines: Vec<&str> = manifest.lines().collect();
    let start =
        lines.iter().position(|l| *l == section).ok_or_else(|| format!("there is no {section}"))?;
    let end = lines[start + 1..]
        .iter()
        .position(|l| l.starts_with('['))
        .map_or(lines.len(), |n| start + 1 + n);
    let at = lines[start..end].iter().rposition(|l| like(l)).map_or(start, |n| start + n);
    lines.insert(at + 1, line);
    Ok(lines.join("\n") + "\n")
}

/// The list of plugins with one more at its end.
fn with_plugin(source: &str, name: &str) -> Res<String> {
    let wrong = || format!("{PLUGINS}: no list of the form `: &[&Plugin] = &[…];`");
    let start = source.find(": &[&Plugin] = &[").ok_or_else(wrong)?;
    let end = start + source[start..].find("];").ok_or_else(wrong)?;
    let list = source[..end].trim_end().trim_end_matches(',');
    Ok(format!("{list},\n    &{name}::PLUGIN,\n{}", &source[end..]))
}

/// The verb `new-feature`.
pub fn verb(name: &str) -> Res {
    let name = Name::new(name)?;
    let Name { kebab, snake, .. } = &name;
    let dir = root().join("features").join(kebab);
    let daemon = root().join("bin/ferrovia/Cargo.toml");
    let manifest = sh::read(&daemon)?;
    if dir.exists() {
        return Err(format!("features/{kebab} is there already"));
    }
    let taken = |manifest: &str| manifest.lines().any(|l| l.starts_with(&format!("{snake} = ")));
    if taken(&manifest) || taken(&sh::read(root().join("Cargo.toml"))?) {
        return Err(format!("{snake} is the name of a crate already"));
    }
    // Everything is made before anything is written.
    let is_feature = |l: &str| l.contains("../features/");
    let line = format!(
        "{snake} = {{ path = \"../../features/{kebab}\", package = \"ferrovia-{kebab}\" }}"
    );
    let manifest = with_line(&manifest, "[dependencies]", is_feature, &line)?;
    let line = format!(
        "{snake} = {{ path = \"../../../features/{kebab}\", package = \"ferrovia-{kebab}\", features = [\"tests\"] }}"
    );
    let units = with_line(&sh::read(root().join(UNITS))?, "[dev-dependencies]", is_feature, &line)?;
    let plugins = with_plugin(&sh::read(root().join(PLUGINS))?, snake)?;

    for file in FILES {
        let content = name.rename(&sh::read(root().join(SAMPLE).join(file))?);
        sh::write(dir.join(file), content)?;
    }
    sh::write(daemon, manifest)?;
    sh::write(root().join(UNITS), units)?;
    sh::write(root().join(PLUGINS), plugins)?;
    sh::run(&mut sh::cargo(&format!("fmt -p ferrovia-{kebab}")))?;
    sh::quiet(sh::cmd("rustfmt").arg(Path::new(PLUGINS)))?;

    println!("features/{kebab}: one node, one command, one test; {PLUGINS} lists it. Now:");
    println!("  make test ARGS='-p ferrovia-{kebab}'");
    println!("  docs/add-a-feature.md tells what to change first");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources;

    #[test]
    fn a_name_has_four_spellings() {
        let name = Name::new("mss-clamp2").unwrap();
        assert_eq!((name.snake.as_str(), name.camel.as_str()), ("mss_clamp2", "MssClamp2"));
        for bad in ["", "-", "a-", "Mss", "mss_clamp", "4to6", "a b", "../x"] {
            assert!(Name::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_sample_is_renamed_throughout() {
        let name = Name::new("mss-clamp").unwrap();
        for file in FILES {
            let content = name.rename(&sh::read(root().join(SAMPLE).join(file)).unwrap());
            assert!(!content.to_lowercase().contains("sample"), "{file}");
        }
        let manifest = name.rename(&sh::read(root().join(SAMPLE).join("Cargo.toml")).unwrap());
        assert!(
            manifest.contains("name = \"ferrovia-mss-clamp\"")
                && manifest.contains("name = \"mss_clamp\"")
        );
        let lib = name.rename(&sh::read(root().join(SAMPLE).join("src/lib.rs")).unwrap());
        assert!(
            lib.contains("NodeDef::configured::<MssClamp>()")
                && lib.contains("\"set mss-clamp\", ")
        );
    }

    /// Crates of plugins that the daemon names in other files than the list, and why.
    const NAMED: &[(&str, &str)] = &[
        ("pipe", "a module of rustix has this name"),
        ("punt", "its socket is opened before there is an instance"),
        ("system", "the API tells where threads run; `statseg` sets the interval of gauges"),
        ("trace", "a module of the API has this name"),
    ];

    #[test]
    fn the_daemon_names_a_feature_only_in_its_list() {
        let list = sh::read(root().join(PLUGINS)).unwrap();
        let crates: Vec<&str> = list
            .lines()
            .filter_map(|line| line.trim().strip_prefix('&')?.strip_suffix("::PLUGIN,"))
            .filter(|name| !name.contains("::"))
            .collect();
        assert!(crates.len() > 15, "{crates:?}");
        let mut files = Vec::new();
        sources::rust_files(&root().join("bin/ferrovia/src"), &mut files).unwrap();
        files.retain(|file| !file.ends_with(PLUGINS));
        let code: Vec<String> = files.iter().map(|file| sh::read(file).unwrap()).collect();
        let inside_a_path =
            |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
        let is_named = |name: &str| {
            let path = format!("{name}::");
            code.iter()
                .any(|text| text.match_indices(&path).any(|(at, _)| !inside_a_path(&text[..at])))
        };
        let mut named: Vec<&str> = crates.into_iter().filter(|name| is_named(name)).collect();
        named.sort_unstable();
        assert_eq!(named, NAMED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }

    #[test]
    fn a_line_goes_to_its_section() {
        let manifest = "[a]\nx = 1\n\n[dependencies]\narp = 1\nip = 1\n\n[z]\narp = 1\n";
        let added =
            |like: &str| with_line(manifest, "[dependencies]", |l| l.starts_with(like), "gre = 1");
        assert_eq!(added("arp"), Ok(manifest.replacen("arp = 1\n", "arp = 1\ngre = 1\n", 1)));
        assert_eq!(added("none"), Ok(manifest.replace("ies]\n", "ies]\ngre = 1\n")));
        assert!(with_line(manifest, "[none]", |_| true, "gre = 1").is_err());
    }

    #[test]
    fn a_plugin_is_added_to_either_form_of_the_list() {
        let long = "pub static PLUGINS: &[&Plugin] = &[\n    // why first\n    &ethernet::PLUGIN,\n    &ip::PLUGIN,\n];\nfn f() { g(&[1]); }\n";
        let expected = long.replace("    &ip::PLUGIN,\n", "    &ip::PLUGIN,\n    &gre::PLUGIN,\n");
        assert_eq!(with_plugin(long, "gre"), Ok(expected));
        let short = "pub static PLUGINS: &[&Plugin] = &[&ethernet::PLUGIN, &ip::PLUGIN];\n";
        assert!(with_plugin(short, "gre").unwrap().contains("&ip::PLUGIN,\n    &gre::PLUGIN,\n];"));
        assert!(with_plugin("static X: u8 = 1;", "gre").is_err());
        let list = sh::read(root().join(PLUGINS)).unwrap();
        assert!(with_plugin(&list, "gre").unwrap().contains("::PLUGIN,\n    &gre::PLUGIN,\n]"));
    }
}
